package graph

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/inventory/claims"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// invented is a report of six sources: cmdb feeds lb, says inventory.yaml; export lists the subjects of cmdb in their order and was written a
// day later; wiki and notes make the same mistakes.
func invented() (claims.Report, []claims.Spec) {
	at := func(hours int) time.Time { return noon.Add(-time.Duration(hours) * time.Hour) }
	r := claims.Report{Farm: "f", Taken: noon, Claims: 9,
		Sources: []claims.SourceState{{Name: "farm", Kind: "farm", At: at(1), Claims: 9}, {Name: "cmdb", Kind: "csv", At: at(2), Claims: 5}, {Name: "lb", Kind: "haproxy", At: at(200), Claims: 4},
			{Name: "export", Kind: "tsv", At: at(1), Claims: 5, IsPart: true}, {Name: "old", Kind: "tsv", At: at(90)}, {Name: "wiki", Kind: "csv"}, {Name: "notes", Kind: "csv", IsStale: true}},
		Copies:      []claims.Copy{{Source: "notes", Of: "wiki", Evidence: "3 errors in common"}},
		Authorities: []claims.Authority{{Attribute: "instance.host", Sources: []string{"cmdb"}, Declared: true}, {Attribute: "shard.pair", Sources: []string{"farm"}}},
		Conflicts:   []claims.Conflict{{Culprits: []string{"lb"}, IsSure: true}, {Culprits: []string{"lb", "wiki"}}},
		Overlaps: []claims.Overlap{{A: "cmdb", B: "lb", Shared: 4, Equal: 3}, {A: "cmdb", B: "export", Shared: 5, Equal: 5, Verbatim: 5, IsInOrder: true},
			{A: "cmdb", B: "old", Shared: 5, Equal: 5, IsInOrder: true}, {A: "farm", B: "cmdb", Shared: 5, Equal: 5}},
		Tallies: []claims.Tally{{Source: "cmdb", Attribute: "instance.host", Claims: 4}, {Source: "cmdb", Attribute: "instance.owner", Claims: 3, Alone: 3}},
		Members: []claims.Member{{Instance: "x"}, {Instance: "pa", Pair: "p", Topology: "primary-replica", Host: "h1", Alive: "no"}, {Instance: "pb", Pair: "p", Host: "h2", From: "pa", Lag: "7"}},
	}
	return r, []claims.Spec{{Name: "cmdb", Kind: "csv", Feeds: []string{"lb"}}, {Name: "lb", Kind: "haproxy"}}
}

func TestWhoFeedsWhom(t *testing.T) {
	t.Parallel()
	g := Of(invented())
	var got []string
	for _, e := range g.Edges {
		got = append(got, fmt.Sprintf("%s %s %s, %s, %s, %s", e.From, e.arrow(), e.To, e.How, e.Difference(), e.Freshness()))
	}
	want := []string{
		"farm -> plans and acts, is read by, -, -",
		"cmdb -> lb, declared, 1 of 4, older by 8 days",
		"cmdb -- export, same order, 0 of 5, -", // written within the hour
		"lb -> clients, names servers, -, -",
		"old -> cmdb, same order, 0 of 5, -", // the one that was written first is read
		"wiki -- notes, same mistakes, -, -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("edges\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := g.node("lb"); n.Blamed != 2 || n.Surely != 1 {
		t.Errorf("lb is blamed %d times, surely %d; want 2 and 1", n.Blamed, n.Surely)
	}
	if n := g.node("cmdb"); !slices.Equal(n.Decides, []string{"instance.host"}) || len(g.node("farm").Decides) != 0 {
		t.Errorf("cmdb decides %v, farm %v", n.Decides, g.node("farm").Decides)
	}
	if len(g.Pairs) != 2 || g.Pairs[0].Name != "p" || len(g.Pairs[0].Members) != 2 {
		t.Errorf("pairs %+v", g.Pairs)
	}
	if got := strings.Join(g.Pairs[0].Trouble(), "; "); got != "pa does not answer; pb replicates from a server that does not answer; pb is 7 s behind" {
		t.Errorf("trouble of p: %s", got)
	}
}

// TestWhatBreaks: what is made of a wrong source is wrong, too, along directed edges only.
func TestWhatBreaks(t *testing.T) {
	t.Parallel()
	g := Of(invented())
	e, err := g.If("OLD")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range e.Reached {
		paths = append(paths, strings.Join(r.Path, ">"))
	}
	if want := []string{"old>cmdb", "old>cmdb>lb", "old>cmdb>lb>clients"}; !slices.Equal(paths, want) {
		t.Errorf("reached %v, want %v", paths, want)
	}
	e, err = g.If("cmdb")
	if err != nil || !slices.Equal(e.Perhaps, []string{"export"}) || !slices.Equal(e.Decides, []string{"instance.host"}) || e.Rests[0].Attribute != "instance.owner" || e.Rests[1].Consequence == "" {
		t.Errorf("%+v, %v", e, err)
	}
	var b bytes.Buffer
	if err := e.WriteText(&b); err != nil || !strings.Contains(b.String(), "lb is wrong, too (declared): cmdb -> lb") || !strings.Contains(b.String(), "export perhaps") {
		t.Errorf("text %s, %v", b.String(), err)
	}
	if _, err := g.If("clients"); !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "cmdb") {
		t.Errorf("who uses sources is no source: %v", err)
	}
}

// TestRingsEnd: sources that feed each other in a ring end, and each is reached once.
func TestRingsEnd(t *testing.T) {
	t.Parallel()
	r := claims.Report{Sources: []claims.SourceState{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	e, err := Of(r, []claims.Spec{{Name: "a", Feeds: []string{"b"}}, {Name: "b", Feeds: []string{"c"}}, {Name: "c", Feeds: []string{"a"}}}).If("a")
	if err != nil || len(e.Reached) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestTableTwin: the text has every source, edge and pair of the picture.
func TestTableTwin(t *testing.T) {
	t.Parallel()
	g := Of(invented())
	var b bytes.Buffer
	if err := g.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cmdb    csv ", "export  tsv      5       60 min      0       read in part", "notes   csv      0       never read  0       stale", "lb      haproxy  4       8 days      2",
		"cmdb  ->  lb ", "wiki  --  notes ", "1 of 4", "older by 8 days", "p     pa        h1    -                no     -    pa does not answer", "-     x "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// dotWords takes DOT apart, as its grammar has it: words, strings, and single characters. It fails on a string that does not end.
func dotWords(text string) (words []string, err error) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.IndexByte(" \n", c) >= 0:
			i++
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return words, errors.New("a string does not end")
			}
			words = append(words, text[i:end+1])
			i = end + 1
		case strings.HasPrefix(text[i:], "->"):
			words = append(words, "->")
			i += 2
		case strings.IndexByte("{}[];=,", c) >= 0:
			words = append(words, string(c))
			i++
		default:
			end := i
			for end < len(text) && (text[end] == '_' || text[end] >= 'a' && text[end] <= 'z' || text[end] >= 'A' && text[end] <= 'Z' || text[end] >= '0' && text[end] <= '9') {
				end++
			}
			if end == i {
				return words, fmt.Errorf("%q is not a word", text[i:])
			}
			words = append(words, text[i:end])
			i = end
		}
	}
	return words, nil
}

// checkDOT reads a graph as statements: NODE [attributes]; or NODE -> NODE [attributes]; and counts both.
func checkDOT(text string) (nodes, edges int, err error) {
	w, err := dotWords(text)
	if err != nil {
		return 0, 0, err
	}
	if len(w) < 4 || w[0] != "digraph" || w[2] != "{" || w[len(w)-1] != "}" {
		return 0, 0, errors.New("no digraph NAME { ... }")
	}
	statement := []string{}
	for _, x := range w[3 : len(w)-1] {
		if x != ";" {
			statement = append(statement, x)
			continue
		}
		switch {
		case len(statement) > 3 && statement[1] == "->" && statement[3] == "[" && statement[len(statement)-1] == "]":
			edges++
		case len(statement) > 2 && statement[0][0] == '"' && statement[1] == "[" && statement[len(statement)-1] == "]":
			nodes++
		case statement[0] == "node" || len(statement) == 3 && statement[1] == "=":
		default:
			return nodes, edges, fmt.Errorf("statement %v", statement)
		}
		statement = statement[:0]
	}
	if len(statement) > 0 {
		return nodes, edges, fmt.Errorf("%v does not end", statement)
	}
	return nodes, edges, nil
}

// TestDOT is read by a parser of its own, and by Graphviz where that is installed.
func TestDOT(t *testing.T) {
	t.Parallel()
	g := Of(invented())
	text := g.DOT()
	if nodes, edges, err := checkDOT(text); err != nil || nodes != len(g.Nodes) || edges != len(g.Edges) {
		t.Errorf("%d nodes, %d edges, %v in\n%s", nodes, edges, err, text)
	}
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("NOT TESTED: Graphviz itself: install Debian's package graphviz")
	}
	c := exec.CommandContext(t.Context(), dot, "-Tsvg")
	c.Stdin = strings.NewReader(text)
	if out, err := c.Output(); err != nil || !bytes.Contains(out, []byte("cmdb")) {
		t.Errorf("dot: %v\n%s", err, text)
	}
}

// FuzzDOT: whatever sources are called, DOT has each as one node.
func FuzzDOT(f *testing.F) {
	f.Add(`a"b`, "c\\", "x\ny")
	f.Fuzz(func(t *testing.T, a, b, name string) {
		if a == b {
			return
		}
		r := claims.Report{Farm: name, Sources: []claims.SourceState{{Name: a, Kind: name}, {Name: b}}}
		text := Of(r, []claims.Spec{{Name: a, Feeds: []string{b}}}).DOT()
		if nodes, edges, err := checkDOT(text); err != nil || nodes != 2 || edges != 1 {
			t.Errorf("%d nodes, %d edges, %v in\n%s", nodes, edges, err, text)
		}
	})
}
