package survey

import (
	"context"
	"fmt"
	"os"

	"stowage/farm"
	"stowage/tune"
	"stowage/tune/probe"
)

// Facts are those that tune's rules judge, of one machine: its settings as its place tells them, and what its servers have said. What was read is kept in the
// directory record, which must not be there or be empty; "": nowhere. When ctx ends it returns, also where a file of the machine never answers.
func Facts(ctx context.Context, p Place, h farm.HostName, servers []probe.Server, record string) (*tune.Facts, error) {
	type told struct {
		files map[string]string
		err   error
	}
	read := make(chan told, 1)
	go func() { // reads only; it may stay behind until the program ends
		files, err := p.Settings(ctx)
		read <- told{files, err}
	}()
	var files map[string]string
	select {
	case x := <-read:
		if x.err != nil {
			return nil, x.err
		}
		files = x.files
	case <-ctx.Done():
		return nil, &farm.Error{Op: "tune", Subject: string(h), Err: fmt.Errorf("its settings were not read in time: %w", ctx.Err())}
	}
	dir := record
	var err error
	if record == "" {
		if dir, err = os.MkdirTemp("", "stowage-tune-*"); err != nil {
			return nil, &farm.Error{Op: "tune", Subject: string(h), Err: err}
		}
		defer os.RemoveAll(dir)
	} else if err = os.MkdirAll(dir, 0o755); err != nil {
		return nil, &farm.Error{Op: "record", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	if err := probe.Write(dir, files); err != nil {
		return nil, &farm.Error{Op: "tune", Subject: string(h), Err: err}
	}
	facts := probe.Read(ctx, probe.Recorded(dir), nil, servers)
	facts.Host = string(h)
	return facts, nil
}
