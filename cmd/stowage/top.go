package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"stowage/act"
	"stowage/session"
	"stowage/workspace"
)

// How often top looks at the workspace, and how long a key may have to wait.
const (
	topEvery = time.Second
	topKeys  = 100 * time.Millisecond
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Watch the runs on one screen, and steer them by keys", Args: args(cobra.NoArgs),
		Long: `Shows the newest run that has not ended, once a second: parts done of all, the running ones
with their step, orders, sides out of rotation, findings. If several runs have not ended, all
are listed with their progress, and keys act on the one marked with >. No server is asked;
'stowage status' asks.

Keys:
  p  pause: no new step begins      r  take the pause back
  -  slow copies down               +  let copies be faster, in the end without a limit
  l  the newest lines of the log    Tab, arrows  choose another run
  q  quit; the runs continue

Without a terminal it prints once.

` + exitHelp,
		Example: "  stowage top",
		RunE:    func(c *cobra.Command, _ []string) error { return a.top(c.Context()) },
	}
}

func (a *app) top(ctx context.Context) error {
	ws, err := workspace.Open(a.dir)
	if err != nil {
		return err
	}
	from := &shelf{app: *a, ws: ws}
	from.app.stderr, from.app.stdout = io.Discard, io.Discard
	screen, ok := a.stdout.(*os.File)
	if a.json || !ok || !term.IsTerminal(int(screen.Fd())) || !term.IsTerminal(int(os.Stdin.Fd())) {
		v, err := from.topView("")
		if err != nil {
			return err
		}
		return a.emit(v, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, strings.Join(v.lines(time.Now(), 0), "\n"))
			return err
		}, a.allWithin(v.Status.NextSteps)...)
	}
	t := &topScreen{app: a, from: from, screen: screen, keys: int(os.Stdin.Fd())}
	return t.show(ctx)
}

// topScreen is a terminal while top has it. One goroutine draws and reads keys.
type topScreen struct {
	app    *app
	from   *shelf
	screen *os.File
	keys   int // the file of the keys

	run     string // that a person has turned to; "": the newest that has not ended
	said    string // what came of the last key
	showLog bool
}

// show draws until a person quits. The terminal is as it was afterwards, however it ends.
func (t *topScreen) show(ctx context.Context) error {
	was, err := term.MakeRaw(t.keys)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	fmt.Fprint(t.screen, "\x1b[?1049h\x1b[?25l") // another screen, no cursor
	defer func() {
		fmt.Fprint(t.screen, "\x1b[?25h\x1b[?1049l")
		_ = term.Restore(t.keys, was)
	}()
	for ctx.Err() == nil {
		v, err := t.from.topView(t.run)
		if err != nil {
			return err
		}
		if t.showLog && v.Status.Run != "" {
			if v.log, err = t.app.newestLog(v.Status.Run, 100); err != nil {
				return err
			}
		}
		t.paint(v)
		for end := time.Now().Add(topEvery); time.Now().Before(end) && ctx.Err() == nil; {
			key, err := t.key(topKeys)
			if err != nil || key == 'q' || key == 3 { // Ctrl-C: a raw terminal makes no signal of it
				return err
			}
			if key != 0 {
				t.said = t.press(key, v)
				break
			}
		}
	}
	return ctx.Err()
}

// paint draws a view over the one before.
func (t *topScreen) paint(v topView) {
	width, height, err := term.GetSize(int(t.screen.Fd()))
	if err != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	foot := t.said
	if foot == "" {
		foot = "p pause  r resume  - slower  + faster  l log  q quit"
		if len(v.Open) > 0 {
			foot = "Tab other run  " + foot
		}
	}
	v.width = width
	lines := append(v.lines(time.Now(), height-1), foot)
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, l := range lines[:min(len(lines), height)] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(onScreen(l, width) + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	fmt.Fprint(t.screen, b.String())
}

// onScreen is a line of a terminal: what servers said in it moves no cursor.
func onScreen(line string, width int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, line))
	return string(runes[:min(len(runes), width)])
}

// key waits for a key; 0: nobody has pressed one.
func (t *topScreen) key(wait time.Duration) (rune, error) {
	ready := []unix.PollFd{{Fd: int32(t.keys), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, int(wait.Milliseconds()))
	if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read keys: %w", err)
	}
	var typed [8]byte
	n, err = unix.Read(t.keys, typed[:1])
	if err != nil || n == 0 { // the terminal is gone
		return 'q', nil
	}
	if typed[0] != escape {
		return rune(typed[0]), nil
	}
	if n, err = unix.Poll(ready, int(restOfKey.Milliseconds())); err != nil || n == 0 {
		return 0, nil
	}
	n, err = unix.Read(t.keys, typed[1:])
	if err != nil {
		return 0, nil
	}
	return arrow(typed[1 : 1+n]), nil
}

// An arrow is an escape and two letters. They come together, over a slow line nearly so.
const (
	escape    = 0x1b
	restOfKey = 50 * time.Millisecond
	keyUp     = -1 // less than any byte
	keyDown   = -2
)

// arrow is the key of what follows an escape: down and right are as Tab.
func arrow(rest []byte) rune {
	switch string(rest) {
	case "[A", "OA", "[D", "OD", "[Z": // the last is Tab with Shift
		return keyUp
	case "[B", "OB", "[C", "OC":
		return keyDown
	}
	return 0
}

// limits are the throttles that keys choose from, in MB a second.
var limits = []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// nextLimit is the throttle after a key, in bytes a second; less than 0: none. Without one before, the first step down is 100 MB/s.
func nextLimit(now *int64, faster bool) int64 {
	if now == nil {
		if faster {
			return -1
		}
		return 100e6
	}
	if faster {
		for _, l := range limits {
			if l*1e6 > *now {
				return l * 1e6
			}
		}
		return -1
	}
	for i := len(limits) - 1; i >= 0; i-- {
		if limits[i]*1e6 < *now {
			return limits[i] * 1e6
		}
	}
	return limits[0] * 1e6
}

// press does what a key is for, and says what came of it.
func (t *topScreen) press(key rune, v topView) string {
	switch key {
	case 'l':
		t.showLog = !t.showLog
		return ""
	case '\t', keyDown:
		t.run = v.neighbour(1)
		return ""
	case keyUp:
		t.run = v.neighbour(-1)
		return ""
	}
	if !strings.ContainsRune("pr+-", key) {
		return ""
	}
	if v.Status.Run == "" {
		return "no run has begun: there is nothing to steer"
	}
	said, err := t.order(key, v)
	if err != nil {
		said = "not done: " + err.Error()
	}
	if len(v.Open) > 0 {
		said = v.Status.Run + ": " + said
	}
	return said
}

// order gives the order of a key, to the run that was on the screen.
func (t *topScreen) order(key rune, v topView) (string, error) {
	d, err := t.app.openRun()
	if err != nil {
		return "", err
	}
	defer d.Close()
	return steerByKey(d, key, v.Status.Run)
}

func steerByKey(d *session.Session, key rune, name string) (string, error) {
	run, err := act.Choose(d.Store, name, "top")
	if err != nil {
		return "", err
	}
	now, err := act.SteeringOf(d.Store, run.ID)
	if err != nil {
		return "", err
	}
	switch key {
	case 'p':
		_, err = act.Pause(d.Store, name, false, topReason)
		return "paused: no new step begins; r takes it back", err
	case 'r':
		if act.Carrier(d.Workspace, run) == 0 {
			return "no program carries it out: stowage resume", nil
		}
		if now.Paused == nil {
			return "it is not paused", nil
		}
		return "it goes on", act.Resume(d.Store, run, topReason)
	}
	bytes := nextLimit(now.Throttle, key == '+')
	if _, err = act.Limit(d.Store, name, bytes, topReason); err != nil {
		return "", err
	}
	if bytes < 0 {
		return "no limit on copies but their own", nil
	}
	return fmt.Sprintf("copies write no more than %d MB/s together", bytes/1e6), nil
}

// topReason stands in the log beside what a key ordered.
const topReason = "a key of stowage top"
