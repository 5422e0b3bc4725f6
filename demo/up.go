package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"stowage/demo/load"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
	"stowage/workspace"
)

// owner marks the instance directories of a demo farm.
const owner = "stowage demo"

// atOnce is how many instances are made side by side: more would only wait
// for each other on two cores.
const atOnce = 4

// builder is a farm in the making.
type builder struct {
	o        Options
	local    *host.Local
	farm     *farm.Farm
	start    Starter
	accounts mysql.Accounts
	root     mysql.Account // of MySQL only
	key      serverKey     // of MySQL only
	log      *slog.Logger
}

// Up makes a farm in o.Dir: farm.yaml, goals.yaml, accounts.cnf, routing.json
// and running instances with replication and data. When it fails or ctx ends,
// what was started is taken down again.
func Up(ctx context.Context, o Options, log *slog.Logger) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil { // servers start in a directory of their own
		return &farm.Error{Op: "make farm", Subject: o.Dir, Err: err}
	}
	b := &builder{o: o, log: log}
	if b.local, err = host.NewLocal(log); err != nil {
		return err
	}
	if err := b.local.CanReach(o.Dir); err != nil {
		return err
	}
	if err := take(o.Dir); err != nil {
		return err
	}
	block, addresses, err := freeBlock(ctx, b.local, o)
	if err != nil {
		return err
	}
	defer addresses.release()
	b.farm, b.start = lay(o, block), b.startHere
	if err := b.makeAccounts(); err != nil {
		return err
	}
	if err := (state{Options: o, Block: block}).write(o.Dir); err != nil {
		return err
	}
	addresses.claim(o.Dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, Down(context.WithoutCancel(ctx), o.Dir, log))
		}
	}()
	return b.build(ctx)
}

// take makes the directory, or takes one that is vacant. One that another user
// could write in is refused, and a new one is not left behind then.
func take(dir string) error {
	_, err := os.Lstat(dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &farm.Error{Op: "make farm", Subject: dir, Err: err}
	}
	if err := workspace.Trust(dir); err != nil {
		if isNew {
			err = errors.Join(err, os.Remove(dir))
		}
		return err
	}
	return vacant(dir)
}

func (b *builder) build(ctx context.Context) error {
	start := time.Now()
	b.o.Tell("writing farm.yaml, goals.yaml, accounts.cnf and routing.json")
	if err := errors.Join(b.writeGoals(), b.writeFiles()); err != nil {
		return err
	}
	return b.raise(ctx, start)
}

// raise makes and starts every instance of the farm, and fills it.
func (b *builder) raise(ctx context.Context, start time.Time) error {
	b.o.Tell("making a template data directory")
	template, err := b.makeTemplate(ctx)
	if err != nil {
		return err
	}
	n := len(b.farm.HostsInUse())
	b.o.Tell(fmt.Sprintf("starting %s on %s", farm.Counted(n, "instance"), farm.Counted(n, "host")))
	if err := b.eachPair(ctx, func(ctx context.Context, i int) error { return b.startPair(ctx, template, i) }); err != nil {
		return err
	}
	b.o.Tell(fmt.Sprintf("filling %d logical shards and waiting for replication", b.shards()))
	if err := b.eachPair(ctx, b.fillPair); err != nil {
		return err
	}
	b.o.Tell(fmt.Sprintf("farm is up after %.1f s", time.Since(start).Seconds()))
	return os.RemoveAll(template.Dir())
}

func (b *builder) shards() int {
	n := 0
	for _, p := range b.farm.Pairs {
		n += len(p.Shards)
	}
	return n
}

func (b *builder) makeAccounts() error {
	b.accounts = mysql.Accounts{
		Admin:       mysql.Account{User: "stowage", Password: rand.Text()},
		Replication: mysql.Account{User: "replication", Password: rand.Text()},
		Client:      mysql.Account{User: "app", Password: rand.Text()},
		Backup:      mysql.Account{User: "backup", Password: rand.Text()},
	}
	b.root = mysql.Account{User: "root", Password: rand.Text()}
	return b.pinKey()
}

func (b *builder) path(rel string) string { return filepath.Join(b.o.Dir, rel) }

func (b *builder) writeGoals() error {
	goals := fmt.Sprintf("# What a plan must respect, and what it should make small.\nonto: [%s]\nminimise: [hosts]\nspread_labels: [rack]\nparallel: 4\nsoak: 200ms\n", denseType)
	return workspace.WriteFileAtomic(b.path("goals.yaml"), []byte(goals), 0o644)
}

func (b *builder) writeFiles() error {
	accounts := "# Accounts of the demo farm. [client] is what applications use.\n"
	for _, g := range []struct {
		group string
		a     mysql.Account
	}{{"stowage", b.accounts.Admin}, {"replication", b.accounts.Replication}, {"backup", b.accounts.Backup}, {"client", b.accounts.Client}} {
		accounts += fmt.Sprintf("[%s]\nuser = %s\npassword = %s\n%s", g.group, g.a.User, g.a.Password, b.pinned(g.group))
	}
	err := errors.Join(
		b.writeKey(),
		workspace.WriteFarm(b.path("farm.yaml"), b.farm),
		workspace.WriteFileAtomic(b.path("accounts.cnf"), []byte(accounts), 0o600))
	if err != nil {
		return err
	}
	pairs := map[farm.PairName]*route.Pair{}
	for _, p := range b.farm.Pairs {
		pairs[p.Name] = route.ForFarm(b.farm, p)
	}
	return route.NewFile(b.path("routing.json")).Create(pairs)
}

// makeTemplate is a stopped instance with system tables and accounts, whose
// data directory every other starts as a copy of. It writes no binary log, so
// that the copies begin with an empty history.
func (b *builder) makeTemplate(ctx context.Context) (host.Instance, error) {
	t := host.Instance{Name: "template", Address: b.farm.Hosts[0].Address, Port: b.o.port(),
		Datadir: b.path("template/data"), Config: b.path("template/my.cnf")}
	if err := b.local.Claim(ctx, t, owner); err != nil {
		return t, err
	}
	if b.local.IsMySQL() {
		return b.makeTemplateMySQL(ctx, t)
	}
	if err := b.local.WriteFile(ctx, t.Config, []byte(place(t)+lean)); err != nil {
		return t, err
	}
	setup, err := mysql.SetupSQL(b.accounts)
	if err != nil {
		return t, err
	}
	return t, b.local.Found(ctx, t, setup)
}

// eachPair runs work for every pair, some side by side, and returns the first
// error once all have ended.
func (b *builder) eachPair(ctx context.Context, work func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i := range b.farm.Pairs {
		tokens <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-tokens }()
			if err := work(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (b *builder) startPair(ctx context.Context, template host.Instance, n int) error {
	p := b.farm.Pairs[n]
	for i, side := range b.o.sides() {
		in := instance(b.o.Dir, b.farm, p.Instance(side), p.Sides[side])
		id := identityOf(b.o, n, i)
		if err := b.local.Claim(ctx, in, owner); err != nil {
			return err
		}
		if err := b.local.CopyDatadir(ctx, template, in); err != nil {
			return err
		}
		config := sideConfig
		if b.local.IsMySQL() {
			config = sideConfigMySQL
		}
		if err := b.local.WriteFile(ctx, in.Config, append(config(in, id), b.keyOptions()...)); err != nil {
			return err
		}
		if err := b.start(ctx, p.Sides[side].Host, in); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) startHere(ctx context.Context, _ farm.HostName, i host.Instance) error {
	return b.local.Start(ctx, i, time.Minute)
}

// followers are the sides that replicate from their twin.
func (b *builder) followers() []farm.SideName {
	switch b.o.topology() {
	case farm.Single:
		return nil
	case farm.PrimaryReplica:
		return []farm.SideName{farm.B}
	}
	return farm.SideNames[:]
}

// fillPair starts replication, makes tables and rows on side A, and waits until
// side B has them.
func (b *builder) fillPair(ctx context.Context, n int) error {
	p := b.farm.Pairs[n]
	servers := map[farm.SideName]*mysql.Server{}
	for _, side := range b.o.sides() {
		s := mysql.Open(p.Instance(side), b.farm.Address(p.Sides[side]), b.accounts.Admin, b.log)
		defer s.Close()
		servers[side] = s
	}
	for _, side := range b.followers() {
		if err := servers[side].Follow(ctx, servers[side.Twin()].Address(), b.accounts.Replication, 30*time.Second); err != nil {
			return err
		}
	}
	if err := b.fillShards(ctx, p, servers[farm.A]); err != nil {
		return err
	}
	at, err := servers[farm.A].BinlogPosition(ctx)
	if err != nil || servers[farm.B] == nil {
		return err
	}
	return servers[farm.B].WaitFor(ctx, at, 2*time.Minute)
}

// fillShards makes tables and rows. Stowage's own account may do that where
// single shards can be moved; on MySQL root does, whose login is dropped then.
func (b *builder) fillShards(ctx context.Context, p farm.Pair, a *mysql.Server) error {
	author, last := a, []string(nil)
	if b.local.IsMySQL() {
		author = mysql.Open(p.Instance(farm.A), a.Address(), b.root, b.log)
		defer author.Close()
		last = []string{"DROP USER 'root'@'127.0.0.1'"}
	}
	for _, shard := range p.Shards {
		if err := author.Build(ctx, append(load.Schema(shard.Name), load.Seed(shard.Name, b.o.Rows)...)); err != nil {
			return err
		}
	}
	return author.Build(ctx, last)
}
