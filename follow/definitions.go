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
	if err := f.logsWhole(ctx, servers); err != nil {
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

// logsWhole refuses servers whose new sessions log a JSON value in parts. One that does not answer is not asked.
func (f *Follower) logsWhole(ctx context.Context, servers []*mysql.Server) error {
	for _, s := range servers {
		is, err := s.Variables(ctx, "binlog_row_value_options")
		if v := is["binlog_row_value_options"]; err == nil && v != "" {
			return &farm.Error{Op: "follow", Subject: string(f.State.Shard), Err: fmt.Errorf("%w: %s logs JSON in parts (binlog_row_value_options=%s)", farm.ErrRefused, s.Name(), v),
				Hint: "SET GLOBAL binlog_row_value_options = '' there, then let clients reconnect"}
		}
	}
	return nil
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
	return out, f.cascades(ctx, s, out)
}

// cascades refuses tables of which the server changes rows without saying so in the binary log, unless that is accepted.
func (f *Follower) cascades(ctx context.Context, s *mysql.Server, followed []*rows.Plain) error {
	all, err := s.CascadesInto(ctx, string(f.State.Shard))
	if err != nil {
		return err
	}
	var names []string
	for _, c := range all {
		if slices.ContainsFunc(followed, func(p *rows.Plain) bool { return p.Table.Name == c.Table }) {
			names = append(names, c.String())
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case f.AcceptCascades:
		f.tell("lines may be missing: foreign keys change rows of %s, and the binary log does not show it", farm.Some(names))
		return nil
	}
	return &farm.Error{Op: "follow", Subject: string(f.State.Shard), Hint: "other tables: --tables; or do without those lines: --accept-cascades",
		Err: fmt.Errorf("%w: foreign keys change rows of %s; the server logs only the row that began it", farm.ErrRefused, farm.Some(names))}
}
