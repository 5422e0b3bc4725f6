package placement

import (
	"fmt"
	"io"

	"stowage/farm"
)

// Difference is one figure of two plans.
type Difference struct {
	Figure string `json:"figure"`
	A      string `json:"a"`
	B      string `json:"b"`
}

// Compared is what differs between two plans.
type Compared struct {
	A          string       `json:"a"`
	B          string       `json:"b"`
	Figures    []Difference `json:"figures"` // those that are equal as well
	OnlyA      int          `json:"places_only_in_a"`
	Same       int          `json:"same_places"`
	Elsewhere  []string     `json:"elsewhere"` // what is on different hosts
	HostsOnlyA []string     `json:"hosts_only_in_a"`
	HostsOnlyB []string     `json:"hosts_only_in_b"`
}

// Compare puts two plans beside each other.
func Compare(a, b Plan) Compared {
	out := Compared{A: a.Name, B: b.Name}
	add := func(figure, x, y string) { out.Figures = append(out.Figures, Difference{figure, x, y}) }
	number := func(v float64) string { return thousands(v) }
	add("hosts", fmt.Sprint(a.HostsUsed), fmt.Sprint(b.HostsUsed))
	add("hosts at least", fmt.Sprint(a.LowerBound), fmt.Sprint(b.LowerBound))
	add("cost", number(a.Cost), number(b.Cost))
	add("watts", number(a.Watts), number(b.Watts))
	add("moves", fmt.Sprint(len(a.Moves)), fmt.Sprint(len(b.Moves)))
	add("data to copy", farm.RoundQuantity(float64(a.Bytes()), farm.KindBytes), farm.RoundQuantity(float64(b.Bytes()), farm.KindBytes))
	add("hours of moving", fmt.Sprintf("%.1f", a.MoveSeconds/3600), fmt.Sprintf("%.1f", b.MoveSeconds/3600))
	add("fullest host", wholePercent(a.fullest()), wholePercent(b.fullest()))
	add("shards behind one host, at most", fmt.Sprint(a.surface()), fmt.Sprint(b.surface()))
	at := map[string]farm.HostName{}
	for _, x := range a.Assignments {
		at[x.what()] = x.Host
	}
	for _, x := range b.Assignments {
		switch host, ok := at[x.what()]; {
		case ok && host == x.Host:
			out.Same++
		default:
			out.Elsewhere = append(out.Elsewhere, x.what())
		}
	}
	inA, inB := map[farm.HostName]bool{}, map[farm.HostName]bool{}
	for _, h := range a.Hosts {
		inA[h.Name] = true
	}
	for _, h := range b.Hosts {
		if inB[h.Name] = true; !inA[h.Name] {
			out.HostsOnlyB = append(out.HostsOnlyB, string(h.Name))
		}
	}
	for _, h := range a.Hosts {
		if !inB[h.Name] {
			out.HostsOnlyA = append(out.HostsOnlyA, string(h.Name))
		}
	}
	return out
}

// what names what an assignment places.
func (a Assignment) what() string {
	if a.Shard != "" {
		return string(a.Shard) + " (" + string(a.Side) + ")"
	}
	return string(a.Instance)
}

// fullest is the largest use of any resource of any host.
func (p Plan) fullest() float64 {
	most := 0.0
	for _, h := range p.Hosts {
		for _, u := range h.Use {
			most = max(most, u)
		}
	}
	return most
}

// surface is the largest number of shards behind one host.
func (p Plan) surface() int {
	most := 0
	for _, h := range p.Hosts {
		most = max(most, h.Shards)
	}
	return most
}

func wholePercent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }

// WriteText prints the comparison for people.
func (c Compared) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-34s %16s %16s\n", "", c.A, c.B)
	for _, f := range c.Figures {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-34s %16s %16s\n", f.Figure, f.A, f.B)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "\n%d on the same hosts in both, %d elsewhere: %s\n", c.Same, len(c.Elsewhere), listed(c.Elsewhere, 8))
	}
	for _, h := range []struct {
		plan  string
		hosts []string
	}{{c.A, c.HostsOnlyA}, {c.B, c.HostsOnlyB}} {
		if err == nil && len(h.hosts) > 0 {
			_, err = fmt.Fprintf(w, "hosts only in %s: %s\n", h.plan, listed(h.hosts, 8))
		}
	}
	return err
}

// WriteText prints the explanation for people.
func (e Explanation) WriteText(w io.Writer) error {
	p := printer{w: w}
	p.explain(e, "")
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) explain(e Explanation, indent string) {
	p.line("%s%s %s", indent, e.Kind, e.Subject)
	for _, f := range e.Facts {
		p.line("%s  %s", indent, f)
	}
	for _, f := range e.Fill {
		p.line("%s  %-14s %s %3.0f%%  %s of %s", indent, f.Resource, bar(f.Share), 100*f.Share, f.Used, f.Limit)
	}
	if len(e.Others) > 0 {
		p.line("%s  of the other hosts: %s", indent, counted(e.Others))
	}
	if e.Kind == "host" && len(e.Fill) > 0 && (len(e.Free) > 0 || !e.unasked) {
		p.line("%s  to do with fewer hosts, any one of:", indent)
		for _, r := range e.Free {
			switch {
			case r.Hosts > 0:
				p.line("%s    %s (a plan with %d was found)", indent, r.Change, r.Hosts)
			default:
				p.line("%s    perhaps %s (the bound allows it, no plan was found)", indent, r.Allowed)
			}
		}
		if len(e.Free) == 0 {
			p.line("%s    no single change that was tried is enough", indent)
		}
	}
	for _, x := range e.Each {
		p.line("")
		p.explain(x, indent+"  ")
	}
}
