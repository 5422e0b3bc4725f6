package report

import (
	"io"
	"strings"
	"testing"

	"stowage/bench"
)

// TestPieces compares pieces with the whole documents: what a page frames is what the file has, to the byte.
func TestPieces(t *testing.T) {
	facts := inventFacts(t, demoSize)
	facts.Benches = nil
	whole := page(t, facts)
	plan := NewPlanDocument(PlanFacts{Plan: *facts.Plan, Now: facts.Now})
	storage := NewBenchDocument([]Bench{{Name: "new", Result: inventBench(bench.Full(), newStorage)}})
	for _, c := range []struct {
		name  string
		whole func() string
		make  func() (Piece, error)
		has   string
		data  bool
	}{
		{"move", func() string { return whole }, func() (Piece, error) { return ActPiece(facts) }, `class="timeline"`, false},
		{"proof", func() string { return whole }, func() (Piece, error) { return ProofPiece(facts) }, "acknowledged writes", true},
		{"plan", func() string { return paper(t, plan.WriteHTML) }, plan.Piece, `class="packing"`, false},
		{"bench", func() string { return paper(t, storage.WriteHTML) }, storage.Piece, `class="bplot"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(p.Body), c.has) {
				t.Errorf("has no %s", c.has)
			}
			all := c.whole()
			for line := range strings.Lines(string(p.Body)) {
				if !strings.Contains(all, strings.TrimSpace(line)) {
					t.Fatalf("the file does not have: %s", line)
				}
			}
			if !strings.Contains(all, string(p.Style)) {
				t.Error("the file does not have its style")
			}
			if strings.HasPrefix(string(p.Data), `{"classes":`) != c.data || !c.data && p.Data != "" {
				t.Errorf("data %.40s", p.Data)
			}
			if strings.Contains(string(p.Body), "<script") || strings.Contains(string(p.Body), " style=") {
				t.Error("has a script or a style of its own, which the page's policy forbids")
			}
		})
	}
	empty, err := ProofPiece(Facts{Farm: "demo", Made: began})
	if err != nil || empty.Body != "" {
		t.Errorf("nothing is known, and it says %q, %v", empty.Body, err)
	}
}

// paper is a document as its file.
func paper(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
