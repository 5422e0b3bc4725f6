package digest

import (
	"fmt"
	"strings"
)

// Plan is how a server would run the sample of a class, and the tables it reads. It is asked for by others: this package
// knows no server.
type Plan struct {
	Steps  []PlanStep `json:"steps"`
	Tables []string   `json:"tables"` // SHOW CREATE TABLE of each
	Reason string     `json:"reason"` // why there are no steps
}

// PlanStep is one row of EXPLAIN.
type PlanStep struct {
	Select string `json:"select_type"`
	Table  string `json:"table"`
	Type   string `json:"type"` // of access: ALL, index, range, ref, eq_ref, const ..
	Key    string `json:"key"`  // empty: none
	Rows   string `json:"rows"` // as the server guesses
	Extra  string `json:"extra"`
}

// access is what makes two plans different: how each table is read, and by which index. Guesses of rows are not in it.
func (p *Plan) access() string {
	var out []string
	for _, s := range p.Steps {
		step := strings.TrimSpace(s.Table + " " + s.Type)
		if s.Key != "" {
			step += " by " + s.Key
		}
		out = append(out, step)
	}
	return strings.Join(out, ", ")
}

// PlanChange says how the plan of a class changed, or nothing.
func PlanChange(before, after *Plan) string {
	if before == nil || after == nil || len(before.Steps) == 0 || len(after.Steps) == 0 || before.access() == after.access() {
		return ""
	}
	return fmt.Sprintf("%s -> %s", before.access(), after.access())
}

// Plans adds plans to the classes, by their IDs of 32 digits.
func (l *Listing) Plans(byID map[string]*Plan) { l.plans = byID }

// NamePlans adds to the classes of a comparison how their plans changed.
func (c *Comparison) NamePlans(before, after map[string]*Plan) {
	for i := range c.Classes {
		id := c.Classes[i].ID32
		c.Classes[i].PlanChange = PlanChange(before[id], after[id])
	}
}

// Verb is the first word of a statement, in small letters; of one in parentheses, that inside.
func Verb(query string) string {
	t := tokens{q: []byte(strings.TrimLeft(query, "( \t\r\n"))}
	t.next()
	return strings.ToLower(string(t.q[t.at:t.end]))
}

func (p *page) plan(plan *Plan) {
	if plan == nil {
		return
	}
	if len(plan.Steps) == 0 {
		p.wrapped("   plan      ", "not asked for: "+plan.Reason)
		return
	}
	for i, s := range plan.Steps {
		title := "   plan      "
		if i > 0 {
			title = "             "
		}
		key := "no index"
		if s.Key != "" {
			key = "index " + clean(s.Key)
		}
		p.wrapped(title, fmt.Sprintf("%s: %s, %s, about %s%s", clean(s.Table), clean(s.Type), key, rowsText(s.Rows), extraText(s.Extra)))
	}
}

func rowsText(rows string) string {
	if rows == "1" {
		return "1 row"
	}
	return clean(rows) + " rows"
}

func extraText(extra string) string {
	if extra == "" {
		return ""
	}
	return " (" + clean(extra) + ")"
}
