package move

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
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
			out, err := askTLS(ctx, p.primary, as, p.s.order.Move.To.Host, p.s.freshHost)
			return append(out, askOwnTLS(p.old, p.s.mover.Admin, p.s.order.Move.To.Host, p.s.fresh.Dial())...), err
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

// asked are all, for questions that acts share.
func (p *parties) asked() (out []swing.Peer) {
	for _, x := range p.all() {
		out = append(out, x.asked())
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
	out := swing.AskFollowsNobody(p.primary.asked())
	if p.hasReplica() {
		out = append(out, swing.AskFollows(p.source.asked(), p.primary.server, "a replica that is moved, or seeded from,")...)
	}
	return out
}

// askNobodyElseWrites: a transaction that only the replica has would come into
// the copy, and be on no other server.
func askNobodyElseWrites(ctx context.Context, p *parties) ([]farm.Finding, error) {
	var replica swing.Peer
	if p.hasReplica() {
		replica = p.source.asked()
	}
	return swing.AskWrites(ctx, p.primary.asked(), replica)
}

func askPrimaryRouting(p *parties) []farm.Finding {
	out := swing.AskWriterRouting(p.s.Pair, farm.A, p.primary.server, p.routing)
	if p.routing != nil && !p.s.movesPrimary() && !slices.Contains(p.routing.Replicas, p.old.server.Address()) {
		out = append(out, warning(string(p.s.Pair), "routing does not name the replica for reads that may be old", "its readers know its address from elsewhere: tell them the new one before it is retired"))
	}
	return out
}

func askSuccessionFlavor(ctx context.Context, p *parties) ([]farm.Finding, error) {
	out := swing.AskSeries(p.asked(), p.primary.asked(), p.source.asked(), "it out of the plan")
	if !p.source.facts.Flavor.ClonesItself() {
		return out, nil
	}
	why, err := p.source.server.CanClone(ctx)
	if err == nil && why != "" {
		out = append(out, blocker(p.source.name, why+", and the new instance is seeded by it", "INSTALL PLUGIN clone SONAME 'mysql_clone.so'"))
	}
	return out, err
}

func askSuccessionLog(p *parties) []farm.Finding {
	out := swing.AskBinaryLogs(p.s.Pair, p.asked())
	if p.hasReplica() {
		out = append(out, swing.AskByGTID(p.s.Pair, p.source.asked())...)
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
	return append(swing.AskUnfiltered(p.source.asked(), "a copy of it would be incomplete"), swing.AskHealthy(p.source.asked())...)
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
			out = append(out, blocker(string(o.Name), "it has several sources, or replicates by file and position", "let it follow one source by GTID: "+swing.ByGTID(p.s.Pair, p.old.facts.Flavor)))
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
		"set "+p.primary.word("rpl_semi_sync_slave_enabled")+" = ON on the primary too (it takes effect when it replicates), or switch "+p.primary.word("rpl_semi_sync_master_enabled")+" off for the move")}
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
	return swing.AskKeptOut(ctx, p.primary.server, p.s.mover.Replication.User, "their sessions are ended and the accounts locked on the old primary")
}
