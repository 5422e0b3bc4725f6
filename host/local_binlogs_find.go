package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"stowage/binlog"
	"stowage/farm"
)

// ErrNotArchived: a moment or a transaction that was asked for is not in the archive.
var ErrNotArchived = errors.New("not in the archive")

// ArchiveAt finds the place behind the last transaction that was written by the end of a second. Servers note the second at which a
// statement began, so a place is found by the first transaction that began later: what is before it had been written by then.
// The error wraps ErrNotArchived when the archive begins later, or ends earlier.
func (l *Local) ArchiveAt(ctx context.Context, into string, at time.Time) (Found, error) {
	at = at.UTC().Truncate(time.Second)
	return lookUp(into, "second "+at.Format(time.RFC3339), func(logs []*aLog) (Found, error) {
		spans := ""
		for _, g := range slices.Backward(logs) {
			from, until := g.span()
			if !at.Before(from) && !at.After(until) {
				return g.at(ctx, at.Unix())
			}
			spans += fmt.Sprintf("; %s has %s to %s", g.name, from.Format(time.RFC3339), until.Format(time.RFC3339))
		}
		return Found{}, fmt.Errorf("%w%s", ErrNotArchived, spans)
	})
}

// ArchiveUntil finds the place behind the last of these GTIDs of an archive, which have commas between them, or the first place at which it has
// all of a set of MySQL. The error wraps ErrNotArchived when one of them is not in it.
func (l *Local) ArchiveUntil(ctx context.Context, into, gtids string) (Found, error) {
	return lookUp(into, "transaction "+gtids, func(logs []*aLog) (Found, error) {
		until, err := sought(gtids)
		if err != nil {
			return Found{}, fmt.Errorf("%w: %w", farm.ErrInput, err)
		}
		for _, g := range slices.Backward(logs) {
			found, err := until(ctx, g)
			if !errors.Is(err, ErrNotArchived) {
				return found, err
			}
		}
		newest := logs[len(logs)-1]
		end := newest.files[len(newest.files)-1].end()
		return Found{}, fmt.Errorf("%w: %s has %s up to %s", ErrNotArchived, newest.name, orNothing(newest.files[0].head.Start.String()), orNothing(end.State))
	})
}

// sought is what looks for these GTIDs in a log.
func sought(gtids string) (func(context.Context, *aLog) (Found, error), error) {
	want, err := binlog.ParseState(gtids)
	if err != nil || want.IsSet() {
		return func(ctx context.Context, g *aLog) (Found, error) { return g.untilSet(ctx, want) }, err
	}
	all, err := binlog.ParseGTIDs(gtids)
	if err == nil && len(all) == 0 {
		err = errors.New("no GTID is named")
	}
	return func(ctx context.Context, g *aLog) (Found, error) { return g.until(ctx, all) }, err
}

// ArchiveFrom finds the place in an archive at which a copy of the server stands: a file and an offset of its binary log, and its position
// there, the last GTID of each domain. A file of that name in which the position is another one is not taken. The error wraps
// ErrNotArchived when there is no such place.
func (l *Local) ArchiveFrom(ctx context.Context, into string, point SeedPoint, position string) (Found, error) {
	return lookUp(into, fmt.Sprintf("%s:%d at %s", point.File, point.Offset, orNothing(position)), func(logs []*aLog) (Found, error) {
		why := ""
		for _, g := range slices.Backward(logs) {
			n := g.file(point.File)
			if n < 0 {
				why += fmt.Sprintf("; %s has no %s", g.name, point.File)
				continue
			}
			found, err := g.place(ctx, &g.files[n], point.Offset)
			if err == nil && (samePosition(found.Position, position) || point.standsIn(position, found.Position, g.endState(), g.files[n].head.Created)) {
				return found, nil
			}
			if err != nil && !errors.Is(err, ErrNotArchived) {
				return Found{}, err
			}
			if err == nil {
				err = fmt.Errorf("its position there is %s", orNothing(found.Position))
			}
			why += fmt.Sprintf("; %s: %v", g.name, err)
		}
		for _, g := range slices.Backward(logs) {
			if found, ok := g.behindDropped(point, position); ok {
				return found, nil
			}
		}
		return Found{}, fmt.Errorf("%w%s", ErrNotArchived, why)
	})
}

// behindDropped is the beginning of the file behind the copy's, where the server dropped the place of the copy before it was archived, and that file begins at the copy's position: nothing is missing between the two.
func (g *aLog) behindDropped(point SeedPoint, position string) (Found, bool) {
	if position == "" || !binlogName().MatchString(point.File) { // a server without GTIDs has none anywhere: that is no place
		return Found{}, false
	}
	if n := g.file(point.File); n >= 0 && point.Offset <= g.files[n].end().Offset {
		return Found{}, false
	}
	n := slices.IndexFunc(g.files, func(f archived) bool { return compareMarks(Mark{File: f.name}, Mark{File: point.File}) > 0 })
	if n < 0 || !samePosition(g.files[n].head.Start.Position(), position) {
		return Found{}, false
	}
	return Found{Mark: g.mark(&g.files[n], g.files[n].head.End), Position: position, At: second(g.files[n].marks[0].At)}, true
}

func lookUp(into, what string, in func([]*aLog) (Found, error)) (Found, error) {
	logs, err := openLogs(into)
	defer func() { closeLogs(logs) }()
	logs = slices.DeleteFunc(slices.Clone(logs), func(g *aLog) bool { return len(g.files) == 0 })
	var found Found
	if err == nil && len(logs) == 0 {
		err = fmt.Errorf("%w: there is no archive", ErrNotArchived)
	}
	if err == nil {
		found, err = in(logs)
	}
	if err != nil {
		return Found{}, &farm.Error{Op: "find " + what + " in the binary logs", Subject: into, Err: err}
	}
	return found, nil
}

func samePosition(a, b string) bool {
	if x, y := mustState(a), mustState(b); x.IsSet() || y.IsSet() {
		return x.String() == y.String()
	}
	one, err1 := binlog.ParseGTIDs(a)
	two, err2 := binlog.ParseGTIDs(b)
	if err1 != nil || err2 != nil || len(one) != len(two) {
		return false
	}
	return !slices.ContainsFunc(one, func(g binlog.GTID) bool { return !slices.Contains(two, g) })
}

// stretch is what is between two marks of a file.
type stretch struct {
	f    *archived
	from known
	to   known
}

// behind is the stretch that begins with the last mark of which holds is true; holds is true for marks up to some place, and false behind it.
// ok is false when it is true for none.
func (g *aLog) behind(holds func(f *archived, k known) bool) (s stretch, ok bool) {
	last := -1
	for last+1 < len(g.files) && holds(&g.files[last+1], g.files[last+1].marks[0]) {
		last++
	}
	if last < 0 {
		return s, false
	}
	f := &g.files[last]
	all := f.all()
	n := slices.IndexFunc(all, func(k known) bool { return !holds(f, k) })
	if n < 0 {
		n = len(all)
	}
	return stretch{f: f, from: all[n-1], to: all[min(n, len(all)-1)]}, true
}

// walk goes through the transactions of a stretch until stop is true; it stops before that transaction, or behind it. It is told the
// latest second of all so far.
func (g *aLog) walk(ctx context.Context, s stretch, stop func(t binlog.Transaction, at int64) (before, behind bool)) (Found, error) {
	in, err := g.dir.OpenFile(s.f.name, os.O_RDONLY, 0)
	if err != nil {
		return Found{}, err
	}
	defer in.Close()
	scan := s.f.head.Scan(io.NewSectionReader(in, 0, s.to.Offset), s.from.Offset, mustState(s.from.State))
	c := clock{at: s.from.At, limit: s.to.At}
	found := Found{Mark: g.mark(s.f, s.from.Offset), Position: scan.Position(), At: second(s.from.At)}
	for scan.Next() {
		if err := ctx.Err(); err != nil {
			return Found{}, context.Cause(ctx)
		}
		c.see(scan.Transaction())
		before, behind := stop(scan.Transaction(), c.at)
		if before {
			return found, nil
		}
		found = Found{Mark: g.mark(s.f, scan.Whole()), Position: scan.Position(), At: second(c.at)}
		if behind {
			return found, nil
		}
	}
	if err := scan.Err(); err != nil {
		return Found{}, &fs.PathError{Op: "read", Path: s.f.name, Err: err}
	}
	return found, nil
}

// at is the place before the first transaction of a later second.
func (g *aLog) at(ctx context.Context, sec int64) (Found, error) {
	s, ok := g.behind(func(_ *archived, k known) bool { return k.At <= sec })
	if !ok {
		return Found{}, fmt.Errorf("%w: %s begins with transactions of a later second", ErrNotArchived, g.name)
	}
	return g.walk(ctx, s, func(_ binlog.Transaction, at int64) (bool, bool) { return at > sec, false })
}

// until is the place behind the last of some transactions.
func (g *aLog) until(ctx context.Context, all []binlog.GTID) (Found, error) {
	start := g.files[0].head.Start
	found := Found{Mark: g.mark(&g.files[0], g.files[0].head.End), Position: start.Position(), At: second(g.files[0].marks[0].At)}
	for _, want := range all {
		if had, ok := start.Last(want.Domain); ok && had == want {
			continue // the last one before the archive begins
		}
		f, err := g.behindGTID(ctx, want)
		if err != nil {
			return Found{}, err
		}
		if g.later(f.Mark, found.Mark) {
			found = f
		}
	}
	return found, nil
}

// untilSet is the first place at which the log has had all of a set.
func (g *aLog) untilSet(ctx context.Context, want binlog.State) (Found, error) {
	lacks := func(s binlog.State) bool {
		_, lacks := s.Lacks(want)
		return lacks
	}
	s, ok := g.behind(func(_ *archived, k known) bool { return lacks(mustState(k.State)) })
	if !ok {
		return Found{}, fmt.Errorf("%w: it is from before the archive begins", ErrNotArchived)
	}
	had := mustState(s.from.State)
	found, err := g.walk(ctx, s, func(t binlog.Transaction, _ int64) (bool, bool) {
		had.Add(t.GTID)
		return false, !lacks(had)
	})
	if err == nil && lacks(had) {
		err = ErrNotArchived
	}
	return found, err
}

// later reports whether a mark lies behind another one.
func (g *aLog) later(a, b Mark) bool {
	if x, y := g.file(a.File), g.file(b.File); x != y {
		return x > y
	}
	return a.Offset > b.Offset
}

func (g *aLog) behindGTID(ctx context.Context, want binlog.GTID) (Found, error) {
	s, ok := g.behind(func(_ *archived, k known) bool { return !mustState(k.State).Reached([]binlog.GTID{want}) })
	if !ok {
		return Found{}, fmt.Errorf("%w: it is from before the archive begins", ErrNotArchived)
	}
	has := false
	found, err := g.walk(ctx, s, func(t binlog.Transaction, _ int64) (bool, bool) {
		has = t.GTID == want
		return false, has
	})
	if err == nil && !has {
		err = ErrNotArchived
	}
	return found, err
}

// place is what is known at an offset, which has to be between two transactions.
func (g *aLog) place(ctx context.Context, f *archived, offset int64) (Found, error) {
	all := f.all()
	n := slices.IndexFunc(all, func(k known) bool { return k.Offset > offset })
	if n < 0 {
		n = len(all)
	}
	if n == 0 || offset > f.end().Offset {
		return Found{}, fmt.Errorf("%w: there, %s has its transactions from offset %d to %d", ErrNotArchived, f.name, f.marks[0].Offset, f.end().Offset)
	}
	s := stretch{f: f, from: all[n-1], to: all[min(n, len(all)-1)]}
	found, err := g.walk(ctx, s, func(t binlog.Transaction, _ int64) (bool, bool) { return t.Begin >= offset, t.End >= offset })
	if err != nil {
		return Found{}, err
	}
	if found.Mark.Offset > offset {
		return Found{}, fmt.Errorf("%w: offset %d of %s is in the middle of a transaction", ErrNotArchived, offset, f.name)
	}
	found.Mark.Offset = offset
	return found, nil
}
