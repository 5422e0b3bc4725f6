package report

import (
	"fmt"

	"stowage/farm"
	"stowage/placement"
)

// judged is how good a plan is in what its goals put first.
type judged struct {
	objective string  // hosts, cost or watts; empty: one that has no bound
	is, bound float64 // bound 0: none is known
	words     string  // "uses 30 hosts"
	floor     string  // "uses fewer than 30 hosts"
}

func judge(p placement.Plan) judged {
	first := "hosts"
	if len(p.Goals.Minimise) > 0 {
		first = p.Goals.Minimise[0]
	}
	switch first {
	case "hosts":
		return judged{first, float64(p.HostsUsed), float64(p.LowerBound), "uses " + count(p.HostsUsed, "host"), "uses fewer than " + count(p.LowerBound, "host")}
	case "cost":
		return judged{first, p.Cost, p.CostBound, "costs " + whole(p.Cost), "costs less than " + whole(p.CostBound)}
	case "watts":
		return judged{first, p.Watts, p.WattsBound, "draws " + whole(p.Watts) + " W", "draws less than " + whole(p.WattsBound) + " W"}
	}
	return judged{}
}

// isProved reports whether no plan can be better in what comes first.
func (j judged) isProved() bool { return j.objective != "" && j.bound > 0 && j.is <= j.bound*(1+1e-9) }

// gap is by how much the plan is above its bound.
func (j judged) gap() float64 { return (j.is - j.bound) / j.bound }

// proofWords are the verdict and the sentence that goes with it.
func proofWords(p placement.Plan, isWrong bool) (verdict, lead string) {
	j := judge(p)
	why := ""
	if j.objective == "hosts" {
		why = " (" + boundWords(p.BoundMethod) + ")"
	}
	switch {
	case isWrong:
		return "Wrong.", "The independent checker refuses this plan: see the risks. Do not carry it out."
	case p.HostsUsed == 0:
		return "Empty.", "Nothing is placed."
	case j.isProved():
		return "Proved optimal.", fmt.Sprintf("No plan for these goals %s%s, and this one %s.", j.floor, why, j.words)
	case j.bound > 0:
		return "Not proved optimal.", fmt.Sprintf("No plan for these goals %s%s; this one %s, %s above that. Whether a better one exists is open.", j.floor, why, j.words, percent(j.gap()))
	}
	return "Not proved optimal.", fmt.Sprintf("For what the goals put first there is no bound. At least %s are needed; this plan uses %s.", count(p.LowerBound, "host"), whole(float64(p.HostsUsed)))
}

// boundNote is how far the hosts of a plan are from their bound, for a tile.
func boundNote(p placement.Plan) string {
	switch {
	case p.HostsUsed == p.LowerBound:
		return "proved; this plan uses as many"
	case judge(p).objective == "hosts":
		return fmt.Sprintf("gap %s, not proved", percent(p.Gap))
	}
	return "hosts are not what comes first"
}

func (c *census) proofSection(wrong []farm.Finding, freeing []placement.Relaxation) planSection {
	p := c.plan
	s := planSection{ID: "proof", Name: "Proof"}
	verdict, lead := proofWords(p, len(wrong) > 0)
	s.Text = append(s.Text, verdict+" "+lead)
	if len(wrong) == 0 {
		s.Text = append(s.Text, "The independent checker, which shares no code with the solver, went through the plan when this was written: every place, rule, load, figure and move, and the certificates below. It found nothing wrong.")
	} else {
		s.Text = append(s.Text, fmt.Sprintf("The independent checker found %s.", count(len(wrong), "fault")))
	}
	t := planTable{Caption: "Certificates: what anybody can prove again from farm.yaml and the goals", Head: columns("of", "#no plan is below", "#this plan", "kind", "claim")}
	for _, cert := range p.Certificates {
		row := cells(string(cert.Objective), "", "", cert.Kind, cert.Claim)
		switch cert.Objective {
		case "bins":
			row[0].Text, row[1].Text, row[2].Text = "hosts", whole(float64(cert.Bound)), whole(float64(p.HostsUsed))
		case "cost":
			row[1].Text, row[2].Text = whole(float64(cert.Bound)/100), whole(p.Cost)
		case "watts":
			row[1].Text, row[2].Text = whole(float64(cert.Bound)/100), whole(p.Watts)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return c.addFreeing(s, freeing)
}

// addFreeing says what it would take to do with fewer hosts.
func (c *census) addFreeing(s planSection, freeing []placement.Relaxation) planSection {
	if freeing == nil {
		if len(c.after) > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("What it would take to do with fewer hosts: stowage plan explain %s --plan %s.", c.after[0].host.Name, c.plan.Name))
		}
		return s
	}
	if len(freeing) == 0 {
		s.Text = append(s.Text, "No single change that was tried (headroom, larger hosts, a shorter runway, a rule given up) does with fewer hosts.")
		return s
	}
	t := planTable{Caption: "Any one of these would do with fewer hosts", Head: columns("change", "#hosts then", "known")}
	for _, r := range freeing {
		if r.Hosts > 0 {
			t.Rows = append(t.Rows, cells(r.Change, whole(float64(r.Hosts)), "a plan was found"))
		} else {
			t.Rows = append(t.Rows, cells(r.Change, "\u2013", "the bound allows it, no plan was found"))
		}
	}
	s.Tables = append(s.Tables, t)
	return s
}
