package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/inventory"
	"stowage/tune"
	"stowage/tune/prove"
)

// headline says which machine this is, as far as anybody could tell.
func (v tuneView) headline() string {
	words := []string{}
	if machine := strings.TrimSpace(v.facts.Vendor + " " + v.facts.Product); machine != "" {
		words = append(words, machine)
	}
	if v.facts.Kernel.Text != "" {
		words = append(words, "kernel "+v.facts.Kernel.Text)
	}
	disks := 0
	for _, d := range v.facts.Disks {
		if d.Kind == tune.Real {
			disks++
		}
	}
	words = append(words, farm.Counted(disks, "disk"))
	if n := len(v.facts.Controllers); n > 0 {
		words = append(words, farm.Counted(n, "RAID controller"))
	}
	words = append(words, farm.Counted(len(v.facts.Instances), "instance"))
	name := v.Host
	if name == "" {
		name = "a machine without a name"
	}
	return name + ": " + strings.Join(words, ", ")
}

// writeShort is one finding in two lines, in the look of all findings.
func (v tuneView) writeShort(w io.Writer) error {
	var list []farm.Finding
	for _, f := range v.Findings {
		list = append(list, farm.Finding{Check: f.ID, Severity: f.Severity, Subject: f.Subject, Text: f.Verdict, Remedy: f.Fix})
	}
	if err := inventory.WriteFindings(w, list); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s followed, %s not apply here; nothing was changed\n", farm.CountedAs(len(v.Followed), "rule is", "rules are"), farm.CountedAs(len(v.NotApplicable), "does", "do"))
	v.writeNotKnown(w)
	v.writeUnread(w)
	return nil
}

// writeNotKnown says what no rule could judge, and how it can: subjects that lack
// the same in one line.
func (v tuneView) writeNotKnown(w io.Writer) {
	type lack struct{ id, missing string }
	subjects := map[lack][]string{}
	for _, n := range v.NotKnown {
		subjects[lack{n.ID, n.Missing}] = append(subjects[lack{n.ID, n.Missing}], n.Subject)
	}
	for _, n := range v.NotKnown {
		same := subjects[lack{n.ID, n.Missing}]
		if n.Subject != same[0] {
			continue
		}
		names := same[0]
		if more := len(same) - 1; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(w, "not known: %s: %s  (%s)\n  -> %s\n", names, n.Missing, n.ID, n.Get)
	}
}

func (v tuneView) writeUnread(w io.Writer) {
	byWhy := map[string][]string{}
	var order []string
	for _, u := range v.Unread {
		if len(byWhy[u.Why]) == 0 {
			order = append(order, u.Why)
		}
		byWhy[u.Why] = append(byWhy[u.Why], u.What)
	}
	for _, why := range order {
		fmt.Fprintf(w, "not read: %s: %s\n", strings.Join(byWhy[why], "; "), why)
	}
}

// writeFull is everything that rules say, a block for each finding.
func (v tuneView) writeFull(w io.Writer) error {
	for _, r := range v.rules {
		fmt.Fprintf(w, "\n%s  %s\n", r.ID, r.Title)
		entry(w, "reads", r.Reads)
		entry(w, "source", r.Source)
		entry(w, "except", r.Except)
		entry(w, "proved by", provedBy(r))
		if i := slices.IndexFunc(v.NotApplicable, func(n tune.NotApplicable) bool { return n.ID == r.ID }); i >= 0 {
			entry(w, "here", "does not apply: "+v.NotApplicable[i].Why)
		}
		if slices.Contains(v.Followed, r.ID) {
			entry(w, "here", "followed")
		}
		for _, n := range v.NotKnown {
			if n.ID == r.ID {
				entry(w, "not known", n.Subject+": "+n.Missing)
				entry(w, "to know it", n.Get)
			}
		}
		for _, f := range v.Findings {
			if f.ID != r.ID {
				continue
			}
			fmt.Fprintf(w, "\n  %-7s  %s: %s\n", f.Severity, f.Subject, f.Verdict)
			entry(w, "read", f.Read)
			entry(w, "why", f.Why)
			if f.Prove != r.Prove {
				entry(w, "proved by", f.Prove)
			}
			entry(w, "fix", f.Fix)
			entry(w, "lasts by", f.Persist)
			entry(w, "taken back", f.Revert)
		}
	}
	v.writeUnread(w)
	return nil
}

// provedBy is the step that decides, and how to run it where that can be done by itself.
func provedBy(r tune.Rule) string {
	if r.Prove == "" || !prove.Provable(r) {
		return r.Prove
	}
	return r.Prove + ": stowage tune --prove " + r.ID
}

// entry is one named line, wrapped at a width that a terminal has.
func entry(w io.Writer, name, text string) {
	if text == "" || text == "-" {
		return
	}
	const width = 96
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			fmt.Fprintf(w, "           %-10s  %s\n", name, line)
			name, line = "", ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintf(w, "           %-10s  %s\n", name, line)
}
