package vault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"stowage/internal/keeper"
)

// pipeSize is that of the pipes to and from zstd; 1 MiB is the most that an account without rights may ask for.
const pipeSize = 1 << 20

func packByProgram(ctx context.Context, program string, w io.Writer, level int, fill func(io.Writer) error) (raw int64, err error) {
	in, feed, err := pipe()
	if err != nil {
		return 0, err
	}
	out, packed, err := pipe()
	if err != nil {
		return 0, errors.Join(err, in.Close(), feed.Close())
	}
	var said lastWords
	cmd := exec.CommandContext(ctx, program, "-q", "-c", "--check", "-"+strconv.Itoa(level), "-T"+strconv.Itoa(packers()))
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = in, packed, &said, time.Second
	err = keeper.StartGently(cmd)
	if err = errors.Join(err, in.Close(), packed.Close()); err != nil {
		return 0, errors.Join(context.Cause(ctx), err, feed.Close(), out.Close())
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(w, struct{ io.Reader }{out}, make([]byte, pipeSize))
		written <- errors.Join(err, out.Close()) // when writing failed, zstd ends of the closed pipe, and with it fill
	}()
	to := &feeder{ctx: ctx, w: feed}
	filled := fill(to)
	if filled != nil {
		_ = cmd.Process.Kill() // before its input ends: it must not take that for the whole
	}
	err = errors.Join(feed.Close(), <-written)
	if ended := cmd.Wait(); ended != nil && filled == nil {
		err = errors.Join(err, fmt.Errorf("zstd: %w %s", ended, said.String()))
	}
	switch cause := context.Cause(ctx); {
	case cause != nil:
		err = cause
	case to.bad != nil && errors.Is(filled, to.bad):
		err = errors.Join(err, fmt.Errorf("zstd ended too early: %w %s", to.bad, said.String()))
	default:
		err = errors.Join(filled, err)
	}
	return to.n, err
}

// feeder counts what goes to a program, and remembers that it no longer reads.
type feeder struct {
	ctx context.Context
	w   io.Writer
	n   int64
	bad error
}

func (f *feeder) Write(p []byte) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, err
	}
	n, err := f.w.Write(p)
	f.n += int64(n)
	if err != nil && f.bad == nil {
		f.bad = err
	}
	return n, err
}

func pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	raw, err := w.SyscallConn() // Fd would take deadlines from it
	if err == nil {
		err = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) }) // an account without rights may have too many: it stays at 64 KiB
	}
	if err != nil {
		return nil, nil, errors.Join(err, r.Close(), w.Close())
	}
	return r, w, nil
}
