package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/vault"
)

// Survey implements act.Work.
func (r *restoring) Survey(ctx context.Context) ([]farm.Finding, error) {
	return act.Ask(ctx, restoringQuestions, r)
}

// restoringQuestions are asked before anything is made.
var restoringQuestions = []act.Question[*restoring]{
	{Name: "restore-backup", Look: askChain},
	{Name: "restore-moment", Look: askMoment},
	{Name: "restore-place", Look: askPlace},
	{Name: "restore-live", Look: askLive},
	{Name: "restore-side-twin", Look: askTwin},
	{Name: "restore-side-lives", Look: askLost},
	{Name: "restore-side-domain", Look: askDomains},
	{Name: "restore-side-logs", Look: askReach},
	{Name: "restore-side-events", Look: askEvents},
	{Name: "restore-side-unreceived", Look: askUnreceived},
	{Name: "restore-into", Look: askInto},
	{Name: "restore-tables", Look: askTables},
	{Name: "restore-into-room", Look: askIntoRoom},
}

func (r *restoring) blocker(text, remedy string) []farm.Finding {
	return []farm.Finding{{Severity: farm.Blocker, Subject: string(r.order.Instance.Name), Text: text, Remedy: remedy}}
}

// askChain asks whether the vault still has what the catalogue says.
func askChain(ctx context.Context, r *restoring) (out []farm.Finding, err error) {
	if err := r.act.Greet(ctx, r.order.last().Host); err != nil { // it may be the machine that is lost
		return r.blocker(fmt.Sprintf("host %s of the vault does not answer: %v", r.order.last().Host, err), "start its agent, or name a backup in another vault: stowage backup list"), nil
	}
	for _, b := range r.order.Chain {
		sets, err := r.vault.Vault(b.Place).Sets(ctx, b.ID)
		switch {
		case errors.Is(err, vault.ErrNone) || err == nil && len(sets) == 0:
			out = append(out, r.blocker(fmt.Sprintf("the vault on host %s has no %s", b.Host, b.ID), "stowage backup list --scan reads what is there")...)
		case err != nil:
			return append(out, r.blocker(fmt.Sprintf("the vault on host %s cannot be read: %v", b.Host, err), hintOr(err, "backup in farm.yaml names the vault: correct it, or give Stowage access"))...), nil
		}
	}
	return out, nil
}

// askMoment asks whether the archive of binary logs goes from the backup to the moment that was asked for: to fetch the backup may take hours.
func askMoment(ctx context.Context, r *restoring) (_ []farm.Finding, err error) {
	if r.order.Until.isBackup() || r.mayTakeLive() {
		return nil, nil
	}
	if b := r.order.last(); !r.order.Until.isAfter(b) {
		return r.blocker(fmt.Sprintf("%s is of %s, after the moment that was asked for", b.ID, b.At.Local().Format(time.DateTime+" MST")), "name the pair instead: Stowage takes the newest backup before that moment"), nil
	}
	if r.logs, err = r.lender(ctx); err != nil {
		return r.blocker(fmt.Sprintf("the moment cannot be restored: %v", err), hintOr(err, moreLogs)), nil
	}
	return nil, nil
}

// askPlace asks whether there is room, and nobody in the way.
func askPlace(ctx context.Context, r *restoring) (out []farm.Finding, err error) {
	i := r.order.Instance
	if err := r.host.Claimable(ctx, i, r.owner()); err != nil {
		out = append(out, r.blocker(fmt.Sprintf("%s cannot be used: %v", i.Dir(), err), hintOr(err, "move it away if it is unused"))...)
	}
	free, err := r.host.PortFree(ctx, i.Dial())
	if err != nil {
		return out, err
	}
	running, err := r.host.Running(ctx, i)
	if err != nil {
		return out, err
	}
	if !free && running == 0 {
		out = append(out, r.blocker(fmt.Sprintf("another process listens at %s", i.Dial()), "choose another port: --port")...)
	}
	var need int64
	for _, b := range r.order.Chain {
		if need += b.Raw; !b.IsPhysical() {
			need += b.Raw // its tables have indexes, and pages with room in them
		}
	}
	need += need / 10
	room, err := r.host.FreeBytes(ctx, i.Dir())
	switch logs := r.logBytes(); {
	case err != nil || running != 0:
	case room < need:
		out = append(out, r.blocker(fmt.Sprintf("%d MB are free on host %s; the restored instance needs %d MB", room>>20, r.order.On, need>>20), "make room, or restore to another host: --to HOST")...)
	case room < need+logs:
		f := r.blocker(fmt.Sprintf("%d MB are free on host %s; the restored instance needs %d MB, and the replay of binary logs up to %d MB more", room>>20, r.order.On, need>>20, logs>>20), "make room, or restore to another host: --to HOST; a server whose disk is full waits for room")
		f[0].Severity = farm.Warning
		out = append(out, f...)
	}
	return out, err
}

// logBytes is what the replay may take up: the logs that are fetched, the instance's own binary log, which gets all of it again, and rows.
func (r *restoring) logBytes() int64 {
	b := r.order.last()
	if own := max(0, r.logs.bytes-b.Offset); b.Place.Restic == "" && r.logs.on == r.order.On && !isClone(b) {
		return 2 * own // they are read where they lie
	}
	return 3 * r.logs.bytes
}

// askLive asks whether the server that it is compared with answers.
func askLive(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	if r.live == nil {
		return nil, nil
	}
	if _, err := r.live.BinlogPosition(ctx); err != nil {
		return r.blocker(fmt.Sprintf("the live server %s, which rows are compared with, does not answer: %v", r.order.LiveName, err), "wait for it, or restore without comparing: stowage restore"), nil
	}
	if r.order.last().GTID == "" {
		return r.blocker(r.order.last().ID+" has no GTID position: its server had no binary log", "set log_bin there and take a full backup"), nil
	}
	return nil, nil
}
