package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/safefile"
	"stowage/mysql"
	"stowage/tune"
	"stowage/tune/fix"
	"stowage/tune/probe"
	"stowage/tune/prove"
)

// tuneFlags is what `stowage tune` is asked for.
type tuneFlags struct {
	root, record, severity string
	plan                   string
	rules, measured        []string
	fix, dryRun, revert    bool
	all                    bool   // hosts of the farm
	prove                  string // a rule
	proof                  proofFlags
	watch                  time.Duration
}

func (a *app) tuneCommand() *cobra.Command {
	t := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune [DIR]",
		Short: "Compare a machine's settings with advice, and say which advice is still true there",
		Long: `Looks at this machine's disks, RAID controllers, filesystems, kernel and database
servers, and compares them with rules: what was read, what that means, why, who
says so, the fix, how it lasts, how it is taken back. Advice that was right once
and is not any more (noop, nobarrier, agcount, ...) is named as such. Without
--fix or --revert it only reads.

In a workspace the instances of farm.yaml that run on this machine are asked,
too; elsewhere their option files have to do. What cannot be read is said:
smartctl, nvme, storcli, perccli, MegaCli, ssacli and arcconf are asked where
they are installed, and disks talk to root only.

--record DIR keeps what was read; --root DIR looks at a machine that was
recorded so, anywhere. With --rule, everything that a rule has to say.

--watch 1m looks once a second for so long, while the load runs: one busy disk
beside idle ones, with the files that are busy, and waiting for processors.

--fix carries out what is one write to a setting: files below /sys and
/proc/sys, and dynamic variables of the instances. It takes findings at
or above --severity, of --rule only when that is given; --dry-run says what it
would do. What was there before is in a journal before anything is
changed, and --revert puts it back, also after a kill -9; a setting that
someone else has changed since is left alone, and said. What --fix sets holds
until the next restart: each rule says how to make it last.

--prove RULE [DIR] tries what the rule proposes: its step of the storage benchmark
runs without and with the setting, by turns (A B B A ...), on files of its own in
DIR or where the disk's data lies, until the rules of bench compare have a verdict.
What helped is kept as --fix would set it; anything else is put back, and so it is
after Ctrl-C, and after a kill -9 by --revert or the next --prove or --fix.

--all looks at every host of farm.yaml, through its agent where it has one, and at
this machine: one table by rule and host, and each finding once. Hosts that do not
answer are named, and exit code 1 says so. With --record DIR, a directory for each host.

--plan NAME looks at a plan before anything moves: buffer pools that do not fit
together, page sizes that cannot be merged, limits that many instances share.

Exit code 1 when there is a finding at or above --severity; with
--fix and --revert, when a setting was left alone; with --prove, when one was not
kept. Exit code 3 when the rule cannot be proved so; the message says what to do
instead.

` + exitHelp,
		Example: "  sudo stowage tune\n  sudo stowage tune --watch 1m\n  stowage tune --rule FS-XFS-GONE --rule BLK-ROT\n  sudo stowage tune --record db017 && scp -r db017 me@elsewhere:\n" +
			"  stowage tune --root db017 --severity blocker --json | jq .findings",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if t.prove != "" {
				return a.tuneProve(c, t, given)
			}
			if err := t.proof.without(c, given); err != nil {
				return err
			}
			return a.tune(c, t)
		},
	}
	cmd.Example += "\n  sudo stowage tune --dry-run && sudo stowage tune --fix --rule BLK-ROT\n  sudo stowage tune --revert\n  sudo stowage tune --prove BLK-SCHED /var/lib/mysql\n  stowage tune --plan first\n  stowage tune --all --severity blocker"
	f := cmd.Flags()
	f.StringVar(&t.root, "root", "", "look at a recorded tree instead of this machine (docs/measuring/tune.md has its layout)")
	f.StringVar(&t.record, "record", "", "write what is read into this directory, which must be new or empty")
	f.DurationVar(&t.watch, "watch", 0, "look at disks, processors and files for so long, once a second, before the rules judge")
	f.StringVar(&t.severity, "severity", "warning", "what counts for the exit code: note, warning or blocker")
	f.StringArrayVar(&t.rules, "rule", nil, "ask only this `RULE`, and print all that it says; may be repeated")
	f.StringArrayVar(&t.measured, "measured", nil, "`FILE` that bench run --save wrote, or DISK=FILE; may be repeated")
	f.BoolVar(&t.all, "all", false, "look at all hosts of the farm, through their agents")
	f.StringVar(&a.engine, "engine", "", "with --all: host:port of a Temporal cluster; default: that of farm.yaml")
	f.StringVar(&t.plan, "plan", "", "look at the hosts of this plan as it leaves them, before anything moves")
	f.BoolVar(&t.fix, "fix", false, "carry out what can be carried out")
	f.BoolVar(&t.dryRun, "dry-run", false, "print what --fix would do, and do nothing")
	f.BoolVar(&t.revert, "revert", false, "put back what --fix and --prove have changed")
	f.StringVar(&t.prove, "prove", "", "measure without and with what this `RULE` proposes, and keep it only if it helped")
	f.StringVar(&t.proof.size, "size", "", "with --prove: size of the data file, as 512MiB (default: by free space)")
	f.DurationVar(&t.proof.runtime, "runtime", 0, "with --prove: length of each run (default 2.1s)")
	f.IntVar(&t.proof.maxRuns, "max-runs", 12, "with --prove: runs at most, without and with each")
	for flag, ids := range map[string]func(tune.Rule) bool{"rule": func(tune.Rule) bool { return true }, "prove": prove.Provable} {
		_ = cmd.RegisterFlagCompletionFunc(flag, ruleCompletion(ids)) // the flags are there
	}
	return cmd
}

// ruleCompletion offers the rules that are wanted, each with what it is about.
func ruleCompletion(wanted func(tune.Rule) bool) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, r := range tune.Rules() {
			if wanted(r) {
				out = append(out, cobra.CompletionWithDesc(r.ID, r.Title))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) tune(c *cobra.Command, t *tuneFlags) error {
	severity, err := asSeverity(t.severity)
	if err != nil {
		return usage(c, err)
	}
	if t.revert && (t.fix || t.dryRun || t.record != "" || len(t.rules)+len(t.measured) > 0) {
		return usage(c, fmt.Errorf("--revert puts back all that the journal has: it goes with --root only"))
	}
	if t.record != "" && (t.fix || t.root != "") {
		return usage(c, fmt.Errorf("--record reads this machine and changes nothing: it cannot be combined with --root or --fix"))
	}
	if err := t.asksNoWatch(); err != nil {
		return usage(c, err)
	}
	if t.all && (t.fix || t.dryRun || t.revert || t.plan != "" || t.root != "" || len(t.measured) > 0) {
		return usage(c, fmt.Errorf("--all looks at the hosts as they are: it goes with --rule, --severity and --record only"))
	}
	if t.plan != "" {
		if t.fix || t.dryRun || t.revert || t.record != "" || len(t.rules)+len(t.measured) > 0 {
			return usage(c, fmt.Errorf("--plan goes with --root and --severity only"))
		}
		return a.tunePlan(c.Context(), t, severity)
	}
	if t.revert {
		return a.tuneRevert(c.Context(), t)
	}
	rules := tune.Rules()
	if len(t.rules) > 0 {
		some, unknown := tune.Only(rules, t.rules)
		if unknown != "" {
			return usage(c, fmt.Errorf("--rule %s: no such rule; docs/measuring/tune.md lists them", unknown))
		}
		rules = some
	}
	if t.all {
		return a.tuneFarm(c.Context(), t, rules, severity)
	}
	var left []fix.Result
	if t.fix && !t.dryRun {
		if left, err = a.leftover(c.Context(), t); err != nil {
			return err
		}
	}
	facts, err := a.facts(c.Context(), t)
	if err != nil {
		return err
	}
	report := tune.Audit(facts, rules)
	if t.fix || t.dryRun {
		return a.tuneFix(c.Context(), t, report, severity, left)
	}
	view := tuneView{report, facts, rules, len(t.rules) > 0}
	if err := a.emit(report, view.writeText, a.afterTune(report, severity, t.root == "")...); err != nil {
		return err
	}
	if report.AtLeast(severity) {
		return farm.ErrFindings
	}
	return nil
}

// severities are the words for --severity; the second ones are what monitoring
// says.
var severities = map[string]farm.Severity{
	"note": farm.Note, "info": farm.Note, "warning": farm.Warning, "warn": farm.Warning, "blocker": farm.Blocker, "error": farm.Blocker,
}

func asSeverity(word string) (farm.Severity, error) {
	s, ok := severities[strings.ToLower(word)]
	if !ok {
		return "", fmt.Errorf("--severity %s: it is note, warning or blocker", word)
	}
	return s, nil
}

// facts reads this machine, or a recorded one.
func (a *app) facts(ctx context.Context, t *tuneFlags) (*tune.Facts, error) {
	if t.root != "" {
		if err := isTree(t.root); err != nil {
			return nil, err
		}
		facts, err := readFacts(ctx, probe.Recorded(t.root), nil, nil)
		if err != nil {
			return nil, err
		}
		return facts, addMeasured(facts, t.measured)
	}
	tree := probe.Machine()
	if t.record != "" {
		if err := isEmpty(t.record); err != nil {
			return nil, err
		}
		tree.Record()
	}
	var done map[string]map[string]mysql.FileCount
	if t.watch > 0 {
		var err error
		if done, err = a.watchMachine(ctx, tree, t.watch); err != nil {
			return nil, err
		}
	}
	servers, unasked := a.localServers(ctx)
	withFiles(servers, done)
	facts, err := readFacts(ctx, tree, host.Ask, servers)
	if err != nil {
		return nil, err
	}
	facts.Unread = append(facts.Unread, unasked...)
	if t.record != "" {
		for _, s := range servers {
			tree.Keep(s)
		}
		n, err := tree.Save(t.record)
		if err != nil {
			return nil, &farm.Error{Op: "record", Subject: t.record, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a directory that may be written"}
		}
		a.say("%s recorded in %s; look at them before you give them away", farm.Counted(n, "file"), t.record)
	}
	return facts, addMeasured(facts, t.measured)
}

// readFacts is probe.Read, which a signal ends: a machine has files below /sys that take their time, and some that never answer.
func readFacts(ctx context.Context, tree *probe.Tree, ask probe.Asker, servers []probe.Server) (*tune.Facts, error) {
	read := make(chan *tune.Facts, 1)
	go func() { read <- probe.Read(ctx, tree, ask, servers) }() // reads only; it may stay behind until the program ends
	select {
	case facts := <-read:
		return facts, nil
	case <-ctx.Done():
		return nil, &farm.Error{Op: "tune", Err: farm.ErrInterrupted}
	}
}

// isTree refuses a directory without anything of a machine's: a mistyped name
// would pass every rule otherwise.
func isTree(dir string) error {
	fail := func(why string) error {
		return &farm.Error{Op: "read tree", Subject: dir, Err: fmt.Errorf("%w: %s", farm.ErrInput, why), Hint: "record one: sudo stowage tune --record DIR"}
	}
	if info, err := os.Stat(dir); err != nil {
		return fail("it cannot be opened")
	} else if !info.IsDir() {
		return fail("it is not a directory")
	}
	for _, part := range probe.Parts {
		if _, err := os.Stat(dir + "/" + part); err == nil {
			return nil
		}
	}
	return fail("it has none of " + strings.Join(probe.Parts, ", "))
}

func isEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	why := "it is not empty"
	if err != nil {
		why = "it cannot be read"
	}
	return &farm.Error{Op: "record", Subject: dir, Err: fmt.Errorf("%w: %s", farm.ErrInput, why), Hint: "name a directory that does not exist yet"}
}

// addMeasured reads FILE, which says itself which disk it is about, or
// DISK=FILE.
func addMeasured(facts *tune.Facts, given []string) error {
	for _, x := range given {
		fail := func(why error) error {
			return &farm.Error{Op: "read measurement", Subject: x, Err: fmt.Errorf("%w: %w", farm.ErrInput, why), Hint: "it is FILE or DISK=FILE, as in sda=quick.json"}
		}
		disk, file, named := strings.Cut(x, "=")
		if !named {
			disk, file = "", x
		}
		raw, err := safefile.ReadInput(file, largestResult)
		if err != nil {
			return fail(err)
		}
		m, device, err := probe.ParseMeasured(string(raw))
		if err != nil {
			return fail(err)
		}
		if disk == "" {
			disk = device
		}
		if disk == "" {
			return fail(fmt.Errorf("it does not say which disk it is about"))
		}
		facts.Measure(strings.TrimPrefix(disk, "/dev/"), m)
	}
	return nil
}

// tuneView is the person's view of a report.
type tuneView struct {
	tune.Report
	facts *tune.Facts
	rules []tune.Rule
	full  bool // everything the rules say
}

func (v tuneView) writeText(w io.Writer) error {
	fmt.Fprintln(w, v.headline())
	if v.full {
		return v.writeFull(w)
	}
	return v.writeShort(w)
}
