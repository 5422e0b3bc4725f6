package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stand takes the place of a name that is only known when the program runs.
const stand = "1"

var placeholders = regexp.MustCompile(`%[sdqv]`)

// notWords are placeholders of something else than a word.
var notWords = regexp.MustCompile(`%[^sv]`)

// parsed are the files of a package, read.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = f
	}
	return out
}

// spelled is what an expression of strings says, with a stand-in for what is only known later.
func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return spelled(e.X) + spelled(e.Y)
	}
	return stand
}

// TestAdviceInTheSourceIsAlive: whatever the source gives as a next step can be typed, also where no test comes by.
func TestAdviceInTheSourceIsAlive(t *testing.T) {
	seen := 0
	check := func(path, command string) {
		if command = placeholders.ReplaceAllString(command, stand); strings.TrimPrefix(command, "stowage ") == stand {
			return // it comes from elsewhere
		}
		seen++
		if err := deadAdvice(command); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, dir := range []string{".", "../../act", "../../move"} {
		for path, f := range parsed(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					switch called(n) {
					case "cmd":
						if format := spelled(n.Args[0]); notWords.MatchString(format) {
							t.Errorf("%s: %q: cmd makes words of what it is given: write %%s", path, format)
						}
						check(path, "stowage "+spelled(n.Args[0]))
					case "within":
						if text := spelled(n.Args[0]); strings.HasPrefix(text, "stowage ") {
							check(path, text)
						}
					case "inWorkspace":
						if text := spelled(n.Args[1]); strings.HasPrefix(text, "stowage ") {
							check(path, text)
						}
					}
				case *ast.CompositeLit:
					if list, ok := n.Type.(*ast.ArrayType); !ok || list.Len != nil {
						return true
					}
					for _, e := range n.Elts {
						if text := spelled(e); strings.HasPrefix(text, "stowage ") && text != "stowage -C" {
							check(path, text)
						}
					}
				}
				return true
			})
		}
	}
	if seen < 100 {
		t.Errorf("%d next steps are in the source: the test has lost sight of them", seen)
	}
}

// called is the name of the function of a call.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// withoutSteps are the answers that nothing follows, by the function that prints them.
var withoutSteps = map[string]string{
	"explainCommand": "the code is what was asked for, and has its own remedy",
	"serve":          "the dashboard begins with it",
	"snapshot":       "rows are for another program",
	"writeBenchHTML": "the page is what was wanted",
	"planVBP":        "it has no workspace",
}

// silentVerbs say nothing at their end, by the function that makes them and the first word of their use.
var silentVerbs = map[string]string{
	"root stowage":           "it shows help",
	"explainCommand explain": "it answers",
	"metricsCommand metrics": "Prometheus reads it",
	"followCommand follow":   "another program reads the stream",
	"agentCommand agent":     "it is a daemon",
	"serveCommand serve":     "it is a daemon",
	"benchCSVCommand csv":    "a spreadsheet reads it",
	"logCommand log":         "it is read, and piped",
	"manCommand man":         "it makes the package",
	"helpCommand help":       "it is help",
	"carryCommand carry":     "it is a part of an agent",
	"schemaCommand schema":   "it shows help",
	"benchCommand bench":     "it shows help",
	"backupCommand backup":   "it shows help",
	"sideCommand side":       "it shows help",
}

// TestEveryVerbSaysWhatIsNext: from each verb a function is reached that gives next steps, or the verb is in the list. Every answer has steps, or is in the other.
func TestEveryVerbSaysWhatIsNext(t *testing.T) {
	calls, gives := map[string]map[string]bool{}, map[string]bool{}
	type verb struct {
		name string
		runs map[string]bool
	}
	var all []verb
	unused := map[string]bool{}
	for name := range withoutSteps {
		unused[name] = true
	}
	for path, f := range parsed(t, ".") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			calls[fn.Name.Name] = join(calls[fn.Name.Name], callsIn(fn.Body))
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					switch name := called(n); {
					case name == "emit" && len(n.Args) < 3:
						if withoutSteps[fn.Name.Name] == "" {
							t.Errorf("%s: %s prints an answer without next steps", path, fn.Name.Name)
						}
						delete(unused, fn.Name.Name)
					case name == "emit", name == "then" && fn.Name.Name != "emit":
						gives[fn.Name.Name] = true
					}
				case *ast.CompositeLit:
					if use, runs := commandOf(n); use != "" && runs != nil {
						all = append(all, verb{fn.Name.Name + " " + use, callsIn(runs)})
					}
				}
				return true
			})
		}
	}
	for name := range unused {
		t.Errorf("%s is said to print an answer without next steps, and does not", name)
	}
	if len(all) < 80 {
		t.Fatalf("%d verbs are in the source: the test has lost sight of them", len(all))
	}
	for _, v := range all {
		speaks := reaches(v.runs, calls, gives)
		_, silent := silentVerbs[v.name]
		if !speaks && !silent {
			t.Errorf("%q ends without a next step", v.name)
		}
	}
	for name := range silentVerbs {
		if !slices.ContainsFunc(all, func(v verb) bool { return v.name == name }) {
			t.Errorf("%q is in the list of silent verbs, and is not a verb", name)
		}
	}
}

// commandOf is the first word of a command's use, and what it runs.
func commandOf(c *ast.CompositeLit) (use string, runs ast.Expr) {
	if s, ok := c.Type.(*ast.SelectorExpr); !ok || s.Sel.Name != "Command" {
		return "", nil
	}
	for _, e := range c.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch pair.Key.(*ast.Ident).Name {
		case "Use":
			use = strings.Fields(spelled(pair.Value) + " ")[0]
		case "RunE", "Run":
			runs = pair.Value
		}
	}
	return use, runs
}

func callsIn(n ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			out[called(c)] = true
			if called(c) == "emit" && len(c.Args) >= 3 || called(c) == "then" {
				out["emit with steps"] = true
			}
		}
		return true
	})
	return out
}

func join(a, b map[string]bool) map[string]bool {
	for name := range a {
		b[name] = true
	}
	return b
}

// reaches walks from calls to a function that gives steps.
func reaches(from map[string]bool, calls map[string]map[string]bool, gives map[string]bool) bool {
	if from["emit with steps"] {
		return true
	}
	seen, queue := map[string]bool{}, []map[string]bool{from}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for name := range next {
			switch {
			case gives[name]:
				return true
			case !seen[name] && calls[name] != nil:
				seen[name] = true
				queue = append(queue, calls[name])
			}
		}
	}
	return false
}
