package host

import (
	"time"
)

// next is what a repository is to be given of a spool: of the oldest log first. Nil: it has all. When the server has
// written nothing and the last piece is older than silence, an empty piece says so.
func next(logs []*aLog, k Kept, silence time.Duration) (*Piece, error) {
	for n, g := range logs {
		if len(g.files) == 0 {
			continue
		}
		p, err := g.next(k, n == len(logs)-1, silence)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, nil
}

// spot is between two transactions of a log, and what is known of it.
type spot struct {
	file int
	known
}

func (g *aLog) next(k Kept, isNewest bool, silence time.Duration) (*Piece, error) {
	from, err := g.oldest()
	if err != nil {
		return nil, err
	}
	its, ok := k.log(g.name)
	last := len(g.files) - 1
	level := 0
	if ok {
		to := its.Last.To
		at := g.file(to.File)
		switch {
		case compareMarks(to, g.end()) >= 0:
			if isNewest && compareMarks(to, g.end()) == 0 && g.checked.Sub(second(its.Last.Checked)) >= max(silence, time.Second) {
				here := spot{last, its.Last.ends()}
				return g.pieceOf(here, here, 0)
			}
			return nil, nil
		case at >= 0 && compareMarks(to, g.markOf(from)) >= 0:
			from = spot{at, its.Last.ends()}
			if joins, up := nextFrom(its.Window); joins < len(its.Window) {
				w := its.Window[joins]
				if at := g.file(w.From.File); at >= 0 && compareMarks(w.From, g.availableFrom()) >= 0 {
					from, level = spot{at, w.begins()}, up
				}
			}
		}
	}
	from, to := g.upTo(from, k.Most)
	return g.pieceOf(from, to, level)
}

// nextFrom is from which piece of a window on all are joined with what is new, and of which level the piece is then: joined pieces of a level,
// with what is new, are one of the next. So a log has few pieces, and each byte is written only a few times.
func nextFrom(window []Piece) (first, level int) {
	first = len(window)
	for {
		n := first
		for n > 0 && first-n < joinedAtOnce-1 && window[n-1].Level == level {
			n--
		}
		if first-n < joinedAtOnce-1 {
			return first, level
		}
		first, level = n, level+1
	}
}

func (g *aLog) markOf(s spot) Mark { return g.mark(&g.files[s.file], s.Offset) }

// oldest is the first place of which the spool has all that follows.
func (g *aLog) oldest() (spot, error) {
	a, ok, err := g.available()
	if err != nil {
		return spot{}, err
	}
	if at := g.file(a.File); ok && at >= 0 {
		return spot{at, a.known}, nil
	}
	return g.beginning(0), nil
}

func (g *aLog) availableFrom() Mark {
	s, err := g.oldest()
	if err != nil {
		return g.mark(&g.files[len(g.files)-1], g.files[len(g.files)-1].size)
	}
	return g.markOf(s)
}

// beginning is that of a file.
func (g *aLog) beginning(n int) spot {
	f := &g.files[n]
	return spot{n, known{At: f.marks[0].At, State: f.head.Start.String()}}
}

// upTo is the end of a piece that begins at a place: before the next gap, and not too far. A place with nothing but a gap behind it is left.
func (g *aLog) upTo(from spot, most int64) (spot, spot) {
	if from.Offset == g.files[from.file].end().Offset && g.isGapBehind(from.file) {
		from = g.beginning(from.file + 1)
	}
	to, sum := from, int64(0)
	for n := from.file; n < len(g.files); n++ {
		f := &g.files[n]
		begin := int64(0)
		if n == from.file {
			begin = from.Offset
		}
		for _, k := range f.all() {
			if k.Offset <= begin {
				continue
			}
			if to = (spot{n, k}); sum+k.Offset-begin >= most {
				return from, to
			}
		}
		to = spot{n, f.end()}
		if sum += f.end().Offset - begin; g.isGapBehind(n) {
			break
		}
	}
	return from, to
}

// isGapBehind reports whether transactions are missing between a file and the next one.
func (g *aLog) isGapBehind(n int) bool {
	return n+1 < len(g.files) && missing(g.files[n].end().State, g.files[n+1].head.Start)
}

// pieceOf is the piece between two places; nil where nothing but the beginning of one is there.
func (g *aLog) pieceOf(from, to spot, level int) (*Piece, error) {
	p := &Piece{
		From: g.markOf(from), To: g.markOf(to), Was: from.State, Has: to.State, WasAt: from.At, HasAt: to.At, Begun: g.files[from.file].head.Created.Unix(),
		Level: level, Why: g.about.Why,
	}
	for n := from.file; n <= to.file; n++ {
		p.Bytes += g.files[n].end().Offset
	}
	p.Bytes += to.Offset - g.files[to.file].end().Offset - from.Offset
	if last := len(g.files) - 1; to.file == last && to.Offset == g.files[last].end().Offset && !g.checked.IsZero() {
		p.Checked = g.checked.Unix()
	}
	var err error
	p.Tail, err = g.tailAt(p.To)
	return p, err
}
