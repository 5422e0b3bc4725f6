package stowage_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// Every verb waits for what packages make before main: expressions of a package are lazy.Regexp, compiled when they are first asked.
// So a wrong one is no longer found at every start, and is found here.
func TestExpressionsAreCompiledWhenAsked(t *testing.T) {
	seen := 0
	outside := []string{"e2e", "engined", "examples", "scripts", "altertest", "browsertest", "mariadbtest", "notices"} // not in bin/stowage
	skip := func(path string) bool { return slices.Contains(outside, filepath.Base(path)) }
	eachSource(t, skip, func(_ string, files *token.FileSet, f *ast.File) {
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
	})
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
