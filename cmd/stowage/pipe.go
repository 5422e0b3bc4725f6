package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"stowage/farm"
)

// errPipe is why a run ended whose reader went away: stowage bench run DIR | head.
var errPipe = errors.Join(farm.ErrInterrupted, syscall.EPIPE)

// piped is standard output or standard error where whoever reads it may go away. Then the run is interrupted, as by Ctrl-C: file systems that were
// mounted, loop devices and fio do not stay. By itself Go lets the program die of SIGPIPE on the spot.
type piped struct {
	io.Writer
	cancel context.CancelCauseFunc
}

func (p piped) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.cancel(errPipe)
	}
	return n, err
}

// hearPipes turns SIGPIPE into an error of whoever writes, and that into the end of ctx. Terminals stay what they are: nobody takes them away without a SIGHUP.
// Programs that are started get the signal as it was.
func hearPipes(ctx context.Context, stdout, stderr *os.File) (_ context.Context, out, log io.Writer, stop func()) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGPIPE) // nobody reads it: Notify alone makes EPIPE of it
	ctx, cancel := context.WithCancelCause(ctx)
	wrap := func(f *os.File) io.Writer {
		if term.IsTerminal(int(f.Fd())) {
			return f
		}
		return piped{f, cancel}
	}
	return ctx, wrap(stdout), wrap(stderr), func() { cancel(nil) }
}
