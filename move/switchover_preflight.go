package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// parties are those whom the questions before a succession are about.
type parties struct {
	s       *succession
	old     peer // the instance that is moved
	primary peer // takes the writes; the same one in a switchover
	source  peer // of the seed: a replica where there is one
	routing *route.Pair
}

// successionChecks are asked in this order, all of them. What is asked of any
// two servers is shared with the replacement of a side.
func successionChecks() []act.Question[*parties] {
	plain := func(ask func(*parties) []farm.Finding) func(context.Context, *parties) ([]farm.Finding, error) {
		return func(_ context.Context, p *parties) ([]farm.Finding, error) { return ask(p), nil }
	}
	// like asks a question of the replacement of a side, whose twin is the
	// server that takes the writes.
	like := func(look func(context.Context, *survey) ([]farm.Finding, error)) func(context.Context, *parties) ([]farm.Finding, error) {
		return func(ctx context.Context, p *parties) ([]farm.Finding, error) { return look(ctx, p.Survey()) }
	}
	each := func(ask func(context.Context, peer) ([]farm.Finding, error)) func(context.Context, *parties) ([]farm.Finding, error) {
		return func(ctx context.Context, p *parties) (out []farm.Finding, err error) {
			for _, x := range p.all() {
				found, err := ask(ctx, x)
				if err != nil {
					return out, err
				}
				out = append(out, found...)
			}
			return out, nil
		}
	}
	return []act.Question[*parties]{
		{Name: "privileges", Look: func(ctx context.Context, p *parties) (out []farm.Finding, err error) {
			for _, x := range p.all() {
				found, err := askPrivileges(ctx, x, p.s.mover.repairPrivileges()...)
				if err != nil {
					return out, err
				}
				out = append(out, found...)
			}
			return out, nil
		}},
		{Name: "topology", Look: plain(askOneWriter)},
		{Name: "writer", Look: askNobodyElseWrites},
		{Name: "routing", Look: plain(askPrimaryRouting)},
		{Name: "flavor", Look: askSuccessionFlavor},
		{Name: "binary-log", Look: plain(askSuccessionLog)},
		{Name: "server-ids", Look: plain(askSuccessionIDs)},
		{Name: "replication", Look: plain(askSourceHealthy)},
		{Name: "replicas", Look: askOthers},
		{Name: "replication-account", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			return askReplicationAccount(ctx, p.primary, p.s.mover.Replication, p.s.fresh.Address)
		}},
		{Name: "tls", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			as, err := p.s.replicationAs(ctx)
			if err != nil {
				return nil, err
			}
			return askTLS(ctx, p.primary, as, p.s.order.Move.To.Host, p.s.freshHost)
		}},
		{Name: "backup-account", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			return askBackup(ctx, p.source, p.s.mover)
		}},
		{Name: "accounts", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			return askAccounts(ctx, p.source, p.s.old.Address, p.s.fresh.Address)
		}},
		{Name: "tables", Look: like(checkTables)},
		{Name: "foreign-keys", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			return askCascades(ctx, p.primary, farm.Note)
		}},
		{Name: "definers", Look: like(checkDefiners)},
		{Name: "layout", Look: plain(func(p *parties) []farm.Finding { return askLayout(p.source, p.old) })},
		{Name: "files", Look: each(askFiles)},
		{Name: "plugins", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) { return askPlugins(ctx, p.old) }},
		{Name: "encryption", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) { return askEncryption(ctx, p.source) }},
		{Name: "durability", Look: each(func(_ context.Context, x peer) ([]farm.Finding, error) { return askDurability(x), nil })},
		{Name: "semi-sync", Look: plain(askSuccessionSemiSync)},
		{Name: "option-file", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			out, err := askOptionFiles(ctx, p.s.replacement, p.old, p.primary)
			if err != nil || farm.Blocks(out) {
				return out, err
			}
			open, err := askStartsOpen(ctx, p)
			return append(out, open...), err
		}},
		{Name: "memory", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) { return p.s.surveyMemory(ctx) }},
		{Name: "fence", Look: askKeptOut},
		{Name: "long-work", Look: like(checkLongWork)},
		{Name: "events", Look: like(checkEvents)},
		{Name: "binlog-retention", Look: like(checkRetention)},
		{Name: "way-back", Look: func(_ context.Context, p *parties) ([]farm.Finding, error) {
			return askWayBack(p.s.mover, p.s.order.Move)
		}},
		{Name: "target", Look: like(checkTarget)},
		{Name: "space", Look: func(ctx context.Context, p *parties) ([]farm.Finding, error) {
			return askSpace(ctx, p.source, p.s.freshHost, p.s.order.Move.To.Host, p.s.fresh.Dir())
		}},
	}
}

// all are the servers there are, each once.
func (p *parties) all() []peer {
	out := []peer{p.primary}
	for _, x := range []peer{p.source, p.old} {
		if !slices.ContainsFunc(out, func(y peer) bool { return y.server.Address() == x.server.Address() }) {
			out = append(out, x)
		}
	}
	return out
}

// survey is this as the questions of a replacement look at it.
func (p *parties) Survey() *survey {
	return &survey{r: p.s.replacement, old: p.old.facts, twin: p.primary.facts, routing: p.routing}
}

// hasReplica reports whether the seed comes from another server than the one
// that takes the writes.
func (p *parties) hasReplica() bool { return p.source.server.Address() != p.primary.server.Address() }

// survey runs all checks.
func (s *succession) Survey(ctx context.Context) ([]farm.Finding, error) {
	p := &parties{s: s}
	for _, x := range []struct {
		into   *peer
		server *mysql.Server
	}{{&p.old, s.Leaves}, {&p.primary, s.Twin}, {&p.source, s.from}} {
		var err error
		if *x.into, err = askPeer(ctx, string(x.server.Name()), x.server); err != nil {
			return nil, err
		}
	}
	p.old.name = string(s.order.Move.Instance) // without "(old)"
	s.Scheduler = p.old.is("event_scheduler") == "ON"
	t, err := s.Routing(ctx)
	if err != nil {
		return nil, err
	}
	p.routing = t.Pairs[s.Pair]
	return act.Ask(ctx, successionChecks(), p)
}

// askOneWriter: one server takes the writes and follows nobody; the other
// follows it and nobody else.
func askOneWriter(p *parties) []farm.Finding {
	var out []farm.Finding
	if p.primary.facts.Replication.Configured {
		r := p.primary.facts.Replication
		out = append(out, blocker(p.primary.name, fmt.Sprintf("it takes the writes and is set up to replicate from %s:%d", r.Host, r.Port),
			"it would get writes from two sides: "+p.primary.facts.Flavor.Forget()+" there, or correct farm.yaml (active-active?)"))
	}
	if p.hasReplica() {
		switch r := p.source.facts.Replication; {
		case r.Sources > 1:
			out = append(out, blocker(p.source.name, fmt.Sprintf("it replicates from %d sources", r.Sources), "a replica that is moved, or seeded from, must follow one primary only"))
		case !r.Follows(p.primary.server.Address()):
			out = append(out, blocker(p.source.name, "it does not replicate from the primary at "+p.primary.server.Address(), "point it there, or correct farm.yaml"))
		}
	}
	return out
}

// askNobodyElseWrites: a transaction that only the replica has would come into
// the copy, and be on no other server.
func askNobodyElseWrites(ctx context.Context, p *parties) ([]farm.Finding, error) {
	var out []farm.Finding
	if p.primary.is("read_only") != "OFF" {
		out = append(out, blocker(p.primary.name, "farm.yaml has it as the server that takes the writes, and it is read-only", "which server serves? correct farm.yaml, or SET GLOBAL read_only = OFF"))
	}
	if !p.hasReplica() {
		return out, nil
	}
	if p.source.is("read_only") == "OFF" {
		out = append(out, blocker(p.source.name, "it is a replica and takes writes", "SET GLOBAL read_only = ON, and in its option file"))
	}
	now, err := p.primary.server.BinlogPosition(ctx) // later than what the replica said
	if err != nil {
		return out, err
	}
	if !now.Reached(p.source.facts.Binlog) {
		out = append(out, blocker(p.source.name, fmt.Sprintf("it has transactions that the primary lacks: %s, and the primary is at %s", p.source.facts.Binlog, now),
			"a client wrote to the replica: find the transactions in its binary log, reconcile the two servers, and rebuild the replica"))
	}
	return out, nil
}

func askPrimaryRouting(p *parties) []farm.Finding {
	pair := string(p.s.Pair)
	if p.routing == nil {
		return []farm.Finding{blocker(pair, "routing does not know the pair", "stowage routing init writes a first table")}
	}
	var out []farm.Finding
	if got := p.routing.Sides[farm.A].Address; got != p.primary.server.Address() || p.routing.Share(farm.A, farm.A) != 100 || p.routing.Share(farm.B, farm.A)+p.routing.Share(farm.B, farm.B) != 0 {
		out = append(out, blocker(pair, fmt.Sprintf("routing does not send all clients to side A at %s (it has %q)", p.primary.server.Address(), got), "make the two agree"))
	}
	if p.routing.GateIsClosed(farm.A) {
		out = append(out, blocker(pair, "the gate of side A is closed", "finish what closed it: stowage status, stowage resume"))
	}
	if !p.s.movesPrimary() && !slices.Contains(p.routing.Replicas, p.old.server.Address()) {
		out = append(out, warning(pair, "routing does not name the replica for reads that may be old", "whoever reads there knows its address from elsewhere: tell them the new one before it is retired"))
	}
	return out
}

func askSuccessionFlavor(ctx context.Context, p *parties) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, x := range p.all() {
		if why := x.facts.Flavor.TooOld(); why != "" {
			out = append(out, blocker(x.name, "it is "+x.facts.Flavor.String()+"; "+why, "upgrade the pair first, or leave it out of the plan"))
		}
	}
	if p.source.facts.Flavor.ClonesItself() {
		why, err := p.source.server.CanClone(ctx)
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = append(out, blocker(p.source.name, why+", and the new instance is seeded by it", "INSTALL PLUGIN clone SONAME 'mysql_clone.so'"))
		}
	}
	if !p.source.facts.Flavor.CanSeedFrom(p.primary.facts.Flavor) {
		out = append(out, blocker(p.source.name, fmt.Sprintf("the servers of the pair run %s and %s", p.primary.facts.Flavor, p.source.facts.Flavor), "bring both to one series first"))
	}
	return out, nil
}

func askSuccessionLog(p *parties) []farm.Finding {
	var out []farm.Finding
	for _, x := range p.all() {
		for _, n := range x.facts.Flavor.SuccessionNeeds() {
			if x.is(n[0]) != n[1] {
				out = append(out, blocker(x.name, fmt.Sprintf("%s is %s, must be %s", n[0], x.is(n[0]), n[1]), remedyOf(p.s.Pair, x.facts.Flavor, n[0])))
			}
		}
	}
	if p.hasReplica() && !strings.EqualFold(p.source.facts.Replication.UsingGTID, "Slave_Pos") {
		out = append(out, blocker(p.source.name, "it replicates by file and position", byGTID(p.s.Pair, p.source.facts.Flavor)))
	}
	return out
}

func askSuccessionIDs(p *parties) []farm.Finding {
	var out []farm.Finding
	id := p.s.order.Move.ServerID
	seen := map[uint32]string{}
	for _, x := range p.all() {
		if other, twice := seen[x.facts.ServerID]; twice {
			out = append(out, blocker(x.name, fmt.Sprintf("it has server_id %d, as %s has", x.facts.ServerID, other), "give one of them another and restart it"))
		}
		seen[x.facts.ServerID] = x.name
		if x.facts.ServerID == id || slices.Contains(x.facts.KnownIDs, id) {
			out = append(out, blocker(x.name, fmt.Sprintf("server_id %d, which the plan gives to the new instance, has been used before", id),
				"raise next_server_id in farm.yaml above every id ever used, and plan again"))
		}
	}
	return out
}

func askSourceHealthy(p *parties) []farm.Finding {
	if !p.hasReplica() {
		return nil
	}
	r := p.source.facts.Replication
	if r.Filters != "" {
		return []farm.Finding{blocker(p.source.name, "it filters replication: "+r.Filters, "a copy of it would be incomplete: remove the filters and rebuild it")}
	}
	if err := r.Broken(); err != nil {
		return []farm.Finding{blocker(p.source.name, err.Error(), "repair replication before moving anything")}
	}
	if r.BehindOK && r.Behind > time.Minute {
		return []farm.Finding{blocker(p.source.name, fmt.Sprintf("it is %v behind the primary", r.Behind), "wait until it has caught up")}
	}
	return nil
}

// askOthers: who else follows the instance that is moved is pointed at the new
// one, and must let us in for that.
func askOthers(ctx context.Context, p *parties) ([]farm.Finding, error) {
	others, strangers, err := p.s.others(ctx)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	for _, text := range strangers {
		out = append(out, blocker(p.old.name, text, "set report_host and report_port on it, or end it for the time of the move: it would read from a server that is retired"))
	}
	for _, o := range others {
		server := mysql.Open(o.Name, o.Address, p.s.mover.Admin, p.s.mover.Log)
		r, err := server.Replication(ctx)
		_ = server.Close()
		switch {
		case err != nil && p.hasLeft(ctx, o):
		case err != nil:
			out = append(out, blocker(string(o.Name), "it follows "+p.old.name+" and cannot be asked: "+err.Error(), farm.Hint(err)))
		case !r.Follows(p.old.server.Address()):
			out = append(out, blocker(string(o.Name), "it is to follow "+p.old.name+" and does not", "point it there, or correct farm.yaml"))
		case r.Sources > 1 || !strings.EqualFold(r.UsingGTID, "Slave_Pos"):
			out = append(out, blocker(string(o.Name), "it has several sources, or replicates by file and position", "let it follow one source by GTID: "+byGTID(p.s.Pair, p.old.facts.Flavor)))
		default:
			out = append(out, remark(string(o.Name), "it follows "+p.old.name, "nothing to do: it is pointed at the new instance before the old one goes"))
		}
	}
	return out, nil
}

// unnoticed is for how long a server that has been stopped may still be listed as
// a replica: its source notices with the next write, or heartbeat (half of
// slave_net_timeout, 60 s by default).
const unnoticed = 35 * time.Second

// hasLeft waits until a replica that nobody answers for is not listed any more:
// the old place of a replica that was moved a moment ago.
func (p *parties) hasLeft(ctx context.Context, o otherReplica) bool {
	if slices.Contains(p.s.order.Others, o) {
		return false // farm.yaml has it
	}
	for end := time.Now().Add(unnoticed); time.Now().Before(end); {
		now, _, err := p.s.others(ctx)
		if err != nil {
			return false
		}
		if !slices.Contains(now, o) {
			return true
		}
		if pauseFor(ctx, 200*time.Millisecond) != nil {
			return false
		}
	}
	return false
}

// askSuccessionSemiSync: for a while the new instance is the only one that
// follows the primary, and then the other way round. Where commits wait for an
// acknowledgement, both must give it.
func askSuccessionSemiSync(p *parties) []farm.Finding {
	if p.primary.is("rpl_semi_sync_master_enabled") != "ON" || p.primary.is("rpl_semi_sync_slave_enabled") == "ON" {
		return nil
	}
	return []farm.Finding{blocker(p.primary.name, fmt.Sprintf("commits wait for a replica's acknowledgement (semi-synchronous replication, up to %s ms), and an instance with its options would give none",
		p.primary.is("rpl_semi_sync_master_timeout")),
		"set rpl_semi_sync_slave_enabled = ON on the primary too (it takes effect when it replicates), or switch rpl_semi_sync_master_enabled off for the move")}
}

// askStartsOpen: the new instance starts with the old one's options.
func askStartsOpen(ctx context.Context, p *parties) ([]farm.Finding, error) {
	if !p.s.movesPrimary() {
		return nil, nil
	}
	start, err := p.s.oldHost.Options(ctx, p.s.old)
	if err != nil {
		return nil, nil // askOptionFile says so
	}
	if v, _, ok := start.Value("read_only"); ok && v != "OFF" && v != "0" {
		return []farm.Finding{warning(p.old.name, "its option file starts it read-only; the new instance will start so, too",
			"nothing to do if that is intended: after a restart a person has to open it")}, nil
	}
	return nil, nil
}

// askKeptOut: who is not stopped by read_only is kept out of the old primary.
func askKeptOut(ctx context.Context, p *parties) ([]farm.Finding, error) {
	if !p.s.movesPrimary() {
		return nil, nil
	}
	who, err := p.primary.server.Privileged(ctx, p.s.mover.Replication.User)
	if err != nil {
		return nil, err
	}
	if len(who.Bar) == 0 {
		return nil, nil
	}
	names := make([]string, 0, len(who.Bar))
	for _, g := range who.Bar {
		names = append(names, g.String())
	}
	// Whether we may do that is better known before the gate is closed.
	if err := p.primary.server.MayBar(ctx); err != nil {
		return []farm.Finding{blocker(p.primary.name, fmt.Sprintf("read_only does not stop %s, and Stowage may not lock accounts: %v", some(names), errors.Unwrap(err)),
			"GRANT CREATE USER to the [stowage] account, or revoke READ ONLY ADMIN from these: docs/privileges.md")}, nil
	}
	return []farm.Finding{warning(p.primary.name, "read_only does not stop "+some(names)+": their sessions are ended and the accounts locked on the old primary",
		"revoke READ ONLY ADMIN and SUPER from accounts that applications use, and this is not needed")}, nil
}
