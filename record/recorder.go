package record

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

// Recorder records windows. It is safe for several instances at once.
type Recorder struct {
	Dir     string // where journals are kept
	Options Options
	Log     *slog.Logger
	// Progress is told about every look at a window; may be nil. It is called
	// from several goroutines.
	Progress func(Progress)
	// Sum is given the digest of the files of a log up to the n-th before the
	// n-th is removed; may be nil.
	Sum func(n int, d *digest.Digest) error
	// Save is the name under which the digest is to be kept. Where it is given, the digest of the files so far is kept beside
	// the journal, and Restore hands Keep what a recording that was killed had come to. Keep may be nil: then it is lost.
	Save string
	Keep func(save string, d *digest.Digest) error
	// Salvage is given the journal of a recording that was cut short: the
	// settings are back, and its files are still there. May be nil.
	Salvage func(ctx context.Context, j Journal)
	// Border is told every border between steps; tests kill the program there,
	// or let the step fail. Nil in production.
	Border func(point string) error
}

// Target is an instance to record.
type Target struct {
	Instance farm.InstanceName
	Address  string // host:port
	Server   func(farm.InstanceName, string) *mysql.Server
	Place    Place // where its log lies
	// Shared: other instances of this machine listen on the same port, so
	// that packets must also have the address.
	Shared bool
}

// isHere is nil when the instance's address is one of this machine.
func (t Target) isHere(ctx context.Context) error {
	host, _, err := net.SplitHostPort(t.Address)
	if err != nil {
		return &farm.Error{Op: "record", Subject: string(t.Instance), Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	here, err := IsHere(ctx, host)
	if err != nil || here {
		return err
	}
	return &farm.Error{Op: "record", Subject: string(t.Instance),
		Err:  fmt.Errorf("%w: %s is not an address of this machine, and traffic is recorded where the server runs", farm.ErrInput, t.Address),
		Hint: "run stowage there, in a copy of this workspace"}
}

// Progress is how far one window is.
type Progress struct {
	Instance farm.InstanceName
	Bytes    int64 // so far
	Began    bool  // from now on everything is recorded; told once
	Ended    bool  // told once, with the reason
	Stopped  Stop
}

func (r *Recorder) tell(p Progress) {
	if r.Progress != nil {
		r.Progress(p)
	}
}

// step runs one step between two borders.
func (r *Recorder) step(name string, do func() error) error {
	if err := r.border("before " + name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return r.border("after " + name)
}

func (r *Recorder) border(point string) error {
	if r.Border == nil {
		return nil
	}
	return r.Border(point)
}

// Points are all borders of a recording from the slow log that changes these
// settings, in about the order in which they are met. Tests kill at each.
func Points(settings []traffic.SlowLogSetting) []string {
	steps := []string{"check", "journal"}
	for _, s := range settings {
		steps = append(steps, "switch "+s.Name)
	}
	steps = append(steps, "open", "rotate", "digest")
	for _, s := range restoreOrder(settings) {
		steps = append(steps, "restore "+s.Name)
	}
	var out []string
	for _, s := range append(steps, "clean", "forget") {
		out = append(out, "before "+s, "after "+s)
	}
	return slices.Clip(out)
}

// Each calls do for every target, or whatever else is one an instance, at most
// parallel at once, and returns when all have ended. do must not panic; an
// error of one does not end the others.
func Each[T any](ctx context.Context, targets []T, parallel int, do func(context.Context, int, T)) {
	room := make(chan struct{}, max(1, parallel))
	var wg sync.WaitGroup
	for i, t := range targets {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			do(ctx, i, t)
		})
	}
	wg.Wait()
}
