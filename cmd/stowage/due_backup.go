package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/act"
	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/due"
	"stowage/farm"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// leastVerify is how often a backup is verified at most.
const leastVerify = 10 * time.Minute

// backupDuties are those of a farm whose farm.yaml says where backups go.
func (a *app) backupDuties(f *farm.Farm) []duty {
	if !f.Backup.IsPlace() {
		return nil
	}
	b := f.Backup.Filled()
	every := b.Full
	if b.Incremental > 0 {
		every = b.Incremental
	}
	verify := b.Verify
	if verify > 0 { // one pair at a time, all of them within the interval
		verify = max(leastVerify, (verify / time.Duration(max(1, len(f.Pairs)))).Truncate(time.Minute))
	}
	return []duty{
		{due.Task{Name: "binlogs", Every: b.Binlogs}, "archive binary logs", a.dueBinlogs},
		{due.Task{Name: "backups", Every: every}, "back up what is due", a.dueBackups},
		{due.Task{Name: "logical-backups", Every: b.Logical}, "back up shards logically", a.dueLogical},
		{due.Task{Name: "verify", Every: verify}, "verify the backup that was proven longest ago", a.dueVerify},
	}
}

func (a *app) dueBinlogs(ctx context.Context, d *session.Session) (found, error) {
	backing, err := a.backingOf(d, false)
	if err != nil {
		return found{}, err
	}
	all, err := archiveOnce(ctx, d, backing, whileRepeated)
	if err != nil {
		return found{}, err
	}
	f := found{}
	failed := 0
	for _, x := range all {
		if x.Error != "" {
			failed++
			f.findings = append(f.findings, farm.Finding{Check: "binlogs-behind", Severity: farm.Warning, Subject: string(x.Instance), Text: "its binary log was not archived: " + x.Error, Remedy: x.Remedy})
		}
		for _, g := range x.Gaps {
			f.findings = append(f.findings, farm.Finding{Check: "binlogs-gap", Severity: farm.Warning, Subject: string(x.Instance), Text: g.String(), Remedy: "a new backup begins after the gap: stowage backup run " + string(x.Pair)})
		}
	}
	f.said = fmt.Sprintf("%d of %s archived", len(all)-failed, farm.Counted(len(all), "log"))
	if failed > 0 && failed == len(all) {
		return f, &farm.Error{Op: "archive binary logs", Err: fmt.Errorf("of no instance: %s", all[0].Error), Hint: all[0].Remedy}
	}
	return f, nil
}

// dueBackups continues with a run that was cut short, or takes the backups that are due.
func (a *app) dueBackups(ctx context.Context, d *session.Session) (found, error) {
	return a.dueBackupsOf(ctx, d, "")
}

func (a *app) dueLogical(ctx context.Context, d *session.Session) (found, error) {
	return a.dueBackupsOf(ctx, d, catalogue.Logical)
}

func (a *app) dueBackupsOf(ctx context.Context, d *session.Session, kind catalogue.Kind) (found, error) {
	before, err := a.finishBackups(ctx, d)
	if err != nil {
		return before, err
	}
	backing, err := a.backingOf(d, false)
	if err != nil {
		return found{}, err
	}
	if err := d.Turn(ctx, "backups that are due"); err != nil {
		return found{}, err
	}
	w := backup.Wish{Name: "due", Kind: kind, OnlyDue: true, Now: time.Now()}
	for _, p := range d.Farm.Pairs {
		w.Pairs = append(w.Pairs, p.Name)
	}
	run, findings, err := backing.Begin(ctx, w)
	if err != nil {
		before.findings = findings
		return before, err
	}
	if run.ID == "" {
		return before.and("every pair has a backup that is new enough"), nil
	}
	s, err := a.carry(ctx, backing.Act, run)
	return before.and(carried(run, s, "instance").said), errors.Join(err, leftOut(backing.Left()))
}

// finishBackups carries a run to its end that was cut short. It may have been about other pairs, or another kind of backups, than those that are due.
func (a *app) finishBackups(ctx context.Context, d *session.Session) (found, error) {
	backing, err := a.backingOf(d, false)
	if err != nil {
		return found{}, err
	}
	run, err := a.cutShort(ctx, d, backing.Act, backup.Backup)
	if held := (*workspace.Held)(nil); errors.As(err, &held) {
		return found{}, nil // another program carries it: its pairs are claimed
	}
	if err != nil || run.ID == "" {
		return found{}, err
	}
	s, err := a.carry(ctx, backing.Act, run)
	return carried(run, s, "instance"), err
}

// and adds to what was said.
func (f found) and(more string) found {
	if f.said != "" {
		more = f.said + "; " + more
	}
	f.said = more
	return f
}

func carried(run store.Run, s moveSummary, what string) found {
	return found{said: fmt.Sprintf("%s: %d of %s done", run.ID, s.Moved, farm.Counted(s.Sides, what))}
}

// leftOut makes the task due again at the next call where pairs were left out.
func leftOut(left []act.Left) error {
	if len(left) == 0 {
		return nil
	}
	var names []string
	for _, l := range left {
		names = append(names, l.Lane)
	}
	return &farm.Error{Op: "back up", Subject: farm.Some(names), Err: fmt.Errorf("%w: run %s has claimed it; the others are done", farm.ErrRefused, left[0].Run),
		Hint: "the first call after that run backs it up (stowage status --run " + left[0].Run + ")"}
}

// cutShort takes up a run of that kind that has not ended; the zero run where there is none.
func (a *app) cutShort(ctx context.Context, d *session.Session, going *act.Act, kind string) (store.Run, error) {
	open, err := act.Open(d.Store)
	if err != nil {
		return store.Run{}, err
	}
	n := slices.IndexFunc(open, func(r store.Run) bool { return r.Kind == kind })
	if n < 0 {
		return store.Run{}, nil
	}
	if err := d.Share(); err != nil {
		return store.Run{}, err
	}
	run, err := going.GoOn(ctx, open[n], nil)
	if errors.Is(err, store.ErrNone) {
		return store.Run{}, nil // it has just ended
	}
	return run, err
}

// dueVerify verifies the newest backup of the pair whose last proof is oldest.
func (a *app) dueVerify(ctx context.Context, d *session.Session) (found, error) {
	restoring, err := a.backingOf(d, true)
	if err != nil {
		return found{}, err
	}
	run, err := a.cutShort(ctx, d, restoring.Act, backup.Restore)
	if err != nil {
		return found{}, err
	}
	f := found{}
	if run.ID == "" {
		if run, f.findings, err = beginProof(ctx, d, restoring); err != nil {
			return f, err
		}
		if run.ID == "" {
			f.said, f.isEarly = "there is no backup yet", true
			return f, nil
		}
	}
	s, err := a.carry(ctx, restoring.Act, run)
	f.said = carried(run, s, "restore").said
	return f, err
}

// beginProof begins with the first backup that nothing forbids to verify: one whose live server is away does not keep the others unproven. The zero run: there is none.
func beginProof(ctx context.Context, d *session.Session, restoring *backup.Act) (run store.Run, said []farm.Finding, err error) {
	all, err := kept.All(d.Store)
	if err != nil {
		return run, nil, err
	}
	runs, err := d.Store.Runs(backup.Restore)
	if err != nil {
		return run, nil, err
	}
	for _, b := range backup.LeastProven(d.Farm, all, runs) {
		if err := d.Turn(ctx, "verification of "+b.ID); err != nil {
			return run, said, err
		}
		var findings []farm.Finding
		run, findings, err = restoring.BeginRestore(ctx, backup.RestoreWish{Backups: []string{b.ID}, Verify: true, Until: backup.Until{End: true}})
		said = append(said, findings...)
		if err == nil || ctx.Err() != nil {
			break
		}
		if !farm.Blocks(findings) {
			said = append(said, farm.Finding{Check: "backup-unproven", Severity: farm.Warning, Subject: string(b.Pair), Text: b.ID + " cannot be verified now: " + err.Error(), Remedy: farm.Hint(err)})
		}
	}
	return run, said, err
}
