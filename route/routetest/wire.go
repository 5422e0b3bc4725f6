package routetest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Wire stands between a router and what it talks to, and can be cut.
type Wire struct {
	Address string // where to connect instead
	target  string
	listen  net.Listener

	mu      sync.Mutex
	conns   map[net.Conn]bool
	pattern []byte // cut when this is sent
	how     Loss
	cut     bool // nothing passes
	hits    int
	closed  bool
	breaks  sync.WaitGroup // that are not over yet
}

// Loss is what is lost when a Wire breaks.
type Loss int

const (
	Request Loss = iota // never arrives
	Answer              // the request arrives, and the answer is lost
	Late                // the sender sees the connection end, and the request arrives a while after
)

// NewWire puts a wire in front of a TCP address.
func NewWire(t testing.TB, target string) *Wire {
	t.Helper()
	l := Listen(t)
	w := &Wire{Address: l.Addr().String(), target: target, listen: l, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.Cut()
		running.Wait()
	})
	return w
}

// Cut closes every connection and refuses new ones until Heal.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for c := range w.conns {
		c.Close()
	}
}

// Heal lets everything pass again.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.pattern = w.closed, nil
}

// BreakAt breaks the one connection on which pattern is sent next, and is whole
// afterwards.
func (w *Wire) BreakAt(pattern string, how Loss) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pattern, w.how, w.hits = []byte(pattern), how, 0
}

// Broken is how often the wire broke since BreakAt.
func (w *Wire) Broken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// Settle waits until what was broken has come to its end: what is late has
// arrived, and whoever it was for has answered.
func (w *Wire) Settle() { w.breaks.Wait() }

func (w *Wire) add(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return false
	}
	w.conns[c] = true
	return true
}

func (w *Wire) drop(c net.Conn) {
	w.mu.Lock()
	delete(w.conns, c)
	w.mu.Unlock()
	c.Close()
}

func (w *Wire) carry(from net.Conn) {
	defer w.drop(from)
	if !w.add(from) {
		return
	}
	to, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer w.drop(to)
	if !w.add(to) {
		return
	}
	done := make(chan struct{})
	muted, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		w.answers(from, to, muted, answered)
	}()
	late, broke := w.requests(from, to, muted, answered)
	if late != nil {
		from.Close()
		time.Sleep(300 * time.Millisecond)
		close(muted)
		_, _ = to.Write(late)
		within(answered)
	}
	to.Close()
	<-done
	if broke {
		w.breaks.Done()
	}
}

// within waits for the server, for as long as a slow one may take.
func within(answered chan struct{}) {
	select {
	case <-answered:
	case <-time.After(20 * time.Second):
	}
}

// requests carries from client to server. It returns what is to be sent later,
// and whether the wire broke here.
func (w *Wire) requests(from, to net.Conn, muted, answered chan struct{}) (late []byte, broke bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			switch how, hit := w.hit(buf[:n]); {
			case hit && how == Request:
				return nil, true
			case hit && how == Late:
				return bytes.Clone(buf[:n]), true
			case hit:
				close(muted)
				_, _ = to.Write(buf[:n])
				within(answered) // it is carried out
				return nil, true
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return nil, false
			}
		}
		if err != nil {
			if tcp, ok := to.(*net.TCPConn); ok && errors.Is(err, io.EOF) {
				_ = tcp.CloseWrite()
				time.Sleep(time.Millisecond)
			}
			return nil, false
		}
	}
}

// answers carries from server to client. What comes when the wire is muted goes
// nowhere, and is the answer to what was sent last.
func (w *Wire) answers(from, to net.Conn, muted, answered chan struct{}) {
	buf := make([]byte, 64<<10)
	for isFirst := true; ; {
		n, err := to.Read(buf)
		select {
		case <-muted:
			if isFirst {
				close(answered)
			}
			n, isFirst = 0, false
		default:
		}
		if n > 0 {
			if _, err := from.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			from.Close()
			return
		}
	}
}

func (w *Wire) hit(sent []byte) (Loss, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pattern == nil || !bytes.Contains(sent, w.pattern) {
		return 0, false
	}
	w.pattern = nil
	w.hits++
	w.breaks.Add(1)
	return w.how, true
}
