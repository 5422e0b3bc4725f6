package host

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/binlog"
	"stowage/farm"
)

// Wanted says which pieces of an instance's binary logs somebody needs: those from a backup to a moment, or the end of the newest log.
type Wanted struct {
	// Point and Position are where the backup stands: a file, an offset, and the last GTID of each domain there.
	Point    SeedPoint `json:"point,omitzero"`
	Position string    `json:"position,omitempty"`
	// At is the second, GTIDs are the transactions up to which the log is wanted; none of both: up to its end.
	At    time.Time `json:"at,omitzero"`
	GTIDs string    `json:"gtids,omitempty"`
	// Tail: the end of the newest log, so that a spool can go on from there. Nothing else is said then.
	Tail bool `json:"tail,omitempty"`
	// Read has ReachBinlogs read them, too: its error wraps vault.ErrDamaged when one is not as it was kept.
	Read bool `json:"read,omitempty"`
}

// pick is what of these chains is wanted, in order. The error wraps ErrNotArchived when it is not there.
func (w Wanted) pick(all []chain) ([]Piece, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: there are no binary logs of it", ErrNotArchived)
	}
	if w.Tail {
		return all[len(all)-1].tail(), nil
	}
	why := ""
	for n := len(all) - 1; n >= 0; n-- {
		c := all[n]
		begin, err := c.begin(w.Point, w.Position)
		if err != nil {
			why += fmt.Sprintf("; %s %v", c.log, err)
			continue
		}
		if w.At.IsZero() && w.GTIDs == "" && n < len(all)-1 {
			return nil, fmt.Errorf("%w: the log of the backup, %s, ends at %s, and %s is another one", ErrNotArchived, c.log, second(c.until()).Format(time.RFC3339), all[n+1].log)
		}
		return w.upTo(c, begin)
	}
	for n := len(all) - 1; n >= 0; n-- {
		if begin := all[n].beginBehind(w.Point, w.Position); begin >= 0 {
			return w.upTo(all[n], begin)
		}
	}
	return nil, fmt.Errorf("%w: %s:%d at %s%s", ErrNotArchived, w.Point.File, w.Point.Offset, orNothing(w.Position), why)
}

// tail are the last pieces that together have the end of the log, and what tailSum reads of it.
func (c chain) tail() []Piece {
	to := c.last().To
	n := len(c.pieces) - 1
	for n > 0 && c.pieces[n].From.File == to.File && c.pieces[n].From.Offset > max(0, to.Offset-comparedEnd) {
		if _, is := c.gapBefore(n); is {
			break
		}
		n--
	}
	return c.pieces[n:]
}

// begin is the piece in which the file begins at one offset of which a backup stands.
func (c chain) begin(at SeedPoint, position string) (int, error) {
	if !binlogName().MatchString(at.File) {
		return 0, fmt.Errorf("has no file %q", at.File)
	}
	place := Mark{File: at.File, Offset: at.Offset}
	n := slices.IndexFunc(c.pieces, func(p Piece) bool { return p.holds(place) })
	if n < 0 {
		first, last := c.pieces[0], c.last()
		return 0, fmt.Errorf("goes from %s to %s", first.From, last.To)
	}
	if p := c.pieces[n]; !within(p, position) && !at.standsWithin(position, p, c) {
		return 0, fmt.Errorf("has position %s to %s there", orNothing(mustState(p.Was).Position()), orNothing(mustState(p.Has).Position()))
	}
	for beginning := (Mark{File: at.File}); compareMarks(c.pieces[n].From, beginning) > 0; n-- {
		if _, is := c.gapBefore(n); is || n == 0 {
			return 0, fmt.Errorf("has %s only from offset %d on", at.File, c.pieces[n].From.Offset)
		}
	}
	return n, nil
}

// beginBehind is the first piece behind the place at which a backup stands, where the server dropped that before it was kept, and the piece begins at the backup's position: nothing is missing between the two. -1 where it does not.
func (c chain) beginBehind(at SeedPoint, position string) int {
	place := Mark{File: at.File, Offset: at.Offset}
	if position == "" || !binlogName().MatchString(at.File) || slices.ContainsFunc(c.pieces, func(p Piece) bool { return p.holds(place) }) {
		return -1
	}
	n := slices.IndexFunc(c.pieces, func(p Piece) bool { return compareMarks(p.From, place) > 0 })
	if n < 0 || c.pieces[n].From.File == at.File || !samePosition(c.pieces[n].Was, position) {
		return -1
	}
	return n
}

func (p Piece) holds(place Mark) bool {
	return compareMarks(p.From, place) <= 0 && compareMarks(place, p.To) <= 0
}

// within reports whether a position may be one inside of a piece.
func within(p Piece, position string) bool {
	is, err := binlog.ParseState(position)
	return err == nil && mustState(p.Has).HasAll(is)
}

// upTo is what of a chain is wanted from one piece on.
func (w Wanted) upTo(c chain, begin int) ([]Piece, error) {
	reached, err := w.reached(c.last().Has)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", farm.ErrInput, err)
	}
	for n := begin; n < len(c.pieces); n++ {
		if g, is := c.gapBefore(n); is && n > begin {
			return nil, fmt.Errorf("%w: %s", ErrNotArchived, g)
		}
		if reached(c.pieces[n]) {
			return c.pieces[begin : n+1], nil
		}
	}
	last := c.last()
	switch {
	case w.GTIDs != "":
		return nil, fmt.Errorf("%w: transaction %s: %s has %s up to %s", ErrNotArchived, w.GTIDs, c.log, orNothing(c.pieces[begin].Was), orNothing(last.Has))
	case !w.At.IsZero() && w.At.Unix() > c.until():
		return nil, fmt.Errorf("%w: second %s: %s has %s to %s", ErrNotArchived, w.At.UTC().Format(time.RFC3339), c.log, second(c.pieces[begin].Begun).Format(time.RFC3339), second(c.until()).Format(time.RFC3339))
	}
	return c.pieces[begin:], nil
}

// reached says whether all that is wanted has come by the end of a piece; end is the state of its log at the end.
func (w Wanted) reached(end string) (func(Piece) bool, error) {
	switch {
	case w.GTIDs != "":
		want, err := binlog.ParseState(w.GTIDs)
		if err == nil && want.String() == "" {
			err = errors.New("no GTID is named")
		}
		if beyond := Beyond(w.Position, end); !beyond.IsNothing() {
			want = want.Without(beyond)
		}
		return func(p Piece) bool { return mustState(p.Has).HasAll(want) }, err
	case !w.At.IsZero():
		return func(p Piece) bool { return p.HasAt-1 >= w.At.Unix() }, nil
	}
	return func(Piece) bool { return false }, nil
}

// before are the pieces that nobody needs who begins at a backup: those that end before its file begins, and older logs. Of logs that may be the
// one of the backup the oldest counts. ok is false when none is.
func before(all []chain, at SeedPoint, position string) (drop []Piece, ok bool) {
	for n, c := range all {
		begin, err := c.begin(at, position)
		if err != nil {
			continue
		}
		for _, older := range all[:n] {
			drop = append(append(drop, older.pieces...), older.spare...)
		}
		first := c.pieces[begin]
		for _, p := range slices.Concat(c.pieces[:begin], c.spare) {
			if compareMarks(p.To, first.From) <= 0 {
				drop = append(drop, p)
			}
		}
		return drop, true
	}
	return nil, false
}
