package vault

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// frameSize is how much of a stream becomes one zstd frame. Frames one after the other are one stream for every zstd, and can be
// compressed side by side.
const frameSize = 4 << 20

// packers is how many threads compress: more would take from the server that is backed up.
func packers() int { return min(2, runtime.GOMAXPROCS(0)) }

func packByLibrary(ctx context.Context, w io.Writer, level int, fill func(io.Writer) error) (raw int64, err error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(packers()),
		zstd.WithEncoderCRC(true), zstd.WithWindowSize(frameSize))
	if err != nil {
		return 0, err
	}
	p := &packer{ctx: ctx, z: z, order: make(chan *frame, packers()), free: make(chan *frame, packers()+2), ended: make(chan struct{})}
	go p.drain(w)
	err = fill(p)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		p.flush()
	}
	close(p.order)
	<-p.ended
	if bad := p.failure(); !errors.Is(err, bad) {
		err = errors.Join(bad, err)
	}
	return p.raw, err
}

// packer cuts a stream into frames. One goroutine fills them, others compress, one writes them in order.
type packer struct {
	ctx   context.Context
	z     *zstd.Encoder
	now   *frame
	raw   int64
	order chan *frame // to be written, in this order
	free  chan *frame // to be used again
	ended chan struct{}

	mu  sync.Mutex
	bad error // of the writer
}

type frame struct {
	in, out []byte
	done    chan struct{}
}

func (p *packer) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if err := errors.Join(context.Cause(p.ctx), p.failure()); err != nil {
			return n, err
		}
		if p.now == nil {
			p.now = p.empty()
		}
		k := min(len(b)-n, frameSize-len(p.now.in))
		p.now.in = append(p.now.in, b[n:n+k]...)
		n += k
		p.raw += int64(k)
		if len(p.now.in) == frameSize {
			p.flush()
		}
	}
	return n, nil
}

func (p *packer) empty() *frame {
	select {
	case f := <-p.free:
		return f
	default:
		return &frame{in: make([]byte, 0, frameSize)}
	}
}

// flush hands the frame on.
func (p *packer) flush() {
	if p.now == nil {
		return
	}
	f := p.now
	p.now, f.done = nil, make(chan struct{})
	p.order <- f
	go func() {
		f.out = p.z.EncodeAll(f.in, f.out[:0])
		close(f.done)
	}()
}

// drain writes frames until there are no more. After a failure it only waits for them.
func (p *packer) drain(w io.Writer) {
	defer close(p.ended)
	for f := range p.order {
		<-f.done
		if p.failure() == nil {
			if _, err := w.Write(f.out); err != nil {
				p.mu.Lock()
				p.bad = err
				p.mu.Unlock()
			}
		}
		f.in = f.in[:0]
		select {
		case p.free <- f:
		default:
		}
	}
}

func (p *packer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bad
}
