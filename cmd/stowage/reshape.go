package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/internal/table"
	"stowage/reshape"
	"stowage/reshape/spec"
	"stowage/session"
)

// reshapeFlags say which tenants a wave takes.
type reshapeFlags struct {
	tenants     []string
	count       int
	all         bool
	onlyMigrate bool
	prepare     bool
	dry         bool
}

func (a *app) reshapeCommand() *cobra.Command {
	var f reshapeFlags
	cmd := &cobra.Command{
		Use: "reshape [SPEC]", Short: "Carry the latest child's columns onto the parent's row, tenant by tenant behind two flags",
		Long: `Saves a join: for example, the columns of the latest version of each file are repeated on the
file's row. reshape/SPEC.yaml says which child is the latest and which of its columns are
carried. Every server of a pair gets the columns (instant ADD COLUMN) and triggers, which keep
the columns current in the client's own transaction; or the application does that, or 'reshape
apply' ('keep' in the spec; docs/guide/reshape.md says what each costs). Then the run fills in
a wave of tenants, where their clients are served, in small transactions that never wait
for a lock. It compares all rows of each tenant, and sets the tenant's flags in the same
transaction: migrated, then active. The application reads carried columns where active is set.

Each run is one wave; the next run takes the tenants that are left:

  stowage reshape latest-version               what it would mean: rows, bytes, findings
  stowage reshape latest-version --prepare     columns, triggers and indexes, and no tenant yet
  stowage reshape latest-version --tenants 1   one tenant
  stowage reshape latest-version --all         all that are left
  stowage reshape off acme                     send a tenant back, at once
  stowage reshape verify                       compare migrated tenants; send wrong ones back
  stowage reshape apply                        keep: applier only: keep the columns current; runs all the time

` + exitHelp,
		Example: "  stowage reshape latest-version --tenant acme\n  stowage reshape latest-version --tenants 10\n  stowage reshape status",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE:    func(c *cobra.Command, given []string) error { return a.reshape(c, f, strings.Join(given, "")) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.tenants, "tenant", nil, "these tenants: TENANT, or SHARD/TENANT")
	fl.IntVar(&f.count, "tenants", 0, "this many of the tenants that are left")
	fl.BoolVar(&f.all, "all", false, "all tenants that are left")
	fl.BoolVar(&f.prepare, "prepare", false, "add columns, triggers and indexes, and take no tenant yet")
	fl.BoolVar(&f.onlyMigrate, "only-migrate", false, "fill in and compare; leave the flag active as it is")
	fl.BoolVar(&f.dry, "dry-run", false, "run all checks, print findings and remedies, and change nothing")
	a.engineFlag(fl)
	a.reasonFlag(fl)
	cmd.AddCommand(a.reshapeStatusCommand(), a.reshapeOffCommand(), a.reshapeOnCommand(), a.reshapeVerifyCommand(), a.reshapeApplyCommand())
	return cmd
}

// reshaping opens a spec, and what carries it out.
func (a *app) reshaping(name string) (*session.Session, *reshape.Act, spec.Spec, error) {
	d, err := a.open()
	if err != nil {
		return nil, nil, spec.Spec{}, err
	}
	s, err := d.Reshape(name)
	if err == nil {
		bare, _, openErr := a.bareAct(d)
		if err = openErr; err == nil {
			return d, reshape.NewAct(bare), s, nil
		}
	}
	d.Close()
	return nil, nil, s, err
}

// reshape begins a wave, or says what one would mean.
func (a *app) reshape(c *cobra.Command, f reshapeFlags, name string) error {
	if n := map[bool]int{true: 1}; n[len(f.tenants) > 0]+n[f.count > 0]+n[f.all]+n[f.prepare] > 1 {
		return usage(c, errors.New("--tenant, --tenants, --all and --prepare exclude each other"))
	}
	if c.Flags().Changed("tenants") && f.count < 1 {
		return usage(c, errors.New("--tenants needs a number above 0"))
	}
	d, going, s, err := a.reshaping(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if len(f.tenants) == 0 && f.count == 0 && !f.all && !f.prepare {
		f.dry, f.all = true, true
	}
	if going.Dry = f.dry; f.dry {
		return a.reshapeDry(c.Context(), going, s, f)
	}
	if err := d.Turn(c.Context(), "reshape "+s.Name); err != nil {
		return err
	}
	run, findings, err := going.Begin(c.Context(), reshape.Wish{Spec: s, Tenants: f.tenants, Count: f.count, OnlyMigrate: f.onlyMigrate, Prepare: f.prepare})
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	if run.ID == "" {
		return a.ended(moveSummary{FormatVersion: 1, Plan: s.Name, State: "nothing-to-do", Tenants: []reshape.Ended{}, Next: []string{"stowage reshape status " + shellWord(s.Name)}}, nil)
	}
	return a.ended(a.carry(c.Context(), going.Act, run))
}

// writeTenants prints how the tenants of a wave ended.
func (s moveSummary) writeTenants(w io.Writer) error {
	right, rows := 0, int64(0)
	for _, t := range s.Tenants {
		if t.Right() {
			right++
			rows += t.Rows
		}
	}
	if len(s.Tenants) == 0 {
		_, err := fmt.Fprintf(w, "%s: the tables have what they need, in %.1f s; begin with one tenant: stowage reshape %s --tenants 1\n", s.Run, s.Seconds, s.Plan)
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %d of %s right, %s compared, in %.1f s\n", s.Run, right, farm.Counted(len(s.Tenants), "tenant"), farm.Counted(rows, "row"), s.Seconds)
	for _, t := range s.Tenants {
		if !t.IsRight() {
			_, e := fmt.Fprintf(w, "  %s was not changed: %s\n", t.Member, t.Wrong())
			err = errors.Join(err, e)
		}
	}
	return err
}

// wrongTenants is the error of a wave some of whose tenants are not right.
func (s moveSummary) wrongTenants() error {
	wrong := 0
	for _, t := range s.Tenants {
		if !t.IsRight() {
			wrong++
		}
	}
	if wrong == 0 {
		return nil
	}
	return &farm.Error{Op: "reshape", Subject: s.Run, Err: fmt.Errorf("%w: %s whose rows are not right", farm.ErrFindings, farm.Counted(wrong, "tenant")), Hint: "stowage reshape status names the rows; they are read from their children as before"}
}

// reshapeDry says what a wave would mean.
func (a *app) reshapeDry(ctx context.Context, going *reshape.Act, s spec.Spec, f reshapeFlags) error {
	p, err := going.Draw(ctx, reshape.Wish{Spec: s, Tenants: f.tenants, Count: f.count, OnlyMigrate: f.onlyMigrate, Prepare: f.prepare})
	if err != nil {
		return err
	}
	next := []string{a.forReal()}
	if farm.Blocks(p.Findings) {
		next = a.explainFirst(p.Findings)
	}
	if err := a.emit(p, p.WriteText, next...); err != nil {
		return err
	}
	writeFindings(a.stderr, p.Findings)
	if farm.Blocks(p.Findings) {
		return &farm.Error{Op: "reshape", Subject: s.Name, Err: fmt.Errorf("%w: preflight found blockers", farm.ErrRefused), Hint: "remedy them; nothing was changed"}
	}
	return nil
}

// reshapeState is what `reshape status` prints.
type reshapeState struct {
	FormatVersion int              `json:"format_version"`
	Spec          string           `json:"spec"`
	Tenants       []reshape.Tenant `json:"tenants"`
	Applier       []reshape.Lag    `json:"applier,omitempty"` // with keep: applier
}

func (a *app) reshapeStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status [SPEC]", Aliases: []string{"flags"}, Short: "Show each tenant's flags, and when its rows were last compared",
		Long:    "Shows the flags of each tenant as its shard has them, how many rows were compared when, and which were wrong.\n\n" + exitHelp,
		Example: "  stowage reshape status\n  stowage reshape status latest-version --json",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			d, going, s, err := a.reshaping(strings.Join(given, ""))
			if err != nil {
				return err
			}
			defer d.Close()
			all, unread := going.Tenants(c.Context(), s)
			if len(all) == 0 && unread != nil {
				return unread
			}
			lags, err := going.Lags(c.Context(), s)
			if err != nil {
				return err
			}
			state := reshapeState{1, s.Name, append([]reshape.Tenant{}, all...), lags}
			return errors.Join(a.emit(state, state.writeText, state.next(a)...), unread)
		},
	}
}

// next: what was found wrong is compared again, what is only migrated can be activated, and what is left is carried next.
func (s reshapeState) next(a *app) []string {
	var wrong, waits, left bool
	for _, t := range s.Tenants {
		wrong = wrong || t.Mismatches > 0 && (t.Migrated || t.Active)
		waits = waits || t.Migrated && !t.Active
		left = left || !t.Migrated
	}
	var out []string
	if !reshape.IsApplied(s.Applier) {
		out = append(out, a.cmd("reshape apply %s", s.Spec))
	}
	if wrong {
		out = append(out, a.cmd("reshape verify --spec %s", s.Spec))
	}
	if waits {
		out = append(out, a.cmd("reshape on --all --spec %s", s.Spec))
	}
	if left || len(out) == 0 {
		out = append(out, a.cmd("reshape %s --dry-run --all", s.Spec))
	}
	return out
}

func (s reshapeState) writeText(w io.Writer) error {
	migrated, active := 0, 0
	table := table.New(w, "tenant\tflags\trows\tcompared").Names("tenant")
	for _, t := range s.Tenants {
		flags, compared, rest := "-", "never", ""
		if t.Migrated {
			migrated++
			flags = "migrated"
		}
		if t.Active {
			active++
			flags = "active"
		}
		if t.VerifiedAt != nil {
			compared = t.VerifiedAt.Local().Format("2006-01-02 15:04:05")
		}
		if !t.IsRight() {
			rest = t.Wrong()
		}
		if t.Denormalised > 0 {
			rest = strings.TrimSpace(fmt.Sprintf("%s  %.0f ms instead of %.0f", rest, t.Denormalised, t.Normalised))
		}
		table.Row("%s\t%s\t%d\t%s\t%s", t.Member(), flags, t.Rows, compared, rest)
	}
	if _, err := fmt.Fprintf(w, "%s: %s, %d migrated, %d active\n", s.Spec, farm.Counted(len(s.Tenants), "tenant"), migrated, active); err != nil {
		return err
	}
	for _, l := range s.Applier {
		if _, err := fmt.Fprintf(w, "applier: %s\n", l); err != nil {
			return err
		}
	}
	return table.Flush()
}

func (a *app) reshapeOffCommand() *cobra.Command {
	var all bool
	var name string
	cmd := &cobra.Command{
		Use: "off TENANT...", Short: "Send tenants back to the normalised query, at once",
		Long:    "Takes back the flag active: from its next transaction on, the application reads the tenants'\nchildren. The carried columns stay and are kept current, so 'on' can follow at any time.\n\n" + exitHelp,
		Example: "  stowage reshape off acme\n  stowage reshape off --all",
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) > 0 == all {
				return usage(c, errors.New("name the tenants, or give --all"))
			}
			return a.eachTenant(c.Context(), name, given, func(t reshape.Tenant) bool { return t.Active }, func(going *reshape.Act, s spec.Spec, t reshape.Tenant) (string, error) {
				return "is read from its children", going.Off(c.Context(), s, t)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all tenants that are active")
	cmd.Flags().StringVar(&name, "spec", "", "the spec, if there are several")
	return cmd
}

func (a *app) reshapeOnCommand() *cobra.Command {
	var all bool
	var name string
	cmd := &cobra.Command{
		Use: "on TENANT...", Short: "Activate tenants that are migrated, if all their rows are right",
		Long:    "Compares all rows of tenants that are migrated, and sets the flag active in the same\ntransaction. A tenant with a wrong row stays inactive, and is named.\n\n" + exitHelp,
		Example: "  stowage reshape on acme\n  stowage reshape on --all",
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) > 0 == all {
				return usage(c, errors.New("name the tenants, or give --all"))
			}
			return a.eachTenant(c.Context(), name, given, func(t reshape.Tenant) bool { return t.Migrated && !t.Active }, func(going *reshape.Act, s spec.Spec, t reshape.Tenant) (string, error) {
				v, err := going.On(c.Context(), s, t)
				return fmt.Sprintf("is active; %s compared", farm.Counted(v.Rows, "row")), err
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all tenants that are migrated")
	cmd.Flags().StringVar(&name, "spec", "", "the spec, if there are several")
	return cmd
}

func (a *app) reshapeVerifyCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "verify [TENANT]...", Short: "Compare migrated tenants, and send wrong ones back",
		Long:    "Compares all rows of the tenants, or of all that are migrated, with their latest children, each\ntenant at one moment. A tenant with a wrong row loses the flags migrated and active: the\napplication reads its children, and the rows are named. 'stowage due' does this once a week.\n\n" + exitHelp,
		Example: "  stowage reshape verify\n  stowage reshape verify acme",
		RunE: func(c *cobra.Command, given []string) error {
			return a.eachTenant(c.Context(), name, given, func(t reshape.Tenant) bool { return t.Migrated }, func(going *reshape.Act, s spec.Spec, t reshape.Tenant) (string, error) {
				v, err := going.Verify(c.Context(), s, t)
				if err == nil && v.Mismatches > 0 {
					err = reshape.Wrong(v)
				}
				return fmt.Sprintf("is right; %s compared", farm.Counted(v.Rows, "row")), err
			})
		},
	}
	cmd.Flags().StringVar(&name, "spec", "", "the spec, if there are several")
	return cmd
}

// toldTenant is what was done to one tenant.
type toldTenant struct {
	ID    string         `json:"id"`
	Shard farm.ShardName `json:"shard"`
	Done  string         `json:"done,omitempty"`
	Error string         `json:"error,omitempty"`
}

// eachTenant does something to the chosen tenants, one after the other. One that cannot be done does not stop the others; an applier that is not there does.
func (a *app) eachTenant(ctx context.Context, name string, given []string, also func(reshape.Tenant) bool, do func(*reshape.Act, spec.Spec, reshape.Tenant) (string, error)) error {
	d, going, s, err := a.reshaping(name)
	if err != nil {
		return err
	}
	defer d.Close()
	going.Tell = func(text string) { a.say("%s", text) }
	chosen, unread := going.Chosen(ctx, s, given, also)
	if len(chosen) == 0 && unread != nil {
		return unread
	}
	told, wrong := []toldTenant{}, error(nil)
	for _, t := range chosen {
		text, err := do(going, s, t)
		row := toldTenant{ID: t.ID, Shard: t.Shard}
		if row.Done = text; err != nil {
			row.Done, row.Error = "", err.Error()
			if wrong == nil || !errors.Is(err, farm.ErrFindings) {
				wrong = err
			}
		}
		told = append(told, row)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, reshape.ErrBehind) {
			break // of the others it cannot be said either
		}
	}
	if len(told) > 0 {
		wrong = errors.Join(wrong, going.Look(ctx, s, chosen))
	}
	err = a.emit(struct {
		FormatVersion int          `json:"format_version"`
		Spec          string       `json:"spec"`
		Tenants       []toldTenant `json:"tenants"`
	}{1, s.Name, told}, func(w io.Writer) error {
		if len(told) == 0 {
			_, err := fmt.Fprintf(w, "%s: no tenant has to be changed\n", s.Name)
			return err
		}
		for _, t := range told {
			if _, err := fmt.Fprintf(w, "%s/%s %s\n", t.Shard, t.ID, t.Done+t.Error); err != nil {
				return err
			}
		}
		return nil
	}, a.cmd("reshape status %s", s.Name))
	return errors.Join(err, wrong, unread)
}
