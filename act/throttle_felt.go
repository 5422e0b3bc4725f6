package act

import (
	"context"
	"fmt"
	"math"
	"time"

	"stowage/mysql"
	"stowage/pace"
)

// felt is what the clients of a server feel: how long their statements take, where the server counts that (mysql.ServedSources). A copy that nobody waits for is
// slowed by it long before threads pile up.
type felt struct {
	wanted bool // somebody asks for it
	asked  bool // what the server counts is known
	source mysql.ServedSource
	last   mysql.Served
	usual  mean    // before any copy of this run
	raised float64 // seconds: what is taken for usual since a copy at its floor changed nothing; it falls again
	now    float64
}

// mean is the time of so many statements.
type mean struct {
	statements uint64
	time       time.Duration
}

func (m mean) seconds() float64 { return m.time.Seconds() / float64(max(1, m.statements)) }

const (
	// fewest statements that make a mean; with less, the next look is waited for.
	fewest = 20
	// noiseFelt is a time of a statement, in seconds, that clients do not notice.
	noiseFelt = 0.0002
	// sensitive makes 1.5 times the usual time as much as three times the statements in flight (pace.Defaults), and 1.25 times the end of calm.
	sensitive = 4
)

// look reads the counters. A server that does not count is not asked again.
func (f *felt) look(ctx context.Context, server *mysql.Server, learning bool) error {
	if !f.wanted {
		return nil
	}
	if !f.asked {
		sources, err := server.ServedSources(ctx)
		if err != nil {
			return err
		}
		if f.asked = true; len(sources) > 0 {
			f.source = sources[0]
		}
	}
	if f.source == "" {
		return nil
	}
	is, err := server.Served(ctx, f.source)
	if err != nil {
		return err
	}
	since, ok := is.Since(f.last)
	if f.last.Source == "" || !ok {
		f.last = is
		return nil
	}
	m := mean{since.Statements(), since.Took()}
	if m.statements < fewest {
		return nil
	}
	f.last = is
	if learning || f.usual.statements == 0 {
		f.usual = mean{f.usual.statements + m.statements, f.usual.time + m.time}
		f.now = f.usual.seconds()
		return nil
	}
	f.now += weight * (m.seconds() - f.now)
	f.raised = min(f.raised, f.raised+weight/3*(f.now-f.raised))
	return nil
}

// normal is the time of a statement that a copy is compared with.
func (f *felt) normal() float64 { return max(f.usual.seconds(), f.raised) }

// worsen puts it into a reading if it is the worst so far.
func (f *felt) worsen(r *pace.Reading, name string) {
	usual := f.normal()
	if f.usual.statements == 0 {
		return
	}
	load := 1 + sensitive*(f.now/math.Max(noiseFelt, usual)-1)
	if load > r.Load {
		r.Load, r.LoadOf, r.LoadText = load, name, fmt.Sprintf("statements of %.2f ms, usually %.2f", 1000*f.now, 1000*usual)
	}
}

// relearn takes what is now for usual: a copy that has been at its floor for long is not the cause.
func (f *felt) relearn() { f.raised = max(f.raised, f.now) }
