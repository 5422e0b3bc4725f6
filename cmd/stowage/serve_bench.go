package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stowage/bench/decide"
	"stowage/bench/engine/sheet"
	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/farm"
	"stowage/report"
	"stowage/serve"
	"stowage/workspace"
)

// What a file of benches may be.
const (
	kindRun      = "run"
	kindMatrix   = "matrix"
	kindEngine   = "engine"
	kindDecision = "decision"
)

// allBenches are the results in bench/ of the workspace, the newest first, and behind them the decisions there and beside farm.yaml.
func (s *shelf) allBenches() ([]serve.Bench, error) {
	out := []serve.Bench{}
	for _, pattern := range []string{"bench/*.json", "bench/*.yaml", "decision*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(globbed(s.ws.Dir), pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name, err := filepath.Rel(s.ws.Dir, path)
			if err != nil {
				return nil, err
			}
			make := func() (serve.Bench, error) { return entryOf(path) }
			b, err := s.benches.of(make, path)
			if filepath.Ext(path) == ".yaml" { // it names other files
				b, err = make()
			}
			if err != nil {
				b.Fault = blame(err)
			}
			if b.File = filepath.ToSlash(name); b.Kind != "" {
				out = append(out, b)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y serve.Bench) int {
		if x.IsJudged != y.IsJudged {
			return map[bool]int{true: 1, false: -1}[x.IsJudged]
		}
		return y.Made.Compare(x.Made)
	})
	return out, nil
}

// globbed is a directory whose name means itself in a pattern.
func globbed(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// kindOf tells what a file is by what it says; "" where it is something else, such as matrix.yaml.
func kindOf(path string, raw []byte) string {
	switch {
	case filepath.Ext(path) == ".yaml":
		if bytes.HasPrefix(raw, []byte("decision:")) || bytes.Contains(raw, []byte("\ndecision:")) {
			return kindDecision
		}
		return ""
	case matrix.IsDocument(raw):
		return kindMatrix
	case sheet.IsEngine(raw):
		return kindEngine
	}
	return kindRun
}

// entryOf is one line of the list.
func entryOf(path string) (serve.Bench, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return serve.Bench{Kind: kindRun}, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err))}
	}
	b := serve.Bench{Kind: kindOf(path, raw)}
	switch b.Kind {
	case kindRun:
		return runEntry(b, path)
	case kindMatrix:
		return matrixEntry(b, path)
	case kindEngine:
		return engineEntry(b, path, raw)
	case kindDecision:
		return decisionEntry(b, path)
	}
	return b, nil
}

func runEntry(b serve.Bench, path string) (serve.Bench, error) {
	r, err := readResult(path)
	if err != nil {
		return b, err
	}
	doc := report.NewBenchDocument([]report.Bench{{Name: shortest([]string{path})[0], Result: r}})
	b.What, b.Made, b.Verdict, b.IsBad = r.Environment.Host+" "+r.Environment.Directory, begun(r), strings.TrimSpace(doc.Verdict+" "+doc.Lead), doc.IsBad
	if !r.Complete {
		b.Verdict, b.IsBad = "Cut short. "+b.Verdict, true
	}
	return b, nil
}

func matrixEntry(b serve.Bench, path string) (serve.Bench, error) {
	d, err := readMatrixDocument(path)
	if err != nil {
		return b, err
	}
	measured := 0
	for _, c := range d.Cells {
		if c.Result != nil {
			measured++
		}
	}
	if len(d.Sessions) > 0 {
		b.Made = d.Sessions[0].Began
	}
	b.What, b.Verdict = fmt.Sprintf("%d cells, baseline %s", len(d.Cells), d.Baseline), fmt.Sprintf("Whole. %d of %d cells were measured.", measured, len(d.Cells))
	if !d.Complete {
		b.Verdict, b.IsBad = strings.Replace(b.Verdict, "Whole", "Cut short", 1), true
	}
	return b, nil
}

func engineEntry(b serve.Bench, path string, raw []byte) (serve.Bench, error) {
	r, err := sheet.Read(raw)
	if err != nil {
		return b, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give a file that bench engine wrote with --save, or its --json"}
	}
	r.Judge()
	if len(r.Sessions) > 0 {
		b.Made = r.Sessions[0].Began
	}
	b.What, b.Verdict, b.IsBad = fmt.Sprintf("%s, %s on %s", r.Mode, r.Server, r.Environment.Directory), "Valid.", !r.Valid || !r.Complete
	if !r.Valid {
		b.Verdict = "Invalid: " + strings.Join(r.Invalid, "; ")
	}
	if !r.Complete {
		b.Verdict = "Cut short. " + b.Verdict
	}
	return b, nil
}

func decisionEntry(b serve.Bench, path string) (serve.Bench, error) {
	o, err := judged(path)
	if err != nil {
		return b, err
	}
	if info, err := os.Stat(path); err == nil {
		b.Made = info.ModTime() // it has no other date
	}
	b.IsJudged = true
	b.What, b.Verdict, b.IsBad = o.Title, o.Headline()+".", o.Verdict == decide.NobodyLeft
	return b, nil
}

func judged(path string) (*decide.Outcome, error) {
	d, err := workspace.ReadDecision(path, readResult)
	if err != nil {
		return nil, err
	}
	return decide.Judge(d), nil
}

// bench shows files of the list: one of any kind, or several results of bench run, the oldest first.
func (s *shelf) bench(files []string) (serve.Shown, error) {
	all, err := s.allBenches()
	if err != nil {
		return serve.Shown{}, err
	}
	var chosen []serve.Bench
	for _, b := range slices.Backward(all) {
		if slices.Contains(files, b.File) {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) == 1 {
		return s.oneBench(chosen[0])
	}
	var paths, words []string
	for _, b := range chosen {
		if b.Kind != kindRun {
			return serve.Shown{}, &farm.Error{Op: "compare results", Subject: b.File, Err: fmt.Errorf("%w: it is of bench %s, and only results of bench run are held against each other here", farm.ErrInput, b.Kind), Hint: "open it alone"}
		}
		paths, words = append(paths, s.ws.Path(b.File)), append(words, shellWord(s.ws.Path(b.File)))
	}
	benches, err := readBenches(paths)
	if err != nil {
		return serve.Shown{}, err
	}
	var held []*result.Comparison
	for i, b := range benches[1:] {
		held = append(held, result.Compare(paths[0], benches[0].Result, paths[i+1], b.Result))
	}
	shown := serve.Shown{Command: "stowage bench show " + strings.Join(words, " "), JSON: map[string]any{"format_version": 1, "comparisons": held}}
	if len(held) == 1 {
		shown.JSON, shown.Command = held[0], "stowage bench compare "+strings.Join(words, " ")
	}
	shown.Piece, err = report.NewBenchDocument(benches).Piece()
	return shown, err
}

// oneBench shows one file of the list.
func (s *shelf) oneBench(b serve.Bench) (shown serve.Shown, err error) {
	path := s.ws.Path(b.File)
	shown.Command, shown.Kicker = "stowage bench show "+shellWord(path), b.File
	var text bytes.Buffer
	switch b.Kind {
	case kindRun:
		benches, err := readBenches([]string{path})
		if err != nil {
			return shown, err
		}
		shown.JSON = benches[0].Result
		shown.Piece, err = report.NewBenchDocument(benches).Piece()
		return shown, err
	case kindMatrix:
		d, err := readMatrixDocument(path)
		if err != nil {
			return shown, err
		}
		shown.JSON = d
		err = matrix.WriteText(&text, d)
		if cells, none := matrixBenches(path, d); none == nil && err == nil { // otherwise the table is all there is
			shown.Piece, err = report.NewBenchDocument(cells).Piece()
		}
		shown.Text, shown.Title = text.String(), cmp.Or(shown.Title, "A matrix of "+b.What)
		return shown, err
	case kindDecision:
		o, err := judged(path)
		if err != nil {
			return shown, err
		}
		shown.JSON, shown.Command = o, "stowage bench decide "+shellWord(path)
		shown.Piece, err = report.NewDecisionDocument(o).Piece()
		return shown, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return shown, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err))}
	}
	r, err := sheet.Read(raw)
	if err != nil {
		return shown, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "make it again: stowage bench engine DIR --save FILE"}
	}
	r.Judge()
	shown.JSON, shown.Title, shown.Verdict, shown.IsBad = r, "What engines cost: "+b.What, b.Verdict, b.IsBad
	err = sheet.WriteText(&text, r)
	shown.Text = text.String()
	return shown, err
}
