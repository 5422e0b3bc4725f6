package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stowage/bench/decide"
	"stowage/farm"
	"stowage/report"
	"stowage/workspace"
)

// decidePaper is where the document of a decision goes.
type decidePaper struct {
	html     string
	markdown bool
}

func (a *app) benchDecideCommand() *cobra.Command {
	var out decidePaper
	cmd := &cobra.Command{
		Use:   "decide FILE",
		Short: "Judge which storage to buy by what was measured, published or claimed, and how sure that is",
		Long: `Judges the candidates of a decision.yaml by goals with weights and hard limits: fast, reasonably priced,
reasonably safe. Figures come from results that bench run has saved, from what others have published, or from
data sheets, and stay marked as what they are. It says who is out and by how much, who is ahead and how surely,
what one lost device costs, and which weight, price or figure would put another candidate ahead. A missing figure
is unknown, never 0; where two cannot be distinguished the answer is "inconclusive".

--html FILE writes the document for the review, complete in itself; --markdown prints it for version control.
Exit code 3 when no candidate holds all hard limits.

` + exitHelp,
		Example: "  stowage bench decide decision.yaml\n  stowage bench decide decision.yaml --html decision.html\n  stowage bench decide decision.yaml --markdown > decision.md",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if a.json && out.markdown {
				return usage(c, fmt.Errorf("Markdown and --json are two formats"))
			}
			return a.benchDecide(given[0], out)
		},
	}
	cmd.Flags().StringVar(&out.html, "html", "", "write the document as one HTML file")
	cmd.Flags().BoolVar(&out.markdown, "markdown", false, "print the document as Markdown")
	return cmd
}

func (a *app) benchDecide(path string, out decidePaper) error {
	d, err := workspace.ReadDecision(path, readResult)
	if err != nil {
		return err
	}
	o := decide.Judge(d)
	doc := report.NewDecisionDocument(o)
	if out.html != "" {
		var b bytes.Buffer
		if err := doc.WriteHTML(&b); err != nil {
			return err
		}
		if err := write(out.html, b.Bytes()); err != nil {
			return err
		}
		a.say("wrote %s", out.html)
	}
	next := []string{a.cmd("bench decide %s --html %s", path, besideAs(path, ".html"))}
	if out.html != "" || out.markdown {
		next = nil // the document is what was wanted
	}
	text := func(w io.Writer) error { return o.WriteText(w) }
	if out.markdown {
		text = doc.WriteMarkdown
	}
	if err := a.emit(o, text, next...); err != nil {
		return err
	}
	if o.Verdict == decide.NobodyLeft {
		return &farm.Error{Op: "decide", Subject: path, Err: fmt.Errorf("%w: no candidate holds all hard limits", farm.ErrRefused), Hint: "ease a limit, or add a candidate; the table says who misses what by how much"}
	}
	return nil
}
