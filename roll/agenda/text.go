package agenda

import (
	"fmt"
	"io"
	"strings"
	"time"

	"stowage/farm"
)

// WriteText is the plan for a person who reviews it.
func (p Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "roll %s: %s in %s, about %s (%s a host, %s)\n", p.Name, farm.Counted(len(p.Hosts), "host"), batches(len(p.Batches)), span(p.Seconds), span(p.HostSeconds), p.From)
	fmt.Fprintf(&b, "at once: %s\n", p.Limits)
	if n := p.alone(); n > 0 {
		fmt.Fprintf(&b, "downtime: the clients of %s wait for about %s each\n", farm.Counted(n, "single instance"), span(p.HostSeconds))
	}
	for _, w := range p.Windows {
		fmt.Fprintf(&b, "a host begins only when it would be done in time: %s\n", w)
	}
	b.WriteString("on each host, while all its instances are out of rotation:\n")
	for n, s := range p.Work.Steps {
		fmt.Fprintf(&b, "  %d. %s%s\n", n+1, s, s.terms())
		if text := s.wayBack(); text != "" {
			fmt.Fprintf(&b, "     %s\n", text)
		}
	}
	for _, h := range p.Hosts {
		if len(h.Options) > 0 {
			fmt.Fprintf(&b, "     %s, each of its %s: %s\n", h.Name, farm.Counted(len(h.Instances), "server"), Step{Options: h.Options}.pairs())
		}
	}
	if all := p.Work.Announced(); len(all) > 0 {
		fmt.Fprintf(&b, "may differ afterwards: %s\n", strings.Join(all, ", "))
	}
	for n, batch := range p.Batches {
		fmt.Fprintf(&b, "batch %d, from %s to %s: %s\n", n+1, span(batch.From), span(batch.To), hostList(batch.Hosts))
		for _, leg := range batch.OneLeg {
			if leg.Role == Single {
				fmt.Fprintf(&b, "  %s has downtime: %s\n", leg.Pair, leg)
				continue
			}
			fmt.Fprintf(&b, "  %s is served by one side: %s\n", leg.Pair, leg)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// alone is how many single instances are out at some time.
func (p Plan) alone() (n int) {
	for _, b := range p.Batches {
		for _, leg := range b.OneLeg {
			if leg.Role == Single {
				n++
			}
		}
	}
	return n
}

// String is the limits for people.
func (l Limits) String() string {
	out := "at most " + farm.Counted(max(1, l.Hosts), "host")
	if l.PerRack > 0 {
		out += fmt.Sprintf(", %d of a rack", l.PerRack)
	}
	if l.PerFeed > 0 {
		out += fmt.Sprintf(", %d of a feed (label %s)", l.PerFeed, FeedLabel)
	}
	return out + ", never both sides of a pair"
}

// terms are a step's conditions for people.
func (s Step) terms() string {
	var out []string
	if s.Limit > 0 {
		out = append(out, "at most "+s.Limit.String())
	}
	if len(s.Packages) > 0 && s.Upgrade != NoUpgrade {
		out = append(out, "then mariadb-upgrade where a server needs it")
	}
	if len(s.MustPass) > 0 {
		out = append(out, "then must succeed: "+words(s.MustPass))
	}
	if s.OnFailure == GoOn {
		out = append(out, "a failure is noted only")
	}
	if s.Repeatable {
		out = append(out, "may run again")
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, "; ")
}

// wayBack is what follows when the packages of a step fail, for people.
func (s Step) wayBack() string {
	switch {
	case len(s.Packages) == 0:
		return ""
	case s.WayBack == OldPackages:
		return "way back: the packages of before are installed again. An older server need not start on files that a newer one has written: if it does not, rebuild its sides from their twins (stowage move instance)"
	}
	return "no way back: a host on which it fails stays out as it is; its sides can be rebuilt from their twins (stowage move instance)"
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}

func hostList(hosts []farm.HostName) string {
	out := make([]string, len(hosts))
	for n, h := range hosts {
		out[n] = string(h)
	}
	return strings.Join(out, ", ")
}

func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	return strings.TrimSuffix(d.String(), "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(d.String(), "m0s")]
}
