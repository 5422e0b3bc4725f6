package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stowage/engine"
	"stowage/farm"
)

// desk keeps the calls of one agent in order.
//
// A call that is delivered again while it runs, because the line to the engine
// was cut for a while, is joined; one that has ended is answered from memory.
// Calls that change the same directory take turns. A later program's call ends
// those of an earlier one first.
type desk struct {
	termFile string
	root     context.Context // ends with the agent
	halt     context.CancelCauseFunc

	mu    sync.Mutex
	term  int64
	calls map[string]*running
	held  map[string]*running // by directory
}

type running struct {
	id, asker string
	term      int64
	again     bool
	beside    bool // it goes on beside a program that has taken over
	cancel    context.CancelCauseFunc
	done      chan struct{}
	out       answer
	ended     time.Time
	progress  atomic.Value // string: how far it is
}

const (
	// remembered is how long an answer is kept for a delivery that comes again.
	remembered = 15 * time.Minute
	termName   = "newest-program"
)

// Causes of a call's end.
var (
	errTakenOver = errors.New("a program that began later has taken over")
	errStopping  = errors.New("the agent is stopping")
)

func newDesk(dir string) (*desk, error) {
	k := &desk{termFile: filepath.Join(dir, termName), calls: map[string]*running{}, held: map[string]*running{}}
	k.root, k.halt = context.WithCancelCause(context.Background())
	raw, err := os.ReadFile(k.termFile)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		k.term, err = strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	}
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: k.termFile, Err: err, Hint: "remove the file when no move is under way"}
	}
	return k, nil
}

// stop cancels everything and waits for it. Servers run on.
func (k *desk) stop() {
	k.halt(errStopping)
	k.mu.Lock()
	var all []*running
	for _, r := range k.calls {
		all = append(all, r)
	}
	k.mu.Unlock()
	for _, r := range all {
		<-r.done
	}
}

// join runs a call, or joins the one that runs or has run under the same id.
// An error means that the call did not come to its end here.
func (k *desk) join(ctx context.Context, d engine.Delivery, q request, work func(context.Context, *running) answer) (answer, error) {
	r, err := k.take(d, q, work)
	if err != nil {
		return answer{Error: toWire(err)}, nil
	}
	if err := r.await(ctx, d.Beat); err != nil {
		return answer{}, err
	}
	if k.root.Err() != nil && r.out.Error != nil {
		return answer{}, errStopping // cut short by us: the next agent's
	}
	return r.out, nil
}

// await waits for the end of a call and passes on how far it is.
func (r *running) await(ctx context.Context, beat func(string)) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.done:
			return nil
		case <-tick.C:
			if text, ok := r.progress.Load().(string); ok && beat != nil {
				beat(text)
			}
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), engine.ErrCallCancelled) {
				return context.Cause(ctx) // the next delivery joins it
			}
			r.cancel(engine.ErrCallCancelled)
			<-r.done
			return nil
		}
	}
}

func (k *desk) take(d engine.Delivery, q request, work func(context.Context, *running) answer) (*running, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.calls[d.ID]; r != nil {
		return r, nil
	}
	if time.Now().After(q.Until) {
		return nil, fmt.Errorf("%w: the call came after %s, too late: the program no longer waited for it", farm.ErrRefused, q.Until.Format(time.RFC3339))
	}
	// Whoever only looks takes nothing over, and neither does who records.
	if takes := takesOver(q); takes && q.Term < k.term {
		return nil, fmt.Errorf("%w: %w", farm.ErrRefused, errTakenOver)
	} else if takes && q.Term > k.term {
		if err := k.remember(q.Term); err != nil {
			return nil, err
		}
	}
	k.forget()
	ctx, cancel := context.WithCancelCause(k.root)
	r := &running{id: d.ID, asker: q.Asker, term: q.Term, again: d.Again, beside: isBeside(q), cancel: cancel, done: make(chan struct{})}
	waits := k.endOlder(q)
	place, before := keyOf(q), (*running)(nil)
	if place != "" {
		before = k.held[place]
		if before != nil && isKept(q) {
			before.cancel(errTakenOver)
		}
		k.held[place] = r
	}
	k.calls[d.ID] = r
	go k.run(ctx, r, place, before, waits, work)
	return r, nil
}

// endOlder cancels what must have ended before a call begins: everything an
// earlier program asked for, and what this one no longer waits for.
func (k *desk) endOlder(q request) (waits []*running) {
	if !takesOver(q) {
		return nil
	}
	for _, r := range k.calls {
		if r.isOver() || r.beside {
			continue
		}
		given := false
		for _, id := range q.GivenUp {
			given = given || id == r.id
		}
		if r.term < q.Term || given {
			r.cancel(errTakenOver)
			waits = append(waits, r)
		}
	}
	return waits
}

func (r *running) isOver() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// run waits for its turn, works, and lets the next one in.
func (k *desk) run(ctx context.Context, r *running, place string, before *running, waits []*running, work func(context.Context, *running) answer) {
	for _, w := range waits {
		<-w.done
	}
	if before != nil {
		<-before.done
	}
	if err := context.Cause(ctx); err != nil {
		r.out = answer{Error: toWire(fmt.Errorf("it has not begun: %w", err))}
	} else {
		r.out = work(ctx, r)
	}
	r.cancel(nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	r.ended = time.Now()
	if k.held[place] == r {
		delete(k.held, place)
	}
	close(r.done)
}

// remember keeps the newest program's term where the next agent finds it.
func (k *desk) remember(term int64) error {
	tmp := k.termFile + ".new"
	err := os.WriteFile(tmp, []byte(strconv.FormatInt(term, 10)+"\n"), 0o600)
	if err == nil {
		err = os.Rename(tmp, k.termFile)
	}
	if err != nil {
		return &farm.Error{Op: "remember who asks", Subject: k.termFile, Err: err}
	}
	k.term = term
	return nil
}

// forget drops answers that nobody will ask for again.
func (k *desk) forget() {
	for id, r := range k.calls {
		if r.isOver() && time.Since(r.ended) > remembered {
			delete(k.calls, id)
		}
	}
}

// keyOf is the directory that a call changes, or "" for one that only looks.
func keyOf(q request) string {
	switch q.Call {
	case callWriteFile:
		return filepath.Dir(filepath.Clean(q.Path))
	case callClaim, callWipe, callRemove, callPrepare, callStart, callNoteStart, callStartAgain, callRollbackPrepared, callStop, callRetire, callFound, callSetUp:
		return filepath.Clean(q.Instance.Dir())
	}
	if q.Call == callFetch && (q.Target.Piece != nil || q.Target.Spool != "") {
		return "" // pieces of binary logs: two of them do not harm each other
	}
	if q.Call == callFetch && !isKept(q) {
		return filepath.Clean(q.Target.Instance.Dir())
	}
	if isKept(q) {
		to := q.Target.Stored
		return filepath.Join("vault", to.Place.Dir, to.Place.Restic, to.Set)
	}
	return ""
}

// isKept: a copy that goes into a vault, which many programs use at the same time. It ends an earlier one of the same set, and no other call.
func isKept(q request) bool {
	return q.Call == callFetch && (q.Target.Stored.Set != "" || q.Target.Spool != "")
}

// takesOver reports whether a call ends what earlier programs have begun, and
// is refused after a later one has taken over.
func takesOver(q request) bool {
	return keyOf(q) != "" && !isKept(q) || q.Call == callOffer || q.Call == callPace
}

// isChange reports whether a call does more than look.
func isChange(q request) bool {
	return takesOver(q) || isKept(q) || isRecording(q) && q.Call != callReadRecording || q.Call == callCommand || q.Call == callVault && vaultOp(q).changes() || q.Call == callBinlogs && binlogOp(q).changes()
}

// isBeside: such a call must neither end one that another program has under way, nor end with one that begins. A command runs once, whoever asks.
func isBeside(q request) bool { return isRecording(q) || q.Call == callCommand || isKept(q) }

// isRecording: such a call is beside moves. It must neither end one that
// another program has under way, nor end with one that begins.
func isRecording(q request) bool {
	return q.Call == callRecord || q.Call == callEndRecording || q.Call == callReadRecording || q.Call == callForgetRecording
}
