package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// HAProxyOptions say which processes route, and where the table is kept.
type HAProxyOptions struct {
	// Path is the file that keeps the table, in the form of File. Clients do
	// not read it: they see what the processes do.
	Path string
	// Sockets are the runtime APIs of all processes that clients may come
	// through: a path, or host:port. Of a process in master-worker mode,
	// that of the master is better: it knows of workers that a reload left.
	Sockets []string
	// CutAfter is how long connections may stay open behind a closed gate
	// before they are cut. 0: they never are, and the switch is given up.
	CutAfter time.Duration
	Timeout  time.Duration // of one command; 0: 2 s
}

// HAProxy routes connections through HAProxy. For each pair and home there is
// a backend PAIR_HOME with the servers A, B and gate. Behind a closed gate only
// the server gate is ready, at an address that refuses: HAProxy keeps the
// connections of clients and tries again until another server is ready
// (docs/reference/routing.md has the configuration, decision 0006 the roads not taken).
//
// The table is kept in a file, and every process is made to show it. A change
// is written down as an intent first, then made in two rounds, each read back
// from every process before the next begins: servers, behind closed gates; then
// gates. So no client is sent to a new server while another process still
// sends clients to the old one.
type HAProxy struct {
	file     *File
	all      fleet
	cutAfter time.Duration

	// stop, in tests, is asked at named moments of a change; an error leaves
	// everything as a kill there would.
	stop func(point string) error
}

// NewHAProxy is the router for these processes. It does not dial.
func NewHAProxy(o HAProxyOptions) *HAProxy {
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	h := &HAProxy{file: NewFile(o.Path), cutAfter: o.CutAfter}
	for _, s := range o.Sockets {
		h.all = append(h.all, &haSocket{address: s, timeout: o.Timeout})
	}
	return h
}

// Guarantee implements Router.
func (h *HAProxy) Guarantee() Guarantee {
	g := Guarantee{Kind: Gated, Whole: true,
		Text: "new connections wait in HAProxy, open ones must end: no failed query and no stale read. " +
			"When clients keep connections open for longer than the drain budget, the switch is given up and nothing is changed. " +
			"It cannot switch a single shard: it does not know which one a connection is for"}
	if h.cutAfter > 0 {
		g.Kind = FlipOnly
		g.Text = fmt.Sprintf("new connections wait in HAProxy; one that is still open after %v is cut, and its client gets error 2013 or 2006, at COMMIT with unknown outcome. No stale read",
			h.cutAfter)
	}
	return g
}

// Create writes a first table and makes every process show it.
func (h *HAProxy) Create(ctx context.Context, pairs map[farm.PairName]*Pair) error {
	return h.Restore(ctx, &Table{FormatVersion: FormatVersion, Pairs: pairs})
}

// Restore implements Maker.
func (h *HAProxy) Restore(ctx context.Context, last *Table) error {
	var all []backend
	for name, p := range last.Pairs {
		some, err := wanted(name, p)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	shown, err := h.all.show(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range shown {
		if err := s.complete(all); err != nil {
			return err
		}
	}
	if err := h.file.Restore(ctx, last); err != nil {
		return err
	}
	_, err = h.Mend(ctx)
	return err
}

// Read implements Router.
func (h *HAProxy) Read(ctx context.Context) (*Table, error) {
	unlock, err := h.file.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	t, err := h.file.Read(ctx)
	if err != nil {
		return nil, err
	}
	if _, there, err := h.readIntent(); err != nil || there {
		if err == nil {
			err = fmt.Errorf("%w: a change was cut short", ErrDrift)
		}
		return nil, &farm.Error{Op: "read routing", Subject: h.file.path, Err: err, Hint: mendHint}
	}
	shown, err := h.all.show(ctx, nil)
	if err != nil {
		return nil, err
	}
	for name, p := range t.Pairs {
		want, err := wanted(name, p)
		if err != nil {
			return nil, err
		}
		if err := differs(shown, want); err != nil {
			return nil, &farm.Error{Op: "read routing", Subject: string(name), Err: err, Hint: mendHint}
		}
	}
	return t, nil
}

const mendHint = "was HAProxy restarted or changed by hand? stowage routing mend, or stowage resume, makes it show the table again"

// Mend implements Mender.
func (h *HAProxy) Mend(ctx context.Context) ([]string, error) {
	unlock, err := h.file.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	mended, err := h.finishIntent(ctx)
	if err != nil {
		return mended, err
	}
	t, err := h.file.Read(ctx)
	if err != nil {
		return mended, err
	}
	shown, err := h.all.show(ctx, nil)
	if err != nil {
		return mended, err
	}
	for name, p := range t.Pairs {
		want, err := wanted(name, p)
		if err != nil {
			return mended, err
		}
		drift := differs(shown, want)
		if drift == nil {
			continue
		}
		// Before the gate is closed again: who holds it has to know that it
		// was not.
		if p.anyGateClosed() {
			if err := h.markBreached(name, true); err != nil {
				return mended, err
			}
		}
		if err := h.make(ctx, h.all, want, nil); err != nil {
			return mended, err
		}
		mended = append(mended, fmt.Sprintf("%s: %v", name, drift))
	}
	slices.Sort(mended)
	return mended, nil
}

// Change implements Router. A process that does not answer blocks every change
// but one: a gate may open again where it was, through those that answer.
func (h *HAProxy) Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error {
	unlock, err := h.file.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := h.finishIntent(ctx); err != nil {
		return err
	}
	t, err := h.file.Read(ctx)
	if err != nil {
		return err
	}
	next, changed, err := edited(t, pair, edit, h.file.path)
	if err != nil {
		return err
	}
	c, err := newHAChange(pair, t.Pairs[pair], next)
	if err != nil {
		return err
	}
	who := h.all
	if c.onlyOpens() {
		who = h.all.answering(ctx)
	}
	if err := h.hold(ctx, who, c); err != nil || !changed {
		return err
	}
	if err := h.checkBreached(c); err != nil {
		return err
	}
	return h.replace(ctx, who, t, c)
}

// hold makes sure that every process shows what was decided before. Where one
// did not, clients may have passed a gate that was believed to be closed:
// then nobody is sent to another server on the strength of that gate.
func (h *HAProxy) hold(ctx context.Context, who fleet, c haChange) error {
	all, err := who.show(ctx, c.was)
	if err != nil {
		return err
	}
	drift := differs(all, c.was)
	if drift == nil {
		return nil
	}
	if err := h.make(ctx, who, c.was, nil); err != nil {
		return err
	}
	if c.sameServers() {
		return nil
	}
	return &farm.Error{Op: "change routing", Subject: string(c.pair), Err: drift,
		Hint: "HAProxy shows the table again, but clients may have passed in between: the switch starts again from its beginning"}
}

// replace makes the change: intent, processes, table.
func (h *HAProxy) replace(ctx context.Context, who fleet, t *Table, c haChange) error {
	in := intent{Pair: c.pair, Generation: t.Generation + 1, Next: c.next}
	if err := h.writeIntent(in); err != nil {
		return err
	}
	err := h.at("intent")
	if err == nil {
		err = h.make(ctx, who, c.will, func() error {
			if c.sameServers() {
				return nil
			}
			in.Gates = true
			return h.writeIntent(in)
		})
	}
	if err == nil {
		t.Pairs[c.pair] = c.next
		err = h.file.replace(t)
	}
	if err == nil {
		err = h.at("table")
	}
	if err == nil {
		return h.dropIntent()
	}
	if killed := (killedError{}); errors.As(err, &killed) {
		return err
	}
	return h.takeBack(ctx, in, c, err)
}

// takeBack makes the processes show what they showed before a change that
// failed. While gates were closed on the way to other servers that is safe
// whoever answers: one that does not has the old servers, or a closed gate.
// Once gates were opening it is safe only if none has opened.
func (h *HAProxy) takeBack(ctx context.Context, in intent, c haChange, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleBudget)
	defer cancel()
	if in.Gates {
		all, err := h.all.show(ctx, c.was)
		if err != nil || begun(all, c) {
			return &farm.Error{Op: "change routing", Subject: string(c.pair), Err: errors.Join(fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, cause), err),
				Hint: "some clients may have been sent on; when every HAProxy of routing.sockets answers again, stowage resume finishes the change"}
		}
	}
	err := h.make(ctx, h.all.answering(ctx), c.was, nil)
	if err == nil {
		err = h.dropIntent()
	}
	return errors.Join(cause, err)
}

// finishIntent ends a change that was cut short: forward when some process may
// have sent clients by it already, back when none can have.
func (h *HAProxy) finishIntent(ctx context.Context) (done []string, err error) {
	in, there, err := h.readIntent()
	if err != nil || !there {
		return nil, err
	}
	t, err := h.file.Read(ctx)
	if err != nil {
		return nil, err
	}
	old, known := t.Pairs[in.Pair]
	if !known || in.Generation != t.Generation+1 {
		return nil, h.dropIntent() // the table was written, and only this was left to do
	}
	c, err := newHAChange(in.Pair, old, in.Next)
	if err != nil {
		return nil, err
	}
	if in.Gates {
		all, err := h.all.show(ctx, c.was)
		if err != nil {
			return nil, err
		}
		if begun(all, c) {
			return h.finish(ctx, t, c)
		}
	}
	if err := h.make(ctx, h.all.answering(ctx), c.was, nil); err != nil {
		return nil, err
	}
	return []string{string(in.Pair) + ": a change that was cut short was taken back"}, h.dropIntent()
}

func (h *HAProxy) finish(ctx context.Context, t *Table, c haChange) ([]string, error) {
	if err := h.make(ctx, h.all, c.will, nil); err != nil {
		return nil, err
	}
	t.Pairs[c.pair] = c.next
	if err := h.file.replace(t); err != nil {
		return nil, err
	}
	return []string{string(c.pair) + ": a change that was cut short was finished"}, h.dropIntent()
}

// Drain implements Drainer. A connection that has just passed the gate is
// counted by no server for a moment, so none has to be seen several times.
func (h *HAProxy) Drain(ctx context.Context, pair farm.PairName, home farm.SideName, budget time.Duration) ([]string, error) {
	const looks, apart = 3, 5 * time.Millisecond
	if h.cutAfter > 0 {
		budget = h.cutAfter
	}
	cut, deadline, empty := false, time.Now().Add(budget), 0
	for {
		left, err := h.sessions(ctx, pair, home)
		if err != nil {
			return nil, err
		}
		if empty++; len(left) > 0 {
			empty = 0
		}
		late := time.Now().After(deadline)
		switch {
		case empty == looks:
			return nil, nil
		case len(left) > 0 && late && (cut || h.cutAfter == 0):
			return left, nil
		case len(left) > 0 && late:
			if err := h.cut(ctx, pair, home); err != nil {
				return nil, err
			}
			cut, deadline = true, time.Now().Add(time.Second)
		}
		if err := pause(ctx, apart); err != nil {
			return nil, err
		}
	}
}

// at is where tests kill a change.
func (h *HAProxy) at(point string) error {
	if h.stop == nil {
		return nil
	}
	if err := h.stop(point); err != nil {
		return killedError{err}
	}
	return nil
}

// killedError stands for the death of the process: nothing is cleaned up.
type killedError struct{ error }

func (e killedError) Unwrap() error { return e.error }

func backendName(pair farm.PairName, home farm.SideName) string {
	return strings.Join([]string{string(pair), string(home)}, "_")
}
