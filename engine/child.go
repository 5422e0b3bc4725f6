package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stowage/internal/nested"
)

const (
	readyWait   = 90 * time.Second // the child itself gives up after 15 s on the lock and 60 s on its services
	termWait    = 3 * time.Second
	maxLogSize  = 8 << 20
	readBack    = 256 << 10 // of its log, for its last words
	mostWords   = 6         // lines
	longestWord = 400       // bytes of one
)

// child is one process of stowage-engine.
type child struct {
	cmd     *exec.Cmd
	address string
	exited  chan struct{}
}

// spawn starts a child and waits until it is ready. On failure the error carries the end of the child's log.
func spawn(ctx context.Context, o Options, binary, listen string) (*child, error) {
	log, err := openLog(filepath.Join(o.Dir, "engine.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own descriptor
	start, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("seek %s: %w", log.Name(), err)
	}
	args := append([]string{"--db", o.DB, "--listen", listen, "--namespace", o.Namespace, "--users", o.file(usersName)}, o.Certificates.flags()...)
	cmd := exec.Command(binary, args...)
	if o.run != nil {
		given, err := o.run.hand(cmd)
		if err != nil {
			return nil, err
		}
		defer given()
	}
	cmd.Stderr = log
	// A process group of its own: Ctrl-C in the terminal must reach Stowage, which then decides, and not its engine.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe from %s: %w", binary, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	ch := &child{cmd: cmd, exited: make(chan struct{})}
	firstLine := make(chan []byte, 1)
	go ch.reap(stdout, firstLine)
	if err := ch.awaitReady(ctx, firstLine); err != nil {
		ch.stop()
		if errors.Is(err, errEnded) && ch.wasKilled() {
			err = fmt.Errorf("%w: %w", errKilled, err)
		}
		return nil, fmt.Errorf("start %s: %w%s", binary, err, lastWords(log, start))
	}
	return ch, nil
}

// errEnded: a child ended by itself before it served. errKilled: a signal ended it, which says nothing about the next.
var (
	errEnded  = errors.New("it ended before it was ready")
	errKilled = errors.New("it was killed")
)

// wasKilled reports whether a signal ended the child. It has exited.
func (ch *child) wasKilled() bool {
	state, ok := ch.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && state.Signaled()
}

// reap reads the child's output to its end, as os/exec demands, and then waits for the process.
func (ch *child) reap(stdout io.Reader, firstLine chan<- []byte) {
	r := bufio.NewReader(stdout)
	line, _ := r.ReadBytes('\n')
	firstLine <- line
	_, _ = io.Copy(io.Discard, r)
	_ = ch.cmd.Wait()
	close(ch.exited)
}

func (ch *child) awaitReady(ctx context.Context, firstLine <-chan []byte) error {
	select {
	case line := <-firstLine:
		var ready struct {
			Address string `json:"address"`
		}
		if err := nested.Unmarshal(line, &ready); err != nil || ready.Address == "" {
			return fmt.Errorf("%w (said %q)", errEnded, bytes.TrimSpace(line))
		}
		ch.address = ready.Address
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(readyWait):
		return fmt.Errorf("not ready after %v", readyWait)
	}
}

// stop ends the child: SIGTERM, then SIGKILL. Both are safe for the data.
func (ch *child) stop() {
	_ = ch.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ch.exited:
	case <-time.After(termWait):
		_ = ch.cmd.Process.Kill()
		<-ch.exited
	}
}

func openLog(path string) (*os.File, error) {
	if about, err := os.Stat(path); err == nil && about.Size() > maxLogSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotate %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open engine log: %w", err)
	}
	return f, nil
}

// lastWords is the end of what the child wrote since start, without the stack traces of its log, which are longer than all it
// has to say: of a line of JSON the message and the error.
func lastWords(log *os.File, start int64) string {
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil || end <= start {
		return ""
	}
	from := max(start, end-readBack)
	text := make([]byte, end-from)
	n, err := log.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	var said []string
	for line := range strings.Lines(strings.TrimSpace(string(text[:n]))) {
		line = saidIn(strings.TrimSpace(line))
		said = append(said, strings.ToValidUTF8(line[:min(len(line), longestWord)], ""))
	}
	return fmt.Sprintf("\nlast words in %s:\n%s", log.Name(), strings.Join(said[max(0, len(said)-mostWords):], "\n"))
}

func saidIn(line string) string {
	var entry struct{ Msg, Error string }
	if err := nested.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" {
		return line
	}
	if entry.Error == "" {
		return entry.Msg
	}
	return entry.Msg + ": " + entry.Error
}
