package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

// ruleRow is one rule, and where it was found.
type ruleRow struct {
	rule, from string
	worst      farm.Severity
	hosts      map[string]farm.Severity
	found      []Found
}

// NewFindingsDocument is every finding, by rule and host.
func NewFindingsDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Findings"}
	if f.Findings == nil || f.Farm == nil {
		return d
	}
	if len(f.Findings) == 0 {
		d.Verdict = "Nothing was found."
		return d
	}
	hosts := hostsOf(f.Farm)
	rows, on := map[string]*ruleRow{}, map[string]bool{}
	n := map[farm.Severity]int{}
	for _, x := range f.Findings {
		key := x.From + " " + x.Check
		r := rows[key]
		if r == nil {
			r = &ruleRow{rule: x.Check, from: x.From, worst: x.Severity, hosts: map[string]farm.Severity{}}
			rows[key] = r
		}
		r.found = append(r.found, x)
		r.worst = worse(r.worst, x.Severity)
		n[x.Severity]++
		for _, h := range hosts(x.Subject) {
			r.hosts[h], on[h] = worse(r.hosts[h], x.Severity), true
		}
	}
	var all []*ruleRow
	for _, r := range rows {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *ruleRow) int {
		return cmp.Or(cmp.Compare(rank(a.worst), rank(b.worst)), cmp.Compare(len(b.hosts), len(a.hosts)), cmp.Compare(a.from+a.rule, b.from+b.rule))
	})
	d.IsBad = n[farm.Blocker] > 0
	d.Verdict = fmt.Sprintf("%s by %s.", count(len(f.Findings), "finding"), count(len(all), "rule"))
	d.Lead = fmt.Sprintf("%s, %s, %s, on %s.", count(n[farm.Blocker], "blocker"), count(n[farm.Warning], "warning"), count(n[farm.Note], "note"), count(len(on), "host"))
	d.Sections = []planSection{{ID: "matrix", Name: "Rules and hosts", Chart: ruleChart(all, f.Farm), Tables: []planTable{ruleTable(all)}}, {ID: "each", Name: "Every finding", Tables: []planTable{foundTable(f.Findings)}}}
	return d
}

func rank(s farm.Severity) int {
	if i := slices.Index([]farm.Severity{farm.Blocker, farm.Warning, farm.Note}, s); i >= 0 {
		return i
	}
	return 3
}

func worse(a, b farm.Severity) farm.Severity {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// hostsOf finds the hosts of what a finding speaks of: a host, an instance, a pair or a shard.
func hostsOf(f *farm.Farm) func(subject string) []string {
	where := map[string][]string{}
	for _, h := range f.Hosts {
		where[string(h.Name)] = []string{string(h.Name)}
	}
	for _, p := range f.Pairs {
		for _, side := range p.SideNames() {
			host := string(p.Sides[side].Host)
			where[string(p.Instance(side))] = []string{host}
			if !slices.Contains(where[string(p.Name)], host) {
				where[string(p.Name)] = append(where[string(p.Name)], host)
			}
		}
		for _, s := range p.Shards {
			where[string(s.Name)] = where[string(p.Name)]
		}
	}
	return func(subject string) []string {
		name, _, _ := strings.Cut(subject, "/")
		first, _, _ := strings.Cut(name, " ")
		for _, s := range []string{subject, name, first} {
			if hosts, ok := where[s]; ok {
				return hosts
			}
		}
		return nil
	}
}

// ruleChart has a row for each rule and a column for each host of the farm: a mark where the rule has found something.
func ruleChart(all []*ruleRow, f *farm.Farm) *planChart {
	if len(f.Hosts) == 0 {
		return nil
	}
	const tall = 20.0
	c := newChart("chart-rules", "Findings by rule and host", 250, 10)
	c.Y1 = c.Y0 + tall*float64(len(all))
	c.Height = c.Y1 + 26
	c.Desc = "A row for each rule, a column for each host, a mark where there is a finding. The table below has the hosts of each rule."
	c.Caption = fmt.Sprintf("A column for each of %s in the order of farm.yaml, a mark for a finding", count(len(f.Hosts), "host"))
	c.Keys = []planKey{{"blocker", "blocker"}, {"warning", "warning"}, {"note", "note"}}
	wide := (c.X1 - c.X0) / float64(len(f.Hosts))
	var names []string
	for _, h := range f.Hosts {
		names = append(names, string(h.Name))
	}
	every := max(1, (len(names)+23)/24)
	short := labels(names, int(wide*float64(every)/tickLetter))
	for i, name := range names {
		if i%every == 0 {
			c.XTicks = append(c.XTicks, tick{round1(c.X0 + wide*(float64(i)+0.5)), shortened(short(name), max(8, int(wide*float64(every)/tickLetter)))})
		}
	}
	for i, r := range all {
		y := c.Y0 + tall*float64(i)
		c.YTicks = append(c.YTicks, tick{round1(y + tall/2), shortened(r.rule, 36)})
		for j, name := range names {
			s, ok := r.hosts[name]
			if !ok || s == "" {
				continue
			}
			c.Bars = append(c.Bars, planBar{X: round1(c.X0 + wide*float64(j) + min(1, wide*0.1)), Y: round1(y + 3), W: round1(max(1.5, wide-min(2, wide*0.2))), H: tall - 6, Class: string(s), Title: fmt.Sprintf("%s on %s: %s", r.rule, name, s)})
		}
	}
	return c
}

func ruleTable(all []*ruleRow) planTable {
	t := planTable{Caption: "By rule", Head: columns("rule", "from", "worst", "#findings", "#hosts", "which", "remedy")}
	for _, r := range all {
		var names []string
		for h := range r.hosts {
			names = append(names, h)
		}
		slices.Sort(names)
		which := strings.Join(names[:min(len(names), 8)], ", ")
		if len(names) > 8 {
			which += fmt.Sprintf(" and %d more", len(names)-8)
		}
		t.Rows = append(t.Rows, cells(r.rule, r.from, string(r.worst), whole(float64(len(r.found))), whole(float64(len(r.hosts))), which, r.found[0].Remedy))
	}
	return t.fold()
}

func foundTable(found []Found) planTable {
	t := planTable{Caption: "The most severe first", Head: columns("subject", "severity", "what", "remedy", "rule", "from")}
	sorted := slices.Clone(found)
	slices.SortStableFunc(sorted, func(a, b Found) int { return rank(a.Severity) - rank(b.Severity) })
	for _, x := range sorted[:min(len(sorted), mostRows)] {
		t.Rows = append(t.Rows, cells(x.Subject, string(x.Severity), x.Text, x.Remedy, x.Check, x.From))
	}
	if n := len(sorted); n > mostRows {
		t.Caption += fmt.Sprintf(": %s of %s", whole(mostRows), whole(float64(n)))
	}
	return t.fold()
}
