package demo

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"stowage/farm"
	"stowage/host"
)

// Starter starts an instance, founded on this machine, where its host is.
type Starter func(ctx context.Context, h farm.HostName, i host.Instance) error

// Raise makes the servers of a farm that the caller has drawn, all of whose
// hosts share this machine's filesystem: it writes farm.yaml, accounts.cnf and
// routing.json to dir, founds and starts every instance, and seeds every shard
// with rows listings. Its pairs are active-active and on MariaDB. What it made
// is the caller's to take away, also when it fails.
func Raise(ctx context.Context, dir string, f *farm.Farm, rows int, start Starter, tell func(string), log *slog.Logger) error {
	local, err := host.NewLocal(log)
	if err != nil {
		return err
	}
	if local.IsMySQL() {
		return &farm.Error{Op: "raise farm", Subject: dir, Err: fmt.Errorf("%w: on MySQL root fills the shards, and reaches its server from the same machine only", farm.ErrInput),
			Hint: "put a MariaDB first on the PATH"}
	}
	if err := local.CanReach(dir); err != nil {
		return err
	}
	b := &builder{o: Options{Dir: dir, Rows: rows, Tell: tell}, local: local, farm: f, start: start, log: log}
	if err := b.makeAccounts(); err != nil {
		return err
	}
	if err := b.writeFiles(); err != nil {
		return err
	}
	return b.raise(ctx, time.Now())
}
