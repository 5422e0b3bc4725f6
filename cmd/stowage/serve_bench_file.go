package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stowage/bench/decide"
	"stowage/bench/engine/sheet"
	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/farm"
	"stowage/internal/safefile"
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

// benchFile is what a file of benches holds: what its kind says, or nothing where the kind is empty, because it is something else, such as matrix.yaml.
type benchFile struct {
	path, kind string
	run        *result.Result
	matrix     *matrix.Document
	engine     *sheet.Result
	decision   *decide.Outcome
}

// readBenchFile reads a file by what it says. A file that is nothing else is a result of bench run, or what is wrong with one. The kind is set with an error, too.
func readBenchFile(path string) (f benchFile, err error) {
	f.path, f.kind = path, kindDecision
	if filepath.Ext(path) == ".yaml" {
		if f.decision, err = readDecision(path); f.decision == nil && err == nil {
			f.kind = ""
		}
		return f, err
	}
	f.kind = kindMatrix
	if f.matrix, err = readMatrixDocument(path); f.matrix != nil || err != nil {
		return f, err
	}
	f.kind = kindEngine
	if f.engine, err = readEngine(path); f.engine != nil || err != nil {
		return f, err
	}
	f.kind = kindRun
	f.run, err = readResult(path)
	return f, err
}

// readDecision asks a decision again; nil where the file is none.
func readDecision(path string) (*decide.Outcome, error) {
	raw, err := safefile.ReadInput(path, largestResult)
	if err != nil || !bytes.HasPrefix(raw, []byte("decision:")) && !bytes.Contains(raw, []byte("\ndecision:")) {
		return nil, nil
	}
	d, err := workspace.ReadDecision(path, readResult)
	if err != nil {
		return nil, err
	}
	return decide.Judge(d), nil
}

// entryOf is one line of the list. Its kind is empty where the file is nothing of ours.
func entryOf(path string) (serve.Bench, error) {
	f, err := readBenchFile(path)
	if err != nil {
		return serve.Bench{Kind: f.kind, IsJudged: f.kind == kindDecision}, err
	}
	return f.entry(), nil
}

func (f benchFile) entry() serve.Bench {
	switch f.kind {
	case kindRun:
		return f.runEntry()
	case kindMatrix:
		return f.matrixEntry()
	case kindEngine:
		return f.engineEntry()
	case kindDecision:
		return f.decisionEntry()
	}
	return serve.Bench{}
}

func (f benchFile) runEntry() serve.Bench {
	r := f.run
	doc := report.NewBenchDocument(f.named())
	b := serve.Bench{
		Kind: kindRun, What: r.Environment.Host + " " + r.Environment.Directory, Made: begun(r),
		Verdict: strings.TrimSpace(doc.Verdict + " " + doc.Lead), IsBad: doc.IsBad,
	}
	if !r.Complete {
		b.Verdict, b.IsBad = "The run was cut short, or has not ended yet. "+b.Verdict, true
	}
	return b
}

// named is a result of bench run as reports take it.
func (f benchFile) named() []report.Bench {
	return []report.Bench{{Name: shortest([]string{f.path})[0], Result: f.run}}
}

func (f benchFile) matrixEntry() serve.Bench {
	d, measured := f.matrix, 0
	for _, c := range d.Cells {
		if c.Result != nil {
			measured++
		}
	}
	b := serve.Bench{
		Kind: kindMatrix, What: fmt.Sprintf("%s, baseline %s", farm.Counted(len(d.Cells), "cell"), d.Baseline),
		Verdict: fmt.Sprintf("Whole. %d of %d cells were measured.", measured, len(d.Cells)),
	}
	if len(d.Sessions) > 0 {
		b.Made = d.Sessions[0].Began
	}
	if !d.Complete {
		b.Verdict, b.IsBad = strings.Replace(b.Verdict, "Whole", "The run was cut short, or has not ended yet", 1), true
	}
	return b
}

func (f benchFile) engineEntry() serve.Bench {
	r := f.engine
	doc := report.NewEngineDocument(r)
	what := map[sheet.Mode]string{sheet.Engines: "engines", sheet.Instances: "servers on one host", sheet.Apply: "a replica that applies"}[r.Mode]
	b := serve.Bench{
		Kind: kindEngine, What: fmt.Sprintf("%s, %s on %s", what, r.Server, r.Environment.Directory), Made: firstOf(r.Sessions),
		Verdict: doc.Verdict + " " + doc.Lead, IsBad: doc.IsBad || !r.Complete,
	}
	if !r.Complete {
		b.Verdict = "The run was cut short, or has not ended yet. " + b.Verdict
	}
	return b
}

func (f benchFile) decisionEntry() serve.Bench {
	o := f.decision
	b := serve.Bench{Kind: kindDecision, IsJudged: true, What: o.Title, Verdict: o.Headline() + ".", IsBad: o.Verdict == decide.NobodyLeft}
	if info, err := os.Stat(f.path); err == nil {
		b.Made = info.ModTime() // it has no other date
	}
	return b
}

// show is the page of a file.
func (f benchFile) show(page serve.Shown) (_ serve.Shown, err error) {
	var text bytes.Buffer
	switch f.kind {
	case kindRun:
		page.JSON = f.run
		page.Piece, err = report.NewBenchDocument(f.named()).Piece()
	case kindMatrix:
		page.JSON = f.matrix
		if err = matrix.WriteText(&text, f.matrix); err != nil {
			return page, err
		}
		if doc, none := matrixPage(f.path, f.matrix); none == nil { // otherwise the table is all there is
			page.Piece, err = doc.Piece()
		}
		if page.Text = text.String(); page.Title == "" {
			page.Title = "A matrix of " + f.matrixEntry().What
		}
	case kindEngine:
		page.JSON = f.engine
		page.Piece, err = report.NewEngineDocument(f.engine).Piece()
	case kindDecision:
		page.JSON, page.Command = f.decision, "stowage bench decide "+shellWord(f.path)
		page.Piece, err = report.NewDecisionDocument(f.decision).Piece()
	default:
		err = &farm.Error{Op: "show", Subject: f.path, Err: fmt.Errorf("%w: it was replaced by something that is not a bench", farm.ErrInput), Hint: "look at the list again"}
	}
	return page, err
}
