package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/mysql/latest"
	"stowage/snapshot"
	"stowage/snapshot/format"
)

// snapshotFlags are those of `snapshot`.
type snapshotFlags struct {
	shard, tenant, spec string
	format, out, form   string
	side, state         string
	compare, chunks     bool
}

func (a *app) snapshotCommand() *cobra.Command {
	var f snapshotFlags
	cmd := &cobra.Command{
		Use: "snapshot --shard SHARD --tenant TENANT", Short: "Write a tenant's latest state as JSON lines, CSV or Parquet", Args: args(cobra.NoArgs),
		Long: `Writes the rows of one tenant, as reshape/NAME.yaml defines them: one row for each parent that
has a child which counts, with the columns of 'snapshot' in the spec. The tenant's flag, read
in the view of the snapshot, decides between the normalised and the denormalised query; both
give the same rows.

There are two modes. By default all rows are of one read view, at the GTID position that is
printed at the end. It is not resumable: after an interruption it starts again. While the view
is open the server keeps old row versions (undo), and an ALTER TABLE of its tables waits.

With --chunks rows are read by key, some thousands in a view. After a kill the snapshot
continues from --state FILE. Rows that change meanwhile are found in the binary log and read
again at the end: all rows are of the position at the end, which is printed. JSON lines only.

In both modes 'stowage follow --from POSITION' continues from there, and the file of --out
appears under its name only when it is complete.

It reads the less busy side: of the sides in rotation, not fenced and not behind, the one with
fewer running threads. Without such a side the exit code is 3. --side names one, whatever its
state; its lag is printed.

--compare writes no rows: it runs both queries in one view, names the rows that differ, and
prints both times. docs/guide/snapshot.md.

` + exitHelp,
		Example: "  stowage snapshot --shard fs001 --tenant 7 > tenant7.jsonl\n  stowage snapshot --shard fs001 --tenant 7 --format parquet --out tenant7.parquet --json\n  stowage snapshot --shard fs001 --tenant 7 --chunks --state tenant7.state --out tenant7.jsonl\n  stowage snapshot --shard fs001 --tenant 7 --compare",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(c, a.json); err != nil {
				return err
			}
			return a.snapshot(c.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.shard, "shard", "", "the shard that the tenant is in")
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "the tenant's key")
	cmd.Flags().StringVar(&f.spec, "spec", "", "the spec, reshape/`NAME`.yaml; default: the only one that is for this shard")
	cmd.Flags().StringVar(&f.format, "format", format.JSONLines, "jsonl, csv or parquet")
	cmd.Flags().StringVarP(&f.out, "out", "o", "-", "the `file` to write; - is standard output")
	cmd.Flags().StringVar(&f.form, "form", "", "use this query: grouped or correlated (both normalised), or denormalised; default: by the tenant's flag")
	cmd.Flags().StringVar(&f.side, "side", "", "read this side, A or B, whatever its state")
	cmd.Flags().BoolVar(&f.chunks, "chunks", false, "read in chunks by key, resumable; needs --state and --out")
	cmd.Flags().StringVar(&f.state, "state", "", "with --chunks: the `file` that keeps the progress; FILE.rows beside it has the rows until the end")
	cmd.Flags().BoolVar(&f.compare, "compare", false, "write nothing; run both queries in one view and name the rows that differ")
	return cmd
}

func (f snapshotFlags) check(c *cobra.Command, inJSON bool) error {
	set := c.Flags().Changed
	switch {
	case f.shard == "":
		return usage(c, errors.New("--shard is missing"))
	case !set("tenant"):
		return usage(c, errors.New("--tenant is missing"))
	case !slices.Contains(format.Names, f.format):
		return usage(c, fmt.Errorf("--format is %q; it is one of %s", f.format, strings.Join(format.Names, ", ")))
	case f.side != "" && f.side != "A" && f.side != "B":
		return usage(c, fmt.Errorf("--side is %q; it is A or B", f.side))
	case f.compare && (set("out") || set("format") || set("form")):
		return usage(c, errors.New("--compare writes no rows: it cannot be combined with --out, --format and --form"))
	case f.chunks && (f.state == "" || f.out == "-"):
		return usage(c, errors.New("--chunks needs --state FILE and --out FILE"))
	case f.chunks && (f.format != format.JSONLines || f.form != "" || f.compare):
		return usage(c, errors.New("--chunks writes JSON lines by the form that the flag says: it cannot be combined with --format, --form and --compare"))
	case !f.chunks && f.state != "":
		return usage(c, errors.New("--state is for --chunks: one view is not resumable"))
	case inJSON && !f.compare && f.out == "-":
		return usage(c, errors.New("--json prints the summary on standard output: give --out FILE for the rows"))
	}
	return nil
}

// snapshotAnswer is what `snapshot` prints at its end.
type snapshotAnswer struct {
	FormatVersion int               `json:"format_version"`
	Shard         farm.ShardName    `json:"shard"`
	Tenant        string            `json:"tenant"`
	Position      string            `json:"position"` // GTIDs
	Side          farm.SideName     `json:"side"`
	Instance      farm.InstanceName `json:"instance"`
	SideState     string            `json:"side_state"` // why it would not have been read by itself; "": it has everything
	Query         string            `json:"query"`      // normalised or denormalised
	Form          latest.Form       `json:"form"`
	Rows          int64             `json:"rows"`
	Bytes         int64             `json:"bytes"`
	Seconds       float64           `json:"seconds"`
	WrittenAsNull int64             `json:"written_as_null"` // values that the format has no word for
	Format        string            `json:"format"`
	Out           string            `json:"out"`
}

// queryName is the kind of a form.
func queryName(f latest.Form) string {
	if f == latest.Denormalised {
		return "denormalised"
	}
	return "normalised"
}

func (a *app) snapshot(ctx context.Context, f snapshotFlags) error {
	src, err := a.snapshotSource(ctx, f)
	if err != nil {
		return err
	}
	defer src.Close()
	a.say("%s", src.seen.Why(src.all))
	if f.compare {
		return a.snapshotCompare(ctx, f, src)
	}
	out, err := a.snapshotOut(f.out)
	if err != nil {
		return err
	}
	defer out.drop()
	var sum snapshot.Summary
	done := func() {}
	if f.chunks {
		sum, done, err = a.snapshotChunks(ctx, f, src, out)
	} else {
		tell := func(rows int64) { a.say("%s", farm.Counted(rows, "row")) }
		sum, err = snapshot.Take(ctx, src.seen.Server, snapshot.Of(src.shape, src.shard, f.tenant, latest.Form(f.form)), f.format, out, tell)
	}
	if err != nil {
		return snapshotEnd(err, f, sum)
	}
	if err := out.keep(); err != nil {
		return err
	}
	done()
	answer := snapshotAnswer{FormatVersion: 1, Shard: src.shard, Tenant: f.tenant, Position: sum.Position.String(), Side: src.seen.Side, Instance: src.seen.Server.Name(), SideState: src.seen.Not,
		Query: queryName(sum.Form), Form: sum.Form, Rows: sum.Rows, Bytes: sum.Bytes, Seconds: sum.Took.Seconds(), WrittenAsNull: sum.Lost, Format: f.format, Out: f.out}
	a.say("%s, %s in %.2f s, %s query (%s), position %s", farm.Counted(sum.Rows, "row"), farm.RoundQuantity(float64(sum.Bytes), farm.KindBytes), sum.Took.Seconds(), answer.Query, answer.Form, answer.Position)
	if sum.Lost > 0 {
		a.say("%s that no calendar has, written as NULL", farm.Counted(sum.Lost, "date"))
	}
	if !a.json {
		return nil
	}
	return a.emit(answer, nil)
}

// snapshotEnd says how a snapshot ended that did not come to its end.
func snapshotEnd(err error, f snapshotFlags, sum snapshot.Summary) error {
	switch {
	case errors.Is(err, syscall.EPIPE):
		return err // whoever read it has what was wanted
	case errors.Is(err, context.Canceled):
		hint := "the query was ended on the server; one view is not resumable: run it again"
		if f.chunks {
			hint = "run the same command again: it continues"
		}
		return &farm.Error{Op: "snapshot of tenant " + f.tenant, Subject: f.shard, Err: fmt.Errorf("%w after %s", farm.ErrInterrupted, farm.Counted(sum.Rows, "row")), Hint: hint}
	case errors.Is(err, latest.ErrNoTenant):
		return &farm.Error{Op: "snapshot of tenant " + f.tenant, Subject: f.shard, Err: fmt.Errorf("%w: the tenant no longer exists: %w", farm.ErrInput, err)}
	}
	return err
}

// snapshotDifferences is what `snapshot --compare` prints.
type snapshotDifferences struct {
	FormatVersion int               `json:"format_version"`
	Shard         farm.ShardName    `json:"shard"`
	Tenant        string            `json:"tenant"`
	Position      string            `json:"position"`
	Side          farm.SideName     `json:"side"`
	Instance      farm.InstanceName `json:"instance"`
	Form          latest.Form       `json:"form"` // of the normalised query
	snapshot.Comparison
}

func (a *app) snapshotCompare(ctx context.Context, f snapshotFlags, src *snapshotSource) error {
	c, err := snapshot.Compare(ctx, src.seen.Server, src.shape, src.shard, f.tenant)
	if err != nil {
		return snapshotEnd(err, f, snapshot.Summary{})
	}
	if c.Differences == nil {
		c.Differences = []snapshot.Difference{}
	}
	v := snapshotDifferences{FormatVersion: 1, Shard: src.shard, Tenant: f.tenant, Position: c.At.String(), Side: src.seen.Side, Instance: src.seen.Server.Name(), Form: src.shape.Normalised(), Comparison: c}
	var next []string // equal rows ask for nothing
	if c.Different > 0 {
		next = []string{a.cmd("reshape verify --spec %s %s", src.shape.Name, f.tenant)}
	}
	if err := a.emit(v, v.text, next...); err != nil {
		return err
	}
	if c.Different > 0 {
		return farm.ErrFindings
	}
	return nil
}

func (v snapshotDifferences) text(w io.Writer) error {
	fmt.Fprintf(w, "tenant %s of %s at %s: %s by the normalised query (%s)\n", v.Tenant, v.Shard, v.Position, farm.Counted(v.Rows, "row"), v.Form)
	fmt.Fprintf(w, "normalised %.3f s, denormalised %.3f s; the second found in memory what the first had read\n", v.Normalised.Seconds(), v.Denormalised.Seconds())
	switch {
	case v.Different == 0:
		fmt.Fprintln(w, "both queries give the same rows")
	case v.AtLeast:
		fmt.Fprintf(w, "at least %s; the first:\n", farm.CountedAs(int(v.Different), "row differs", "rows differ"))
	default:
		fmt.Fprintf(w, "%s:\n", farm.CountedAs(int(v.Different), "row differs", "rows differ"))
	}
	for _, d := range v.Differences {
		fmt.Fprintf(w, "  %s\n", d)
	}
	return nil
}
