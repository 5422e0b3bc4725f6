package explain

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is the parsed files of one package.
type source struct {
	dir   string
	files []*ast.File
	set   *token.FileSet
}

// codesInSource are all codes that the program can print, found in its source: what is in a field Check, is assigned to one, names a question of
// preflight, or is handed to a function that puts its parameter there. Rules of tune are asked for, bench has no findings. What cannot be traced to a word is an error of the test: write the word out.
func codesInSource(t *testing.T) map[string][]string {
	out := map[string][]string{}
	for _, s := range sources(t, "..") {
		tracer := &tracer{s: s, out: out, asked: map[string]bool{}}
		for _, f := range s.files {
			tracer.file(f)
		}
		for _, bad := range tracer.lost {
			t.Errorf("%s", bad)
		}
	}
	return out
}

func sources(t *testing.T, root string) []*source {
	t.Helper()
	byDir := map[string]*source{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == "tune" || name == "bench" || name == "e2e" || name == "engined" || name == ".cache" || strings.HasSuffix(name, "test") && name != "..") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir := filepath.Dir(path)
		if byDir[dir] == nil {
			byDir[dir] = &source{dir: dir, set: token.NewFileSet()}
		}
		f, err := parser.ParseFile(byDir[dir].set, path, nil, parser.SkipObjectResolution)
		byDir[dir].files = append(byDir[dir].files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []*source
	for _, s := range byDir {
		out = append(out, s)
	}
	return out
}

type tracer struct {
	s     *source
	out   map[string][]string
	asked map[string]bool // functions whose callers were looked at
	lost  []string
}

// scope is a function around a place: its name and the names of its parameters, outermost first.
type scope struct {
	name   string
	params []string
}

func (x *tracer) file(f *ast.File) {
	x.walk(f, nil, func(n ast.Node, in []scope) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			isQuestion := strings.Contains(types(n.Type), "act.Question") // elements of a list have no type of their own
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Check" && x.isFinding(n) {
						x.value(kv.Value, in)
					}
				}
				if kv, ok := e.(*ast.KeyValueExpr); ok && strings.HasSuffix(x.s.dir, "claims") {
					if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "check" { // a ruling, of which Conflicts are made
						x.value(kv.Value, in)
					}
				}
				if inner, ok := e.(*ast.CompositeLit); ok && isQuestion {
					x.question(inner, in)
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Check" || sel.Sel.Name == "check" && strings.HasSuffix(x.s.dir, "claims")) && i < len(n.Rhs) {
					x.value(n.Rhs[i], in)
				}
			}
		}
	})
}

func (x *tracer) question(c *ast.CompositeLit, in []scope) {
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Name" {
				x.value(kv.Value, in)
			}
		}
	}
}

// isFinding: rules of tune have a field Check, too, which is a function.
func (x *tracer) isFinding(c *ast.CompositeLit) bool {
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && slices.Contains([]string{"Severity", "Subject", "Verdict", "Text"}, key.Name) {
				return true
			}
		}
	}
	return false
}

func types(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ArrayType:
		return types(e.Elt)
	case *ast.IndexExpr:
		return types(e.X)
	case *ast.SelectorExpr:
		return types(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// value notes a word, or asks who hands it over.
func (x *tracer) value(v ast.Expr, in []scope) {
	switch v := v.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(v.Value); err == nil && !strings.ContainsAny(text, " %") { // a function of the same name that prints
			x.out[text] = append(x.out[text], x.s.dir)
		}
		return
	case *ast.BinaryExpr: // "plan-shared-" + label
		x.value(v.X, in)
		return
	case *ast.CallExpr: // cmp.Or(v.check, "conflict")
		for _, a := range v.Args {
			x.value(a, in)
		}
		return
	case *ast.SelectorExpr: // copied from another, which is looked at where it is made
		return
	case *ast.Ident:
		for i := len(in) - 1; i >= 0; i-- {
			if at := slices.Index(in[i].params, v.Name); at >= 0 {
				x.callers(in[i].name, at)
				return
			}
		}
	}
	x.lost = append(x.lost, fmt.Sprintf("%s: it cannot be told which code this is", x.s.set.Position(v.Pos())))
}

func (x *tracer) callers(name string, at int) {
	key := fmt.Sprint(name, at)
	if x.asked[key] {
		return
	}
	x.asked[key] = true
	for _, f := range x.s.files {
		x.walk(f, nil, func(n ast.Node, in []scope) {
			call, ok := n.(*ast.CallExpr)
			if !ok || at >= len(call.Args) {
				return
			}
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				ok = fun.Name == name
			case *ast.SelectorExpr:
				ok = fun.Sel.Name == name
			default:
				ok = false
			}
			if ok {
				x.value(call.Args[at], in)
			}
		})
	}
}

// walk visits all nodes with the functions around them.
func (x *tracer) walk(n ast.Node, in []scope, visit func(ast.Node, []scope)) {
	named := map[*ast.FuncLit]string{}
	ast.Inspect(n, func(c ast.Node) bool {
		switch c := c.(type) {
		case nil:
			return false
		case *ast.FuncDecl:
			if c != n {
				x.walk(c, append(slices.Clone(in), scope{c.Name.Name, params(c.Type)}), visit)
				return false
			}
		case *ast.AssignStmt:
			for i, right := range c.Rhs {
				if lit, ok := right.(*ast.FuncLit); ok && i < len(c.Lhs) {
					if id, ok := c.Lhs[i].(*ast.Ident); ok {
						named[lit] = id.Name
					}
				}
			}
		case *ast.FuncLit:
			if c != n {
				x.walk(c, append(slices.Clone(in), scope{named[c], params(c.Type)}), visit)
				return false
			}
		}
		visit(c, in)
		return true
	})
}

func params(f *ast.FuncType) (out []string) {
	for _, p := range f.Params.List {
		for _, name := range p.Names {
			out = append(out, name.Name)
		}
	}
	return out
}
