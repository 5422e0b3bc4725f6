package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/workspace"
)

// Down kills every instance that runs from a demo's directory and removes
// their files. Documents stay: farm.yaml, plans, the ledger, the report. It is
// safe to run again, and on a farm that was left half made.
func Down(ctx context.Context, dir string, log *slog.Logger) error {
	dir, err := filepath.Abs(dir) // as the servers know it
	if err != nil {
		return &farm.Error{Op: "take down", Subject: dir, Err: err}
	}
	if _, err := os.Lstat(dir); err == nil {
		if err := workspace.Trust(dir); err != nil {
			return err
		}
	}
	s, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "take down", Subject: dir, Err: fmt.Errorf("%w: there is no demo farm", farm.ErrInput),
			Hint: "name its directory with --dir"}
	}
	if err != nil {
		return err
	}
	local, err := host.NewLocal(log)
	if err != nil {
		return err
	}
	configs, err := filepath.Glob(filepath.Join(dir, "hosts", "*", "*", "my.cnf"))
	if err != nil {
		return &farm.Error{Op: "take down", Subject: dir, Err: err}
	}
	configs = append(configs, filepath.Join(dir, "template", "my.cnf"))
	if err := killAll(ctx, local, configs); err != nil {
		return err
	}
	for _, name := range []string{"hosts", "template"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return &farm.Error{Op: "take down", Subject: dir, Err: err}
		}
	}
	s.Down = true
	return s.write(dir)
}

// killAll ends instances by their option files. Their data is about to be deleted: a clean end would only be waited for, and a
// server of which no more than the option file is known cannot be asked whether it is up and may be told to stop.
func killAll(ctx context.Context, local *host.Local, configs []string) error {
	var wg sync.WaitGroup
	errs := make([]error, len(configs))
	tokens := make(chan struct{}, 8)
	for n, config := range configs {
		wg.Go(func() {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			dir := filepath.Dir(config)
			in := host.Instance{Name: farm.InstanceName(filepath.Base(dir)), Config: config, Datadir: filepath.Join(dir, "data")}
			errs[n] = local.Kill(ctx, in, 30*time.Second)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
