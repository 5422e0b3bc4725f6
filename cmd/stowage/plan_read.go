package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/placement"
	"stowage/placement/bound"
	"stowage/placement/pack"
	"stowage/session"
)

// planPaper is where to write the document of a plan, relative to the
// workspace; empty: nowhere.
type planPaper struct {
	HTML     string `json:"html,omitempty"`
	Markdown string `json:"markdown,omitempty"`
}

func (a *app) planShowCommand() *cobra.Command {
	var out planPaper
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a plan again, or write the document that is reviewed", Args: args(cobra.ExactArgs(1)),
		Long: `Shows a plan for people, or with --json as it is. Works on any plan, carried out or not.

With --html or --markdown it writes the document for the review instead: hardware, the
packing before and after, scaling, memory per shard, disk runway, watts and cost, what
one failure hits, risks, moves, proof and goals. Both say the same; the HTML file is
complete in itself and has pictures, the Markdown is made for version control. Files
are relative to the workspace.

` + exitHelp,
		Example: "  stowage plan show first\n  stowage plan show first --html first.html --markdown plans/first.md",
		RunE: func(_ *cobra.Command, given []string) error {
			d, err := a.open()
			if err != nil {
				return err
			}
			defer d.Close()
			p, err := d.Plan(given[0])
			if err != nil {
				return err
			}
			if out == (planPaper{}) {
				return a.emit(p, p.WriteText, a.afterPlan(p.Name)...)
			}
			return a.paper(d, p, out)
		},
	}
	cmd.Flags().StringVar(&out.HTML, "html", "", "write the document as one HTML file")
	cmd.Flags().StringVar(&out.Markdown, "markdown", "", "write the document as Markdown")
	return cmd
}

// paper writes the document of a plan.
func (a *app) paper(d *session.Session, p placement.Plan, out planPaper) error {
	doc := planDocument(p, d.Farm)
	for _, x := range []struct {
		path  *string
		write func(io.Writer) error
	}{{&out.HTML, doc.WriteHTML}, {&out.Markdown, doc.WriteMarkdown}} {
		if *x.path == "" {
			continue
		}
		var b bytes.Buffer
		if err := x.write(&b); err != nil {
			return err
		}
		*x.path = d.Path(*x.path)
		if err := write(*x.path, b.Bytes()); err != nil {
			return err
		}
	}
	return a.emit(out, func(w io.Writer) error {
		for _, path := range []string{out.HTML, out.Markdown} {
			if path == "" {
				continue
			}
			if _, err := fmt.Fprintln(w, path); err != nil {
				return err
			}
		}
		return nil
	}, a.cmd("move %s --dry-run", p.Name))
}

func (a *app) planExplainCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "explain HOST|PAIR|INSTANCE", Short: "Say why something is where the plan puts it, and what else was possible", Args: args(cobra.ExactArgs(1)),
		Long: `For an instance: what it needs, how full its host is with it, and for every host that
was not chosen the first rule that keeps it out. For a host: what binds, and what it
would take to do with fewer hosts, each answer found by solving again. For a pair
both of its instances.

` + exitHelp,
		Example: "  stowage plan explain ssd01\n  stowage plan explain dbshard007 --plan first",
		RunE: func(_ *cobra.Command, given []string) error {
			d, err := a.open()
			if err != nil {
				return err
			}
			defer d.Close()
			p, err := planOrLatest(d, name)
			if err != nil {
				return err
			}
			e, err := placement.Explain(d.Farm, p, given[0])
			if err != nil {
				return err
			}
			return a.emit(e, e.WriteText, a.cmd("plan show %s", p.Name), a.cmd("move %s --dry-run", p.Name))
		},
	}
	cmd.Flags().StringVar(&name, "plan", "", "which plan; default the one made last")
	return cmd
}

// planOrLatest is a plan by name, or the one that was made last.
func planOrLatest(d *session.Session, name string) (placement.Plan, error) {
	if name != "" {
		return d.Plan(name)
	}
	var last placement.Plan
	for _, n := range d.PlanNames() {
		p, err := d.Plan(n)
		if err != nil {
			return p, err
		}
		if p.Made >= last.Made {
			last = p
		}
	}
	if last.Name == "" {
		return last, &farm.Error{Op: "read plan", Err: fmt.Errorf("%w: there is no plan yet", farm.ErrInput), Hint: "make one: stowage plan"}
	}
	return last, nil
}

func (a *app) planCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare A B", Short: "Put two plans beside each other", Args: args(cobra.ExactArgs(2)),
		Long:    "Compares the figures of two plans and says what they put on different hosts.\n\n" + exitHelp,
		Example: "  stowage plan --name grown --growth x2\n  stowage plan compare first grown",
		RunE: func(_ *cobra.Command, given []string) error {
			d, err := a.open()
			if err != nil {
				return err
			}
			defer d.Close()
			x, err := d.Plan(given[0])
			if err != nil {
				return err
			}
			y, err := d.Plan(given[1])
			if err != nil {
				return err
			}
			c := placement.Compare(x, y)
			return a.emit(c, c.WriteText, a.cmd("plan show %s", x.Name), a.cmd("plan show %s", y.Name))
		},
	}
}

// packed is the answer for a vector bin packing instance.
type packed struct {
	FormatVersion int               `json:"format_version"`
	HostsUsed     int64             `json:"hosts_used"`
	LowerBound    int64             `json:"lower_bound"`
	BoundMethod   string            `json:"bound_method"`
	Gap           float64           `json:"gap"`
	Stopped       bool              `json:"stopped,omitempty"` // the clock ended the search: another run may find another answer
	Assignments   []int             `json:"assignments"`       // bin by item, both from 0
	Certificate   bound.Certificate `json:"certificate"`
}

// The search and the proof of a .vbp instance together stay within ten seconds,
// which is how packers are compared. On a machine that does nothing else neither
// limit is met.
const (
	vbpSearch = 6 * time.Second
	vbpProof  = 8500 * time.Millisecond
)

// planVBP packs a public instance with the solver that packs farms.
func (a *app) planVBP(path string) error {
	file, err := safefile.OpenInput(path)
	if err != nil {
		return &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	defer file.Close()
	problem, err := pack.ReadVBP(file)
	if err != nil {
		return &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	began := time.Now()
	past := func(limit time.Duration) func() bool { return func() bool { return time.Since(began) > limit } }
	answer, proof, err := placement.Pack(problem, past(vbpSearch), past(vbpProof))
	if err != nil {
		if errors.Is(err, farm.ErrInput) {
			return &farm.Error{Op: "pack", Subject: path, Err: err}
		}
		return err
	}
	out := packed{FormatVersion: 1, HostsUsed: answer.Count, LowerBound: proof.Bound, BoundMethod: proof.Method, Stopped: answer.Stopped, Assignments: answer.Where, Certificate: proof.Certificate}
	if proof.Bound > 0 {
		out.Gap = float64(answer.Count-proof.Bound) / float64(proof.Bound)
	}
	return a.emit(out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d bins for %s; at least %d are needed (%s)\n", out.HostsUsed, farm.Counted(len(out.Assignments), "item"), out.LowerBound, out.BoundMethod)
		return err
	})
}
