package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/internal/safefile"
	"stowage/inventory/claims"
	"stowage/inventory/graph"
	"stowage/report"
	"stowage/session"
	"stowage/workspace"
)

func (a *app) graphCommand() *cobra.Command {
	var wrong string
	var dot, svg bool
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Show which source is made of which, and what breaks if one is wrong",
		Long: `Reads every source of inventory.yaml as 'inventory check' does, and shows who feeds whom: what inventory.yaml
declares (feeds, copy_of), and what is seen: sources with the same mistakes, files that list the same
subjects in one order that is not alphabetical, load balancers and configuration that lead clients. Each edge has how many
facts the two disagree about, and how much older the one that is fed is. Below that every pair with its servers, who replicates from
whom, and how far behind.

--if SOURCE says what follows if that source is wrong: who is wrong, too, what nobody else would notice, and what a wrong value does.
--dot prints the graph for Graphviz, --svg as a picture. Reads only. Exit code 0, whatever the sources say; 'inventory check' judges.

` + exitHelp,
		Example: "  stowage inventory graph\n  stowage inventory graph --if cmdb\n  stowage inventory graph --svg > sources.svg\n  stowage inventory graph --dot | dot -Tpng -o sources.png",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if dot && svg || wrong != "" && (dot || svg) {
				return usage(c, errors.New("--if, --dot and --svg cannot be combined"))
			}
			known, err := a.checkAndKeep(c.Context())
			if err != nil {
				return err
			}
			g := known.Graph
			if wrong != "" {
				e, err := g.If(wrong)
				if err != nil {
					return err
				}
				return a.emit(e, e.WriteText, a.cmd("inventory check"))
			}
			show := g.WriteText
			var next []string // a picture is for a file
			if len(g.Nodes) > 0 && !dot && !svg {
				next = []string{a.cmd("inventory graph --if %s", g.Nodes[0].Name)}
			}
			switch {
			case dot:
				show = func(w io.Writer) error { _, err := io.WriteString(w, g.DOT()); return err }
			case svg:
				show = func(w io.Writer) error { return report.GraphSVG(w, g) }
			}
			return a.emit(g, show, next...)
		},
	}
	cmd.Flags().StringVar(&wrong, "if", "", "say what breaks if this `SOURCE` is wrong")
	cmd.Flags().BoolVar(&dot, "dot", false, "print the graph in the language of Graphviz")
	cmd.Flags().BoolVar(&svg, "svg", false, "print the graph as a picture")
	return cmd
}

// known is what the newest check of the sources has found. It is kept for the pages of serve and for the report.
type known struct {
	Report claims.Report `json:"report"`
	Graph  graph.Graph   `json:"graph"`
}

// knownFile is where it is kept, below .stowage.
const knownFile = "sources/check.json"

// checkAndKeep checks the sources, and keeps what was found. A workspace that cannot be written is no reason to say nothing.
func (a *app) checkAndKeep(ctx context.Context) (known, error) {
	d, err := a.look()
	if err != nil {
		return known{}, err
	}
	defer d.Close()
	r, specs, err := a.checkSources(ctx, d)
	if err != nil {
		return known{}, err
	}
	k := known{Report: r, Graph: graph.Of(r, specs)}
	if err := k.keep(d.State()); err != nil {
		a.say("note: pages and reports show the check before this one: %s", err)
	}
	return k, nil
}

func (k known) keep(state string) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	path := filepath.Join(state, knownFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return workspace.WriteFileAtomic(path, text, 0o600)
}

// readKnown is the newest check that was kept; false where there is none.
func readKnown(d *session.Session) (known, bool, error) {
	var k known
	path := d.StatePath(knownFile) // who only looks makes no directory
	text, err := safefile.ReadInput(path, 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	}
	if err == nil {
		err = nested.Unmarshal(text, &k)
	}
	if err != nil {
		return k, false, &farm.Error{Op: "read check of the sources", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "make it anew: stowage inventory check"}
	}
	return k, true, nil
}
