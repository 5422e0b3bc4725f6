package move

import (
	"context"
	"fmt"
	"slices"

	"stowage/act"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// shardSurvey is what the checks of one shard look at.
type shardSurvey struct {
	s        *shardMove
	table    *route.Table
	from, to mysql.Facts // of the sides that are copied from and to
	// ahead: the target is still to be made, after the model of pairs such as
	// this one; the source is asked in its place.
	ahead bool
}

// shardChecks are asked in this order, all of them, and every answer is reported.
var shardChecks = []act.Question[*shardSurvey]{
	{Name: "privileges", Look: shardPrivileges},
	{Name: "routing", Look: shardRouting},
	{Name: "databases", Look: shardDatabases},
	{Name: "flavor", Look: shardFlavor},
	{Name: "binary-log", Look: shardBinaryLog},
	{Name: "replication", Look: shardReplication},
	{Name: "settings", Look: shardSettings},
	{Name: "long-work", Look: shardLongWork},
	{Name: "space", Look: shardSpace},
	{Name: "carrier", Look: shardCarrier},
}

// survey runs all checks.
func (s *shardMove) Survey(ctx context.Context) ([]farm.Finding, error) {
	v := &shardSurvey{s: s}
	var err error
	if v.ahead, err = s.isAhead(); err != nil {
		return nil, err
	}
	if v.ahead {
		s.to = s.from
		s.carrier = s.newCarrier()
	}
	if v.from, err = s.from.main.Facts(ctx); err != nil {
		return nil, err
	}
	if v.to, err = s.to.main.Facts(ctx); err != nil {
		return nil, err
	}
	if v.table, err = s.table(ctx); err != nil {
		return nil, err
	}
	return act.Ask(ctx, shardChecks, v)
}

// isAhead reports whether the target is still to be made.
func (s *shardMove) isAhead() (bool, error) {
	if !s.order.New {
		return false, nil
	}
	now, err := s.mover.Workspace.Farm()
	if err != nil {
		return false, err
	}
	_, there := now.Pair(s.order.To.Pair)
	return !there, nil
}

// shardCarrier asks the carrier; ahead of the target's making, that its source
// has the database is no finding.
func shardCarrier(ctx context.Context, v *shardSurvey) ([]farm.Finding, error) {
	out, err := v.s.carrier.refusals(ctx)
	if v.ahead {
		out = slices.DeleteFunc(out, func(f farm.Finding) bool { return f.Check == "copier-database" })
	}
	return out, err
}

// shardPrivileges: on both main sides; the twins get everything by replication.
func shardPrivileges(ctx context.Context, v *shardSurvey) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, server := range []*mysql.Server{v.s.from.main, v.s.to.main} {
		lacking, err := server.LackingForShards(ctx)
		if err != nil {
			return nil, err
		}
		if !lacking.IsNone() {
			out = append(out, blocker(string(server.Name()), lacking.Text(), lacking.Remedy()))
		}
	}
	return out, nil
}

// shardRouting: clients ask for their shard, find it where farm.yaml has it,
// and nothing else is under way on either pair.
func shardRouting(_ context.Context, v *shardSurvey) ([]farm.Finding, error) {
	o := v.s.order
	if !v.s.mover.Router.Guarantee().Shards {
		return []farm.Finding{blocker("routing", "this way of routing cannot hold and send a single shard",
			"route by the file, etcd, an SQL table, or a program that vouches for a gate: docs/reference/routing.md")}, nil
	}
	var out []farm.Finding
	if pairs := v.table.Serves(o.Shard); len(pairs) != 1 || pairs[0] != o.From.Pair {
		out = append(out, blocker(string(o.Shard), fmt.Sprintf("routing has it at %v, farm.yaml at %s", pairs, o.From.Pair), "make the two agree"))
	}
	ends := []shardEnd{o.From, o.To}
	if v.ahead {
		ends = ends[:1]
	}
	for _, e := range ends {
		p := v.table.Pairs[e.Pair]
		if p == nil {
			out = append(out, blocker(string(e.Pair), "routing does not know the pair", "stowage routing shows what it knows; add the pair there"))
			continue
		}
		for _, r := range p.Routes {
			if r.Gate == route.Closed || r.Side != r.Home {
				out = append(out, blocker(string(e.Pair), fmt.Sprintf("clients of side %s are served by side %s, gate %s: the pair is being switched", r.Home, r.Side, r.Gate),
					"finish what switches it: stowage status, stowage resume"))
			}
		}
		for side, address := range p.Sides {
			if want := e.Addresses[side]; address.Address != want {
				out = append(out, blocker(string(e.Pair), fmt.Sprintf("routing sends side %s to %s, farm.yaml says %q", side, address.Address, want), "make the two agree"))
			}
		}
	}
	return out, nil
}

// shardDatabases: the shard is where it comes from, on both sides, and nothing
// of its name is where it goes.
func shardDatabases(ctx context.Context, v *shardSurvey) ([]farm.Finding, error) {
	s := v.s
	var out []farm.Finding
	for _, server := range s.from.all() {
		there, err := server.HasSchema(ctx, s.schema())
		if err != nil {
			return nil, err
		}
		if !there {
			out = append(out, blocker(string(server.Name()), "it has no database "+s.schema(), "correct farm.yaml: it names the wrong pair for the shard"))
		}
		if fenced, err := server.HoldIsLeft(ctx, s.schema()); err != nil {
			return nil, err
		} else if fenced {
			out = append(out, blocker(string(server.Name()), "database "+s.schema()+" is read-only there", "find out who fenced it; then ALTER SCHEMA "+s.schema()+" READ ONLY = 0"))
		}
	}
	if v.ahead || s.Step != "" && s.Step != "preflight" {
		return out, nil // it is to be made, or the copy is ours
	}
	for _, server := range s.to.all() {
		there, err := server.HasSchema(ctx, s.schema())
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, blocker(string(server.Name()), "it has a database "+s.schema()+" already",
				"find its owner; if it is an unused copy: DROP DATABASE "+s.schema()))
		}
	}
	return out, nil
}

func shardFlavor(_ context.Context, v *shardSurvey) ([]farm.Finding, error) {
	for _, x := range []struct {
		server *mysql.Server
		flavor mysql.Flavor
	}{{v.s.from.main, v.from.Flavor}, {v.s.to.main, v.to.Flavor}} {
		if why := x.flavor.TooOld(); why != "" {
			return []farm.Finding{blocker(string(x.server.Name()), "it is "+x.flavor.String()+"; "+why, "upgrade it first")}, nil
		}
	}
	if was, is := v.from.Variables["lower_case_table_names"], v.to.Variables["lower_case_table_names"]; was != is {
		return []farm.Finding{blocker(string(v.s.to.main.Name()), fmt.Sprintf("lower_case_table_names is %s, and %s where the shard comes from", is, was), "choose a target with the same setting")}, nil
	}
	return nil, nil
}

func shardBinaryLog(_ context.Context, v *shardSurvey) ([]farm.Finding, error) {
	need := [][2]string{{"log_bin", "ON"}, {"binlog_format", "ROW"}, {"binlog_row_image", "FULL"}}
	var out []farm.Finding
	for _, x := range []struct {
		server *mysql.Server
		facts  mysql.Facts
		twin   bool
	}{{v.s.from.main, v.from, v.s.from.twin != nil}, {v.s.to.main, v.to, v.s.to.twin != nil}} {
		all := append(need[:len(need):len(need)], x.facts.Flavor.ShardNeeds()...)
		if x.twin { // what the twin's clients write must be in this side's log
			all = append(all[:len(all):len(all)], [2]string{"log_slave_updates", "ON"})
		}
		for _, n := range all {
			if x.facts.Variables[n[0]] != n[1] {
				out = append(out, blocker(string(x.server.Name()), fmt.Sprintf("%s is %s, must be %s", n[0], x.facts.Variables[n[0]], n[1]), "set "+n[0]+" in the option file and restart, side by side"))
			}
		}
	}
	return out, nil
}

// shardReplication: within each pair, what one side writes comes to the other.
func shardReplication(ctx context.Context, v *shardSurvey) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, e := range []ends{v.s.from, v.s.to} {
		if e.twin == nil {
			continue
		}
		replicas := map[*mysql.Server]*mysql.Server{e.twin: e.main}
		if e.twinWrites {
			replicas[e.main] = e.twin
		}
		for replica, source := range replicas {
			r, err := replica.Replication(ctx)
			if err != nil {
				return nil, err
			}
			name := string(replica.Name())
			switch {
			case r.Ailing() != nil:
				out = append(out, blocker(name, r.Ailing().Error(), "repair replication before moving anything"))
			case !r.Follows(source.Address()):
				out = append(out, blocker(name, fmt.Sprintf("it does not replicate from its twin at %s", source.Address()), "repair the pair, or correct farm.yaml"))
			case r.Sources > 1:
				out = append(out, blocker(name, fmt.Sprintf("it replicates from %s", farm.Counted(r.Sources, "source")), "end the other connections first"))
			case r.Filters != "":
				out = append(out, blocker(name, "it filters replication: "+r.Filters, "remove the filters: the sides of a pair hold the same data"))
			case r.BehindOK && r.Behind > lagAllowed:
				out = append(out, blocker(name, fmt.Sprintf("it is %v behind its twin", r.Behind), "wait until it has caught up"))
			}
		}
	}
	return out, nil
}

// mayChange are variables that change what statements of the shard do, or what
// keys it gives out.
var mayChange = []string{"sql_mode", "character_set_server", "collation_server", "time_zone", "system_time_zone", "auto_increment_increment",
	"sync_binlog", "innodb_flush_log_at_trx_commit"}

func shardSettings(_ context.Context, v *shardSurvey) ([]farm.Finding, error) {
	var differ []string
	for _, name := range mayChange {
		if was, is := v.from.Variables[name], v.to.Variables[name]; was != is {
			differ = append(differ, fmt.Sprintf("%s is %q, was %q", name, is, was))
		}
	}
	if len(differ) == 0 {
		return nil, nil
	}
	return []farm.Finding{{Severity: farm.Warning, Subject: string(v.s.to.main.Name()), Text: "for the shard's clients " + farm.Some(differ),
		Remedy: "make the target's settings those of the source, or make sure that the application does not depend on them"}}, nil
}

func shardLongWork(ctx context.Context, v *shardSurvey) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, server := range v.s.from.writers() {
		long, err := server.LongWork(ctx, v.s.settings.Drain)
		if err != nil {
			return nil, err
		}
		if len(long) > 0 {
			out = append(out, farm.Finding{Severity: farm.Warning, Subject: string(server.Name()), Text: "long work is open: " + long[0].String(),
				Remedy: "the cutover waits for it before it begins, and gives up for a while if it does not end"})
		}
	}
	return out, nil
}

// shardSpace: the shard, once for its rows and once for the binary log that
// carries them to the twin, on each side of the target.
func shardSpace(ctx context.Context, v *shardSurvey) ([]farm.Finding, error) {
	need := 2*v.from.Shards[v.s.order.Shard] + 64<<20
	var out []farm.Finding
	for side, place := range v.s.order.To.Hosts {
		h, err := v.s.mover.Host(place.Host)
		if err != nil {
			return nil, err
		}
		free, err := h.FreeBytes(ctx, v.s.mover.Workspace.Path(place.Datadir))
		if err != nil {
			return nil, err
		}
		if free < need {
			out = append(out, blocker(string(v.s.order.To.instance(side)), fmt.Sprintf("%d MB are free on %s, the copy needs %d", free>>20, place.Host, need>>20), "free disk space there"))
		}
	}
	return out, nil
}
