package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Routing is the router that farm.yaml names; what it writes is noted. It does not dial.
func (s *Session) Routing() (route.Maker, error) {
	r, err := s.bareRouting()
	if err != nil {
		return nil, err
	}
	return route.Keep(r, s.RoutingNotes()), nil
}

// RoutingNotes are what this program has written of routing.
func (s *Session) RoutingNotes() *route.Notes {
	return route.NotesAt(s.StatePath("routing.notes"))
}

func (s *Session) bareRouting() (route.Maker, error) {
	ws, f, x := s.Workspace, s.Farm, s.Farm.Routing
	switch x.Kind {
	case "", farm.RoutingFile:
		return route.NewFile(ws.Path("routing.json")), nil
	case farm.RoutingHAProxy:
		return route.NewHAProxy(route.HAProxyOptions{Path: ws.Path("routing.json"), Sockets: x.Sockets, CutAfter: x.CutAfter}), nil
	case farm.RoutingEtcd:
		o := route.EtcdOptions{Endpoints: x.Endpoints, Prefix: x.Prefix, GoodFor: x.GoodFor}
		if o.Prefix == "" {
			o.Prefix = "/stowage/" + f.Name + "/"
		}
		for _, file := range []struct {
			into *string
			name string
		}{{&o.CA, x.CA}, {&o.Cert, x.Cert}, {&o.Key, x.Key}} {
			if file.name != "" {
				*file.into = ws.Path(file.name)
			}
		}
		if x.Account != "" {
			a, err := mysql.ReadAccount(ws.Path(f.Accounts), x.Account)
			if err != nil {
				return nil, err
			}
			o.User, o.Password = a.User, a.Password
		}
		return route.NewEtcd(o)
	case farm.RoutingSQL:
		group := x.Account
		if group == "" {
			group = "stowage"
		}
		a, err := mysql.ReadAccount(ws.Path(f.Accounts), group)
		if err != nil {
			return nil, err
		}
		table := mysql.Open("routing", x.Address, NamedIn(f, a), s.opts.Log).RoutingTable(x.Database)
		where := fmt.Sprintf("SQL table %s.%s at %s", x.Database, mysql.RoutingTableName, x.Address)
		return &sqlRouter{route.NewShared(table, where, x.GoodFor), table}, nil
	case farm.RoutingExec:
		program := slices.Clone(x.Program)
		if filepath.Base(program[0]) != program[0] { // a path, not a name to look for
			program[0] = ws.Path(program[0])
		}
		return route.NewExec(route.ExecOptions{Program: program, Dir: ws.Dir, Lock: filepath.Join(ws.State(), "routing"),
			Timeout: x.Timeout, Gated: x.Gated, Whole: x.Whole, Settle: x.Settle}), nil
	}
	return nil, &farm.Error{Op: "open routing", Subject: "farm.yaml", Err: fmt.Errorf("%w: routing of kind %q", farm.ErrInput, x.Kind)}
}

// sqlRouter makes its table before the first thing is written into it.
type sqlRouter struct {
	*route.Shared
	table *mysql.RoutingTable
}

func (r *sqlRouter) Restore(ctx context.Context, last *route.Table) error {
	if err := r.table.Make(ctx); err != nil {
		return err
	}
	return r.Shared.Restore(ctx, last)
}
