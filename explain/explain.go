package explain

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/tune"
)

//go:embed codes.txt
var table string

// Code is one finding, rule or exit code.
type Code struct {
	Code     string `json:"code"`
	From     string `json:"from"` // the verbs that say it
	Cause    string `json:"cause"`
	Evidence string `json:"evidence"`
	Remedy   string `json:"remedy"`
	Source   string `json:"source,omitempty"` // who says so, of rules of tune
	Except   string `json:"except,omitempty"` // when it does not hold
}

// Codes are all of them: findings in the order of the road, rules of tune, exit codes.
func Codes() []Code {
	var out, exits []Code
	for _, line := range strings.Split(table, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 5 {
			panic("explain: codes.txt: " + line) // a bug of ours, which every test meets
		}
		c := Code{Code: f[0], From: f[1], Cause: f[2], Evidence: f[3], Remedy: f[4]}
		if c.From == "every verb" {
			exits = append(exits, c)
			continue
		}
		out = append(out, c)
	}
	for _, r := range tune.Rules() {
		c := Code{Code: r.ID, From: "tune", Cause: "advice about " + r.Title, Evidence: r.Reads, Source: r.Source, Except: r.Except,
			Remedy: "stowage tune prints the command for this machine; stowage tune --fix --rule " + r.ID + " carries it out where it can be taken back"}
		if r.Prove != "" {
			c.Remedy += "; stowage tune --prove " + r.ID + " measures it first"
		}
		out = append(out, c)
	}
	return append(out, exits...)
}

// Of finds a code, in any case. A code that ends in a word of the farm, such as plan-shared-rack, is found by what is before that word.
func Of(code string) (Code, bool) {
	for _, c := range Codes() {
		if prefix, ok := strings.CutSuffix(c.Code, "LABEL"); strings.EqualFold(c.Code, code) || ok && strings.HasPrefix(code, prefix) && code != prefix {
			return c, true
		}
	}
	return Code{}, false
}

// Near are the codes that look most like a word, at most three.
func Near(word string) []string {
	type near struct {
		code  string
		score int
	}
	var all []near
	for _, c := range Codes() {
		n := 0
		for i := 0; i+2 <= len(word); i++ { // pairs of letters in common
			if strings.Contains(strings.ToLower(c.Code), strings.ToLower(word[i:i+2])) {
				n++
			}
		}
		if 2*n >= len(word)-1 && n > 0 {
			all = append(all, near{c.Code, n})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	var out []string
	for _, x := range all[:min(3, len(all))] {
		out = append(out, x.code)
	}
	return out
}

// WriteText is the person's view of one code.
func (c Code) WriteText(w io.Writer) error {
	for _, line := range [][2]string{{"", c.Code}, {"said by", c.From}, {"cause", c.Cause}, {"evidence", c.Evidence}, {"remedy", c.Remedy}, {"not when", c.Except}, {"source", c.Source}} {
		if line[1] == "" || line[1] == "-" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\n", strings.TrimLeft(fmt.Sprintf("  %-9s %s", line[0], line[1]), map[bool]string{true: " ", false: ""}[line[0] == ""])); err != nil {
			return err
		}
	}
	return nil
}

// Markdown is docs/reference/codes.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Codes\n\nEvery finding and exit code, what it means and what to do. `stowage explain CODE` prints one. This page is made from the same table:\n" +
		"`go test ./explain -update`. Rules of `tune` have a page of their own: [tune.md](../measuring/tune.md).\n\n| code | said by | cause | evidence | remedy |\n|---|---|---|---|---|\n")
	for _, c := range Codes() {
		if c.From == "tune" {
			continue
		}
		cell := strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", `\<`)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Code, c.From, cell.Replace(c.Cause), cell.Replace(c.Evidence), cell.Replace(c.Remedy))
	}
	return b.String()
}
