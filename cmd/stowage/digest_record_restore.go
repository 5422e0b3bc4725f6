package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/record"
	"stowage/workspace"
)

// warnOfJournals says when a recording of this workspace was cut short and
// its servers may still log everything.
func (a *app) warnOfJournals() {
	ws, err := workspace.Open(a.dir)
	if err != nil {
		if ws, err = ownState(); err != nil {
			return // a digest of files needs no workspace
		}
	}
	dir := filepath.Join(ws.Dir, ".stowage", "record")
	left, err := record.Left(dir)
	ordered, farErr := record.LedgerOf(dir).Left()
	if err == nil && len(left) > 0 {
		a.say("warning: a recording was cut short, and the slow log's settings may not be as before: %s", listed(left))
	}
	if farErr == nil && len(ordered) > 0 {
		a.say("warning: recordings by agents were cut short, and what came of them has not been fetched: %s", listed(ordered))
	}
	if len(left)+len(ordered) > 0 {
		a.say("  -> stowage digest record --restore")
	}
}

func listed(names []farm.InstanceName) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(n))
	}
	return b.String()
}

// restoredAtOnce is how many instances are asked at the same time: what does not
// answer is waited for once, and not once for each.
const restoredAtOnce = 32

// restoreRecorded puts back what recordings have left.
func (a *app) restoreRecorded(ctx context.Context, names []string, f *recordFlags) error {
	d, err := a.recordDesk(names, f.account)
	if err != nil {
		return err
	}
	defer d.Close()
	left, err := record.Left(recordDir(d.Workspace))
	if err != nil {
		return &farm.Error{Op: "restore", Err: err}
	}
	left = amongNamed(left, names)
	out, errs := make([]record.Restored, len(left)), make([]error, len(left))
	record.Each(ctx, left, restoredAtOnce, func(ctx context.Context, i int, n farm.InstanceName) {
		out[i], errs[i] = a.recorder(d).Restore(ctx, n, record.Here{}, a.recorded(d))
	})
	s := restoreSummary{FormatVersion: 1, Instances: []record.Restored{}}
	for i, r := range out {
		if errs[i] == nil {
			s.Instances = append(s.Instances, r)
		}
	}
	more, err := a.fetchAll(ctx, d, names, &s)
	errs = append(errs, more...)
	return errors.Join(a.emit(s, s.writeText, a.cmd("inventory")), a.notRestored(errs), err)
}

// amongNamed are those of left that somebody named, or all when nobody was.
func amongNamed(left []farm.InstanceName, names []string) []farm.InstanceName {
	if len(names) == 0 {
		return left
	}
	return slices.DeleteFunc(left, func(n farm.InstanceName) bool { return !slices.Contains(names, string(n)) })
}

func (a *app) notRestored(errs []error) error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	for _, err := range failed {
		sayError(a.stderr, err)
	}
	return &farm.Error{Op: "restore", Err: fmt.Errorf("%w: %d of %d instances", farm.ErrOutcomeUnknown, len(failed), len(errs)), Hint: "run it again when they answer"}
}

type restoreSummary struct {
	FormatVersion int               `json:"format_version"`
	Instances     []record.Restored `json:"instances"`
	Fetched       []fetched         `json:"fetched,omitempty"`
}

func (s restoreSummary) writeText(w io.Writer) error {
	for _, x := range s.Fetched {
		x.writeText(w)
	}
	if len(s.Instances)+len(s.Fetched) == 0 {
		_, err := fmt.Fprintln(w, "nothing to put back: no recording of this workspace has left anything")
		return err
	}
	for _, r := range s.Instances {
		switch {
		case r.Restarted:
			fmt.Fprintf(w, "%s: the server was restarted and has its own settings again\n", r.Instance)
		default:
			fmt.Fprintf(w, "%s: %s put back\n", r.Instance, farm.Counted(len(r.Settings), "setting"))
		}
		if r.Save != "" {
			fmt.Fprintf(w, "  %s had been recorded; kept as %s\n", farm.Counted(r.Events, "event"), r.Save)
		}
		writeKept(w, r.Left)
	}
	return nil
}
