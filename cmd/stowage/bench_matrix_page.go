package main

import (
	"fmt"
	"strings"

	"stowage/bench/matrix"
	"stowage/farm"
	"stowage/report"
)

// matrixPage is the document of a matrix: the classic table of all cells, the A/A row among them, and drawn the baseline and the other cells that were
// measured, as many as can be distinguished, without the one that is there twice; and what became of those that are not shown.
func matrixPage(path string, d *matrix.Document) (*report.BenchDocument, error) {
	base := d.Cell(d.Baseline)
	if base == nil || base.Result == nil {
		return nil, &farm.Error{Op: "show result", Subject: path, Err: fmt.Errorf("%w: its baseline was not measured", farm.ErrInput), Hint: "name the cells to be shown: " + path + "#CELL"}
	}
	shown := []report.Bench{{Name: base.Name, Result: base.Result}}
	var told []report.Caution
	var undrawn []string
	for _, c := range d.Cells {
		switch {
		case c.Refused != "":
			told = append(told, report.Caution{Kind: "REFUSED", Text: c.Name + ": " + c.Refused, IsBad: true})
		case c.Failed != "":
			told = append(told, report.Caution{Kind: "FAILED", Text: c.Name + ": " + c.Failed, IsBad: true})
		case c == base || c.Twin:
		case c.Result == nil:
			told = append(told, report.Caution{Kind: "Not measured", Text: c.Name + ": the matrix was cut short"})
		case len(shown) == report.MostBenches:
			undrawn = append(undrawn, c.Name)
		default:
			shown = append(shown, report.Bench{Name: c.Name, Result: c.Result, Held: d.Hold(base, c)})
		}
	}
	if len(undrawn) > 0 {
		told = append(told, report.Caution{Kind: "Not drawn", Text: fmt.Sprintf("%s: at most %d can be distinguished. Their figures are in the text; stowage bench show %s#CELL draws those that are named", strings.Join(undrawn, ", "), report.MostBenches, shellWord(path))})
	}
	for _, s := range d.AA {
		told = append(told, report.Caution{Kind: "A/A", Text: fmt.Sprintf("%s of %s and its twin, which are the same: \u00d7%.3f, %s", s.ID, d.Cells[0].Name, s.Ratio, s.Verdict)})
	}
	doc := report.NewBenchDocument(shown)
	doc.Of(fmt.Sprintf("A matrix of %d cells, baseline %s", len(d.Cells), d.Baseline), told...)
	doc.Classic(d.Tables())
	return doc, nil
}
