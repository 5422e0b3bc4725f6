package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/farm"
)

// Survey implements act.Work.
func (t *taking) Survey(ctx context.Context) ([]farm.Finding, error) {
	return act.Ask(ctx, takingQuestions, t)
}

// takingQuestions are asked before an instance is copied.
var takingQuestions = []act.Question[*taking]{
	{Name: "backup-source", Look: askSource},
	{Name: "backup-account", Look: askAccount},
	{Name: "backup-room", Look: askRoom},
	{Name: "backup-clone", Look: askClone},
	{Name: "backup-full-instead", Look: askInstead},
}

func (t *taking) finding(severity farm.Severity, text, remedy string) []farm.Finding {
	return []farm.Finding{{Severity: severity, Subject: string(t.order.Backup.Instance), Text: text, Remedy: remedy}}
}

// askSource asks whether the server is one that this can copy, and what of it a copy lacks.
func askSource(ctx context.Context, t *taking) (out []farm.Finding, err error) {
	flavor, err := t.server.Flavor(ctx)
	if t.away = err != nil; t.away {
		return t.finding(farm.Blocker, fmt.Sprintf("it does not answer at %s: %v", t.order.Instance.Dial(), err), t.another()), nil
	}
	if flavor.ClonesItself() != isClone(t.order.Backup) && t.order.Backup.IsPhysical() {
		return t.finding(farm.Blocker, fmt.Sprintf("the server is %s; it did not answer when this run was planned, and the plan assumed %s", flavor, flavorOf(t.order.Backup).Vendor), "plan the backup again: stowage backup run"), nil
	}
	facts, err := t.server.Facts(ctx)
	if err != nil {
		return nil, err
	}
	if v := facts.Variables["log_bin"]; v == "OFF" || v == "0" {
		out = append(out, t.finding(farm.Warning, "its binary log is off: no moment after the copy can be restored, and no restore can be compared with the live server", "set log_bin in its option file, and restart it: stowage roll --set")...)
	}
	if !t.order.Backup.IsPhysical() {
		more, err := t.undumpable(ctx)
		return append(out, more...), err
	}
	if isClone(t.order.Backup) {
		more, err := t.unclonable(ctx)
		return append(out, more...), err
	}
	names, err := t.otherEngines(ctx)
	if len(names) > 0 {
		f := t.finding(farm.Warning, fmt.Sprintf("writes to %s outside of InnoDB wait while the copy ends: %s", farm.Counted(len(names), "table"), farm.Some(names)), "ALTER TABLE ... ENGINE=InnoDB")
		f[0].Names = names
		out = append(out, f...)
	}
	if memory := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, " (MEMORY)") }); len(memory) > 0 {
		out = append(out, t.finding(farm.Warning, fmt.Sprintf("no backup has the rows of %s: %s; a restore has them empty, and cannot replay logged changes of single rows that it lacks", farm.Counted(len(memory), "MEMORY table"), farm.Some(memory)),
			"use InnoDB for rows that are needed after a restore")...)
	}
	return out, err
}

// another says how to back up the same rows from another server.
func (t *taking) another() string {
	b := t.order.Backup
	if pair, ok := t.act.Farm.Pair(b.Pair); ok {
		for _, side := range pair.SideNames() {
			if side != b.Side {
				return fmt.Sprintf("start it, or back up another side of the pair: stowage backup run %s/%s", b.Pair, side)
			}
		}
	}
	return "start it, and then: stowage backup run " + string(b.Pair)
}

// otherEngines are tables of other engines than InnoDB, with their engines.
func (t *taking) otherEngines(ctx context.Context) ([]string, error) {
	unfit, err := t.server.Uncopyable(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for table, why := range unfit {
		if engine, is := strings.CutPrefix(why, "engine "); is {
			names = append(names, table+" ("+engine+")")
		}
	}
	slices.Sort(names)
	return names, nil
}

// askAccount asks whether the account that copies may do that.
func askAccount(ctx context.Context, t *taking) ([]farm.Finding, error) {
	if t.away {
		return nil, nil
	}
	ask := t.server.BackupFault
	if !t.order.Backup.IsPhysical() {
		ask = t.server.DumpFault
	}
	fault, remedy, err := ask(ctx, t.act.Backup.At(t.server.Address()))
	if err != nil || fault == "" {
		return nil, err
	}
	return t.finding(farm.Blocker, fault, remedy), nil
}

// askRoom asks whether the vault is there, and whether it has room.
func askRoom(ctx context.Context, t *taking) ([]farm.Finding, error) {
	b := t.order.Backup
	free, err := t.to.Vault(b.Place).Free(ctx)
	if err != nil {
		return t.finding(farm.Blocker, fmt.Sprintf("the vault on host %s cannot be used: %v", b.Host, err), hintOr(err, "backup in farm.yaml names the vault: correct it, or give Stowage access")), nil
	}
	if free < 0 || b.Kind == catalogue.Incremental {
		return nil, nil
	}
	// What compresses badly takes as much as it is; what is there of the one before says how well it does.
	need := b.Raw
	if b.Bytes > 0 {
		need = b.Bytes
	}
	if free >= need+need/10 {
		return nil, nil
	}
	severity := farm.Warning
	if free < need/4 {
		severity = farm.Blocker
	}
	return t.finding(severity, fmt.Sprintf("%d MB are free in the vault on host %s; the copy may take %d MB", free>>20, b.Host, need>>20), "make room: stowage backup prune"), nil
}

// askInstead says that an incremental copy was asked for, and a full one is taken.
func askInstead(_ context.Context, t *taking) ([]farm.Finding, error) {
	if t.order.Instead == "" {
		return nil, nil
	}
	remedy := "none: the next incremental one is based on it"
	if isClone(t.order.Backup) {
		remedy = "none: of MySQL each backup is a full one"
	}
	return t.finding(farm.Note, "a full copy is taken instead of an incremental one: "+t.order.Instead, remedy), nil
}

func hintOr(err error, text string) string {
	if hint := farm.Hint(err); hint != "" {
		return hint
	}
	return text
}
