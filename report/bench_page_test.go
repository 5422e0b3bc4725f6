package report

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/internal/turns"
)

// TestBenchPageLoadsNothing: no reference leaves the file, the policy allows what is in it, every picture has a name, and no name is given twice.
func TestBenchPageLoadsNothing(t *testing.T) {
	benches := []Bench{{Name: "old", Result: inventBench(bench.Full(), oldStorage)}, {Name: "new", Result: inventBench(bench.Full(), newStorage)}}
	page, err := benchPageOf(benches...)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := benchPageOf(benches...); again != page {
		t.Error("two pages of the same results differ")
	}
	if len(page) > 500_000 {
		t.Errorf("%d bytes for two full results", len(page))
	}
	loadsNothing(t, page)
}

// loadsNothing judges a page of a bench by itself.
func loadsNothing(t *testing.T, page string) {
	t.Helper()
	markup := styles.ReplaceAllString(scripts.ReplaceAllString(page, ""), "")
	for _, m := range references.FindAllStringSubmatch(markup, -1) {
		if !strings.HasPrefix(strings.Trim(m[1], `"'`), "#") {
			t.Errorf("refers to something outside the file: %s", m[0])
		}
	}
	if m := inline.FindString(markup); m != "" {
		t.Errorf("the policy forbids this attribute: %s", m)
	}
	for _, m := range inCSS.FindAllStringSubmatch(styles.FindString(page), -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("the style refers to %s", m[0])
		}
	}
	style, script := styles.FindStringSubmatch(page)[1], ""
	for _, s := range scripts.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(s[1], "json") {
			script += s[2]
		}
	}
	if policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(script), hash(style)); !strings.Contains(html.UnescapeString(page), policy) {
		t.Error("the policy does not fit the script and the style of the page")
	}
	for _, m := range regexp.MustCompile(`<svg[^>]*>`).FindAllString(page, -1) {
		if !strings.Contains(m, "aria-hidden") && !strings.Contains(m, "aria-label") {
			t.Errorf("a picture without a name: %s", m)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two elements are %s", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"|aria-labelledby="([^" ]*)`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]+m[2]] {
			t.Errorf("nothing is %s", m[0])
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf<") || strings.Contains(page, "ZgotmplZ") {
		t.Error("a figure is none")
	}
}

// TestNothingBreaksThePage: results that are empty, cut short, invalid, with one run, or from somebody else's hand.
func TestNothingBreaksThePage(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x>`
	bare := func() *result.Result {
		return &result.Result{FormatVersion: 1, Steps: []*result.Step{{ID: "RND16K-R-Q1T1"}}}
	}
	spoilt := inventBench(bench.Quick(), oldStorage)
	spoilt.Steps[3].Samples[0].Check.Short = true
	half := 0.01
	spoilt.Steps[1].Undurable, spoilt.Steps[1].Flushes = true, &half
	spoilt.Valid, spoilt.Steps[3].Valid, spoilt.InvalidBecause = false, false, []string{"RND16K-R-Q8T4: a cache answered"}
	zero := inventBench(bench.Quick(), oldStorage)
	for _, s := range zero.Steps {
		s.IOPS, s.MBps, s.CI, s.Lat, s.Histogram, s.Samples = 0, 0, nil, result.Latency{}, nil, nil
	}
	odd := small("RND16K-R-Q1T1", 0, 0, 5, stat.Histogram{{0, 1}})
	odd.Steps[0].ID, odd.Steps[0].Answers, odd.Environment.Directory, odd.Labels, odd.Steps[0].Job = evil, evil, evil, []string{evil}, evil
	entered := &result.Result{FormatVersion: 1, Kind: result.Entered, Source: "a page of 2014", Valid: true, Steps: []*result.Step{{ID: "RND16K-R-Q1T1", Outstanding: 1, Threads: 1, IOPS: 100, Runs: 1, Valid: true}, {ID: "RND16K-R-Q8T1", Outstanding: 8, Threads: 1, IOPS: 500, Runs: 1, Valid: true}}}
	for name, x := range map[string]struct {
		benches []Bench
		want    string
	}{
		"entered":     {[]Bench{{Name: "theirs", Result: entered}}, "nothing of it was measured here: a page of 2014"},
		"none":        {nil, "Nothing was measured"},
		"bare":        {[]Bench{{Name: "bare", Result: bare()}}, "not measured"},
		"bare beside": {[]Bench{{Name: "bare", Result: bare()}, {Name: "quick", Result: inventBench(bench.Quick(), newStorage)}}, "inconclusive"},
		"one run":     {[]Bench{{Name: "one", Result: small("RND16K-R-Q1T1", 1, 1, 1000, stat.Histogram{{100_000, 1}}, 7)}}, "1,000"},
		"invalid":     {[]Bench{{Name: "spoilt", Result: spoilt}}, "a cache answered"},
		"not durable": {[]Bench{{Name: "spoilt", Result: spoilt}, {Name: "quick", Result: inventBench(bench.Quick(), newStorage)}}, "NOT DURABLE"},
		"zero":        {[]Bench{{Name: "zero", Result: zero}, {Name: "zero", Result: zero}}, "inconclusive"},
		"no steps":    {[]Bench{{Name: "empty", Result: &result.Result{FormatVersion: 1}}}, "Invalid."},
		"evil":        {[]Bench{{Name: evil, Result: odd}, {Name: "b", Result: odd}}, "&lt;script&gt;"},
		"apart":       {[]Bench{{Name: "a", Result: small("RND16K-R-Q1T1", 1, 1, 5, stat.Histogram{{1, 1}})}, {Name: "b", Result: small("SEQ1M-R-Q8T1", 8, 1, 5, stat.Histogram{{1, 1}})}}, "no step in common"},
		"six":         {slices.Repeat([]Bench{{Name: "q", Result: inventBench(bench.Quick(), newStorage)}}, 6), "F q against A"},
	} {
		page, err := benchPageOf(x.benches...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(page, x.want) {
			t.Errorf("%s: does not hold %q", name, x.want)
		}
		for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "<img", "<nil>", "%!"} {
			if strings.Contains(styles.ReplaceAllString(scripts.ReplaceAllString(page, ""), ""), bad) {
				t.Errorf("%s: holds %s", name, bad)
			}
		}
		if n := strings.Count(page, "<script"); n != 1 {
			t.Errorf("%s: %d scripts, want the code", name, n)
		}
	}
	page, _ := benchPageOf(Bench{Name: "spoilt", Result: spoilt})
	for _, want := range []string{`class="lead bad"`, "hollow", "doubtful", "look here", `class="invalid"`, `<b class="says">INVALID</b>`} {
		if !strings.Contains(page, want) {
			t.Errorf("an invalid result does not hold %q", want)
		}
	}
}

// TestReportShowsBenches: with results there is a section of storage, without there is none and no style for it.
func TestReportShowsBenches(t *testing.T) {
	f := Facts{Farm: "demo", Made: began, Benches: []Bench{{Name: "old", Result: inventBench(bench.Quick(), oldStorage)}, {Name: "new", Result: inventBench(bench.Quick(), newStorage)}}}
	with := page(t, f)
	f.Benches = nil
	without := page(t, f)
	for _, want := range []string{`<section id="storage">`, `href="#storage"`, `id="b-lat-MIX-t"`, `class="heat"`, ".bplot"} {
		if !strings.Contains(with, want) {
			t.Errorf("does not hold %s", want)
		}
		if strings.Contains(without, want) {
			t.Errorf("without results it holds %s", want)
		}
	}
}

// TestEveryStepHasWords: whatever the profiles measure is named in the maps and curves.
func TestEveryStepHasWords(t *testing.T) {
	for _, s := range bench.Full().Steps {
		at := strings.LastIndex(s.Load.ID, "-")
		if words := loadWords(s.Load.ID[:at]); len(strings.Fields(words)) < 3 {
			t.Errorf("%s is %q", s.Load.ID, words)
		}
	}
}

func TestLogScale(t *testing.T) {
	for _, x := range []struct {
		values    []float64
		low, high float64
	}{{nil, 1, 10}, {[]float64{0, -1}, 1, 10}, {[]float64{100, 1000}, 100, 1000}, {[]float64{130, 990}, 100, 1000}, {[]float64{7}, 5, 10}, {[]float64{5}, 5, 10}, {[]float64{0.03, 4}, 0.02, 5}, {[]float64{20, math.Inf(1)}, 20, 50}} {
		s := newLogScale(x.values...)
		if math.Abs(s.low/x.low-1) > 1e-9 || math.Abs(s.high/x.high-1) > 1e-9 {
			t.Errorf("%v: %v", x.values, s)
		}
		if s.share(s.low) != 0 || s.share(s.high) != 1 || s.share(0) != 0 || s.share(s.high*9) != 1 {
			t.Errorf("%v: ends at %v and %v", x.values, s.share(s.low), s.share(s.high))
		}
	}
	if got := fmt.Sprint(logScale{100, 1000}.marks(8)); got != "[100 200 500 1000]" {
		t.Error(got)
	}
	if got := fmt.Sprint(logScale{1, 1e6}.marks(8)); got != "[1 10 100 1000 10000 100000 1e+06]" {
		t.Error(got)
	}
	if got := fmt.Sprint(logScale{1, 1e6}.marks(5)); got != "[1 100 10000 1e+06]" {
		t.Error(got)
	}
}

// TestBenchPageInABrowser: the console is silent, the curves are there, and the maps can be switched without a script.
func TestBenchPageInABrowser(t *testing.T) {
	turns.One(t, 8)
	page, err := benchPageOf(Bench{Name: "old", Result: inventBench(bench.Full(), oldStorage)}, Bench{Name: "new", Result: inventBench(bench.Full(), newStorage)})
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("STOWAGE_REPORT_DIR"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "bench.html"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "bench.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, console := browse(t, path)
	if console != "" {
		t.Errorf("the console says:\n%s", console)
	}
	if n := strings.Count(dom, `class="bplot"`); n < 50 {
		t.Errorf("%d pictures", n)
	}
	if strings.Count(dom, `type="radio"`) != 4 || strings.Count(dom, `class="heat"`) < 7*8 {
		t.Error("the maps are not there")
	}
}
