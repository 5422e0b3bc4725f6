package follow

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/internal/heard"
	"stowage/internal/keeper"
	"stowage/internal/mariadbtest"
)

// measured is a process that prints a line for each change of the database shop.
type measured struct {
	name  string
	cmd   *exec.Cmd
	said  heard.Log
	ended chan struct{}
	from  time.Duration // processor time before
	used  time.Duration // and between

	mu     sync.Mutex
	ready  bool
	newest int64
	came   []arrival
}

type arrival struct {
	sent int64 // microseconds, by who sent it
	at   time.Time
}

// startMeasured starts a command, in which {host} and the like stand for where the server is.
func startMeasured(t *testing.T, i *mariadbtest.Instance, name, command, dir string) *measured {
	t.Helper()
	host, port, err := net.SplitHostPort(i.Address)
	must(t, err)
	args := strings.Fields(strings.NewReplacer("{address}", i.Address, "{host}", host, "{port}", port, "{user}", string(mariadbtest.Root),
		"{password}", mariadbtest.Root.Password(), "{dir}", dir).Replace(command))
	f := &measured{name: name, cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	f.cmd.Stderr, f.cmd.Dir = &f.said, dir
	out, err := f.cmd.StdoutPipe()
	must(t, err)
	must(t, keeper.Start(f.cmd))
	read := make(chan struct{})
	go func() {
		defer close(read)
		f.read(bufio.NewReaderSize(out, 256<<10))
	}()
	go func() {
		<-read
		_ = f.cmd.Wait() // how it ended is of no interest
		close(f.ended)
	}()
	t.Cleanup(func() { f.kill() })
	return f
}

var sentIs = regexp.MustCompile(`"sent":(\d+)`)

// read notes when each line came: by `sent` of the row after its change, which all of them print so.
func (f *measured) read(lines *bufio.Reader) {
	for {
		one, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		at := time.Now()
		n := bytes.LastIndex(one, []byte(`"sent":`))
		if n < 0 {
			_, _ = f.said.Write(one)
			continue
		}
		digits := sentIs.FindSubmatch(one[n:])
		if digits == nil {
			continue
		}
		sent, _ := strconv.ParseInt(string(digits[1]), 10, 64)
		f.mu.Lock()
		f.ready, f.newest = true, max(f.newest, sent)
		f.came = append(f.came, arrival{sent, at})
		f.mu.Unlock()
	}
}

func (f *measured) isReady() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready
}

func (f *measured) hasEnded() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// kill ends it, by force when it takes its time.
func (f *measured) kill() {
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-f.ended:
	case <-time.After(5 * time.Second):
		_ = f.cmd.Process.Kill()
		<-f.ended
	}
}

// begin and end stand around what is measured.
func (f *measured) begin(t *testing.T) { f.from = f.processor(t) }
func (f *measured) end(t *testing.T)   { f.used = f.processor(t) - f.from }

// hasShown reports that the newest line is of a change that was sent then, or later.
func (f *measured) hasShown(sent int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest >= sent
}

// processor is the processor time of the process so far.
func (f *measured) processor(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(f.cmd.Process.Pid) + "/stat")
	must(t, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// lags are those of changes that were sent between two moments, the shortest first.
func (f *measured) lags(from, to time.Time) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for _, a := range f.came {
		if sent := time.UnixMicro(a.sent); sent.UnixMicro() >= from.UnixMicro() && sent.UnixMicro() <= to.UnixMicro() {
			out = append(out, a.at.Sub(sent))
		}
	}
	slices.Sort(out)
	return out
}

// lastWords are the last line that it said.
func (f *measured) lastWords() string {
	lines := strings.Split(strings.TrimSpace(f.said.String()), "\n")
	return lines[len(lines)-1]
}
