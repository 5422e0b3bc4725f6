package graph

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/table"
)

// WriteText is the person's view: the table twin of the picture.
func (g Graph) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s, as of %s\n\n", g.Farm, farm.Counted(g.sources(), "source"), g.Taken.UTC().Format("2006-01-02 15:04"))
	t := table.New(w, "SOURCE\tKIND\tCLAIMS\tAGE\tBLAMED\tSTATE\tDECIDES").Cut("STATE", "DECIDES")
	for _, n := range g.Nodes {
		if !n.IsUse {
			t.Row("%s\t%s\t%d\t%s\t%d\t%s\t%s", n.Name, n.Kind, n.Claims, Age(g.Taken, n.At), n.Blamed, n.State(), strings.Join(n.Decides, ", "))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(g.Edges) == 0 {
		fmt.Fprintln(w, "\nno source is known to feed another; declare it in inventory.yaml: feeds: [SOURCE]")
	} else {
		fmt.Fprintln(w)
		t = table.New(w, "FROM\t\tTO\tKNOWN BY\tDISAGREE\tFRESHNESS\tEVIDENCE").Cut("FRESHNESS", "EVIDENCE")
		for _, e := range g.Edges {
			t.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s", e.From, e.arrow(), e.To, e.How, e.Difference(), e.Freshness(), e.Evidence)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return g.writePairs(w)
}

func (g Graph) sources() int {
	n := 0
	for _, x := range g.Nodes {
		if !x.IsUse {
			n++
		}
	}
	return n
}

func (e Edge) arrow() string {
	if e.HasDirection {
		return "->"
	}
	return "--"
}

// Difference is how many facts the two disagree about.
func (e Edge) Difference() string {
	if e.Shared == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", e.Disagree, e.Shared)
}

// Freshness says whether the one that is fed is older than what feeds it.
func (e Edge) Freshness() string {
	if e.BehindSeconds == 0 {
		return "-"
	}
	return "older by " + length(time.Duration(e.BehindSeconds)*time.Second)
}

// State is a source in one word or two.
func (n Node) State() string {
	switch {
	case n.IsStale:
		return "stale"
	case n.IsPart:
		return "read in part"
	}
	return "read"
}

// Age is how old something is, as a person says it.
func Age(now, at time.Time) string {
	if at.IsZero() {
		return "never read"
	}
	return length(now.Sub(at))
}

func length(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}

// mostPairs that are fine are not listed one by one.
const mostPairs = 50

func (g Graph) writePairs(w io.Writer) error {
	if len(g.Pairs) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := table.New(w, "PAIR\tINSTANCE\tHOST\tREPLICATES FROM\tALIVE\tLAG\tREMARK").Cut("REMARK").Names("PAIR", "INSTANCE", "HOST", "REPLICATES FROM")
	left := 0
	for i, p := range g.Pairs {
		trouble := p.Trouble()
		if i >= mostPairs && len(trouble) == 0 {
			left++
			continue
		}
		for j, m := range p.Members {
			name, remark := "", ""
			if j == 0 {
				name, remark = p.Name, strings.Join(trouble, "; ")
			}
			t.Row("%s\t%s\t%s\t%s\t%s\t%s\t%s", dash(name), m.Instance, dash(m.Host), dash(m.From), dash(m.Alive), dash(m.Lag), remark)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(w, "and %d more pairs with nothing to say about; --json has all\n", left)
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// WriteText is the person's view.
func (e Effect) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "If %s is wrong\n", e.Source)
	for _, r := range e.Reached {
		fmt.Fprintf(w, "  %s is wrong, too (%s): %s\n", r.Name, r.How, strings.Join(r.Path, " -> "))
	}
	if len(e.Reached) == 0 {
		fmt.Fprintln(w, "  nobody is known to be made of it")
	}
	for _, p := range e.Perhaps {
		fmt.Fprintf(w, "  %s perhaps: one feeds the other, and nothing says which\n", p)
	}
	if len(e.Decides) > 0 {
		fmt.Fprintf(w, "  inventory accept would write its values into farm.yaml where a person confirms them: %s\n", strings.Join(e.Decides, ", "))
	}
	fmt.Fprintln(w)
	t := table.New(w, "ATTRIBUTE\tCLAIMS\tNOBODY ELSE SAYS\tDISPUTED\tA WRONG VALUE").Cut("A WRONG VALUE")
	for _, r := range e.Rests {
		t.Row("%s\t%d\t%d\t%d\t%s", r.Attribute, r.Claims, r.Alone, r.Disputed, dash(r.Consequence))
	}
	return t.Flush()
}
