package report

import (
	"fmt"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// PlanFacts are what the document of a plan is made from. They are read only.
type PlanFacts struct {
	Plan placement.Plan
	// Now is farm.yaml as it stands, before or after the moves: what shards
	// need, how they grow and whose they are, prices and watts. The rest is
	// the plan's own basis.
	Now *farm.Farm
	// Freeing is what it would take to do with fewer hosts; nil: nobody asked.
	Freeing []placement.Relaxation
}

// mostFreeing is up to how many pairs a farm is solved again and again for
// PlanFacts.Freeing: 60 pairs of 60 sizes took 2 seconds of processor time,
// 120 took 11, thousands take hours.
const mostFreeing = 80

// AsksFreeing reports whether the farm of a plan is small enough to ask
// placement.Freeing for its document.
func AsksFreeing(p placement.Plan) bool { return len(p.Basis.Pairs) <= mostFreeing }

// PlannedFarm is the farm that a plan was made for: hosts, places and names
// from the plan's own basis, what shards need from farm.yaml as it stands.
func PlannedFarm(f PlanFacts) *farm.Farm {
	c := census{plan: f.Plan, types: map[farm.HostTypeName]farm.HostType{}}
	c.restore(f.Now)
	return c.farm
}

// PlanDocument is what engineers review before a plan is carried out: every
// judgement and every figure, in the words in which they are shown. WriteHTML
// and WriteMarkdown only lay it out, so that the two cannot say different
// things. Its exported fields are for the templates.
type PlanDocument struct {
	Farm, Name, Made string
	Title            string
	Verdict          string // proved or not, in one or two words
	Lead             string // why, in a sentence
	Tiles            []tile
	Sections         []planSection
	isWrong          bool // the independent checker refuses the plan
}

// planSection is one heading and what is below it, in this order.
type planSection struct {
	ID, Name string
	Text     []string
	Packing  *planPacking
	Chart    *planChart
	Charts   []*planChart // more of them, in pairs side by side
	Graph    *graphPicture
	Topology *topologyPicture
	Grid     *pairGrid
	Tables   []planTable
	Findings []farm.Finding
	Looked   bool // Findings were looked for
	Facts    []Fact
	Notes    []string // small print
}

// planTable is a table; rows have as many cells as it has columns.
type planTable struct {
	Caption string
	Head    []planColumn
	Rows    [][]planCell
	Folded  bool // long: HTML opens it when asked
}

type planColumn struct {
	Name     string
	IsFigure bool // aligned to the right
}

// planCell is text, and a bar beside it where Share says how long. Limit is
// where the bar ought to end at the latest; both are parts of the whole.
type planCell struct {
	Text         string
	Link         string // of a row's name
	Share, Limit float64
	HasBar       bool
}

// columns makes columns; a name that begins with "#" is one of figures.
func columns(names ...string) []planColumn {
	var out []planColumn
	for _, n := range names {
		c := planColumn{Name: n}
		if n != "" && n[0] == '#' {
			c = planColumn{Name: n[1:], IsFigure: true}
		}
		out = append(out, c)
	}
	return out
}

// cells are plain texts.
func cells(texts ...string) []planCell {
	out := make([]planCell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// NewPlanDocument reckons the whole document, and has the plan judged by
// package placement/check for it. The same facts make the same document.
func NewPlanDocument(f PlanFacts) *PlanDocument {
	c := newCensus(f)
	p := &c.plan
	wrong := check.Plan(c.farm, *p)
	d := &PlanDocument{Farm: p.Farm, Name: p.Name, Made: p.Made, Title: fmt.Sprintf("%s would become %s", count(p.HostsBefore, "host"), whole(float64(p.HostsUsed))), isWrong: len(wrong) > 0}
	d.Verdict, d.Lead = proofWords(*p, len(wrong) > 0)
	risks := c.risks(wrong)
	d.Tiles = c.tiles(risks)
	d.Sections = []planSection{
		c.summarySection(), c.hardwareSection(), c.packingSection(), c.scalingSection(), c.memorySection(), c.runwaySection(),
		c.powerSection(), c.surfaceSection(), {ID: "risks", Name: "Risks", Findings: risks, Looked: true},
		c.movesSection(), c.proofSection(wrong, f.Freeing), c.goalsSection(),
	}
	return d
}
