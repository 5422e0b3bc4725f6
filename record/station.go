package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
)

// Station records on the machine it runs on what a program elsewhere orders,
// and keeps what came of it until it is taken. An agent is handed one.
//
// An order is known by its ID: asked for twice, it is carried out once, also
// when the machine's agent died in between. Then its window is over: the
// server is put back, and what is there of the log is digested.
type Station struct {
	Dir    string // journals; logins, while settings are changed; what was recorded, until it is taken
	Log    *slog.Logger
	Border func(point string) error // as Recorder.Border

	mu   sync.Mutex
	live map[string]*sitting            // by ID
	busy map[farm.InstanceName]*sitting // one at a time
	shut map[string]bool                // by ID: ended before they came
}

// sitting is one order that is being carried out.
type sitting struct {
	end  context.CancelFunc
	done chan struct{}
	out  Outcome
	told bool // to end, by who ordered it
}

// Record carries out an order and returns what came of it, or joins the one
// that does. told hears how far it is. When ctx ends, the window does, and
// everything is put back before Record returns.
func (s *Station) Record(ctx context.Context, order []byte, told func(string)) ([]byte, error) {
	o, err := readOrder(order)
	if err != nil {
		return nil, err
	}
	within, end := context.WithCancel(ctx)
	defer end()
	x, mine := s.join(o.ID, end)
	if mine {
		x.out = s.carryOut(within, o, x, told)
		s.leave(o.ID, x)
		return json.Marshal(x.out)
	}
	select {
	case <-x.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return json.Marshal(x.out)
}

func (s *Station) join(id string, end context.CancelFunc) (x *sitting, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.live[id]; x != nil {
		return x, false
	}
	if s.live == nil {
		s.live = map[string]*sitting{}
	}
	x = &sitting{end: end, done: make(chan struct{})}
	s.live[id] = x
	return x, true
}

func (s *Station) leave(id string, x *sitting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, id)
	close(x.done)
}

// occupy takes an instance for x, so that nobody else changes its login or
// puts it back meanwhile.
func (s *Station) occupy(n farm.InstanceName, x *sitting) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[n] != nil {
		return nil, false
	}
	if s.busy == nil {
		s.busy = map[farm.InstanceName]*sitting{}
	}
	s.busy[n] = x
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, n)
	}, true
}

func (s *Station) carryOut(ctx context.Context, o Order, x *sitting, told func(string)) Outcome {
	refuse := func(err error, hint string) Outcome {
		return o.without(StopFailed, &farm.Error{Op: "record", Subject: string(o.Instance), Err: err, Hint: hint})
	}
	k, err := s.readKept(o.ID)
	switch {
	case err == nil && k.Taken:
		return refuse(fmt.Errorf("%w: this recording has ended, and its result was already fetched", farm.ErrRefused), "")
	case err == nil && k.Ended:
		return k.Outcome
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return refuse(err, "")
	case err != nil && o.OnlyKnown:
		return refuse(fmt.Errorf("%w: its agent knows nothing of this recording: it was never begun there, or the agent has lost its directory", errNothing), "")
	}
	if s.isShut(o.ID) {
		out := o.without(StopInterrupted, nil)
		out.Ended = true
		return out
	}
	release, ok := s.occupy(o.Instance, x)
	if !ok {
		return refuse(fmt.Errorf("%w: another recording of it is under way", farm.ErrRefused), "wait for it to end; stowage digest record --restore ends one whose program died")
	}
	defer release()
	if err == nil { // begun by a process that is dead
		return s.endCut(ctx, k, o.Login)
	}
	if err := s.endAllCut(ctx, o); err != nil {
		return refuse(err, "")
	}
	return s.record(ctx, o, x, told)
}

// errNothing: there is nothing to be fetched, now or later.
var errNothing = fmt.Errorf("%w: nothing was recorded", farm.ErrUndone)

// record is the window itself, between what has to be on the disk before and
// after.
func (s *Station) record(ctx context.Context, o Order, x *sitting, told func(string)) Outcome {
	k := kept{Version: keptVersion, ID: o.ID, Instance: o.Instance, Address: o.Address, From: o.From, Began: time.Now(), Counts: o.Options.Digest}
	s.sweep(k.Began)
	if err := s.begin(k, o.Login); err != nil {
		return o.without(StopFailed, errors.Join(err, s.dropLogin(o.Instance), removed(s.keptPath(o.ID))))
	}
	r := s.recorder(o.Options)
	r.Progress, r.Sum = tell(told), s.keepPart(o.ID)
	take := r.SlowLog
	if o.From == FromNetwork {
		take = r.Network
	}
	res, d, err := take(ctx, Target{Instance: o.Instance, Address: o.Address, Server: s.server(o.Login), Place: Here{}, Shared: o.Shared})
	if res.Stopped == StopInterrupted && !s.wasTold(x) {
		res.Stopped, res.Detail = StopCut, "its agent was stopped"
	}
	k.Outcome.Result = res
	return s.conclude(k, d, err)
}

// conclude keeps what came of a recording and, when the server is as it was,
// forgets the login.
func (s *Station) conclude(k kept, d *digest.Digest, err error) Outcome {
	if d != nil {
		n, keepErr := s.keepDigest(k.ID, d)
		k.Outcome.Digest, err = n, errors.Join(err, keepErr)
	}
	if !s.isLeft(k.Instance) {
		err = errors.Join(err, s.dropLogin(k.Instance))
	}
	k.Ended, k.Outcome.Ended, k.Outcome.Fault = true, true, faultOf(err)
	if err := s.keep(k); err != nil {
		s.Log.Error("what was recorded cannot be kept for a second asking", "instance", k.Instance, "error", err)
	}
	return k.Outcome
}

func (s *Station) recorder(o Options) *Recorder {
	return &Recorder{Dir: s.Dir, Options: o, Log: s.Log, Border: s.Border}
}

func (s *Station) server(login mysql.Account) func(farm.InstanceName, string) *mysql.Server {
	return func(n farm.InstanceName, address string) *mysql.Server { return mysql.Open(n, address, login, s.Log) }
}

// tell passes progress on. Each telling holds what the ones before it said.
func tell(told func(string)) func(Progress) {
	if told == nil {
		return nil
	}
	var mu sync.Mutex
	var t telling
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		t.Bytes, t.Began, t.Ended = max(t.Bytes, p.Bytes), t.Began || p.Began, t.Ended || p.Ended
		if p.Ended {
			t.Stopped = p.Stopped
		}
		if text, err := json.Marshal(t); err == nil {
			told(string(text))
		}
	}
}

// End ends the window of an order early. Without one under way it puts back
// what a recording of the instance has left, with the login that it brings.
func (s *Station) End(ctx context.Context, order []byte) error {
	o, err := readOrder(order)
	if err != nil {
		return err
	}
	s.mu.Lock()
	x := s.live[o.ID]
	switch {
	case x != nil:
		x.told = true
	case !o.OnlyKnown:
		if s.shut == nil {
			s.shut = map[string]bool{}
		}
		s.shut[o.ID] = true
	}
	s.mu.Unlock()
	if x != nil {
		x.end()
		return nil
	}
	if k, err := s.readKept(o.ID); err == nil && !k.Ended || !s.isLeft(o.Instance) {
		return nil // Record ends it, with the login that it brings
	}
	release, ok := s.occupy(o.Instance, &sitting{})
	if !ok {
		return &farm.Error{Op: "put back", Subject: string(o.Instance), Err: fmt.Errorf("%w: another recording of it is under way", farm.ErrRefused), Hint: "wait for it to end"}
	}
	defer release()
	if _, err = s.recorder(Options{}).Restore(ctx, o.Instance, Here{}, s.server(o.Login)); err != nil {
		return err
	}
	return s.dropLogin(o.Instance)
}

func (s *Station) wasTold(x *sitting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return x.told
}

func (s *Station) isShut(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut[id]
}

func (s *Station) isLeft(n farm.InstanceName) bool {
	_, err := readJournal(s.Dir, n)
	return !errors.Is(err, fs.ErrNotExist)
}

func (s *Station) outcomes() string { return filepath.Join(s.Dir, "outcomes") }
