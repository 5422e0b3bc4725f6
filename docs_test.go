package stowage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPrivilegesAreDocumented holds the list that accounts are made from
// against the table that people grant from, both ways.
func TestPrivilegesAreDocumented(t *testing.T) {
	for _, x := range []struct{ page, file, list string }{
		{"docs/reference/privileges.md", "mysql/accounts.go", "privileges"},
		{"docs/reference/flavors.md", "mysql/accounts_mysql8.go", "privilegesMySQL"},
	} {
		var page []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_ ]+)` \\|").FindAllStringSubmatch(readText(t, x.page), -1) {
			page = append(page, m[1])
		}
		sameWords(t, x.page, page, x.file, stringList(t, x.file, x.list))
	}
}

// TestBackupPrivilegesAreDocumented compares the account for copies with the
// statements that people make it with.
func TestBackupPrivilegesAreDocumented(t *testing.T) {
	page := readText(t, "docs/reference/privileges.md")
	for _, x := range []struct{ file, list string }{{"mysql/accounts.go", "backupPrivileges"}, {"mysql/accounts_mysql8.go", "backupPrivilegesMySQL"}} {
		if grant := "GRANT " + strings.Join(stringList(t, x.file, x.list), ", ") + " ON *.* TO backup@'%';"; !strings.Contains(page, grant) {
			t.Errorf("docs/reference/privileges.md does not have %s, as %s of %s says", grant, x.list, x.file)
		}
	}
}

// TestFileKeysAreDocumented holds every key that is read against the page.
func TestFileKeysAreDocumented(t *testing.T) {
	page := readText(t, "docs/reference/farm.yaml.md")
	for _, x := range []struct{ file, list string }{
		{"workspace/farmread.go", "farmKeys"}, {"workspace/farmread.go", "hostTypeKeys"}, {"workspace/farmread.go", "hostKeys"},
		{"workspace/farmread.go", "pairKeys"}, {"workspace/farmread.go", "sideKeys"}, {"workspace/farmread.go", "shardKeys"},
		{"workspace/farmread.go", "reservedKeys"}, {"workspace/agents.go", "agentKeys"}, {"workspace/due.go", "dueKeys"}, {"workspace/backup.go", "backupKeys"}, {"workspace/backup.go", "keepKeys"},
		{"workspace/routing.go", "routingFileKeys"}, {"workspace/routing.go", "routingHAProxyKeys"}, {"workspace/routing.go", "routingEtcdKeys"},
		{"workspace/routing.go", "routingSQLKeys"}, {"workspace/routing.go", "routingExecKeys"},
		{"workspace/goalsread.go", "goalKeys"}, {"workspace/goalsread.go", "bindingKeys"}, {"workspace/goalsread.go", "surfaceKeys"},
		{"workspace/goalsread.go", "purchaseKeys"}, {"workspace/goalsread.go", "rateKeys"}, {"workspace/goalsread.go", "budgetKeys"}, {"placement/goals.go", "objectives"},
	} {
		for _, key := range stringList(t, x.file, x.list) {
			if !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/reference/farm.yaml.md does not explain %s of %s in %s", key, x.list, x.file)
			}
		}
	}
}

// TestPlaybookKeysAreDocumented holds every key of a playbook against the page.
func TestPlaybookKeysAreDocumented(t *testing.T) {
	page := readText(t, "docs/guide/roll.md")
	for _, list := range []string{"playbookKeys", "stepKeys"} {
		for _, key := range stringList(t, "workspace/playbookread.go", list) {
			if !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/guide/roll.md does not explain %s of %s", key, list)
			}
		}
	}
}

// TestMatrixKeysAreDocumented holds every key of a matrix, and every queue setting, against the page.
func TestMatrixKeysAreDocumented(t *testing.T) {
	page := readText(t, "docs/measuring/matrix.md")
	for _, x := range []struct{ file, list string }{
		{"workspace/matrixread.go", "matrixKeys"}, {"workspace/matrixread.go", "loopKeys"}, {"workspace/matrixread.go", "axisKeys"}, {"workspace/matrixread.go", "cellKeys"},
		{"bench/matrix/matrix.go", "Settings"}, {"bench/matrix/matrix.go", "Filesystems"},
	} {
		for _, key := range stringList(t, x.file, x.list) {
			if !strings.Contains(page, "`"+key+"`") && !strings.Contains(page, key+":") {
				t.Errorf("docs/measuring/matrix.md does not explain %s of %s in %s", key, x.list, x.file)
			}
		}
	}
}

// TestEndsAreInTheRunbook: whatever exit code or end of a lane somebody meets,
// the runbook says what to do.
func TestEndsAreInTheRunbook(t *testing.T) {
	page := readText(t, "docs/guide/runbook.md")
	for _, code := range constants(t, "cmd/stowage/exit.go", "exit") {
		if !strings.Contains(page, "\n| "+code+" |") {
			t.Errorf("docs/guide/runbook.md does not speak of exit code %s", code)
		}
	}
	for _, quoted := range constants(t, "engine/result.go", "End") {
		end, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "\n**"+end+"**") {
			t.Errorf("docs/guide/runbook.md does not speak of the end %q", end)
		}
	}
}

// TestListenersAreInTheSecurityPage: who looks for what can be reached finds
// every listener there, where it listens, and how long certificates last.
func TestListenersAreInTheSecurityPage(t *testing.T) {
	page := readText(t, "docs/reference/security.md")
	for _, x := range []struct{ file, says, page string }{
		{"cmd/stowage/agent.go", `"listen", "([0-9.:]+)"`, "%s by default"},
		{"cmd/stowage/serve.go", `serveAddress = "([0-9.:]+)"`, "| %s |"},
		{"engined/ports.go", `lowestPort  = (\d+)`, "between %s and"},
		{"engined/ports.go", `highestPort = (\d+)`, "and %s each"},
		{"agent/authority.go", `caLife   = (\d+) \* 365`, "%s years"},
		{"agent/authority.go", `leafLife = (\d+) \* 365`, "%s years"},
		{"agent/agent.go", `WarnBefore = (\d+) \* 24`, "below %s days"},
	} {
		m := regexp.MustCompile(x.says).FindStringSubmatch(readText(t, x.file))
		if m == nil {
			t.Errorf("%s does not say %s any more", x.file, x.says)
		} else if want := strings.Replace(x.page, "%s", m[1], 1); !strings.Contains(page, want) {
			t.Errorf("docs/reference/security.md does not say %q, and %s does", want, x.file)
		}
	}
	// The last two open a socket to find out whether its address is free, and close it.
	known := []string{"agent/agent.go", "cmd/stowage/serve.go", "engined/ports.go", "host/local.go"}
	opens := regexp.MustCompile(`\.Listen(?:TCP|Unix|Packet|Config|AndServe|AndServeTLS)?\((?:ctx, )?"|ListenConfig\{|\.ListenAndServe`)
	var found []string
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/") &&
			!strings.Contains(name, "test/") && opens.MatchString(readText(t, name)) {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sameWords(t, "files that open a listener, which docs/reference/security.md has to name", known, "found", found)
}

// TestNamedSymbolsExist: a page that names `swing.Swing.Out` leads there.
func TestNamedSymbolsExist(t *testing.T) {
	declared := declarations(t)
	named := regexp.MustCompile("`([a-z]+)\\.([A-Za-z]+(?:\\.[A-Z][A-Za-z]*)?)`")
	files := []string{"yaml", "json", "db", "log", "md", "go", "lock", "cnf", "key"}
	found := 0
	for _, page := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(readText(t, page), -1) {
			symbols, ours := declared[m[1]]
			if !ours || slices.Contains(files, m[2]) {
				continue
			}
			found++
			if !symbols[m[2]] {
				t.Errorf("%s names %s.%s, which does not exist", page, m[1], m[2])
			}
		}
	}
	if found == 0 {
		t.Error("no page names any symbol: this test looks in the wrong place")
	}
}

// TestStepsAreInTheArchitecture: the command that is followed through the code
// passes every step of a move.
func TestStepsAreInTheArchitecture(t *testing.T) {
	page := readText(t, "ARCHITECTURE.md")
	steps := regexp.MustCompile(`\bName:\s+"([a-z-]+)"`)
	for _, file := range []string{"move/steps.go", "swing/step.go"} {
		all := steps.FindAllStringSubmatch(readText(t, file), -1)
		if len(all) == 0 {
			t.Errorf("%s names no step: this test looks in the wrong place", file)
		}
		for _, m := range all {
			if !regexp.MustCompile(`(?m)^ *\| (?:[a-z-]+, )*` + m[1] + `\b[a-z, -]* \|`).MatchString(page) {
				t.Errorf("ARCHITECTURE.md leaves out the step %q of %s", m[1], file)
			}
		}
	}
}

// TestLinksLeadSomewhere follows every relative link of every page.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(readText(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}

// TestDecisionsAreListed: docs/decisions/README.md names every page beside it.
func TestDecisionsAreListed(t *testing.T) {
	all, err := filepath.Glob("docs/decisions/*.md")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	index := readText(t, "docs/decisions/README.md")
	for _, page := range all {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/decisions/README.md does not list %s", page)
		}
	}
}

// TestBenchmarksAreTheRows: the tables of docs/measuring/benchmarks.md are made of the rows beside them.
func TestBenchmarksAreTheRows(t *testing.T) {
	if out, err := exec.Command("scripts/bench/tables.sh", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// pages are all Markdown files of ours.
func pages(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("docs", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameWords(t *testing.T, hereName string, here []string, thereName string, there []string) {
	t.Helper()
	for _, w := range here {
		if !slices.Contains(there, w) {
			t.Errorf("%s has %q, %s does not", hereName, w, thereName)
		}
	}
	for _, w := range there {
		if !slices.Contains(here, w) {
			t.Errorf("%s has %q, %s does not", thereName, w, hereName)
		}
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// values calls visit with every name and its value of the file's constants and variables.
func values(f *ast.File, visit func(name string, value ast.Expr)) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || len(v.Values) != len(v.Names) {
				continue
			}
			for i, n := range v.Names {
				visit(n.Name, v.Values[i])
			}
		}
	}
}

// stringList is the content of a variable that is a literal list of strings.
func stringList(t *testing.T, file, name string) []string {
	t.Helper()
	var out []string
	values(parse(t, file), func(n string, value ast.Expr) {
		list, ok := value.(*ast.CompositeLit)
		if n != name || !ok {
			return
		}
		for _, e := range list.Elts {
			lit, ok := e.(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s of %s is not a list of literals", name, file)
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text)
		}
	})
	if len(out) == 0 {
		t.Fatalf("%s has no list %s", file, name)
	}
	return out
}

// constants are the literals of the file's constants whose names begin so.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	var out []string
	values(parse(t, file), func(n string, value ast.Expr) {
		lit, ok := value.(*ast.BasicLit)
		if ok && strings.HasPrefix(n, prefix) && !strings.Contains(lit.Value, "\n") {
			out = append(out, lit.Value)
		}
	})
	if len(out) == 0 {
		t.Fatalf("%s has no constants %s...", file, prefix)
	}
	return out
}

// declarations are, for each package by its last name, the functions, types,
// constants, variables, and the methods and fields as Type.Name.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, r := range ladder {
		for pkg := range r {
			set := map[string]bool{}
			out[filepath.Base(pkg)] = set
			files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") {
					declare(parse(t, file), set)
				}
			}
		}
	}
	return out
}

func declare(f *ast.File, set map[string]bool) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			set[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						set[n.Name] = true
					}
				case *ast.TypeSpec:
					set[s.Name.Name] = true
					declareMembers(s, set)
				}
			}
		}
	}
}

func declareMembers(s *ast.TypeSpec, set map[string]bool) {
	var members *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		members = x.Fields
	case *ast.InterfaceType:
		members = x.Methods
	default:
		return
	}
	for _, m := range members.List {
		for _, n := range m.Names {
			set[s.Name.Name+"."+n.Name] = true
		}
	}
}

func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// Every test that docs/reference/failures.md names as a guard exists.
func TestTrapsNameRealTests(t *testing.T) {
	page := readText(t, "docs/reference/failures.md")
	have := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(readText(t, path), -1) {
			have[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1)
	if len(named) < 20 {
		t.Fatalf("docs/reference/failures.md names %d tests; has its form changed?", len(named))
	}
	for _, m := range named {
		if !have[m[1]] {
			t.Errorf("docs/reference/failures.md names %s, which does not exist", m[1])
		}
	}
}
