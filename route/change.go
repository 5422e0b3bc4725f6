package route

import (
	"stowage/farm"
)

// The changes below are plain edits of one Pair, to be made inside
// Router.Change. Each leaves a table that Check accepts.

// CloseGate closes every route of a home side.
func (p *Pair) CloseGate(home farm.SideName) { p.setGate(home, Closed) }

// OpenGate opens every route of a home side.
func (p *Pair) OpenGate(home farm.SideName) { p.setGate(home, Open) }

func (p *Pair) setGate(home farm.SideName, g Gate) {
	for i := range p.Routes {
		if p.Routes[i].Home == home {
			p.Routes[i].Gate = g
		}
	}
}

// GateIsClosed reports whether any route of a home side is closed.
func (p *Pair) GateIsClosed(home farm.SideName) bool {
	for _, r := range p.Routes {
		if r.Home == home && r.Gate == Closed {
			return true
		}
	}
	return false
}

// Share is how many percent of a home's slots are served by side.
func (p *Pair) Share(home, side farm.SideName) float64 {
	all, served := 0, 0
	for _, r := range p.Routes {
		if r.Home != home {
			continue
		}
		n := r.To - r.From + 1
		all += n
		if r.Side == side {
			served += n
		}
	}
	if all == 0 {
		return 0
	}
	return 100 * float64(served) / float64(all)
}

// Serve sends percent of home's slots to side at address and the rest to the
// twin of side. A side left without slots leaves rotation. Gates keep the
// state of the home: all closed if any was.
func (p *Pair) Serve(home, side farm.SideName, address string, percent float64) {
	gate := Open
	if p.GateIsClosed(home) {
		gate = Closed
	}
	p.Sides[side] = Side{Address: address}
	var out []Route
	for _, r := range p.homes() {
		if r.Home != home {
			out = append(out, p.routesWithin(r)...)
			continue
		}
		out = append(out, split(r, side, percent, gate)...)
	}
	p.Routes = out
	p.weigh()
}

// homes is one row per home with its whole range, in slot order.
func (p *Pair) homes() []Route {
	var out []Route
	for _, r := range p.Routes {
		if n := len(out); n > 0 && out[n-1].Home == r.Home {
			out[n-1].To = r.To
			continue
		}
		out = append(out, r)
	}
	return out
}

func (p *Pair) routesWithin(home Route) []Route {
	var out []Route
	for _, r := range p.Routes {
		if r.From >= home.From && r.To <= home.To {
			out = append(out, r)
		}
	}
	return out
}

func split(r Route, side farm.SideName, percent float64, gate Gate) []Route {
	n := r.To - r.From + 1
	take := int(float64(n)*percent/100 + 0.5)
	if percent > 0 && take == 0 {
		take = 1
	}
	first := Route{From: r.From, To: r.From + take - 1, Home: r.Home, Side: side, Gate: gate}
	rest := Route{From: r.From + take, To: r.To, Home: r.Home, Side: side.Twin(), Gate: gate}
	switch take {
	case 0:
		return []Route{rest}
	case n:
		return []Route{first}
	}
	return []Route{first, rest}
}

// weigh recomputes the weights and drops sides that serve nothing.
func (p *Pair) weigh() {
	served := map[farm.SideName]int{}
	for _, r := range p.Routes {
		served[r.Side] += r.To - r.From + 1
	}
	for name, s := range p.Sides {
		if served[name] == 0 {
			delete(p.Sides, name)
			continue
		}
		s.Weight = 100 * float64(served[name]) / float64(p.Slots)
		p.Sides[name] = s
	}
}
