package agent

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// lineConn is a connection under TLS that costs few system calls. TLS writes
// and reads records of 16 KB, one system call each; this gathers what is
// written while an earlier write is still under way, and reads all that has
// arrived at once. So encrypting and sending go side by side, too.
//
// An error of a write is told by a later one, or by Close of the layer above
// that waits for an answer: no byte counts as arrived before the other side has
// said so.
type lineConn struct {
	net.Conn
	in *bufio.Reader

	mu     sync.Mutex
	moved  *sync.Cond
	out    []byte // written and not taken by the sender
	spare  []byte
	err    error
	closed bool
}

const (
	// lineBuffer is what one system call moves at most: TCP hands over 64 KB at
	// a time, and more than a processor's cache holds is no gain.
	lineBuffer = 256 << 10
	// lineLinger is how long what is written before Close may take to go.
	lineLinger = 5 * time.Second
)

func newLineConn(c net.Conn) *lineConn {
	l := &lineConn{Conn: c, in: bufio.NewReaderSize(c, lineBuffer)}
	l.moved = sync.NewCond(&l.mu)
	go l.send()
	return l
}

func (l *lineConn) Read(p []byte) (int, error) { return l.in.Read(p) }

func (l *lineConn) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) >= lineBuffer && l.err == nil && !l.closed {
		l.moved.Wait()
	}
	switch {
	case l.err != nil:
		return 0, l.err
	case l.closed:
		return 0, net.ErrClosed
	}
	l.out = append(l.out, p...)
	l.moved.Broadcast()
	return len(p), nil
}

// send writes what was gathered, until Close or an error. It is the last user
// of the connection below and closes it.
func (l *lineConn) send() {
	defer l.Conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil {
		for len(l.out) == 0 && !l.closed {
			l.moved.Wait()
		}
		if len(l.out) == 0 {
			return
		}
		l.out, l.spare = l.spare[:0], l.out
		l.moved.Broadcast()
		l.mu.Unlock()
		_, err := l.Conn.Write(l.spare)
		l.mu.Lock()
		if err != nil {
			l.err = err
			l.moved.Broadcast()
		}
	}
}

// Close ends the connection when what was written has gone, or soon.
func (l *lineConn) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	l.closed = true
	l.moved.Broadcast()
	_ = l.Conn.SetReadDeadline(time.Now()) // whoever reads stops now
	return l.Conn.SetWriteDeadline(time.Now().Add(lineLinger))
}

// lineListener gives connections as lineConns.
type lineListener struct{ net.Listener }

func (l lineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newLineConn(c), nil
}
