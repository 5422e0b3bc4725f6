package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/internal/table"
	"stowage/inventory"
	"stowage/session"
	"stowage/survey"
	"stowage/tune"
	"stowage/tune/probe"
)

// tuneAll is what `stowage tune --all` prints: all hosts of the farm, by rule and by host.
type tuneAll struct {
	FormatVersion int             `json:"format_version"`
	Farm          string          `json:"farm"`
	Hosts         []farm.HostName `json:"hosts"` // that were looked at
	Machines      []tuneMachine   `json:"machines"`
	Table         []tuneCell      `json:"table"` // a cell for each rule and host
	Silent        []tuneSilent    `json:"silent"`
}

// tuneMachine is what the rules say of one machine.
type tuneMachine struct {
	Hosts  []farm.HostName `json:"hosts"` // several where a machine plays several hosts
	Report tune.Report     `json:"report"`
}

// tuneCell is a rule on a host.
type tuneCell struct {
	Rule   string        `json:"rule"`
	Host   farm.HostName `json:"host"`
	Answer string        `json:"answer"` // blocker, warning, note, followed, not known, not applicable
	Count  int           `json:"findings"`
}

// tuneSilent is a host that did not answer.
type tuneSilent struct {
	Host   farm.HostName `json:"host"`
	Why    string        `json:"why"`
	Remedy string        `json:"remedy"`
}

const (
	// hostsAtOnce is how many hosts are looked at side by side.
	hostsAtOnce = 16
	// lookPatience is how long one may take: tools of RAID controllers take their time.
	lookPatience = 3 * time.Minute
)

// tuneFarm asks all rules about all hosts of the farm.
func (a *app) tuneFarm(ctx context.Context, t *tuneFlags, rules []tune.Rule, severity farm.Severity) error {
	if t.record != "" {
		if err := isEmpty(t.record); err != nil {
			return err
		}
	}
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return err
	}
	busy, closeAll, err := a.groups(ctx, d, nil)
	if err != nil {
		return err
	}
	defer closeAll()
	groups := withoutTwins(withIdle(busy, a.placesOf(ctx, d), d), a.machines(ctx, d.Farm))
	out := tuneAll{FormatVersion: 1, Farm: d.Farm.Name, Hosts: []farm.HostName{}, Machines: []tuneMachine{}, Table: []tuneCell{}, Silent: []tuneSilent{}}
	a.say("looking at %s", farm.Counted(len(groups), "machine"))
	found := make([]tuneMachine, len(groups))
	silent := make([]*tuneSilent, len(groups))
	var all sync.WaitGroup
	room := make(chan struct{}, hostsAtOnce)
	var looked atomic.Int64
	done := a.working(func() string { return fmt.Sprintf("machines: %d of %d", looked.Load(), len(groups)) })
	for n := range groups {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			defer looked.Add(1)
			report, err := a.lookAt(ctx, d, groups[n].Group, t.record, rules)
			if err != nil {
				silent[n] = &tuneSilent{Host: groups[n].Host, Why: err.Error(), Remedy: cmp.Or(groups[n].Why.Remedy, farm.Hint(err), "stowage agent status")}
				return
			}
			found[n] = tuneMachine{groups[n].hosts, report}
		})
	}
	all.Wait()
	done()
	for n, g := range groups {
		if silent[n] != nil {
			for _, h := range g.hosts {
				s := *silent[n]
				s.Host = h
				out.Silent = append(out.Silent, s)
			}
			continue
		}
		out.Machines = append(out.Machines, found[n])
		out.Hosts = append(out.Hosts, g.hosts...)
	}
	out.fill(rules)
	if ctx.Err() == nil && len(rules) == len(tune.Rules()) { // for the page of findings
		if err := d.Store.PutDocument(tuneKind, d.Farm.Name, time.Now(), out); err != nil {
			return err
		}
	}
	next := []string{a.cmd("inventory accept --options")}
	if len(out.Silent) > 0 {
		next = []string{a.cmd("agent status"), a.cmd("doctor")}
	}
	if err := a.emit(out, func(w io.Writer) error { return out.writeText(w, rules) }, next...); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &farm.Error{Op: "tune", Err: farm.ErrInterrupted}
	}
	if len(out.Silent) > 0 || slices.ContainsFunc(out.Machines, func(m tuneMachine) bool { return m.Report.AtLeast(severity) }) {
		return farm.ErrFindings
	}
	return nil
}

// oneMachine is a machine, with the hosts that it plays.
type oneMachine struct {
	survey.Group
	hosts []farm.HostName
}

// withIdle adds the hosts that carry nothing yet.
func withIdle(groups []survey.Group, p *machinesOf, d *session.Session) []survey.Group {
	for _, h := range d.Farm.Hosts {
		if !slices.ContainsFunc(groups, func(g survey.Group) bool { return g.Host == h.Name }) {
			groups = append(groups, p.group(h.Name))
		}
	}
	return groups
}

// withoutTwins makes one of hosts that are one machine.
func withoutTwins(groups []survey.Group, machine map[farm.HostName]string) []oneMachine {
	var out []oneMachine
	for _, g := range groups {
		at := -1
		if !g.IsFar {
			at = slices.IndexFunc(out, func(m oneMachine) bool { return !m.IsFar && machine[m.Host] == machine[g.Host] })
		}
		if at < 0 {
			out = append(out, oneMachine{Group: g})
			at = len(out) - 1
		} else {
			out[at].Targets = append(out[at].Targets, g.Targets...)
		}
		out[at].hosts = append(out[at].hosts, g.Host)
	}
	return out
}

// lookAt reads a machine's settings through its place and its servers' over SQL, and asks the rules.
func (a *app) lookAt(ctx context.Context, d *session.Session, g survey.Group, record string, rules []tune.Rule) (tune.Report, error) {
	if g.Place == nil {
		return tune.Report{}, fmt.Errorf("%s", g.Why.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	var servers []probe.Server
	var unread []tune.Unread
	for _, x := range g.Targets {
		s := d.Server(x.Instance, x.Where.Dial())
		variables, status, err := s.Settings(ctx)
		_ = s.Close()
		if err != nil {
			unread = append(unread, tune.Unread{What: string(x.Instance), Why: err.Error()})
			continue
		}
		servers = append(servers, probe.Server{Name: string(x.Instance), Variables: variables, Status: status})
	}
	if record != "" {
		record = filepath.Join(record, string(g.Host))
	}
	facts, err := survey.Facts(ctx, g.Place, g.Host, servers, record)
	if err != nil {
		return tune.Report{}, err
	}
	facts.Unread = append(facts.Unread, unread...)
	return tune.Audit(facts, rules), nil
}

// fill makes the table.
func (t *tuneAll) fill(rules []tune.Rule) {
	for _, r := range rules {
		for _, m := range t.Machines {
			c := answerOf(r.ID, m.Report)
			for _, h := range m.Hosts {
				c.Host = h
				t.Table = append(t.Table, c)
			}
		}
	}
}

// answerOf is what a rule says of a machine, the most severe first.
func answerOf(id string, r tune.Report) tuneCell {
	c := tuneCell{Rule: id, Answer: "not applicable"}
	if slices.Contains(r.Followed, id) {
		c.Answer = tune.Followed
	}
	if slices.ContainsFunc(r.NotKnown, func(n tune.NotKnown) bool { return n.ID == id }) {
		c.Answer = tune.Unknown
	}
	for _, f := range r.Findings { // most severe first
		if f.ID != id {
			continue
		}
		if c.Count++; c.Count == 1 {
			c.Answer = string(f.Severity)
		}
	}
	return c
}

// writeText is one table by rule and host, of the rules that have something to say, then each finding once for all hosts.
func (t tuneAll) writeText(w io.Writer, rules []tune.Rule) error {
	fmt.Fprintf(w, "farm %s: %s looked at; nothing was changed\n", t.Farm, farm.Counted(len(t.Hosts), "host"))
	said := map[string]bool{}
	for _, c := range t.Table {
		said[c.Rule] = said[c.Rule] || c.Count > 0 || c.Answer == tune.Unknown
	}
	if err := t.writeTable(w, rules, said); err != nil {
		return err
	}
	quiet := 0
	for _, r := range rules {
		if !said[r.ID] {
			quiet++
		}
	}
	if err := inventory.WriteFindings(w, t.findings()); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s nothing to find on any host\n", farm.CountedAs(quiet, "rule has", "rules have"))
	for _, s := range t.Silent {
		fmt.Fprintf(w, "not looked at: %s: %s\n  -> %s\n", s.Host, s.Why, s.Remedy)
	}
	return nil
}

// columnsAtOnce is how many hosts a table on paper has side by side; a farm of more has several tables.
const columnsAtOnce = 12

// marks are the answers as cells of a table.
var marks = map[string]string{string(farm.Blocker): "BLOCKER", string(farm.Warning): "warning", string(farm.Note): "note", tune.Followed: "ok", tune.Unknown: "?", "not applicable": "-"}

func (t tuneAll) writeTable(w io.Writer, rules []tune.Rule, said map[string]bool) error {
	cell := map[string]map[farm.HostName]tuneCell{}
	for _, c := range t.Table {
		if cell[c.Rule] == nil {
			cell[c.Rule] = map[farm.HostName]tuneCell{}
		}
		cell[c.Rule][c.Host] = c
	}
	for hosts := range slices.Chunk(t.Hosts, columnsAtOnce) {
		fmt.Fprintln(w)
		head := "RULE"
		for _, h := range hosts {
			head += "\t" + string(h)
		}
		paper := table.New(w, head)
		for _, r := range rules {
			if !said[r.ID] {
				continue
			}
			row := []string{r.ID}
			for _, h := range hosts {
				c := cell[r.ID][h]
				text := marks[c.Answer]
				if c.Count > 1 {
					text += fmt.Sprintf(" x%d", c.Count)
				}
				row = append(row, text)
			}
			paper.Cells(row...)
		}
		if err := paper.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// tuneKind is the kind of document that tune --all keeps.
const tuneKind = "tune-all"

// byHost are the findings of all machines, one for each host.
func (t tuneAll) byHost() []farm.Finding {
	out := []farm.Finding{}
	for _, m := range t.Machines {
		for _, f := range m.Report.Findings {
			for _, h := range m.Hosts {
				out = append(out, farm.Finding{Check: f.ID, Severity: f.Severity, Subject: string(h) + " " + f.Subject, Text: f.Verdict, Remedy: f.Fix})
			}
		}
	}
	return out
}

// findings are those of all machines, each once: what is said alike of several is said of the first, with the others' number.
func (t tuneAll) findings() []farm.Finding {
	type same struct{ id, verdict, fix string }
	var order []same
	about := map[same][]string{}
	first := map[same]tune.Finding{}
	for _, m := range t.Machines {
		for _, f := range m.Report.Findings {
			k := same{f.ID, f.Verdict, f.Fix}
			if about[k] == nil {
				order = append(order, k)
				first[k] = f
			}
			about[k] = append(about[k], string(m.Hosts[0])+": "+f.Subject)
		}
	}
	out := []farm.Finding{}
	for _, k := range order {
		f, names := first[k], about[k]
		x := farm.Finding{Check: f.ID, Severity: f.Severity, Subject: names[0], Text: f.Verdict, Remedy: f.Fix}
		if more := len(names) - 1; more > 0 {
			x.Subject = strings.Join(names[:min(3, len(names))], ", ")
			if more >= 3 {
				x.Subject += fmt.Sprintf(" and %d more", len(names)-3)
			}
			x.Names = names
		}
		out = append(out, x)
	}
	return out
}
