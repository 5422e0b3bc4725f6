package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/store"
)

// RestoreWish is what somebody wants restored.
type RestoreWish struct {
	// Backups are the ids of those that are restored, each with what it is based on.
	Backups []string
	To      farm.HostName // empty: the host of the vault
	Port    int           // of the first; 0: the next that farm.yaml gives to nobody
	Until   Until
	Verify  bool // compare it with the live server, and take it away again
	// Extract is what goes out of it into a pair, after which it is taken away; nil: it stays, as a whole.
	Extract *Extract
	// Side is the side of its pair that it becomes, on To; empty: it stays beside.
	Side farm.SideName
}

// BeginRestore makes instances of backups, after everything was asked.
func (a *Act) BeginRestore(ctx context.Context, w RestoreWish) (store.Run, []farm.Finding, error) {
	all, err := kept.All(a.Store)
	if err != nil {
		return store.Run{}, nil, err
	}
	name := flat(w.Backups[0])
	if len(w.Backups) > 1 {
		name = farm.Counted(len(w.Backups), "backup")
	}
	book := "restore"
	switch {
	case w.Verify:
		book, name = verify, verifying+name
	case w.Side != "":
		book, name = asSide, fmt.Sprintf("%s as side %s", name, w.Side)
	case w.Extract != nil:
		book, name = extract, w.Extract.Schema+" of "+name
	}
	var blocks func(engine.Job, []farm.Finding) bool
	if w.Verify {
		blocks = allBlocked // each proof is by itself
	}
	return a.Act.Begin(ctx, act.Proposal{
		Name: strings.ReplaceAll(name, " ", "-"), Subject: name, Blocks: blocks,
		Job: func(run string) (engine.Job, uint32, error) {
			job, id, err := a.restoreJob(ctx, run, book, w, all)
			return job, id, err
		},
		Survey: a.SurveyJob, Remedy: "remedy them; nothing was made",
	})
}

// verifying begins the subject of a run that proves one backup.
const verifying = "verify "

func flat(id string) string { return strings.ReplaceAll(id, "/", "-") }

// restoreJob is a lane for each backup.
func (a *Act) restoreJob(ctx context.Context, run, runbook string, w RestoreWish, all []catalogue.Backup) (engine.Job, uint32, error) {
	book, _ := a.Kind.Runbook(runbook)
	job := engine.Job{ID: run, Kind: Restore, Budgets: map[string]int{oneRestore: 1}}
	before, err := a.Store.Runs(Restore)
	if err != nil {
		return job, 0, err
	}
	number := len(before) + 1
	id, port := a.Farm.NextServerID, w.Port
	for _, name := range w.Backups {
		chain, err := chainOf(name, all)
		if err != nil {
			return job, 0, err
		}
		o := restoreOrder{Runbook: runbook, Chain: chain, ServerID: id, Until: w.Until}
		if err := o.mayBeLogical(w); err != nil {
			return job, 0, err
		}
		if w.Side != "" {
			err = a.sideFor(ctx, &o, w, all)
			book, _ = a.Kind.Runbook(o.Runbook) // by the topology of the pair
		} else {
			err = a.placeFor(ctx, &o, w.To, port, number)
		}
		if err != nil {
			return job, 0, err
		}
		if w.Port != 0 && len(job.Lanes) == 0 && o.Instance.Port != w.Port {
			return job, 0, &farm.Error{Op: "restore", Subject: name, Err: fmt.Errorf("%w: port %d of host %s is another server's; the next free one is %d", farm.ErrInput, w.Port, o.On, o.Instance.Port), Hint: "choose a free one: --port"}
		}
		if w.Verify {
			if err := a.liveFor(&o); err != nil {
				return job, 0, err
			}
		}
		if id, port = id+1, o.Instance.Port+1; w.Extract != nil {
			if o.Extract, err = a.extractFor(*w.Extract, o.last(), w.Until, id); err != nil {
				return job, 0, err
			}
			id++
		}
		args, err := json.Marshal(o)
		if err != nil {
			return job, 0, err
		}
		job.Lanes = append(job.Lanes, engine.Lane{Name: string(o.Instance.Name), Beside: true, Holds: append([]string{oneRestore, "host " + string(o.On)}, slices.Concat(o.Extract.holds(&job), o.Side.holds(&job))...),
			Parts: []engine.Part{{Subject: string(o.Instance.Name), Args: args, Steps: book.EngineSteps()}}})
		job.Budgets["host "+string(o.On)] = 1
	}
	job.Spares = len(job.Lanes)
	return job, id, nil
}

// oneRestore is the token of which a run has one: its restores come one after the other. It takes no part in what goals.yaml allows acts that clients notice.
const oneRestore = "restores"

// chainOf is a backup with all that it is based on, the full one first.
func chainOf(id string, all []catalogue.Backup) ([]catalogue.Backup, error) {
	var out []catalogue.Backup
	for want := id; want != ""; {
		n := slices.IndexFunc(all, func(b catalogue.Backup) bool { return b.ID == want })
		if n < 0 {
			hint := "stowage backup list names them; stowage backup list --scan reads the vaults again"
			if want != id {
				return nil, &farm.Error{Op: "restore", Subject: id, Err: fmt.Errorf("%w: it is based on %s, which is missing", farm.ErrRefused, want), Hint: hint}
			}
			return nil, &farm.Error{Op: "restore", Subject: id, Err: fmt.Errorf("%w: there is no such backup", farm.ErrInput), Hint: hint}
		}
		if all[n].Damaged != "" {
			return nil, &farm.Error{Op: "restore", Subject: id, Err: fmt.Errorf("%w: %s is damaged: %s", farm.ErrRefused, want, all[n].Damaged), Hint: "restore an older one: stowage backup list"}
		}
		out = append(out, all[n])
		want = all[n].Base
	}
	slices.Reverse(out)
	return out, nil
}

// placeFor gives a restored instance a place of its own.
func (a *Act) placeFor(ctx context.Context, o *restoreOrder, to farm.HostName, port, number int) error {
	b := o.last()
	if to == "" {
		to = b.Host
	}
	h, ok := a.Farm.Host(to)
	if !ok {
		return &farm.Error{Op: "restore", Subject: b.ID, Err: fmt.Errorf("%w: farm.yaml has no host %s", farm.ErrInput, to), Hint: "name another: --to HOST"}
	}
	if h.Dir == "" {
		return &farm.Error{Op: "restore", Subject: b.ID, Err: fmt.Errorf("%w: host %s has no dir in farm.yaml, so it has no place for new instances", farm.ErrInput, to), Hint: "give it one, or name another host: --to HOST"}
	}
	o.On = to
	port, err := a.portFor(ctx, h, port)
	if err != nil {
		return err
	}
	o.Instance = a.newIn(h, farm.InstanceName(fmt.Sprintf("%s-restored-%d", b.Instance, number)), port)
	return nil
}

// newIn is an instance in a directory of its own on a host.
func (a *Act) newIn(h farm.Host, name farm.InstanceName, port int) host.Instance {
	dir := filepath.Join(a.Workspace.Path(h.Dir), string(name))
	return host.Instance{Name: name, Address: h.Address, Port: port, Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
}

// portFor is the first from there on that farm.yaml gives to nobody on the host, and at which nothing listens. 0: from behind the highest of farm.yaml.
func (a *Act) portFor(ctx context.Context, on farm.Host, port int) (int, error) {
	taken := map[int]bool{}
	highest := 0
	for _, p := range a.Farm.Pairs {
		for _, s := range p.Sides {
			if s.Host == on.Name {
				taken[s.Port] = true
			}
			highest = max(highest, s.Port)
		}
	}
	if port == 0 {
		port = highest + 1
	}
	if err := a.Greet(ctx, on.Name); err != nil {
		return 0, err
	}
	h, err := a.Host(on.Name)
	if err != nil {
		return 0, err
	}
	for ; ; port++ {
		if taken[port] {
			continue
		}
		free, err := h.PortFree(ctx, net.JoinHostPort(on.Address, strconv.Itoa(port)))
		if err != nil || free {
			return port, err
		}
	}
}

// liveFor is the server that a restored instance is compared with: the one that was backed up.
func (a *Act) liveFor(o *restoreOrder) error {
	b := o.last()
	pair, ok := a.Farm.Pair(b.Pair)
	if !ok {
		return &farm.Error{Op: "verify", Subject: b.ID, Err: fmt.Errorf("%w: farm.yaml no longer has pair %s", farm.ErrInput, b.Pair), Hint: "restore it without comparing: stowage restore " + b.ID}
	}
	side, ok := pair.Sides[b.Side]
	if !ok {
		return errors.New("the pair has no such side")
	}
	o.Live, o.LiveName = a.Farm.Address(side), pair.Instance(b.Side)
	return nil
}

// Newest is the backup of that name, or the newest physical one of an instance, or of a pair, that can be restored and lies before a moment; ok is false where there is none.
func Newest(all []catalogue.Backup, of string, until Until) (found catalogue.Backup, ok bool) {
	broken := map[string]bool{} // also those whose base is damaged or missing
	for _, c := range catalogue.Chains(all) {
		for _, b := range c.Broken {
			broken[b.ID] = true
		}
	}
	for _, b := range all {
		if b.ID == of {
			return b, true
		}
		if (string(b.Instance) == of || string(b.Pair) == of) && !broken[b.ID] && b.IsPhysical() && until.isAfter(b) && (!ok || b.At.After(found.At)) {
			found, ok = b, true
		}
	}
	return found, ok
}

// Oldest is the oldest backup of an instance or a pair that is not damaged, or the one of that name; ok is false where there is none.
func Oldest(all []catalogue.Backup, of string) (found catalogue.Backup, ok bool) {
	for _, b := range all {
		if b.Damaged == "" && b.IsPhysical() && (b.ID == of || string(b.Instance) == of || string(b.Pair) == of) && (!ok || b.At.Before(found.At)) {
			found, ok = b, true
		}
	}
	return found, ok
}

// isAfter reports whether the moment can be reached from a backup.
func (u Until) isAfter(b catalogue.Backup) bool {
	if u.GTID == "" {
		return u.Time.IsZero() || !b.At.After(u.Time)
	}
	want, err := mysql.ParsePosition(u.GTID)
	has, bad := mysql.ParsePosition(b.GTID)
	if err != nil || bad != nil {
		return false
	}
	return !slices.ContainsFunc(want.Origins(), func(o mysql.Origin) bool { return !want.Reached(has.From(o)) })
}

// ResultOf are what came of a run of restores.
func ResultOf(s *store.Store, run string) ([]Restored, error) {
	docs, err := s.Documents(restoredDocument)
	if err != nil {
		return nil, err
	}
	newest := map[string]int64{}
	for _, d := range docs {
		if strings.HasPrefix(d.Name, run+" ") {
			newest[d.Name] = d.ID
		}
	}
	var out []Restored
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		var r Restored
		if err := s.DocumentByID(newest[name], &r); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
