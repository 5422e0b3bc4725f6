package main

import (
	"context"
	"fmt"
	"time"

	"stowage/digest"
	"stowage/mysql/traffic"
)

// glance is how often the list of processes is read.
const glance = 100 * time.Millisecond

const (
	noteLooked   = "seen in the list of processes while they ran: shorter ones are missed, and times are up to 0.1 s too short"
	noteStillRun = "were still running at the end: counted with their time until then"
)

// runningKey tells one execution from the next of the same thread.
type runningKey struct {
	thread, query uint64
	text          string // where the server has no number for queries
}

// readProcesses looks at what runs, ten times a second, and counts each statement when it is gone. It sees what takes long, on
// any server, with nothing switched on; what is short it sees by chance.
func (a *app) readProcesses(ctx context.Context, r *traffic.Statements, name string, lf liveFlags, o digest.Options) (*digest.Digest, error) {
	b := digest.New(o)
	in := b.Live(name, "processlist", r.Dialect())
	a.say("%s: reading the list of processes for %s; statements shorter than %s are mostly missed, so counts are too low", name, lf.window, glance)
	seen := map[runningKey]*digest.Statement{}
	for end := time.Now().Add(lf.window); time.Now().Before(end); {
		running, err := r.Running(ctx)
		if err != nil {
			return nil, err
		}
		now, there := time.Now(), map[runningKey]bool{}
		for _, x := range running {
			key := runningKey{thread: x.Thread, query: x.QueryID}
			if x.QueryID == 0 {
				key.text = x.Query
			}
			there[key] = true
			s := seen[key]
			if s != nil && x.Lasts < s.Time { // the same text again
				in.Statement(s)
				s = nil
			}
			if s == nil {
				s = &digest.Statement{Query: []byte(x.Query), Timed: true, Thread: x.Thread, User: x.User, Host: x.Host, DB: x.DB, At: now.Add(-x.Lasts).UTC()}
				seen[key] = s
			}
			s.Time = x.Lasts
		}
		for key, s := range seen {
			if !there[key] {
				in.Statement(s)
				delete(seen, key)
			}
		}
		if err := wait(ctx, glance); err != nil {
			return nil, fmt.Errorf("read the list of processes: %w", err)
		}
	}
	still := uint64(len(seen))
	for _, s := range seen {
		in.Statement(s)
	}
	in.Note(noteStillRun, still)
	in.Note(noteLooked, in.Events())
	in.Close()
	a.say("%s: %d statements were seen", name, in.Events())
	return b.Digest(), nil
}
