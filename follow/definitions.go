package follow

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// definitions are those of the tables that are followed, from the first server
// that answers. Where the shard has left and was removed, its log is still read,
// and the pair that has it now tells what its tables look like.
func (f *Follower) definitions(ctx context.Context) ([]*rows.Plain, error) {
	servers, err := f.servers(ctx)
	if err != nil {
		return nil, err
	}
	if serves, err := f.Places.Serves(ctx); err == nil && serves != "" && serves != f.State.Pair {
		there, _, err := f.Places.Servers(ctx, serves)
		if err != nil {
			return nil, err
		}
		servers = append(there, servers...)
	}
	var last error
	for _, s := range servers {
		if last = s.Answers(ctx); last == nil {
			return f.definitionsOf(ctx, s)
		}
	}
	return nil, last
}

func (f *Follower) definitionsOf(ctx context.Context, s *mysql.Server) ([]*rows.Plain, error) {
	tables, err := rows.CopyTables(ctx, s, string(f.State.Shard))
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, name := range f.State.Tables {
		missing[name] = true
	}
	var out []*rows.Plain
	for _, t := range tables {
		if f.State.Tables != nil && !missing[t.Name] {
			continue
		}
		delete(missing, t.Name)
		p, err := rows.PlainOf(ctx, s, t)
		if err != nil {
			return nil, f.input(err, "leave its table out: --tables")
		}
		out = append(out, p)
	}
	if len(missing) > 0 {
		return nil, f.input(fmt.Errorf("no table %s, or it is system-versioned", farm.Some(slices.Sorted(maps.Keys(missing)))), "")
	}
	if len(out) == 0 {
		return nil, f.input(fmt.Errorf("%s has no tables", s.Name()), "")
	}
	return out, nil
}
