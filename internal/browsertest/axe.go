package browsertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// axe-core (Deque, MPL 2.0) finds what keeps people with a screen reader, a
// keyboard or weak eyes from a page. It is fetched once a version, into the
// user's cache; nothing of it is part of Stowage.
const (
	axeVersion = "4.14.1"
	axeSum     = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==" // SHA-512 of the package, as the npm registry states it
	axePackage = "https://registry.npmjs.org/axe-core/-/axe-core-" + axeVersion + ".tgz"
)

// Finding is a rule of axe that a page breaks.
type Finding struct {
	ID, Impact, Help string
	Nodes            []struct {
		Target         []any
		FailureSummary string
	}
}

func (f Finding) String() string {
	text := fmt.Sprintf("%s, %s: %s, %d times", f.Impact, f.ID, f.Help, len(f.Nodes))
	for i, n := range f.Nodes {
		if i == 3 {
			break
		}
		text += fmt.Sprintf("\n    %v: %s", n.Target, n.FailureSummary)
	}
	return text
}

// Axe has axe look at the page as it is, by these rules, or by all. It skips
// the test, and says so, where axe cannot be had.
func (p *Page) Axe(rules ...string) []Finding {
	p.t.Helper()
	var known bool
	if p.Eval("typeof axe === 'object'", &known); !known {
		p.Eval(axeScript(p.t)+"\n;true", nil)
	}
	only := ""
	if len(rules) > 0 {
		only = ", runOnly: ['" + strings.Join(rules, "', '") + "']"
	}
	var out struct{ Violations []Finding }
	p.Eval("axe.run(document, {resultTypes: ['violations'], preload: false, iframes: false"+only+"}).then((r) => ({Violations: r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => ({Target: n.target, FailureSummary: n.failureSummary}))}))}))", &out)
	return out.Violations
}

// axeScript is the script, from the cache or from the registry.
func axeScript(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("NOT TESTED: accessibility; this user has no cache for axe-core: ", err)
	}
	kept := filepath.Join(cache, "stowage", "axe-core-"+axeVersion+".tgz")
	raw, err := os.ReadFile(kept)
	if err != nil || !isAxe(raw) {
		if raw, err = fetchAxe(); err != nil {
			t.Skipf("NOT TESTED: accessibility; %s cannot be had: %v", axePackage, err)
		}
		keep(t, kept, raw)
	}
	script, err := fileOf(raw, "package/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func isAxe(raw []byte) bool {
	sum := sha512.Sum512(raw)
	return base64.StdEncoding.EncodeToString(sum[:]) == axeSum
}

func fetchAxe() ([]byte, error) {
	answer, err := (&http.Client{Timeout: time.Minute}).Get(axePackage)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, errors.New(answer.Status)
	case !isAxe(raw):
		return nil, errors.New("what came has another checksum than the one that is known")
	}
	return raw, nil
}

// keep writes the package whole or not at all: other tests may want it now.
func keep(t *testing.T, path string, raw []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		next := fmt.Sprintf("%s.%d", path, os.Getpid())
		if err = os.WriteFile(next, raw, 0o644); err == nil {
			err = os.Rename(next, path)
		}
	}
	if err != nil {
		t.Logf("axe-core is not kept: %v", err)
	}
}

// fileOf is one file of a package of npm.
func fileOf(raw []byte, name string) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(plain); ; {
		f, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f.Name == name {
			return io.ReadAll(files)
		}
	}
}
