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
	"stowage/host"
	"stowage/inventory"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

// survey is what the checks of one side look at.
type survey struct {
	r         *replacement
	old, twin mysql.Facts
	routing   *route.Pair
}

// checks are asked in this order, all of them, and every answer is reported.
// Each stands for something that has broken a move, or was seen to lose data.
var checks = []act.Question[*survey]{
	{Name: "privileges", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askPrivileges(ctx, p, s.r.mover.repairPrivileges()...) })
	}},
	{Name: "topology", Look: checkTopology},
	{Name: "routing", Look: checkRouting},
	{Name: "flavor", Look: checkFlavor},
	{Name: "binary-log", Look: checkBinaryLog},
	{Name: "server-ids", Look: checkServerIDs},
	{Name: "gtid-domains", Look: checkDomains},
	{Name: "auto-increment", Look: checkAutoIncrement},
	{Name: "replication", Look: checkReplication},
	{Name: "replication-account", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askReplicationAccount(ctx, s.twinPeer(), s.r.mover.Replication, s.r.fresh.Address)
	}},
	{Name: "tls", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		as, err := s.r.replicationAs(ctx)
		if err != nil {
			return nil, err
		}
		return s.bothPeers(func(p peer) ([]farm.Finding, error) {
			out, err := askTLS(ctx, p, as, s.r.order.Move.To.Host, s.r.freshHost)
			if p.name == s.oldName() {
				out = append(out, askOwnTLS(p, s.r.mover.Admin, s.r.order.Move.To.Host, s.r.fresh.Dial())...)
			}
			return out, err
		})
	}},
	{Name: "backup-account", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askBackup(ctx, s.twinPeer(), s.r.mover)
	}},
	{Name: "accounts", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askAccounts(ctx, s.twinPeer(), s.r.old.Address, s.r.fresh.Address)
	}},
	{Name: "tables", Look: checkTables},
	{Name: "versioned-tables", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) { return askVersioned(ctx, s.twinPeer()) }},
	{Name: "foreign-keys", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askCascades(ctx, s.twinPeer(), farm.Note)
	}},
	{Name: "definers", Look: checkDefiners},
	{Name: "triggers", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askTriggers(ctx, p) })
	}},
	{Name: "layout", Look: func(_ context.Context, s *survey) ([]farm.Finding, error) {
		return askLayout(s.twinPeer(), s.oldPeer()), nil
	}},
	{Name: "files", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askFiles(ctx, p) })
	}},
	{Name: "plugins", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) { return askPlugins(ctx, s.oldPeer()) }},
	{Name: "encryption", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askEncryption(ctx, s.twinPeer())
	}},
	{Name: "character-sets", Look: func(_ context.Context, s *survey) ([]farm.Finding, error) {
		return askCharsets(s.oldPeer(), s.twinPeer()), nil
	}},
	{Name: "sql-mode", Look: func(_ context.Context, s *survey) ([]farm.Finding, error) {
		return askSQLMode(s.oldPeer(), s.twinPeer()), nil
	}},
	{Name: "time-zones", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askTimeZones(ctx, s.oldPeer(), s.twinPeer())
	}},
	{Name: "clocks", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askClocks(ctx, s.oldPeer(), s.twinPeer())
	}},
	{Name: "durability", Look: func(_ context.Context, s *survey) ([]farm.Finding, error) {
		return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askDurability(p), nil })
	}},
	{Name: "semi-sync", Look: func(_ context.Context, s *survey) ([]farm.Finding, error) {
		return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askSemiSync(p), nil })
	}},
	{Name: "option-file", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askOptionFiles(ctx, s.r, s.oldPeer(), s.twinPeer())
	}},
	{Name: "memory", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) { return s.r.surveyMemory(ctx) }},
	{Name: "fence", Look: checkFence},
	{Name: "long-work", Look: checkLongWork},
	{Name: "sessions", Look: checkSessions},
	{Name: "open-files", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askOpenFiles(ctx, s.twinPeer(), s.oldPeer())
	}},
	{Name: "events", Look: checkEvents},
	{Name: "binlog-retention", Look: checkRetention},
	{Name: "way-back", Look: func(_ context.Context, s *survey) ([]farm.Finding, error) {
		return askWayBack(s.r.mover, s.r.order.Move)
	}},
	{Name: "target", Look: checkTarget},
	{Name: "space", Look: func(ctx context.Context, s *survey) ([]farm.Finding, error) {
		return askSpace(ctx, s.twinPeer(), s.r.freshHost, s.r.order.Move.To.Host, s.r.fresh.Dir())
	}},
}

// Checks are the names of what is asked before a side is replaced, in order. docs/reference/preflight.md explains each.
func Checks() []string {
	var out []string
	for _, c := range checks {
		out = append(out, c.Name)
	}
	return out
}

// preflight asks everything once more, right before the side is touched.
func (r *replacement) preflight(ctx context.Context) error {
	if n, ok := r.readNote(ctx); ok && n.Position != "" {
		// Resumed from a later step's failure in another run: the target is
		// not empty because it is ours.
		r.Report(farm.Event{Kind: farm.StepProgress, Text: "this move has made a seed before"})
	}
	return act.MayGoOn(ctx, r)
}

// survey runs all checks.
func (r *replacement) Survey(ctx context.Context) ([]farm.Finding, error) {
	s := &survey{r: r}
	var err error
	if s.old, err = r.Leaves.Preflight(ctx); err != nil {
		return nil, err
	}
	if s.twin, err = r.Twin.Preflight(ctx); err != nil {
		return nil, err
	}
	r.Scheduler = s.old.Variables["event_scheduler"] == "ON"
	t, err := r.Routing(ctx)
	if err != nil {
		return nil, err
	}
	s.routing = t.Pairs[r.Pair]
	return act.Ask(ctx, checks, s)
}

func (s *survey) oldName() string  { return string(s.r.order.Move.Instance) }
func (s *survey) twinName() string { return string(s.r.order.TwinInstance) }

func (s *survey) oldPeer() peer  { return peer{s.oldName(), s.r.Leaves, s.old} }
func (s *survey) twinPeer() peer { return peer{s.twinName(), s.r.Twin, s.twin} }

// bothPeers asks the same of the side and its twin.
func (s *survey) bothPeers(ask func(peer) ([]farm.Finding, error)) ([]farm.Finding, error) {
	out, err := ask(s.oldPeer())
	if err != nil {
		return nil, err
	}
	more, err := ask(s.twinPeer())
	return append(out, more...), err
}

func blocker(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Blocker, Subject: subject, Text: text, Remedy: remedy}
}

// both asks the same of the side and its twin.
func (s *survey) both(ask func(name string, f mysql.Facts) []farm.Finding) []farm.Finding {
	return append(ask(s.oldName(), s.old), ask(s.twinName(), s.twin)...)
}

func checkTopology(_ context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, x := range []struct {
		name  string
		facts mysql.Facts
		of    string
	}{{s.oldName(), s.old, s.r.Twin.Address()}, {s.twinName(), s.twin, s.r.Leaves.Address()}} {
		switch {
		case x.facts.Replication.Sources > 1:
			out = append(out, blocker(x.name, fmt.Sprintf("it replicates from %s", farm.Counted(x.facts.Replication.Sources, "source")), "a pair being moved must be a plain ring of two"))
		case !x.facts.Replication.Follows(x.of):
			out = append(out, blocker(x.name, fmt.Sprintf("it does not replicate from its twin at %s", x.of), "repair the ring, or correct farm.yaml"))
		}
	}
	return out, nil
}

func checkRouting(_ context.Context, s *survey) ([]farm.Finding, error) {
	pair := string(s.r.Pair)
	if s.routing == nil {
		return []farm.Finding{blocker(pair, "routing does not know the pair", "add it to routing.json")}, nil
	}
	var out []farm.Finding
	for _, x := range []struct {
		side    farm.SideName
		address string
	}{{s.r.Side, s.r.Leaves.Address()}, {s.r.Side.Twin(), s.r.Twin.Address()}} {
		if got := s.routing.Sides[x.side].Address; got != x.address {
			out = append(out, blocker(pair, fmt.Sprintf("routing sends side %s to %q, farm.yaml says %s", x.side, got, x.address), "make the two agree"))
		}
		if s.routing.GateIsClosed(x.side) {
			out = append(out, blocker(pair, fmt.Sprintf("the gate of side %s is closed", x.side), "finish the run that closed it: stowage status, stowage resume"))
		}
	}
	return out, nil
}

func checkFlavor(ctx context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	if s.twin.Flavor.ClonesItself() {
		why, err := s.r.Twin.CanClone(ctx)
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = append(out, blocker(s.twinName(), why+", and the new instance is seeded by it", "INSTALL PLUGIN clone SONAME 'mysql_clone.so'"))
		}
	}
	if why := s.twin.Flavor.TooOld(); why != "" {
		out = append(out, blocker(s.twinName(), "it is "+s.twin.Flavor.String()+"; "+why, "upgrade the pair first, or leave it out of the plan"))
	}
	if !s.twin.Flavor.CanSeedFrom(s.old.Flavor) {
		out = append(out, blocker(s.oldName(), fmt.Sprintf("the sides run %s and %s", s.old.Flavor, s.twin.Flavor), "bring both to one series first"))
	}
	return out, nil
}

func checkBinaryLog(_ context.Context, s *survey) ([]farm.Finding, error) {
	need := s.twin.Flavor.RingNeeds()
	return s.both(func(name string, f mysql.Facts) []farm.Finding {
		var out []farm.Finding
		for _, n := range need {
			if f.Variables[n[0]] != n[1] {
				out = append(out, blocker(name, fmt.Sprintf("%s is %s, must be %s", n[0], f.Variables[n[0]], n[1]), swing.RemedyOf(s.r.order.Move.Pair, f.Flavor, n[0])))
			}
		}
		if !strings.EqualFold(f.Replication.UsingGTID, "Slave_Pos") {
			out = append(out, blocker(name, swing.FollowsBy(f.Replication), swing.ByGTID(s.r.order.Move.Pair, f.Flavor)))
		}
		return out
	}), nil
}

func checkServerIDs(_ context.Context, s *survey) ([]farm.Finding, error) {
	id := s.r.order.Move.ServerID
	var out []farm.Finding
	if s.old.ServerID == s.twin.ServerID {
		out = append(out, blocker(s.oldName(), fmt.Sprintf("both sides have server_id %d", s.old.ServerID), "give one of them another and restart it"))
	}
	for _, f := range []mysql.Facts{s.old, s.twin} {
		if slices.Contains(f.KnownIDs, id) || f.ServerID == id {
			out = append(out, blocker(s.oldName(), fmt.Sprintf("server_id %d, which the plan gives to the new instance, has been used before", id),
				"raise next_server_id in farm.yaml above every id ever used, and plan again"))
			break
		}
	}
	return out, nil
}

func checkDomains(_ context.Context, s *survey) ([]farm.Finding, error) {
	if !s.twin.Flavor.HasGTIDDomains() || s.old.Domain != s.twin.Domain {
		return nil, nil
	}
	return []farm.Finding{inventory.OneDomain(s.r.order.Move.Pair, s.oldName(), s.twinName(), s.old.Domain)}, nil
}

func checkAutoIncrement(_ context.Context, s *survey) ([]farm.Finding, error) {
	o, t := s.old.Variables, s.twin.Variables
	if o["auto_increment_increment"] == t["auto_increment_increment"] && o["auto_increment_increment"] != "1" &&
		o["auto_increment_offset"] != t["auto_increment_offset"] {
		return nil, nil
	}
	return []farm.Finding{blocker(s.oldName(), fmt.Sprintf("auto_increment is %s/%s on one side and %s/%s on the other",
		o["auto_increment_increment"], o["auto_increment_offset"], t["auto_increment_increment"], t["auto_increment_offset"]),
		"set increment 2 on both and offsets 1 and 2, or both sides will give out the same keys")}, nil
}

func checkReplication(_ context.Context, s *survey) ([]farm.Finding, error) {
	return s.both(func(name string, f mysql.Facts) []farm.Finding {
		if f.Replication.Filters != "" {
			return []farm.Finding{blocker(name, "it filters replication: "+f.Replication.Filters, "remove the filters: the sides of a pair hold the same data")}
		}
		if err := f.Replication.Ailing(); err != nil {
			return []farm.Finding{blocker(name, err.Error(), "repair replication before moving anything")}
		}
		if f.Replication.BehindOK && f.Replication.Behind > time.Minute {
			return []farm.Finding{blocker(name, fmt.Sprintf("it is %v behind its twin", f.Replication.Behind), "wait until it has caught up")}
		}
		return nil
	}), nil
}

func checkTables(ctx context.Context, s *survey) ([]farm.Finding, error) {
	bad, err := s.r.Twin.Uncopyable(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, why := range bad {
		names = append(names, name+" ("+why+")")
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	return naming(blocker(s.twinName(), fmt.Sprintf("%s cannot be carried live: %s", farm.Counted(len(names), "table"), farm.Some(names)),
		"convert them to InnoDB and give each a primary key"), names), nil
}

func checkFence(ctx context.Context, s *survey) ([]farm.Finding, error) {
	who, err := s.r.Leaves.Unfenced(ctx)
	if err != nil || len(who) == 0 {
		return nil, err
	}
	return naming(warning(s.oldName(), "read_only does not stop "+farm.Some(who),
		"revoke READ ONLY ADMIN and SUPER from accounts that applications use; the gate alone holds them back"), who), nil
}

// checkLongWork asks about the drain budget: how long a transaction may be open before it is better not to
// begin: the gate would wait for it and give up.
func checkLongWork(ctx context.Context, s *survey) ([]farm.Finding, error) {
	long, err := s.r.Leaves.LongWork(ctx, s.r.Settings.Drain)
	if err != nil || len(long) == 0 {
		return nil, err
	}
	return []farm.Finding{{Severity: farm.Warning, Subject: s.oldName(), Text: "long work is open: " + long[0].String(),
		Remedy: "the swing waits for it before it begins, and gives up for a while if it does not end"}}, nil
}

func checkSessions(ctx context.Context, s *survey) ([]farm.Finding, error) {
	here, err := s.r.Leaves.Clients(ctx)
	if err != nil {
		return nil, err
	}
	there, err := s.r.Twin.Clients(ctx)
	if err != nil {
		return nil, err
	}
	var limit int
	if _, err := fmt.Sscan(s.twin.Variables["max_connections"], &limit); err != nil {
		return nil, fmt.Errorf("read max_connections: %w", err)
	}
	if spare := 6; here+there+spare > limit {
		return []farm.Finding{blocker(s.twinName(), fmt.Sprintf("it must take the sessions of both sides (%d and %d) and has max_connections %d", here, there, limit),
			"raise max_connections on both sides")}, nil
	}
	return nil, nil
}

func checkEvents(ctx context.Context, s *survey) ([]farm.Finding, error) {
	events, err := s.r.Leaves.ScheduledEvents(ctx)
	if err != nil {
		return nil, err
	}
	enabled := 0
	for _, e := range events {
		if e.Status == "ENABLED" {
			enabled++
		}
	}
	if enabled == 0 || !s.r.Scheduler {
		return nil, nil
	}
	return []farm.Finding{{Severity: farm.Note, Subject: s.oldName(), Text: fmt.Sprintf("%d scheduled events pause while the side is out", enabled),
		Remedy: "nothing to do; they run again on the new instance"}}, nil
}

func checkTarget(ctx context.Context, s *survey) ([]farm.Finding, error) {
	r := s.r
	if err := r.freshHost.Claimable(ctx, r.fresh, r.owner()); errors.Is(err, host.ErrForeign) {
		return []farm.Finding{blocker(string(r.order.Move.To.Host), "in the way of the new instance: "+err.Error(), farm.Hint(err))}, nil
	} else if err != nil {
		return nil, err
	}
	if pid, err := r.freshHost.Running(ctx, r.fresh); err != nil || pid != 0 {
		return nil, err // it is this move's own instance, from an attempt that was cut short
	}
	free, err := r.freshHost.PortFree(ctx, r.fresh.Dial())
	if err != nil || free {
		return nil, err
	}
	return []farm.Finding{blocker(string(r.order.Move.To.Host), "something listens at "+r.fresh.Dial()+" already", "stop it, or plan again")}, nil
}

// checkDefiners asks about the accounts of the twin: the new instance gets them with its data. What the old side defines
// on its own is asked too, for its clients use it there.
func checkDefiners(ctx context.Context, s *survey) ([]farm.Finding, error) {
	accounts, err := s.r.Twin.Logins(ctx)
	if err != nil {
		return nil, err
	}
	return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askDefiners(ctx, p, accounts) })
}

func checkRetention(ctx context.Context, s *survey) ([]farm.Finding, error) {
	data, err := s.r.Twin.DataBytes(ctx, s.twin.Flavor)
	if err != nil {
		return nil, err
	}
	planned := time.Duration(s.r.order.Move.Seconds * float64(time.Second))
	// The twin, because the new instance follows it; the old side, because its own replication must outlast the move too.
	return s.bothPeers(func(p peer) ([]farm.Finding, error) { return askRetention(p, data, planned), nil })
}
