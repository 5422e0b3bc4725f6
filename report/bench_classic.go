package report

import (
	"slices"

	"stowage/bench/result"
)

// Classic adds the tables of whole requests, one for each step, in the columns that such tables have had since sysbench. Every row is kept,
// also those of results that the pictures have no room for.
func (d *BenchDocument) Classic(tables []result.ClassicTable) {
	d.Tables = nil
	for _, t := range tables {
		p := planTable{Caption: t.Step}
		if t.Answers != "" {
			p.Caption += ": " + t.Answers
		}
		for i, name := range t.Head() {
			p.Head = append(p.Head, planColumn{Name: name, IsFigure: i > 0 && i < 8})
		}
		for _, r := range t.Rows {
			p.Rows = append(p.Rows, cells(t.Cells(r)...))
		}
		d.Tables = append(d.Tables, p)
	}
}

// classic are the tables of results that were not measured here: theirs is the form in which people have written them down.
func (d *BenchDocument) classic() {
	if !slices.ContainsFunc(d.Sides, func(s benchSide) bool { return s.result.IsSecondhand() }) {
		return
	}
	var all []result.Named
	for _, s := range d.Sides {
		all = append(all, result.Named{Name: s.Name, Result: s.result})
	}
	d.Classic(result.Classic(all))
}
