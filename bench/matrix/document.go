package matrix

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// FormatVersion is that of the document. Whoever reads a higher one must refuse it.
const FormatVersion = 1

// Kind tells the document from that of bench run.
const Kind = "matrix"

// Document is the outcome of a matrix.
type Document struct {
	FormatVersion int              `json:"format_version"`
	Kind          string           `json:"kind"`
	Complete      bool             `json:"complete"`
	Sessions      []result.Session `json:"sessions"`
	Seed          uint64           `json:"seed"` // of the order of cells in a round and of steps in a visit
	Matrix        Matrix           `json:"matrix"`
	// Ground is on what the cells were made.
	Ground   string      `json:"ground"`
	Baseline string      `json:"baseline"`
	Cells    []*Measured `json:"cells"`
	// AA is what the first cell differs from its twin by, step by step: nothing but chance and drift.
	AA     []result.Compared `json:"aa,omitempty"`
	Labels []string          `json:"labels,omitempty"`
}

// Measured is a cell and what became of it.
type Measured struct {
	Cell
	// Refused is why the cell cannot be: "mount refused: ...". Failed is what broke while it was measured. Both end its visits.
	Refused string `json:"refused,omitempty"`
	Failed  string `json:"failed,omitempty"`
	Rounds  int    `json:"rounds"` // that are done
	// Result is of all visits together: every sample's Round is a visit, each of a file system made anew.
	Result *result.Result `json:"result,omitempty"`
	// Against is the cell compared with the baseline, step by step; none of the baseline itself.
	Against []result.Compared `json:"against_baseline,omitempty"`
}

// New is the document of a matrix of which nothing is done.
func New(m Matrix, seed uint64) *Document {
	d := &Document{FormatVersion: FormatVersion, Kind: Kind, Seed: seed, Matrix: m}
	cells := m.Cells()
	for _, c := range cells {
		d.Cells = append(d.Cells, &Measured{Cell: c})
	}
	d.Baseline = cells[m.baseline(cells)].Name
	return d
}

// isOver says whether nothing more will be done to a cell.
func (c *Measured) isOver(rounds int) bool {
	return c.Refused != "" || c.Failed != "" || c.Rounds >= rounds
}

// Next are the cells that a round still visits, in its order.
func (d *Document) Next(round int) []*Measured {
	var out []*Measured
	for _, i := range Order(d.Seed, round, len(d.Cells)) {
		if c := d.Cells[i]; !c.isOver(round) {
			out = append(out, c)
		}
	}
	return out
}

// Left is how many visits there still are.
func (d *Document) Left() int {
	n := 0
	for _, c := range d.Cells {
		if !c.isOver(d.Matrix.Rounds) {
			n += d.Matrix.Rounds - c.Rounds
		}
	}
	return n
}

// Cell is the cell of a name, or nil.
func (d *Document) Cell(name string) *Measured {
	for _, c := range d.Cells {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Judge makes everything that rests on all cells: verdicts, the A/A pair, labels.
func (d *Document) Judge() {
	d.Complete = d.Left() == 0
	for _, c := range d.Cells {
		if c.Result != nil {
			c.Result.Complete = c.Rounds > 0 && c.isOver(d.Matrix.Rounds) && c.Failed == ""
			c.Result.Judge()
		}
	}
	d.AA, d.Labels = nil, nil
	pairs := d.pairs()
	base := d.Cell(d.Baseline)
	for _, c := range d.Cells {
		c.Against = nil
		if base != nil && c != base && base.Result != nil && c.Result != nil {
			c.Against = result.CompareWithin(base.Name, base.Result, c.Name, c.Result, pairs).Steps
		}
	}
	if first, twin := d.twins(); first != nil {
		// Without the pairs: they must not hide what they show.
		d.AA = result.CompareWithin(first.Name, first.Result, twin.Name, twin.Result, nil).Steps
	}
	d.label()
}

// Compare holds a cell with another, both measured, with what the A/A cells show.
func (d *Document) Hold(a, b *Measured) *result.Comparison {
	return result.CompareWithin(a.Name, a.Result, b.Name, b.Result, d.pairs())
}

// twins are the first cell and its twin, when both were measured.
func (d *Document) twins() (first, twin *Measured) {
	if len(d.Cells) < 2 || !d.Cells[1].Twin || d.Cells[0].Result == nil || d.Cells[1].Result == nil {
		return nil, nil
	}
	return d.Cells[0], d.Cells[1]
}

// pairs are what the first cell and its twin differ by, for all steps.
func (d *Document) pairs() []stat.Pair {
	first, twin := d.twins()
	if first == nil {
		return nil
	}
	var out []stat.Pair
	for _, a := range first.Result.Steps {
		for _, b := range twin.Result.Steps {
			if a.ID != b.ID {
				continue
			}
			p := stat.Pair{First: a.IOPS, Last: b.IOPS}
			for _, x := range a.Samples {
				p.Runs = append(p.Runs, x.IOPS)
			}
			out = append(out, p)
		}
	}
	return out
}

func (d *Document) label() {
	say := func(format string, args ...any) { d.Labels = append(d.Labels, fmt.Sprintf(format, args...)) }
	if len(d.Matrix.Devices) == 0 {
		say("made on loop devices over files: every figure has the file system below (%s) in it; compare the cells with each other, not against a disk", d.Ground)
	}
	first, _ := d.twins()
	if first == nil {
		say("there is no A/A pair: %q could not be measured twice, so drift is not known", d.Cells[0].Name)
	}
	for _, s := range d.AA {
		if s.Verdict == stat.Better || s.Verdict == stat.Worse {
			say("%s of %q and of its twin differ by a factor of %.2f although they are the same: believe no verdict near that", s.ID, first.Name, s.Ratio)
		}
	}
	if base := d.Cell(d.Baseline); base.Result == nil {
		say("the baseline %q could not be measured, so there are no verdicts", base.Name)
	}
	if !d.Complete {
		say("%d visits are missing", d.Left())
	}
}

// GoOn says why a document cannot be continued by a matrix; nil when it can. More rounds than it was begun with are no obstacle.
func (d *Document) GoOn(m Matrix) error {
	was, is := d.Matrix, m
	was.Rounds, is.Rounds, was.Baseline, is.Baseline = 0, 0, "", ""
	a, err := json.Marshal(was)
	if err != nil {
		return err
	}
	b, err := json.Marshal(is)
	if err != nil {
		return err
	}
	if !slices.Equal(a, b) {
		return fmt.Errorf("it was begun with another matrix: what differs is not the number of rounds or the baseline alone")
	}
	return nil
}

// TakeUp continues with a document by the same matrix, perhaps of more rounds or with another baseline.
func (d *Document) TakeUp(m Matrix) {
	d.Matrix = m
	cells := m.Cells()
	d.Baseline = cells[m.baseline(cells)].Name
}

// Took is how long its sessions lasted.
func (d *Document) Took() time.Duration {
	var sum time.Duration
	for _, s := range d.Sessions {
		sum += s.Ended.Sub(s.Began)
	}
	return sum
}
