package capture

import (
	"net"
	"sync"
	"testing"
	"time"
)

// tapProxy stands between clients and a server and writes down every byte with
// its time, as tcpdump would see it, but without its privileges.
type tapProxy struct {
	l      net.Listener
	server string
	wg     sync.WaitGroup

	mu     sync.Mutex
	pieces []piece
	conns  uint32
}

func startProxy(t *testing.T, server string) *tapProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tapProxy{l: l, server: server}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Add(1)
			go p.serve(c)
		}
	}()
	return p
}

func (p *tapProxy) address() string { return p.l.Addr().String() }

func (p *tapProxy) serve(c net.Conn) {
	defer p.wg.Done()
	defer c.Close()
	s, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer s.Close()
	k := newTalk(c.RemoteAddr().String(), p.server)
	p.mu.Lock()
	p.conns++
	k.seq = [2]uint32{p.conns * 977_777_777, p.conns * 1_999_999_999} // each wraps around somewhere
	p.mu.Unlock()
	p.note(k, func() { k.syn() })
	var both sync.WaitGroup
	both.Add(2)
	go func() { defer both.Done(); p.pass(k, 0, c, s) }()
	go func() { defer both.Done(); p.pass(k, 1, s, c) }()
	both.Wait()
}

// note writes down what f says.
func (p *tapProxy) note(k *talk, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.now, k.pieces = time.Now(), nil
	f()
	p.pieces = append(p.pieces, k.pieces...)
}

// pass writes bytes down before it passes them on, so that no answer comes
// before its request.
func (p *tapProxy) pass(k *talk, end int, from, to net.Conn) {
	buf := make([]byte, 48<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.note(k, func() { k.say(end, buf[:n]) })
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			p.note(k, func() { k.piece(end, flagFIN|flagACK, nil) })
			_ = to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

// stop waits for all connections to end and gives what was written down.
func (p *tapProxy) stop() []piece {
	p.l.Close()
	p.wg.Wait()
	return p.pieces
}
