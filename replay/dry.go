package replay

import (
	"context"
	"errors"

	"stowage/farm"
	"stowage/replay/effect"
)

// DryRun says what Run would send, and what not, without a connection.
func DryRun(ctx context.Context, o Options) (*Outcome, error) {
	o = o.withDefaults()
	t := newTally(o)
	d := dry{o: o, tally: t, sessions: map[SessionID]*memory{}}
	reading, err := Recordings(ctx, o.Inputs, o.Digest, d.visit)
	out := &Outcome{
		FormatVersion: FormatVersion, DryRun: true, Ended: "complete", Pace: Pace{Speed: o.Speed, Think: o.Think}, Reading: reading,
		Statements: t.seen, Sent: t.sums(), Skipped: t.skipped(), Sessions: Sessions{Recorded: t.sessions, Most: d.most},
		Errors: Errors{ByCode: []ErrorCount{}}, Classes: []Class{}, Examples: []Example{}, Notes: []string{},
	}
	out.Pace.RecordedSeconds = max(0, t.last.Sub(t.first).Seconds())
	switch {
	case ctx.Err() != nil:
		out.Ended = "interrupted"
		return out, &farm.Error{Op: "replay", Err: farm.ErrInterrupted}
	case errors.Is(err, errStop):
		out.Ended, err = "as asked", nil
	}
	for _, k := range t.classes {
		out.Classes = append(out.Classes, Class{ID32: k.id32(), Fingerprint: effect.Clip(k.fingerprint, 5000), Sent: k.sent, Kinds: map[string]uint64{}})
	}
	sortClasses(out.Classes)
	return out, err
}

// dry is a replay without a candidate.
type dry struct {
	o        Options
	tally    *tally
	sessions map[SessionID]*memory
	taken    uint64
	most     int // sessions at once
}

func (d *dry) visit(s *Statement) error {
	if d.tally.first.IsZero() {
		d.tally.first = s.Start
	}
	d.tally.read(s)
	if d.o.Limit > 0 && s.Command == Say {
		if d.taken++; d.taken > d.o.Limit {
			return errStop
		}
	}
	m := d.sessions[s.Session]
	if m == nil {
		if len(d.sessions) >= maxSessions {
			clear(d.sessions)
		}
		m = &memory{}
		d.sessions[s.Session] = m
		d.tally.sessions++
		d.most = max(d.most, len(d.sessions))
	}
	switch s.Command {
	case Say:
		j, ok, reason := m.judge(s, d.o.Allow)
		if !ok {
			d.tally.skip(s, j.Kind, reason)
			return nil
		}
		if j.SetsMode {
			m.mode = modeIn(string(s.Query))
		}
		d.tally.sent[j.Kind]++
		d.tally.class(s).sent++
	case Quit:
		delete(d.sessions, s.Session)
	case Renew:
		*m = memory{}
	case Other:
		d.tally.skip(s, effect.Unknown, "no statement: "+s.Reason)
	}
	return nil
}
