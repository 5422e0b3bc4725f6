package report

import (
	"fmt"
	"math"
	"strings"
)

// point is a place in a picture.
type point struct{ x, y float64 }

// pen writes paths of short strokes, because a page has hundreds of them: each stroke is relative to where the last one ended, and strokes that go on in one direction,
// level or upright, are one.
type pen struct {
	path strings.Builder
	from point // where what is written ends
	at   point // where the pen is: what is between is not written yet
}

// move lifts the pen.
func (p *pen) move(to point) {
	p.flush()
	if p.path.Len() == 0 {
		fmt.Fprintf(&p.path, "M%g %g", to.x, to.y)
	} else {
		p.stroke("m", to)
	}
	p.from, p.at = to, to
}

// line draws to a point; it draws nothing where that is the same.
func (p *pen) line(to point) {
	if to == p.at {
		return
	}
	isLevel := p.from.y == p.at.y && to.y == p.at.y && (to.x-p.at.x)*(p.at.x-p.from.x) > 0
	isUpright := p.from.x == p.at.x && to.x == p.at.x && (to.y-p.at.y)*(p.at.y-p.from.y) > 0
	if !isLevel && !isUpright {
		p.flush()
	}
	p.at = to
}

// close ends an area that began at a point.
func (p *pen) close(start point) {
	p.flush()
	p.path.WriteString("z")
	p.from, p.at = start, start
}

func (p *pen) String() string {
	p.flush()
	return p.path.String()
}

func (p *pen) flush() {
	switch {
	case p.at == p.from:
	case p.at.y == p.from.y:
		fmt.Fprintf(&p.path, "h%g", round1(p.at.x-p.from.x))
	case p.at.x == p.from.x:
		fmt.Fprintf(&p.path, "v%g", round1(p.at.y-p.from.y))
	default:
		p.stroke("l", p.at)
	}
	p.from = p.at
}

func (p *pen) stroke(kind string, to point) {
	dx, dy := round1(to.x-p.from.x), round1(to.y-p.from.y)
	gap := " "
	if dy < 0 {
		gap = "" // its sign is gap enough
	}
	fmt.Fprintf(&p.path, "%s%g%s%g", kind, dx, gap, dy)
}

// pathThrough is a path through points.
func pathThrough(points []point) string {
	var p pen
	for i, at := range points {
		if i == 0 {
			p.move(at)
			continue
		}
		p.line(at)
	}
	return p.String()
}

// thinned leaves out points that lie no farther than off from the line between those that stay (Ramer 1972, Douglas and Peucker 1973): steps that can be seen
// keep their corners, hundreds of steps that cannot become a line.
func thinned(points []point, off float64) []point {
	if len(points) < 3 {
		return points
	}
	from, to := points[0], points[len(points)-1]
	farthest, at := off, 0
	for i, p := range points[1 : len(points)-1] {
		if d := distance(p, from, to); d > farthest {
			farthest, at = d, i+1
		}
	}
	if at == 0 {
		return []point{from, to}
	}
	first := thinned(points[:at+1], off)
	return append(first[:len(first)-1:len(first)-1], thinned(points[at:], off)...)
}

// distance of a point from the line between two others, or from them where it is beyond.
func distance(p, from, to point) float64 {
	dx, dy := to.x-from.x, to.y-from.y
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = min(max(((p.x-from.x)*dx+(p.y-from.y)*dy)/length, 0), 1)
	}
	return math.Hypot(p.x-from.x-along*dx, p.y-from.y-along*dy)
}
