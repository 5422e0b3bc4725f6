package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/mysql"
)

// Far is another machine, on which a Station carries out orders. An agent
// plays it (agent.Remote).
type Far interface {
	// Record waits until what was ordered has ended; told hears how far it is.
	Record(ctx context.Context, n farm.InstanceName, order []byte, told func(string)) ([]byte, error)
	EndRecording(ctx context.Context, n farm.InstanceName, order []byte) error
	ReadRecording(ctx context.Context, n farm.InstanceName, id string, offset int64) ([]byte, error)
	ForgetRecording(ctx context.Context, n farm.InstanceName, id string) error
}

const (
	// patience is how long after the end of its window a recording elsewhere
	// is waited for: its last file has to be digested, and a line may be cut.
	patience = 10 * time.Minute
	// patienceStopped is the same after Ctrl-C.
	patienceStopped = 2 * time.Minute
	callPatience    = time.Minute // for what takes no time
)

// Through has the machine of an instance record it. Everything that Options
// bounds is bounded there. When ctx ends, the window ends there, and what was
// recorded is returned.
//
// An error that is farm.ErrOutcomeUnknown means that not all is known, or
// done: the entry is to be kept, so that Fetch asks again.
func (r *Recorder) Through(ctx context.Context, far Far, e *Entry, t Target, login mysql.Account) (Result, *digest.Digest, error) {
	res := Result{Instance: t.Instance, Address: t.Address, Stopped: StopFailed, SettingsRestored: []string{}}
	if r.Options.For > farLimit {
		return res, nil, &farm.Error{Op: "record", Subject: string(t.Instance), Err: fmt.Errorf("%w: a window on another machine is %v long at most", farm.ErrInput, farLimit)}
	}
	if ctx.Err() != nil {
		res.Stopped = StopInterrupted // nothing has been ordered
		return res, nil, nil
	}
	f := &fetch{far: far, e: e, order: orderOf(e, login)}
	f.order.Shared, f.order.Options = t.Shared, r.Options
	told := &follower{tell: r.tell, n: t.Instance}
	defer told.over()
	waiting, giveUp := context.WithTimeout(context.WithoutCancel(ctx), r.Options.For+patience)
	defer giveUp()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(patienceStopped, giveUp)
		_ = f.end(waiting) // unheard, the window ends as it was ordered to
	})()
	res, d, err := f.take(waiting, told.hear)
	told.last = res
	return res, d, err
}

// Fetch ends a recording whose program is gone, and takes what came of it.
func Fetch(ctx context.Context, far Far, e *Entry, login mysql.Account) (Result, *digest.Digest, error) {
	f := &fetch{far: far, e: e, order: orderOf(e, login)}
	f.order.OnlyKnown = true
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := f.end(within); err != nil {
		return Result{Instance: e.Instance, Address: e.Address, Stopped: StopUnknown, SettingsRestored: []string{}}, nil, err
	}
	if e.Taken {
		return Result{Instance: e.Instance, Address: e.Address, Stopped: StopInterrupted, SettingsRestored: []string{}}, nil, nil
	}
	return f.take(within, nil)
}

// Settle tells the other machine that everything is kept here, and forgets the
// order, unless err says that the server may not be as before.
func Settle(ctx context.Context, far Far, e *Entry, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
	defer cancel()
	if e.came {
		// What is not dropped now, the station drops in a month.
		_ = far.ForgetRecording(ctx, e.Instance, e.ID)
	}
	switch {
	case e.IsOver(err):
		return e.done()
	case e.came:
		return e.halfDone()
	}
	return nil
}

func orderOf(e *Entry, login mysql.Account) Order {
	return Order{Version: orderVersion, ID: e.ID, Instance: e.Instance, Address: e.Address, From: e.From, Login: login}
}

// fetch is one order on its way, and what comes back.
type fetch struct {
	far   Far
	e     *Entry
	order Order
}

func (f *fetch) end(ctx context.Context) error {
	raw, err := json.Marshal(f.order)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	return f.far.EndRecording(ctx, f.e.Instance, raw)
}

// take waits for the outcome and reads the digest.
func (f *fetch) take(ctx context.Context, told func(string)) (Result, *digest.Digest, error) {
	res := Result{Instance: f.e.Instance, Address: f.e.Address, Stopped: StopUnknown, SettingsRestored: []string{}}
	order, err := json.Marshal(f.order)
	if err != nil {
		return res, nil, err
	}
	raw, err := f.far.Record(ctx, f.e.Instance, order, told)
	if err != nil {
		if !errors.Is(err, farm.ErrRefused) && !errors.Is(err, farm.ErrInput) {
			err = f.lost(err)
		}
		return res, nil, err
	}
	var out Outcome
	if err := nested.Unmarshal(raw, &out); err != nil {
		return res, nil, f.lost(err)
	}
	res = out.Result
	var d *digest.Digest
	if out.Digest > 0 {
		if d, err = f.read(ctx, out.Digest); err != nil {
			return res, nil, f.lost(err)
		}
	}
	f.e.came = out.Ended
	return res, d, out.Fault.Err()
}

// lost is an answer that did not come: it may still.
func (f *fetch) lost(err error) error {
	return &farm.Error{Op: "record", Subject: string(f.e.Instance), Err: fmt.Errorf("%w: what came of it is not known: %w", farm.ErrOutcomeUnknown, err),
		Hint: "the agent puts the settings back when the window ends and keeps the digest: stowage digest record --restore fetches it"}
}

// read fetches the stored digest, piece by piece.
func (f *fetch) read(ctx context.Context, size int64) (*digest.Digest, error) {
	var b strings.Builder
	for int64(b.Len()) < size {
		part, err := f.far.ReadRecording(ctx, f.e.Instance, f.e.ID, int64(b.Len()))
		if err != nil {
			return nil, err
		}
		if len(part) == 0 {
			return nil, fmt.Errorf("its digest ends after %d of %d bytes", b.Len(), size)
		}
		b.Write(part)
	}
	return digest.Decode(strings.NewReader(b.String()))
}

// follower turns what is told of a recording elsewhere into Progress.
type follower struct {
	tell func(Progress)
	n    farm.InstanceName
	last Result

	mu           sync.Mutex
	began, ended bool
}

func (w *follower) hear(text string) {
	var t telling
	if nested.Unmarshal([]byte(text), &t) != nil {
		return // of another version: no progress is shown
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := Progress{Instance: w.n, Bytes: t.Bytes, Began: t.Began && !w.began, Ended: t.Ended && !w.ended, Stopped: t.Stopped}
	w.began, w.ended = w.began || t.Began, w.ended || t.Ended
	w.tell(p)
}

// over tells the end to those who have not heard of it.
func (w *follower) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.tell(Progress{Instance: w.n, Bytes: w.last.Bytes, Began: !w.began && w.last.Seconds > 0, Ended: true, Stopped: w.last.Stopped})
	}
}
