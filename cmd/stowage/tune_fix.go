package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/session"
	"stowage/tune"
	"stowage/tune/fix"
	"stowage/tune/probe"
)

// tuneJournal is where a machine's changed settings are kept: with the machine
// and not with a workspace, because they are the machine's.
const tuneJournal = "/var/lib/stowage/tune.journal"

// tuneChanges is what --fix, --dry-run and --revert print.
type tuneChanges struct {
	FormatVersion int          `json:"format_version"`
	Host          string       `json:"host"`
	Act           string       `json:"act"` // "fix", "dry-run" or "revert"
	Journal       string       `json:"journal"`
	Changes       []fix.Result `json:"changes"`
	ByHand        []byHand     `json:"by_hand"` // findings whose fix the program cannot carry out
}

type byHand struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Fix     string `json:"fix"`
}

// leftover puts back what a proof has set that was killed. It comes before the
// rules look: they must not take for granted what was on trial.
func (a *app) leftover(ctx context.Context, t *tuneFlags) ([]fix.Result, error) {
	path := filepath.Join(cmpRoot(t.root), tuneJournal)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // and no directory is made for it
	}
	j, err := fix.Open(path)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	s, tree := a.tuneSettings(t)
	defer s.close()
	return j.TakeBack(ctx, s, bootOf(tree), a.at)
}

// tuneFix carries out what can be carried out, or says what it would. left is
// what was put back before.
func (a *app) tuneFix(ctx context.Context, t *tuneFlags, report tune.Report, severity farm.Severity, left []fix.Result) error {
	s, tree := a.tuneSettings(t)
	defer s.close()
	changes := report.Changes(severity)
	out := tuneChanges{FormatVersion: 1, Host: report.Host, Act: "fix", Journal: filepath.Join(cmpRoot(t.root), tuneJournal), Changes: []fix.Result{}, ByHand: notByProgram(report, severity)}
	if t.dryRun {
		out.Act = "dry-run"
		for _, c := range changes {
			r := fix.Result{Change: c}
			if fix.Look(ctx, s, &r) {
				r.State = "would be set"
			}
			out.Changes = append(out.Changes, r)
		}
		return a.emit(out, out.writeText, a.again([]string{"--dry-run", "--fix"}, "--fix"))
	}
	if len(changes) == 0 {
		return a.endTune(ctx, out, left, nil)
	}
	j, err := fix.Open(out.Journal)
	if err != nil {
		return err
	}
	defer j.Close()
	results, err := j.Apply(ctx, s, bootOf(tree), changes, a.at)
	return a.endTune(ctx, out, append(left, results...), err)
}

// tuneRevert takes back what the journal knows.
func (a *app) tuneRevert(ctx context.Context, t *tuneFlags) error {
	s, tree := a.tuneSettings(t)
	defer s.close()
	host, _ := tree.Value("/proc/sys/kernel/hostname") // only for the headline
	out := tuneChanges{FormatVersion: 1, Host: host, Act: "revert", Journal: filepath.Join(cmpRoot(t.root), tuneJournal), Changes: []fix.Result{}, ByHand: []byHand{}}
	if _, err := os.Stat(out.Journal); errors.Is(err, fs.ErrNotExist) {
		return a.emit(out, out.writeText, a.cmd("tune")) // and no directory is made for it
	}
	j, err := fix.Open(out.Journal)
	if err != nil {
		return err
	}
	defer j.Close()
	results, err := j.Revert(ctx, s, bootOf(tree), a.at)
	return a.endTune(ctx, out, results, err)
}

// endTune prints what became of each change; the most severe decides the exit code.
func (a *app) endTune(ctx context.Context, out tuneChanges, results []fix.Result, err error) error {
	out.Changes = append(out.Changes, results...)
	if len(results) > 0 || err == nil {
		if printErr := a.emit(out, out.writeText, a.afterChanges(out)...); printErr != nil {
			return printErr
		}
	}
	n := map[fix.State]int{}
	for _, r := range results {
		n[r.State]++
	}
	op := "tune --" + out.Act
	switch {
	case err != nil:
		return err
	case n[fix.Unknown] > 0:
		return &farm.Error{Op: op, Err: fmt.Errorf("%w: %s", farm.ErrOutcomeUnknown, farm.Counted(n[fix.Unknown], "setting")), Hint: "look at them; the journal still has their old values"}
	case ctx.Err() != nil:
		return &farm.Error{Op: op, Err: farm.ErrInterrupted, Hint: "run it again, or take back what was set: stowage tune --revert"}
	case n[fix.Failed] > 0 && out.Act == "revert":
		return &farm.Error{Op: op, Err: fmt.Errorf("%w: %s could not be put back", farm.ErrOutcomeUnknown, farm.Counted(n[fix.Failed], "setting")), Hint: "mend what is said above and run it again; the journal still has the old values"}
	case n[fix.Failed] > 0:
		return &farm.Error{Op: op, Err: fmt.Errorf("%w: %d of %d settings could not be set and are as before", farm.ErrUndone, n[fix.Failed], len(results)), Hint: "each says why; the others hold"}
	case n[fix.Left] > 0:
		return farm.ErrFindings
	}
	return nil
}

// at is a border for tests.
func (a *app) at(point string) error {
	if a.border == nil {
		return nil
	}
	return a.border(point)
}

func cmpRoot(root string) string {
	if root == "" {
		return "/"
	}
	return root
}

func bootOf(tree *probe.Tree) fix.Now {
	boot, _ := tree.Value("/proc/sys/kernel/random/boot_id") // "" when it is not known: then a restart is not seen
	return fix.Now{At: time.Now().UTC().Format(time.RFC3339), Boot: boot}
}

func notByProgram(report tune.Report, severity farm.Severity) []byHand {
	out := []byHand{}
	for _, f := range report.Findings {
		if f.Change == nil && (tune.Report{Findings: []tune.Finding{f}}).AtLeast(severity) {
			out = append(out, byHand{f.ID, f.Subject, f.Fix})
		}
	}
	return out
}

func (c tuneChanges) writeText(w io.Writer) error {
	words := map[string]string{"fix": "settings changed", "dry-run": "what --fix would change", "revert": "settings put back"}
	fmt.Fprintf(w, "%s: %s\n", c.Host, words[c.Act])
	for _, r := range c.Changes {
		fmt.Fprintf(w, "  %-12s  %s: %s -> %s", r.State, r.Setting(), r.From, r.To)
		if r.Why != "" {
			fmt.Fprintf(w, " (%s)", r.Why)
		}
		fmt.Fprintln(w)
	}
	if len(c.Changes) == 0 {
		fmt.Fprintln(w, "  nothing")
	}
	for _, h := range c.ByHand {
		fmt.Fprintf(w, "  %-12s  %s: %s  (%s)\n", "by hand", h.Subject, h.Fix, h.ID)
	}
	if c.Act == "fix" && len(c.Changes) > 0 {
		fmt.Fprintf(w, "they hold until the next restart; how to make them last: stowage tune --rule ID\n  what was there before is in %s\n", c.Journal)
	}
	return nil
}

// settings reads and writes files of the kernel's below a tree, and variables
// of this machine's instances.
type settings struct {
	app     *app
	tree    *probe.Tree
	root    string
	servers map[string]*mysql.Server // nil: not looked for yet
	desk    *session.Session
	err     error
}

func (a *app) tuneSettings(t *tuneFlags) (*settings, *probe.Tree) {
	tree := probe.Machine()
	if t.root != "" {
		tree = probe.Recorded(t.root)
	}
	return &settings{app: a, tree: tree, root: t.root}, tree
}

func (s *settings) Get(ctx context.Context, c tune.Change) (string, error) {
	if c.Path != "" {
		if err := kernels(c.Path); err != nil {
			return "", err
		}
		return s.tree.Value(c.Path)
	}
	if c.Mount != "" {
		return mountTimes(s.tree, c)
	}
	server, err := s.server(ctx, c.Instance)
	if err != nil {
		return "", err
	}
	return server.Setting(ctx, c.Variable)
}

func (s *settings) Set(ctx context.Context, c tune.Change, value string) error {
	if c.Path != "" {
		if err := kernels(c.Path); err != nil {
			return err
		}
		return s.tree.SetValue(c.Path, value)
	}
	if c.Mount != "" {
		if s.root != "" {
			return fmt.Errorf("%w: a recorded tree has no mounts to change", farm.ErrInput)
		}
		return setMountTimes(c, value)
	}
	server, err := s.server(ctx, c.Instance)
	if err != nil {
		return err
	}
	return server.SetSetting(ctx, c.Variable, value)
}

// kernels refuses anything but settings of the kernel's: a journal is a file,
// and files can be edited.
func kernels(path string) error {
	if filepath.Clean(path) == path && (strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/proc/sys/")) {
		return nil
	}
	return fmt.Errorf("%w: %s is not a setting of the kernel's", farm.ErrInput, path)
}

func (s *settings) Along(_ context.Context, c tune.Change) map[string]string {
	if c.Path == "" {
		return nil
	}
	return s.tree.Along(c.Path)
}

func (s *settings) server(ctx context.Context, name string) (*mysql.Server, error) {
	if s.root != "" {
		return nil, fmt.Errorf("%w: a recorded tree has no servers to change", farm.ErrInput)
	}
	if s.servers == nil && s.err == nil {
		s.servers = map[string]*mysql.Server{}
		if s.desk, s.err = s.app.open(); s.err == nil {
			if s.err = s.desk.Login(); s.err == nil {
				for n, x := range s.app.serversHere(ctx, s.desk) {
					s.servers[string(n)] = x
				}
			}
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	if x := s.servers[name]; x != nil {
		return x, nil
	}
	return nil, fmt.Errorf("%w: farm.yaml has no instance %s on this machine", farm.ErrInput, name)
}

func (s *settings) close() {
	for _, x := range s.servers {
		_ = x.Close()
	}
	if s.desk != nil {
		s.desk.Close()
	}
}
