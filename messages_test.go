package stowage_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A message is at most two lines of a terminal: what is wrong, with which value of which thing, and what to do. Names and values that are
// only known later are taken to be as long as valueLength.
const (
	messageLength = 200
	valueLength   = 8
)

// wholeLists are joined names that never become many, by the file and what is joined, with the reason.
var wholeLists = map[string]string{
	"act/orders.go now.ApproveBefore":      "steps that one order names",
	"act/orders.go list":                   "steps of a move, words of the program",
	"alter/plan/make.go waves":             "typed by the caller",
	"cmd/stowage/alter.go f.shards":        "typed by the caller",
	"cmd/stowage/digest.go names":          "typed by the caller",
	"cmd/stowage/roll.go w.Hosts":          "typed by the caller",
	"cmd/stowage/roll_options.go f.hosts":  "typed by the caller",
	"cmd/stowage/snapshot.go format.Names": "three formats",
	"follow/kafka/kafka.go brokers":        "typed by the caller",
	"roll/advice.go rulesOf(stops)":        "a command that needs them all",
	"roll/announced.go known":              "variables, words of the program",
	"route/exec.go e.o.Program":            "one command line",
	"snapshot/compare.go denormal.names":   "columns of one query",
}

// TestMessagesAreTwoLines measures what errors, findings and refusals say in the source.
func TestMessagesAreTwoLines(t *testing.T) {
	seen := 0
	outside := func(path string) bool { return path == "e2e" || path == "internal" }
	eachSource(t, outside, func(path string, files *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			wrong, remedy := messageOf(n)
			if wrong == nil {
				return true
			}
			seen++
			text := spelledOut(wrong...)
			if remedy != nil {
				text += " " + spelledOut(remedy)
			}
			if len(text) > messageLength {
				t.Errorf("%s: a message of %d letters, at most %d: %s", files.Position(n.Pos()), len(text), messageLength, text)
			}
			for _, e := range append(wrong, remedy) {
				if joined := listIn(e); joined != "" && wholeLists[path+" "+joined] == "" {
					t.Errorf("%s: a message lists all of %s; farm.Some names the first few and how many more", files.Position(n.Pos()), joined)
				}
			}
			return true
		})
	})
	if seen < 900 {
		t.Errorf("%d messages are in the source: the test has lost sight of them", seen)
	}
}

// messageOf are the expressions of what is wrong and of the remedy: of a farm.Error, of a finding, of act.Refused and of usage.
func messageOf(n ast.Node) (wrong []ast.Expr, remedy ast.Expr) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		field := map[string]ast.Expr{}
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok {
					field[key.Name] = pair.Value
				}
			}
		}
		switch {
		case field["Text"] != nil && field["Remedy"] != nil:
			return []ast.Expr{field["Text"]}, field["Remedy"]
		case field["Op"] != nil && field["Err"] != nil:
			if wrong = []ast.Expr{field["Op"], field["Err"]}; field["Subject"] != nil {
				wrong = []ast.Expr{field["Op"], field["Subject"], field["Err"]}
			}
			return wrong, field["Hint"]
		}
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		switch {
		case name == "Refused" && len(n.Args) == 4:
			return n.Args[:3], n.Args[3]
		case name == "usage" && len(n.Args) == 2:
			return n.Args[1:], nil
		}
	}
	return nil, nil
}

var (
	figures      = regexp.MustCompile(`%(\[\d\])?[+.\d]*[dgfx]`)
	placeholders = regexp.MustCompile(`%(\[\d\])?[+#]?[wsvqT]`)
)

// spelledOut is what expressions say, with a stand-in for each value; of an error that is made of a format, the format.
func spelledOut(all ...ast.Expr) string {
	stand := strings.Repeat("x", valueLength)
	var parts []string
	for _, e := range all {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			parts = append(parts, text)
		case *ast.BinaryExpr:
			parts = append(parts, spelledOut(e.X)+spelledOut(e.Y))
		case *ast.CallExpr:
			f, ok := e.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Errorf" && f.Sel.Name != "Sprintf" && f.Sel.Name != "New" || len(e.Args) == 0 {
				parts = append(parts, stand)
				continue
			}
			text := spelledOut(e.Args[0])
			parts = append(parts, placeholders.ReplaceAllString(figures.ReplaceAllString(text, "100"), stand))
		default:
			parts = append(parts, stand)
		}
	}
	return strings.Join(parts, " ")
}

// listIn is what is joined with commas, semicolons or lines in a message; empty: nothing.
func listIn(e ast.Expr) (joined string) {
	if e == nil {
		return ""
	}
	ast.Inspect(e, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || len(c.Args) != 2 {
			return true
		}
		if f, ok := c.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Join" && fmt.Sprint(f.X) == "strings" {
			joined = written(c.Args[0])
		}
		return true
	})
	return joined
}

// written is an expression of names and calls as it is written.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return written(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		var args []string
		for _, a := range e.Args {
			args = append(args, written(a))
		}
		return written(e.Fun) + "(" + strings.Join(args, ", ") + ")"
	}
	return "a list"
}

// TestLongMessagesAreSeen: a message of three lines, and a list of all, are what the rule is for.
func TestLongMessagesAreSeen(t *testing.T) {
	f, err := parser.ParseExpr(`&farm.Error{Op: "move", Subject: name, Err: fmt.Errorf("%w: ` + strings.Repeat("words ", 30) + `%s", farm.ErrRefused, strings.Join(hosts(all), ", ")), Hint: "look at it"}`)
	if err != nil {
		t.Fatal(err)
	}
	wrong, remedy := messageOf(f.(*ast.UnaryExpr).X)
	if n := len(spelledOut(wrong...) + " " + spelledOut(remedy)); n != len("move xxxxxxxx xxxxxxxx: ")+180+8+len(" look at it") {
		t.Errorf("%d letters: %s", n, spelledOut(wrong...))
	}
	if got := listIn(wrong[2]); got != "hosts(all)" {
		t.Errorf("the list is %q", got)
	}
}
