package main

import (
	"fmt"
	"io"

	"stowage/bench/engine/sheet"
	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/report"
)

// readEngine reads a file that is a result of bench engine; nil where it is something else, or not there.
func readEngine(path string) (*sheet.Result, error) {
	raw, err := safefile.ReadInput(path, largestResult)
	if err != nil || !sheet.IsEngine(raw) {
		return nil, nil // whoever reads it as something else says what is wrong
	}
	r, err := sheet.Read(raw)
	if err != nil {
		return nil, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give a file that bench engine wrote with --save, or its --json"}
	}
	r.Judge() // by today's rules; one that was cut short was never judged
	return r, nil
}

// compareEngines compares two results of bench engine. It does not feel responsible (is false) for two files of which neither is one.
func (a *app) compareEngines(files []string) (is bool, err error) {
	var both []*sheet.Result
	for _, path := range files {
		r, err := readEngine(path)
		if err != nil {
			return true, err
		}
		if r != nil {
			both = append(both, r)
		}
	}
	switch len(both) {
	case 0:
		return false, nil
	case 1:
		return true, &farm.Error{Op: "compare " + files[0] + " with", Subject: files[1], Err: fmt.Errorf("%w: one is of bench engine, the other is not", farm.ErrInput), Hint: "compare two of a kind"}
	}
	c := sheet.Compare(files[0], both[0], files[1], both[1])
	if len(c.Steps) == 0 {
		return true, &farm.Error{Op: "compare " + files[0] + " with", Subject: files[1], Err: fmt.Errorf("%w: they have no row in common", farm.ErrInput), Hint: "measure the same cells and loads in both"}
	}
	if err := a.emit(c, func(w io.Writer) error { return sheet.CompareText(w, c) }, a.cmd("bench show %s --html %s", files[1], besideAs(files[1], ".html"))); err != nil {
		return true, err
	}
	if c.GotWorse() {
		return true, farm.ErrFindings
	}
	return true, nil
}

// showEngines prints a result of bench engine again, or writes it with charts into the file html where that is named. It does not feel responsible (is false) for files of which none is one.
func (a *app) showEngines(files []string, html string) (is bool, err error) {
	for _, path := range files {
		r, err := readEngine(path)
		switch {
		case err != nil:
			return true, err
		case r == nil:
			continue
		case len(files) > 1:
			return true, &farm.Error{Op: "show", Subject: path, Err: fmt.Errorf("%w: it is a result of bench engine, which is shown alone", farm.ErrInput), Hint: "stowage bench compare A B"}
		}
		if html != "" {
			return true, a.writeBenchHTML(html, report.NewEngineDocument(r))
		}
		return true, a.emit(r, func(w io.Writer) error { return sheet.WriteText(w, r) }, a.charted(path))
	}
	return false, nil
}
