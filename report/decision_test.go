package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/bench/decide"
	"stowage/internal/turns"
)

// decided is an outcome with everything in it: a winner short of sure, one that is out, one with unknown figures, arrays, flips and turns.
func decided() *decide.Outcome {
	limit, enough := 1.0, 1e6
	figures := func(iops, price float64) map[decide.Key]decide.Figure {
		f := map[decide.Key]decide.Figure{
			{What: "iops", Step: "RND16K-R-Q8T4"}: decide.Claimed(iops, decide.Sheet, "data sheet, page <b>2"),
			{What: "capacity"}:                    decide.Exactly(1e12, ""), {What: "rebuild_rate"}: decide.Exactly(1e8, ""), {What: "afr"}: decide.Claimed(0.01, decide.Sheet, "data sheet"),
		}
		if price > 0 {
			f[decide.Key{What: "price"}] = decide.Exactly(price, "a quote")
		}
		return f
	}
	return decide.Judge(decide.Decision{
		Title: "Which <disks> | for us?", Currency: "EUR",
		Aspects: []decide.Aspect{
			{Name: decide.Fast, Weight: 2, Goals: []decide.Goal{{Figure: "iops", Step: "RND16K-R-Q8T4", Weight: 1, Enough: &enough}}},
			{Name: decide.Priced, Weight: 1, Goals: []decide.Goal{{Figure: "price", Weight: 1}}},
			{Name: decide.Safe, Weight: 1, Goals: []decide.Goal{{Figure: "survives", Limit: &limit}, {Figure: "yearly loss", Weight: 1}}},
		},
		Candidates: []decide.Candidate{
			{Name: "mirror", Title: "two & two", Figures: figures(40000, 2000), Array: decide.Array{Level: decide.RAID1, Devices: 2}, Notes: []string{"a note"}},
			{Name: "striped", Figures: figures(80000, 2000), Array: decide.Array{Level: decide.RAID0, Devices: 2}},
			{Name: "four", Figures: figures(70000, 4000), Array: decide.Array{Level: decide.RAID10, Devices: 4}},
			{Name: "quote-wanted", Figures: figures(60000, 0), Array: decide.Array{Level: decide.RAID6, Devices: 6}},
		},
	})
}

func decisionPapers(t *testing.T) (page, text string) {
	t.Helper()
	d := NewDecisionDocument(decided())
	var h, m strings.Builder
	if err := d.WriteHTML(&h); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteMarkdown(&m); err != nil {
		t.Fatal(err)
	}
	return h.String(), m.String()
}

// TestDecisionSaysTheSameInBoth: every row of a table of the page is one of the Markdown, with its marks, and the same again the next time.
func TestDecisionSaysTheSameInBoth(t *testing.T) {
	page, text := decisionPapers(t)
	again, more := decisionPapers(t)
	if page != again || text != more {
		t.Error("the same outcome makes another document")
	}
	flat := spaces.ReplaceAllString(plainly(text), " ")
	n := 0
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		n++
		var cells []string
		for _, c := range cell.FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, strings.TrimSpace(plainly(c[1])))
		}
		if want := spaces.ReplaceAllString(strings.Join(cells, " | "), " "); !strings.Contains(flat, strings.TrimSpace(want)) {
			t.Errorf("the Markdown has no row %q", want)
		}
	}
	if n < 20 {
		t.Errorf("only %d rows: nothing was compared", n)
	}
	for _, want := range []string{"40,000 [sheet]", "unknown", "OUT", "RAID 10", "price of quote-wanted, unknown", "weight of fast", "a note", "a quote"} {
		if !strings.Contains(plainly(page), want) || !strings.Contains(plainly(text), want) {
			t.Errorf("%q is not in both documents", want)
		}
	}
}

// TestDecisionLoadsNothing, and what people typed is text and not markup.
func TestDecisionLoadsNothing(t *testing.T) {
	page, _ := decisionPapers(t)
	for _, bad := range []string{"http://", "https://", "<disks>", "page <b>2", "src=", "@import"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(page, "default-src 'none'") && !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("the page has no policy")
	}
}

func TestDecisionInABrowser(t *testing.T) {
	turns.One(t, 8)
	page, _ := decisionPapers(t)
	path := filepath.Join(t.TempDir(), "decision.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, console := browse(t, path)
	if console != "" {
		t.Errorf("the console says %s", console)
	}
	if !strings.Contains(dom, "Which &lt;disks&gt; | for us?") {
		t.Error("the title is not shown")
	}
}
