package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stowage/binlog"
	"stowage/farm"
)

// Replaying puts what an archive has between two places into an instance that was restored to the first of them, and that nobody else
// writes to: its position was set to that of the place, gtid_strict_mode is on there.
type Replaying struct {
	Archive string `json:"archive"` // what ArchiveDir says
	From    Mark   `json:"from"`
	To      Mark   `json:"to"`
	// Reached is the position of the instance, the last GTID of each domain, read when no session of an earlier call was left. Empty: no
	// transaction was replayed yet.
	Reached  string   `json:"reached,omitempty"`
	Instance Instance `json:"instance"`
	// Login is an account that may write while the server is read-only, and set what a session writes into its binary log.
	Login Login `json:"login"`
	// Told hears how many bytes of the archive the instance has been sent, of how many. It may be nil.
	Told func(done, all int64) `json:"-"`
}

// Replay carries it out with mariadb-binlog and the mariadb client. A call that was killed is followed by one with the position that was
// reached: it begins with the next transaction. Places that are not in the archive, a gap between them, and an instance that has other
// transactions than those that come next are errors, before anything is written. The instance's own refusal of a transaction ends it
// where it is.
func (l *Local) Replay(ctx context.Context, r Replaying) error {
	fail := func(err error) error {
		return &farm.Error{Op: "replay binary log", Subject: string(r.Instance.Name), Err: err}
	}
	logs, err := openLogs(r.Archive)
	defer func() { closeLogs(logs) }()
	if err != nil {
		return fail(err)
	}
	g, begin, err := r.begin(ctx, logs)
	if err != nil {
		return fail(err)
	}
	portions, err := g.rest(ctx, r, begin)
	if err != nil || len(portions) == 0 {
		if err != nil {
			return fail(err)
		}
		return nil
	}
	p, err := l.openPipe(ctx, r)
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(p.run(ctx, g, portions), p.close()); err != nil {
		return fail(err)
	}
	return nil
}

// portion is a part of one file: its transactions from one offset to another.
type portion struct {
	file     string
	from, to int64
}

// begin is the log, and what is known of the place at which the replay begins. There is no gap between both places.
func (r Replaying) begin(ctx context.Context, logs []*aLog) (*aLog, Found, error) {
	none := Found{}
	at := slices.IndexFunc(logs, func(g *aLog) bool { return g.name == r.From.Log })
	if at < 0 || r.From.Log != r.To.Log {
		return nil, none, fmt.Errorf("%w: from %s to %s: both have to be in one log", ErrNotArchived, r.From, r.To)
	}
	g := logs[at]
	var ends [2]Found
	for i, m := range []Mark{r.From, r.To} {
		n := g.file(m.File)
		if n < 0 {
			return nil, none, fmt.Errorf("%w: %s", ErrNotArchived, m)
		}
		var err error
		if ends[i], err = g.place(ctx, &g.files[n], m.Offset); err != nil {
			return nil, none, err
		}
	}
	if g.later(r.From, r.To) {
		return nil, none, fmt.Errorf("%w: %s is behind %s", farm.ErrInput, r.From, r.To)
	}
	for _, gap := range g.gaps() {
		if !g.later(r.From, gap.After) && !g.later(gap.Before, r.To) {
			return nil, none, fmt.Errorf("%w: %s", ErrNotArchived, gap)
		}
	}
	return g, ends[0], nil
}

// rest is what is to be replayed; nothing when the instance has all of it.
func (g *aLog) rest(ctx context.Context, r Replaying, begin Found) ([]portion, error) {
	from, err := g.resume(ctx, r, begin)
	if err != nil {
		return nil, err
	}
	return g.cut(from, r.To), nil
}

// resume is the place behind the transactions that the instance has.
func (g *aLog) resume(ctx context.Context, r Replaying, begin Found) (Mark, error) {
	reached, err := binlog.ParseState(r.Reached)
	if err != nil || r.Reached == "" {
		return r.From, err
	}
	base := mustState(begin.Position)
	has := func(x binlog.GTID) bool {
		last, ok := reached.Last(x.Domain)
		return ok && last.Seq >= x.Seq
	}
	s, _ := g.behind(func(f *archived, k known) bool {
		m := g.mark(f, k.Offset)
		if !g.later(m, r.From) || g.later(m, r.To) {
			return !g.later(m, r.To)
		}
		ends, _ := binlog.ParseGTIDs(mustState(k.State).Position())
		return !slices.ContainsFunc(ends, func(x binlog.GTID) bool {
			was, _ := base.Last(x.Domain)
			return was != x && !has(x)
		})
	})
	if !g.later(g.mark(s.f, s.from.Offset), r.From) {
		s.from.Offset, s.from.State = r.From.Offset, begin.Position
	}
	if s.f.name == r.To.File {
		s.to.Offset = min(s.to.Offset, r.To.Offset)
	}
	place, err := g.walk(ctx, s, func(t binlog.Transaction, _ int64) (bool, bool) { return !has(t.GTID), false })
	if err != nil {
		return Mark{}, err
	}
	there := mustState(place.Position)
	for _, x := range reached.All() {
		if last, _ := there.Last(x.Domain); last != x {
			return Mark{}, fmt.Errorf("%w: the instance has transaction %s, and the archive has position %s where it could go on, at %s", farm.ErrRefused, x,
				orNothing(place.Position), place.Mark)
		}
	}
	return place.Mark, nil
}

// cut is what is between two places, file by file.
func (g *aLog) cut(from, to Mark) []portion {
	var out []portion
	for n := g.file(from.File); n <= g.file(to.File); n++ {
		f := &g.files[n]
		p := portion{file: f.name, from: f.head.End, to: f.end().Offset}
		if f.name == from.File {
			p.from = from.Offset
		}
		if f.name == to.File {
			p.to = to.Offset
		}
		if p.from < p.to {
			out = append(out, p)
		}
	}
	return out
}
