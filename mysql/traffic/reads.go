package traffic

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"stowage/digest"
	"stowage/mysql"
	"stowage/replay/effect"
)

// Read is a statement that a client sent: a query of tables that changes nothing and takes no locks.
type Read struct {
	DB   string // the client's database; may be empty
	Text string
}

// Reads watches what a server is asked and keeps the reads that can be sent again: the
// history of performance_schema where that is on, else the statements that run at the moment
// one looks. It sets nothing, and looks for a fifth of the time at most.
//
// What it has seen is a sample of the executions, not of the statements: what is asked more often
// is in it more often.
type Reads struct {
	r       *Statements
	history *History
	last    Tick
	seen    map[uint64]bool // query ids of the last look at what runs
	lasted  []time.Duration // how long those had been running that were met last, up to recently

	Seen int // statements of clients, of which some were kept
}

// OpenReads opens the session that looks. Close it.
func OpenReads(ctx context.Context, server *mysql.Server) (*Reads, error) {
	r, err := OpenStatements(ctx, server)
	if err != nil {
		return nil, err
	}
	w := &Reads{r: r}
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return w, nil
}

func (w *Reads) begin(ctx context.Context) error {
	consumers, err := w.r.Schema(ctx)
	if err != nil {
		return nil // off, or not to be read: then by what runs
	}
	if w.history, err = w.r.History(ctx, consumers); err != nil {
		w.history = nil
		return nil
	}
	w.last, err = w.history.Tick(ctx)
	if errors.Is(err, ErrNoHistory) {
		w.history, err = nil, nil
	}
	return err
}

// Close ends the session.
func (w *Reads) Close() error { return w.r.Close() }

// Source is where statements are seen, for people.
func (w *Reads) Source() string {
	if w.history != nil {
		return "performance_schema." + w.history.Table()
	}
	return "the process list"
}

// IsSampled reports whether only what runs at the moment of a look is seen.
func (w *Reads) IsSampled() bool { return w.history == nil }

// CanSee reports whether there is a source at all. MySQL's process list says only in whole seconds how
// long a statement has been running, which is no fair sample: there it takes the history.
func (w *Reads) CanSee() bool { return w.history != nil || w.r.flavor.Vendor == "MariaDB" }

// Gather looks until it has so many reads or the time is over.
func (w *Reads) Gather(ctx context.Context, most int, during time.Duration) (out []Read, err error) {
	for end := time.Now().Add(during); len(out) < most && time.Now().Before(end); {
		began := time.Now()
		look := w.running
		if w.history != nil {
			look = w.ended
		}
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		if err := rest(ctx, max(5*time.Millisecond, 4*time.Since(began))); err != nil {
			return nil, err
		}
	}
	return out[:min(len(out), most)], nil
}

// leastFresh and recently bound how long a statement may have been running to be taken: no longer than a quarter of those that were met. Looking at
// any moment meets a statement of 10 ms a hundred times as often as one of 0.1 ms: most of the sample would be what misses the pool on
// this server, too. Of those that have only just begun each is met as often as it is asked.
const leastFresh, recently = 200 * time.Microsecond, 200

// looks is how often one question to the server looks at what runs: what begins between the first and the last is met for certain.
const looks = 10

func (w *Reads) running(ctx context.Context) (out []Read, err error) {
	now, err := w.r.runningLooks(ctx, looks)
	seen := map[uint64]bool{}
	fresh := w.fresh()
	for _, s := range now {
		known := seen[s.QueryID] || w.seen[s.QueryID]
		if seen[s.QueryID] = true; known || s.User == "system user" || strings.Contains(s.Query, ownMark) {
			continue
		}
		w.Seen++
		w.lasted = append(w.lasted, s.Lasts)
		if s.Lasts <= fresh && isPlainRead([]byte(s.Query)) {
			out = append(out, Read{s.DB, s.Query})
		}
	}
	w.seen = seen
	w.lasted = w.lasted[max(0, len(w.lasted)-recently):]
	return out, err
}

func (w *Reads) fresh() time.Duration {
	if len(w.lasted) < 8 {
		return leastFresh
	}
	return max(leastFresh, slices.Sorted(slices.Values(w.lasted))[len(w.lasted)/4])
}

func (w *Reads) ended(ctx context.Context) (out []Read, err error) {
	now, err := w.history.Tick(ctx)
	if err != nil {
		return nil, err
	}
	_, err = w.history.Poll(ctx, now, w.last.Timer, 0, func(s *digest.Statement, _ bool) error {
		w.Seen++
		if !s.Cut && !s.Error && isPlainRead(s.Query) {
			out = append(out, Read{s.DB, string(s.Query)})
		}
		return nil
	})
	w.last = now
	return out, err
}

// isPlainRead: a query of tables that is known to change nothing, lock nothing, wait for nothing, and to need nothing that only
// its own session has. A statement says itself how long it may take: not with us.
func isPlainRead(text []byte) bool {
	if len(text) > longestRead {
		return false
	}
	j := effect.Judge(text, effect.Mode{})
	if j.Kind != effect.Read || !j.IsQuery || j.Variables || j.Params > 0 || len(j.Parts) > 0 {
		return false
	}
	lower := strings.ToLower(string(text))
	return strings.Contains(lower, "from") && !strings.Contains(lower, "max_execution_time") && !strings.Contains(lower, "set_var")
}

// longestRead bounds what is kept of the texts.
const longestRead = 64 << 10

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
