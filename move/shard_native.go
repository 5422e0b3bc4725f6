package move

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"stowage/act"

	"stowage/copier"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/lazy"
	"stowage/mysql"
	"stowage/mysql/rows"
	"stowage/placement"
)

// native is the target's own replication, as the order wants it, or nil.
func (s *shardMove) native() *copier.Native {
	if s.order.How != ByReplication {
		return nil
	}
	return &copier.Native{Account: s.mover.Replication, LinkedAs: s.linkedAs, Domains: s.order.Domains, Last: s.linkLasts}
}

// linkedAs gives the account of the target's link to the source its TLS: that
// of [replication], else of a link of the target's pair, whose files are there,
// else of the source's.
func (s *shardMove) linkedAs(ctx context.Context, as mysql.Account) (mysql.Account, error) {
	return as.LinkedAs(ctx, append(s.to.all(), s.from.all()...)...)
}

// linkLasts keeps a connection's filters in the target's option file, or takes
// them out.
func (s *shardMove) linkLasts(ctx context.Context, lines []string) error {
	h, i, err := s.targetFile()
	if err != nil {
		return err
	}
	return s.mover.edited.Edit(ctx, h, i, func(text string) string { return host.LinkOptions(i, text, lines) })
}

func (s *shardMove) targetFile() (host.Host, host.Instance, error) {
	end := s.order.To
	place := end.Hosts[end.Side]
	h, err := s.mover.Host(place.Host)
	return h, s.mover.instance(end.instance(end.Side), placement.Place{Host: place.Host, Datadir: place.Datadir, Config: place.Config, GroupSuffix: place.GroupSuffix}), err
}

// nativeSurvey is what the questions look at that speak for or against the
// target's own replication.
type nativeSurvey struct {
	s        *shardMove
	from, to mysql.Facts
	is       map[string]string // further variables of the target
	was      map[string]string // and of the source
}

// nativeQuestions are asked in this order. Each answer is a reason why the
// target's own replication cannot carry the shard's changes; what keeps the
// copier from it, too, is asked elsewhere.
var nativeQuestions = []act.Question[*nativeSurvey]{
	{Name: "replication-flavor", Look: nativeFlavor},
	{Name: "replication-settings", Look: nativeSettings},
	{Name: "replication-ring", Look: nativeRing},
	{Name: "replication-domains", Look: nativeDomains},
	{Name: "replication-server-ids", Look: nativeServerIDs},
	{Name: "replication-connections", Look: nativeConnections},
	{Name: "replication-tls", Look: nativeTLS},
	{Name: "replication-names", Look: nativeNames},
	{Name: "replication-outside", Look: nativeOutside},
	{Name: "replication-account", Look: nativeAccount},
	{Name: "replication-filters", Look: nativeFilters},
}

// nativeObstacles asks them.
func (s *shardMove) nativeObstacles(ctx context.Context) ([]farm.Finding, error) {
	v := &nativeSurvey{s: s}
	var err error
	if v.from, err = s.from.main.Facts(ctx); err != nil {
		return nil, err
	}
	if v.to, err = s.to.main.Facts(ctx); err != nil {
		return nil, err
	}
	// The other questions are put in words that only MariaDB knows.
	if found, err := act.Ask(ctx, nativeQuestions[:1], v); err != nil || len(found) > 0 {
		return found, err
	}
	if v.is, err = s.to.main.Variables(ctx, "slave_exec_mode", "rpl_semi_sync_slave_enabled"); err != nil {
		return nil, err
	}
	if v.was, err = s.from.main.Variables(ctx, "rpl_semi_sync_master_enabled"); err != nil {
		return nil, err
	}
	return act.Ask(ctx, nativeQuestions, v)
}

func (v *nativeSurvey) target() string { return string(v.s.to.main.Name()) }

func nativeFlavor(_ context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	from, to := v.from.Flavor, v.to.Flavor
	switch {
	case from.Vendor != "MariaDB" || to.Vendor != "MariaDB":
		return []farm.Finding{blocker(v.target(), fmt.Sprintf("filtered connections beside the twin's are built for MariaDB only, and this is %s to %s", from, to), "--how copier")}, nil
	case to.Major < from.Major || to.Major == from.Major && to.Minor < from.Minor:
		return []farm.Finding{blocker(v.target(), fmt.Sprintf("%s does not replicate from the newer %s", to, from), "--how copier")}, nil
	}
	return nil, nil
}

// nativeSettings: what is applied reaches the twin, and stops at the first row
// that is not as it should be.
func nativeSettings(_ context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	var out []farm.Finding
	need := func(name, variable, is, want, why string) {
		if is != want {
			out = append(out, blocker(name, fmt.Sprintf("%s is %s: %s", variable, is, why), "set it to "+want+", or --how copier"))
		}
	}
	need(v.target(), "log_slave_updates", v.to.Variables["log_slave_updates"], "ON", "what comes from the source would not be in the binary log, and not reach the twin")
	need(v.target(), "slave_exec_mode", v.is["slave_exec_mode"], "STRICT", "the server would skip rows that are missing or present twice")
	if v.was["rpl_semi_sync_master_enabled"] == "ON" && v.is["rpl_semi_sync_slave_enabled"] == "ON" {
		out = append(out, blocker(v.target(), "it would acknowledge all of the source's commits (semi-synchronous replication) and keep only the shard's", "--how copier"))
	}
	return out, nil
}

const ringText = "it follows its twin, from which the source's changes would come back before it has noted them, and its replication stop (error 1950)"

// nativeRing: a target whose twin writes, too, gets back round the ring what it
// has just applied. With gtid_ignore_duplicates it passes over what it has
// noted; but it notes a transaction a moment after its twin can have it, and
// what came back in that moment stopped the ring (error 1950, seen in three
// moves of ten). By GTID, connections wait for each other there; a Link cannot
// follow by GTID.
func nativeRing(_ context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	if !v.s.to.twinWrites {
		return nil, nil
	}
	return []farm.Finding{blocker(v.target(), ringText, "--how copier")}, nil
}

// domainsOf are the GTID domains that the sides of an end write.
func domainsOf(ctx context.Context, e ends) ([]uint32, error) {
	var out []uint32
	for _, server := range e.all() {
		is, err := server.Variables(ctx, "gtid_domain_id")
		if err != nil {
			return nil, err
		}
		d, err := strconv.ParseUint(is["gtid_domain_id"], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read gtid_domain_id of %s: %w", server.Name(), err)
		}
		if !slices.Contains(out, uint32(d)) {
			out = append(out, uint32(d))
		}
	}
	return out, nil
}

// nativeDomains: positions of the source's domains are the source's alone.
func nativeDomains(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	theirs, err := domainsOf(ctx, v.s.from)
	if err != nil {
		return nil, err
	}
	own, err := domainsOf(ctx, v.s.to)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	for _, d := range theirs {
		has, source := v.to.Applied.Last(d), v.from.Binlog.Last(d)
		if written := v.to.Binlog.Last(d); written.Seq > has.Seq {
			has = written
		}
		switch {
		case slices.Contains(own, d):
			out = append(out, blocker(v.target(), fmt.Sprintf("it writes GTID domain %d, as the source does: each server would take the other's positions for its own", d),
				"stowage domains separate gives each side its own; or --how copier"))
		case has.Seq > source.Seq:
			out = append(out, blocker(v.target(), fmt.Sprintf("it has %s of GTID domain %d, and the source only %s: another server writes that domain, too", has, d, source),
				"find out who; until then --how copier"))
		}
	}
	return out, nil
}

// nativeServerIDs: a server skips events that carry its own id, and does not say so.
// Many farms have ids 1 and 2 in each pair.
func nativeServerIDs(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	writes := map[string]farm.InstanceName{}
	for _, source := range v.s.from.all() {
		id, err := source.Setting(ctx, "server_id")
		if err != nil {
			return nil, err
		}
		writes[id] = source.Name()
	}
	var out []farm.Finding
	for _, target := range v.s.to.all() {
		id, err := target.Setting(ctx, "server_id")
		if err != nil {
			return nil, err
		}
		if other, taken := writes[id]; taken {
			out = append(out, blocker(string(target.Name()), fmt.Sprintf("it has server_id %s, as %s has: it would skip that server's changes", id, other), "give it another server_id and restart it, or --how copier"))
		}
	}
	return out, nil
}

func nativeConnections(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	var out []farm.Finding
	links, err := v.s.to.main.Links(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range links {
		if name != mysql.LinkName(v.s.order.Job) {
			out = append(out, blocker(v.target(), "it has connection "+name+" of another move", "when no move is open: STOP SLAVE '"+name+"'; RESET SLAVE '"+name+"' ALL"))
		}
	}
	if v.to.Replication.Configured && !v.s.to.twinWrites {
		out = append(out, blocker(v.target(), fmt.Sprintf("it replicates from %s", v.to.Replication.Host), "--how copier"))
	}
	if twin := v.s.to.twin; twin != nil {
		r, err := twin.Replication(ctx)
		if err != nil {
			return nil, err
		}
		for _, source := range v.s.from.all() {
			if r.Follows(source.Address()) {
				out = append(out, blocker(string(twin.Name()), "it replicates from "+string(source.Name())+" already", "--how copier"))
			}
		}
	}
	return out, nil
}

// plainName is a name that stands for itself in a list of filters and in an
// option file.
var plainName = lazy.Regexp(`^[A-Za-z0-9_$-]+$`)

func nativeNames(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	tables, err := rows.CopyTables(ctx, v.s.from.main, v.s.schema())
	if err != nil {
		return nil, err
	}
	names := []string{v.s.schema()}
	for _, t := range tables {
		names = append(names, t.Name)
	}
	for _, n := range names {
		if !plainName().MatchString(n) {
			return []farm.Finding{blocker(v.s.schema(), fmt.Sprintf("%q cannot be written in a replication filter", n), "--how copier")}, nil
		}
	}
	return nil, nil
}

// nativeOutside: views, routines, triggers and events that name another
// database. Their rows there would not come along.
func nativeOutside(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	found, err := rows.ReachesOutside(ctx, v.s.from.main, v.s.schema())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return []farm.Finding{blocker(v.s.schema(), "it reaches into other databases: "+firstOf(found, 3), "--how copier, if the other databases are at the target, too")}, nil
}

func nativeAccount(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	var out []farm.Finding
	lacking, err := v.s.to.main.LackingOf(ctx, "BINLOG REPLAY")
	if err != nil {
		return nil, err
	}
	if !lacking.IsNone() {
		out = append(out, blocker(v.target(), lacking.Text(), lacking.Remedy()))
	}
	source := v.s.from.main
	if err := mysql.ReplicaAccountWorks(ctx, source.Address(), v.s.mover.Replication, source); err != nil {
		out = append(out, blocker(string(source.Name()), err.Error(), farm.Hint(err)))
	}
	return out, nil
}

// nativeTLS: the link speaks TLS where the source's account asks for it, with
// files that the target's host has.
func nativeTLS(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	as, err := v.s.linkedAs(ctx, v.s.mover.Replication)
	if err != nil {
		return nil, err
	}
	end := v.s.order.To
	on := end.Hosts[end.Side].Host
	h, err := v.s.mover.Host(on)
	if err != nil {
		return nil, err
	}
	source := v.s.from.main
	return askTLS(ctx, peer{name: string(source.Name()), server: source}, as, on, h)
}

// nativeFilters: they have to outlast a restart of the target.
func nativeFilters(ctx context.Context, v *nativeSurvey) ([]farm.Finding, error) {
	h, i, err := v.s.targetFile()
	if err == nil {
		var start host.Start
		if start, err = h.Options(ctx, i); err == nil {
			end := v.s.order.To
			to := peer{name: v.target(), server: v.s.to.main}
			return whoseFile(to, start, i, string(end.Hosts[end.Side].Host), "config of "+to.name+" in farm.yaml"), nil
		}
	}
	return []farm.Finding{blocker(v.target(), "its option file cannot be read, and filters must be in it: after a restart the connection would run without: "+err.Error(),
		"config: in farm.yaml says where it is; or --how copier")}, nil
}
