package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/session"
	"stowage/store"
	"stowage/vault"
)

// Wish is what somebody wants backed up.
type Wish struct {
	Name string // in the run's id
	// Pairs are those whose data are to be copied, from one side each; Sides says which, where it must be that one.
	Pairs []farm.PairName
	Sides map[farm.PairName]farm.SideName
	// Kind is what to take; empty: what is due by farm.yaml, and all that was asked for even if nothing is.
	Kind catalogue.Kind
	// Shards are what logical backups have, by pair; pairs that are not in it have all of their shards.
	Shards map[farm.PairName][]farm.ShardName
	// OnlyDue leaves out pairs of which farm.yaml does not ask for a backup yet, and those that another run has claimed (Left).
	OnlyDue bool
	Now     time.Time
}

// PlaceOf is where the vault of an instance is.
func PlaceOf(b farm.Backup, on farm.HostName) (farm.HostName, vault.Place) {
	return b.On(on), vault.Place{Dir: b.Dir, Level: b.Zstd, Restic: b.Restic, PasswordFile: b.PasswordFile, EnvFile: b.EnvFile}
}

// Begin backs up one side of each pair, after everything was asked. The zero Run: none is due.
func (a *Act) Begin(ctx context.Context, w Wish) (store.Run, []farm.Finding, error) {
	if !a.Farm.Backup.IsPlace() {
		return store.Run{}, nil, &farm.Error{Op: "back up", Subject: "farm.yaml", Err: fmt.Errorf("%w: backup is missing, the place for backups", farm.ErrInput),
			Hint: "add it, for example backup: {dir: /srv/backup}; docs/guide/backup.md"}
	}
	all, err := kept.All(a.Store)
	if err != nil {
		return store.Run{}, nil, err
	}
	return a.Act.Begin(ctx, act.Proposal{
		Name: w.Name, Subject: w.Name,
		Job:    func(run string) (engine.Job, uint32, error) { return a.takingJob(ctx, run, w, all) },
		Survey: a.SurveyJob, Blocks: allBlocked, Remedy: "remedy them; nothing was copied",
	})
}

// takingJob is a lane for each pair. A host is read for as many copies at a time as goals.yaml says.
func (a *Act) takingJob(ctx context.Context, run string, w Wish, all []catalogue.Backup) (engine.Job, uint32, error) {
	job := engine.Job{ID: run, Kind: Backup, Budgets: map[string]int{}}
	orders, err := a.orders(ctx, w, all)
	if err != nil {
		return job, 0, err
	}
	next, err := a.placeClones(ctx, orders)
	if err != nil {
		return job, 0, err
	}
	for _, o := range orders {
		args, err := json.Marshal(o)
		if err != nil {
			return job, 0, err
		}
		book, _ := a.Kind.Runbook(o.Runbook)
		token := "host " + string(o.On)
		job.Budgets[token] = act.StreamsPerHost
		job.Lanes = append(job.Lanes, engine.Lane{Name: string(o.Backup.Pair), Holds: []string{token},
			Parts: []engine.Part{{Subject: string(o.Backup.Instance), Args: args, Steps: book.EngineSteps()}}})
	}
	a.left = nil
	if w.OnlyDue {
		if a.left, err = a.Around(&job); err != nil {
			return job, 0, err
		}
	}
	job.Spares = len(job.Lanes) // one that fails does not stop the others
	goals, err := act.Goals(a.Session)
	if err == nil {
		act.LimitStreams(&job, a.Farm, goals.Budgets)
	}
	return job, next, err
}

// orders says of each pair which side is copied, and what of it.
func (a *Act) orders(ctx context.Context, w Wish, all []catalogue.Backup) ([]order, error) {
	each, err := a.sides(w, all)
	if err != nil {
		return nil, err
	}
	a.planned = []Planned{}
	var out []order
	turns := a.turns(ctx, w.Now, each, all)
	if w.Kind == catalogue.Logical {
		turns = a.logicalTurns(w, each, all)
	}
	for n, turn := range turns {
		if w.OnlyDue && !turn.Due {
			continue
		}
		if err := each[n].take(turn, w, all); err != nil {
			return nil, err
		}
		out = append(out, each[n])
		a.planned = append(a.planned, each[n].planned())
	}
	return out, nil
}

// sides says of each pair which side is copied.
func (a *Act) sides(w Wish, all []catalogue.Backup) ([]order, error) {
	busy := map[farm.HostName]float64{} // bytes that its disks are read for
	var out []order
	for _, name := range w.Pairs {
		pair, ok := a.Farm.Pair(name)
		if !ok {
			return nil, &farm.Error{Op: "back up", Subject: string(name), Err: fmt.Errorf("%w: farm.yaml has no such pair", farm.ErrInput), Hint: "stowage inventory lists them"}
		}
		before := catalogue.Of(catalogue.Physical(all), a.Farm.Name, name)
		if w.Kind == catalogue.Logical {
			before = nil // it is based on none
		}
		side, err := sideFor(pair, w.Sides[name], busy, before)
		if err != nil {
			return nil, err
		}
		busy[pair.Sides[side].Host] += pair.Needs()[farm.Disk]
		out = append(out, a.orderOf(pair, side, w))
	}
	return out, nil
}

// orderOf is the order of one side, before it is known what of it is copied.
func (a *Act) orderOf(pair *farm.Pair, side farm.SideName, w Wish) order {
	at := pair.Sides[side]
	on, _ := a.Farm.Host(at.Host)
	instance := pair.Instance(side)
	o := order{Runbook: "copy", On: at.Host, Instance: session.InstanceAt(a.Workspace, instance, on.Address, at)}
	o.Backup = catalogue.Backup{Farm: a.Farm.Name, Pair: pair.Name, Side: side, Instance: instance, Began: w.Now, On: at.Host, Datadir: o.Instance.Datadir, Raw: int64(pair.Needs()[farm.Disk])}
	o.Backup.Host, o.Backup.Place = PlaceOf(a.Farm.Backup, at.Host)
	if w.Kind == catalogue.Logical {
		o.Backup.Shards, o.Backup.Raw = shardsFor(pair, w.Shards[pair.Name])
	}
	return o
}

// askedAtOnce is how many servers are asked who they are at the same time, each for so long.
const (
	askedAtOnce = 16
	askedFor    = 10 * time.Second
)

// turns are what the instances are to have next. One that does not answer gets a full copy on paper; the questions before the run say that it is away.
func (a *Act) turns(ctx context.Context, now time.Time, orders []order, all []catalogue.Backup) []catalogue.Turn {
	out := make([]catalogue.Turn, len(orders))
	room := make(chan struct{}, askedAtOnce)
	var wg sync.WaitGroup
	for n, o := range orders {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			b := o.Backup
			is := catalogue.Server{Farm: b.Farm, Instance: b.Instance, On: b.On, Datadir: b.Datadir, Host: b.Host, Place: b.Place}
			server := a.Server(b.Instance, o.Instance.Dial())
			defer server.Close()
			ctx, cancel := context.WithTimeout(ctx, askedFor)
			defer cancel()
			if vars, err := server.Variables(ctx, "server_id", "version"); err == nil {
				id, _ := strconv.ParseUint(vars["server_id"], 10, 32)
				is.ServerID, is.Version = uint32(id), vars["version"]
				is.Whole = mysql.ParseFlavor(is.Version).ClonesItself()
				orders[n].Backup.Version = is.Version
			}
			if text, err := server.Status(ctx, "Innodb_lsn_current"); err == nil {
				is.LSN, _ = strconv.ParseUint(text, 10, 64)
			}
			is.IsOther = isOther(ctx, server, b.Farm, b.Instance, all)
			out[n] = catalogue.Next(now, a.Farm.Backup, is, all)
		})
	}
	wg.Wait()
	return out
}

// isOther reports whether a server has another binary log than when its newest backup was made: pages of an incremental backup would be laid on
// those of another server. One that does not say is taken for the same.
func isOther(ctx context.Context, server *mysql.Server, of string, instance farm.InstanceName, all []catalogue.Backup) bool {
	mine := slices.DeleteFunc(catalogue.Physical(all), func(b catalogue.Backup) bool { return b.Farm != of || b.Instance != instance })
	if len(mine) == 0 {
		return false
	}
	last := mine[len(mine)-1]
	at, err := mysql.ParsePosition(last.GTID)
	if err != nil || last.GTID == "" || last.File == "" || mysql.ParseFlavor(last.Version).ClonesItself() {
		return false
	}
	has, err := server.HasLogged(ctx, last.File, last.Offset, at)
	return err == nil && !has
}

// take fills in what is copied.
func (o *order) take(turn catalogue.Turn, w Wish, all []catalogue.Backup) error {
	b := &o.Backup
	b.Kind = cmp.Or(w.Kind, turn.Kind)
	if b.Kind == catalogue.Incremental && turn.Base == "" { // a backup that is larger than was asked for is better than none
		b.Kind, o.Instead = catalogue.Full, turn.Why
	}
	if b.Kind == catalogue.Incremental {
		b.Base, b.FromLSN, b.Raw = turn.Base, turn.Since, 0
	}
	byID := map[string]catalogue.Backup{}
	for _, x := range all {
		byID[x.ID] = x
		if x.Instance == b.Instance && x.Kind == b.Kind && slices.Equal(x.Shards, b.Shards) { // the newest is the last
			b.Raw, b.Bytes = x.Raw, x.Bytes
		}
	}
	for at := w.Now.UTC(); b.ID == ""; at = at.Add(time.Second) { // another of the same second has its name
		id := fmt.Sprintf("%s/%s-%s", b.Instance, at.Format("20060102T150405Z"), b.Kind)
		if _, has := byID[id]; !has {
			b.ID = id
		}
	}
	for id := b.Base; id != ""; id = byID[id].Base {
		if _, has := byID[id]; !has {
			return &farm.Error{Op: "back up", Subject: string(b.Instance), Err: fmt.Errorf("%w: %s is not in the catalogue", farm.ErrRefused, id), Hint: "stowage backup run --full " + string(b.Pair)}
		}
		o.Chain = slices.Insert(o.Chain, 0, id)
	}
	return nil
}

// sideFor is the side of a pair that is read: the one that was asked for, that of the newest backup, so that an incremental one can follow, or the one whose host
// has least to do; of equals the last, which is a replica where there is one.
func sideFor(pair *farm.Pair, asked farm.SideName, busy map[farm.HostName]float64, its []catalogue.Backup) (farm.SideName, error) {
	if asked != "" {
		if _, ok := pair.Sides[asked]; !ok {
			return "", &farm.Error{Op: "back up", Subject: fmt.Sprintf("%s/%s", pair.Name, asked), Err: fmt.Errorf("%w: the pair has no such side", farm.ErrInput), Hint: "stowage inventory lists them"}
		}
		return asked, nil
	}
	for _, b := range slices.Backward(its) {
		if at, ok := pair.Sides[b.Side]; ok && at.Host == b.On {
			return b.Side, nil
		}
	}
	var least farm.SideName
	for _, side := range pair.SideNames() {
		if least == "" || busy[pair.Sides[side].Host] <= busy[pair.Sides[least].Host] {
			least = side
		}
	}
	return least, nil
}
