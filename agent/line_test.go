package agent

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// simulated is a line with a buffer before it and a receiver behind it, in a
// time of its own.
type simulated struct {
	line, disk, encode float64 // bytes a second: on the line, plain at the receiver, plain in zstd
	ratio              float64 // of a compressed block
	buffer             int64
	queue              []simulatedBlock
	held               int64
	now, free          float64 // of the sender; from when on the receiver takes the next block
}

type simulatedBlock struct {
	wire int64
	done float64 // taken by the receiver
}

// send lets n plain bytes go the way that w says.
func (s *simulated) send(w *lineWay, n int) (wire int) {
	begin, wire := s.now, n+blockHead
	if w.now == blockZstd {
		wire = int(float64(n)*s.ratio) + blockHead
		s.now += float64(n) / s.encode
		w.encoded(n, wire-blockHead, time.Duration(float64(time.Second)*(s.now-begin)))
	}
	for len(s.queue) > 0 && (s.held+int64(wire) > s.buffer || s.queue[0].done <= s.now) {
		s.now = max(s.now, s.queue[0].done)
		s.held -= s.queue[0].wire
		s.queue = s.queue[1:]
	}
	s.free = max(s.free, s.now) + max(float64(wire)/s.line, float64(n)/s.disk)
	s.queue = append(s.queue, simulatedBlock{int64(wire), s.free})
	s.held += int64(wire)
	w.sent(n, wire, time.Duration(float64(time.Second)*(s.now-begin)))
	return wire
}

// A slow line gets compressed blocks; a slow receiver does not, though they
// find room in the buffers sooner; nor does a line that is quicker than zstd.
func TestCompressesForTheLineAlone(t *testing.T) {
	for _, c := range []struct {
		name string
		s    simulated
		want float64 // of what could be saved on the line
	}{
		{"a line of 1 Gbit/s", simulated{line: 117e6, disk: 1e9, encode: 400e6, ratio: 0.5}, 0.9},
		{"a line of 50 Mbit/s", simulated{line: 6e6, disk: 1e9, encode: 400e6, ratio: 0.5}, 0.9},
		{"a slow disk", simulated{line: 1e9, disk: 50e6, encode: 400e6, ratio: 0.5}, 0},
		{"a slow disk, much to compress", simulated{line: 1e9, disk: 100e6, encode: 500e6, ratio: 0.2}, 0},
		{"all quick", simulated{line: 2e9, disk: 1e9, encode: 400e6, ratio: 0.5}, 0},
		{"a slow line and nothing to compress", simulated{line: 6e6, disk: 1e9, encode: 400e6, ratio: 0.99}, 0},
	} {
		c.s.buffer = 14 << 20
		w := newLineWay()
		var plain, wire int64
		for plain < 4<<30 {
			plain += blockSize
			wire += int64(c.s.send(w, blockSize))
		}
		saved := float64(plain-wire) / float64(plain) / (1 - c.s.ratio)
		if c.want > 0 && saved < c.want || c.want == 0 && saved > 0.1 {
			t.Errorf("%s: %.0f %% of the copy was compressed", c.name, 100*saved)
		}
	}
}

// What was written before Close arrives, in order; what fails is told.
func TestLineConn(t *testing.T) {
	a, b := net.Pipe()
	from, to := newLineConn(a), newLineConn(b)
	in := sample(3 << 20)
	got := make(chan []byte, 1)
	go func() {
		raw, _ := io.ReadAll(to)
		got <- raw
	}()
	for at := 0; at < len(in); at += 17_000 {
		if _, err := from.Write(in[at:min(len(in), at+17_000)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(<-got, in) {
		t.Error("what arrived is not what was sent")
	}
	if _, err := from.Write(in); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed line takes bytes: %v", err)
	}
	if err := to.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
	c, d := net.Pipe()
	cut := newLineConn(c)
	d.Close()
	var err error
	for n := 0; err == nil && n < 100; n++ {
		_, err = cut.Write(make([]byte, lineBuffer))
	}
	if err == nil {
		t.Error("nobody reads any more, and nothing says so")
	}
	cut.Close()
}
