package explain

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference/codes.md")

// TestEveryCodeIsExplained: all that the source can print, and nothing that it cannot.
func TestEveryCodeIsExplained(t *testing.T) {
	said := codesInSource(t)
	if len(said) < 120 {
		t.Fatalf("only %d codes were found in the source: the search is broken", len(said))
	}
	for _, code := range slices.Sorted(maps.Keys(said)) {
		if _, ok := Of(strings.TrimSuffix(code, "-") + map[bool]string{true: "-rack", false: ""}[strings.HasSuffix(code, "-")]); !ok {
			t.Errorf("%s, of %s, is not explained in codes.txt", code, said[code])
		}
	}
	for _, c := range Codes() {
		if c.From == "tune" || c.From == "every verb" {
			continue
		}
		if _, ok := said[strings.TrimSuffix(c.Code, "LABEL")]; !ok {
			t.Errorf("%s is explained, and nothing in the source says it", c.Code)
		}
	}
}

func TestCodesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Codes() {
		if seen[c.Code] || c.From == "" || c.Cause == "" || c.Evidence == "" || c.Remedy == "" {
			t.Errorf("twice, or not whole: %+v", c)
		}
		seen[c.Code] = true
		if got, ok := Of(strings.ToLower(c.Code)); !ok || got.Code != c.Code {
			t.Errorf("%s finds %q", c.Code, got.Code)
		}
	}
	if c, ok := Of("plan-shared-rack"); !ok || c.Code != "plan-shared-LABEL" {
		t.Errorf("plan-shared-rack finds %q", c.Code)
	}
	if _, ok := Of("nonsense"); ok {
		t.Error("nonsense is explained")
	}
	if near := Near("server-id-uniqe"); !slices.Contains(near, "server-id-unique") {
		t.Errorf("near: %q", near)
	}
}

// TestThePageIsMadeFromTheTable; every code of docs/reference/preflight.md's table is in it, too.
func TestThePageIsMadeFromTheTable(t *testing.T) {
	const page = "../docs/reference/codes.md"
	if *update {
		if err := os.WriteFile(page, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil || string(text) != Markdown() {
		t.Errorf("%s is not what codes.txt says (%v): go test ./explain -update", page, err)
	}
}
