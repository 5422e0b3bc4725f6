package notices

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	textsFile = "THIRD-PARTY-LICENSES.txt"
	// border divides NOTICE: what is above it is written by people.
	border = "-------- written by make notices; do not edit below --------\n"
)

// notice is NOTICE with its head as it is and its end anew: the modules, and
// the notices that the Apache License, 4(d), demands to be carried.
func notice(old string, all []module) string {
	head, _, _ := strings.Cut(old, border)
	var b strings.Builder
	b.WriteString(strings.TrimRight(head, "\n") + "\n\n" + border)
	b.WriteString("\nThe binaries contain the work of others. The texts of their licences are in " + textsFile + ".\n" +
		"Source of each module: https://proxy.golang.org/MODULE/@v/VERSION.zip (capital letters of MODULE as ! and the small letter).\n" +
		"S: in stowage. E: in stowage-engine.\n\n")
	fmt.Fprintf(&b, "SE  %s  %s\n", "Go standard library and runtime", "BSD-3-Clause")
	for _, m := range all {
		fmt.Fprintf(&b, "%s  %s %s  %s\n", where(m), m.path, m.version, strings.Join(m.licences, " AND "))
	}
	b.WriteString("\nRemarks:\n\n")
	for _, m := range all {
		if m.remark != "" {
			fmt.Fprintf(&b, "%s: %s.\n", m.path, m.remark)
		}
	}
	b.WriteString("\nNotices that come with these modules:\n")
	gather(&b, all, func(t text) bool { return t.notice })
	return b.String()
}

func where(m module) string {
	out := "  "
	if slices.Contains(m.in, "stowage") {
		out = "S "
	}
	if slices.Contains(m.in, "stowage-engine") {
		out = out[:1] + "E"
	}
	return out
}

// texts are all licences, each text once.
func texts(all []module) string {
	var b strings.Builder
	b.WriteString("Licences of what is in the binaries stowage and stowage-engine; NOTICE lists modules and versions. Written by make notices.\n" +
		"The Go standard library and runtime are under the text given for golang.org/x/sys.\n")
	gather(&b, all, func(t text) bool { return !t.notice })
	return b.String()
}

// gather writes the chosen texts, each under the names of all that have it.
func gather(b *strings.Builder, all []module, chosen func(text) bool) {
	type group struct {
		content string
		names   []string
	}
	groups, at := []group{}, map[string]int{}
	for _, m := range all {
		for _, t := range m.texts {
			if !chosen(t) {
				continue
			}
			key := even(t.content)
			i, ok := at[key]
			if !ok {
				i = len(groups)
				at[key], groups = i, append(groups, group{content: t.content})
			}
			groups[i].names = append(groups[i].names, m.path+"  "+t.name)
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.names[0], b.names[0]) })
	for _, g := range groups {
		slices.Sort(g.names)
		b.WriteString("\n" + strings.Repeat("=", 80) + "\n" + strings.Join(slices.Compact(g.names), "\n") + "\n" + strings.Repeat("-", 80) + "\n\n")
		for line := range strings.Lines(strings.ReplaceAll(strings.Trim(g.content, "\r\n"), "\r\n", "\n") + "\n") {
			b.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
		}
	}
}
