package stowage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every verb waits for what packages make before main: expressions of a package are lazy.Regexp, compiled when they are first asked.
// So a wrong one is no longer found at every start, and is found here.
func TestExpressionsAreCompiledWhenAsked(t *testing.T) {
	seen := 0
	outside := []string{"e2e", "engined", "examples", "scripts", "testdata", "altertest", "browsertest", "mariadbtest", "notices"} // not in bin/stowage
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains(outside, d.Name())):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			ast.Inspect(vars, func(n ast.Node) bool {
				switch call, name := callOf(n); name {
				case "regexp.MustCompile":
					t.Errorf("%s: compiled at every start; lazy.Regexp compiles it when it is asked", files.Position(n.Pos()))
				case "lazy.Regexp":
					seen++
					if _, err := regexp.Compile(constantText(t, call.Args[0])); err != nil {
						t.Errorf("%s: %v", files.Position(n.Pos()), err)
					}
				}
				_, isFunc := n.(*ast.FuncLit)
				return !isFunc
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("%d expressions found, want 50 and more", seen)
	}
}

// callOf is a call of package.Function and its name; "" for any other node.
func callOf(n ast.Node) (call *ast.CallExpr, name string) {
	if call, _ = n.(*ast.CallExpr); call == nil {
		return nil, ""
	}
	if f, _ := call.Fun.(*ast.SelectorExpr); f != nil {
		if x, _ := f.X.(*ast.Ident); x != nil {
			return call, x.Name + "." + f.Sel.Name
		}
	}
	return call, ""
}

// constantText is what a text or a sum of texts says.
func constantText(t *testing.T, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return constantText(t, e.X) + constantText(t, e.Y)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	t.Fatalf("%T is no text", e)
	return ""
}
