package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
)

// survey is what the checks of one side look at.
type survey struct {
	r         *replacement
	old, twin mysql.Facts
	routing   *route.Pair
}

// question is one thing asked before a side is moved.
type question struct {
	name string
	look func(context.Context, *survey) ([]farm.Finding, error)
}

// checks are asked in this order, all of them, and every answer is reported.
// Each stands for something that has broken a move, or was seen to lose data.
var checks = []question{
	{"topology", checkTopology},
	{"routing", checkRouting},
	{"flavor", checkFlavor},
	{"binary-log", checkBinaryLog},
	{"server-ids", checkServerIDs},
	{"gtid-domains", checkDomains},
	{"auto-increment", checkAutoIncrement},
	{"replication", checkReplication},
	{"tables", checkTables},
	{"fence", checkFence},
	{"long-work", checkLongWork},
	{"sessions", checkSessions},
	{"events", checkEvents},
	{"target", checkTarget},
	{"space", checkSpace},
}

// Survey asks everything of every pair of a job, before anything is touched.
func (m *Mover) Survey(ctx context.Context, job engine.Job) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, lane := range job.Lanes {
		// Of a pair that moves both sides, the second side's twin does not
		// exist yet; it is asked when its turn comes.
		part := lane.Parts[0]
		found, err := m.surveyPart(ctx, engine.Call{Job: job.ID, Subject: part.Subject, Args: part.Args})
		if ctx.Err() != nil {
			return out, &farm.Error{Op: "preflight", Err: farm.ErrInterrupted}
		}
		if err != nil {
			// One pair that cannot be asked must not hide what others say.
			remedy := farm.Hint(err)
			if remedy == "" {
				remedy = "stowage inventory shows which servers answer"
			}
			f := blocker(part.Subject, err.Error(), remedy)
			f.Check = "can-be-asked"
			found = []farm.Finding{f}
		}
		out = append(out, found...)
	}
	return out, nil
}

func (m *Mover) surveyPart(ctx context.Context, c engine.Call) ([]farm.Finding, error) {
	step, _ := find("preflight")
	r, err := m.replacement(c, step, func(string) {})
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.survey(ctx)
}

// preflight asks everything once more, right before the side is touched.
func (r *replacement) preflight(ctx context.Context) error {
	if n, ok := r.readNote(ctx); ok && n.Position != "" {
		// Resumed from a later step's failure in another run: the target is
		// not empty because it is ours.
		r.tell(farm.Event{Kind: farm.StepProgress, Text: "a seed of this move is there already"})
	}
	findings, err := r.survey(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Severity == farm.Blocker {
			return &farm.Error{Op: "preflight", Subject: f.Subject, Err: fmt.Errorf("%w: %s (%s)", farm.ErrRefused, f.Text, f.Check), Hint: f.Remedy}
		}
	}
	return nil
}

// survey runs all checks.
func (r *replacement) survey(ctx context.Context) ([]farm.Finding, error) {
	s := &survey{r: r}
	var err error
	if s.old, err = r.Leaves.Facts(ctx); err != nil {
		return nil, err
	}
	if s.twin, err = r.Twin.Facts(ctx); err != nil {
		return nil, err
	}
	r.Scheduler = s.old.Variables["event_scheduler"] == "ON"
	t, err := r.Router.Read(ctx)
	if err != nil {
		return nil, err
	}
	s.routing = t.Pairs[r.Pair]
	var out []farm.Finding
	for _, c := range checks {
		found, err := c.look(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", c.name, err)
		}
		for i := range found {
			found[i].Check = c.name
		}
		out = append(out, found...)
	}
	return out, nil
}

func (s *survey) oldName() string  { return string(s.r.order.Move.Instance) }
func (s *survey) twinName() string { return string(s.r.order.TwinInstance) }

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
			out = append(out, blocker(x.name, fmt.Sprintf("it replicates from %d sources", x.facts.Replication.Sources), "a pair being moved must be a plain ring of two"))
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
			out = append(out, blocker(pair, fmt.Sprintf("the gate of side %s is closed", x.side), "finish what closed it: stowage move status, stowage move resume"))
		}
	}
	return out, nil
}

func checkFlavor(_ context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	if !s.twin.Flavor.HasGTIDDomains() {
		out = append(out, blocker(s.twinName(), "it is "+s.twin.Flavor.String()+"; active-active sides are replaced on MariaDB only so far", "leave this pair out of the plan"))
	}
	if !s.twin.Flavor.CanSeedFrom(s.old.Flavor) {
		out = append(out, blocker(s.oldName(), fmt.Sprintf("the sides run %s and %s", s.old.Flavor, s.twin.Flavor), "bring both to one series first"))
	}
	return out, nil
}

func checkBinaryLog(_ context.Context, s *survey) ([]farm.Finding, error) {
	need := [][2]string{{"log_bin", "ON"}, {"log_slave_updates", "ON"}, {"binlog_format", "ROW"}, {"binlog_row_image", "FULL"},
		{"gtid_strict_mode", "ON"}, {"gtid_ignore_duplicates", "ON"}}
	return s.both(func(name string, f mysql.Facts) []farm.Finding {
		var out []farm.Finding
		for _, n := range need {
			if f.Variables[n[0]] != n[1] {
				out = append(out, blocker(name, fmt.Sprintf("%s is %s, must be %s", n[0], f.Variables[n[0]], n[1]),
					"set "+n[0]+" in the option file and restart, side by side"))
			}
		}
		if !strings.EqualFold(f.Replication.UsingGTID, "Slave_Pos") {
			out = append(out, blocker(name, "it replicates by file and position", "STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID=slave_pos; START SLAVE"))
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
	if s.old.Domain != s.twin.Domain {
		return nil, nil
	}
	return []farm.Finding{blocker(s.oldName(), fmt.Sprintf("both sides write GTID domain %d", s.old.Domain),
		"give each side a gtid_domain_id of its own, unique in the farm")}, nil
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
		if err := f.Replication.Broken(); err != nil {
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
	return []farm.Finding{blocker(s.twinName(), fmt.Sprintf("%d tables cannot be carried live: %s", len(names), strings.Join(names[:min(3, len(names))], ", ")),
		"convert them to InnoDB and give each a primary key")}, nil
}

func checkFence(ctx context.Context, s *survey) ([]farm.Finding, error) {
	who, err := s.r.Leaves.Unfenced(ctx)
	if err != nil || len(who) == 0 {
		return nil, err
	}
	return []farm.Finding{{Severity: farm.Warning, Subject: s.oldName(),
		Text:   "read_only does not stop " + strings.Join(who[:min(4, len(who))], ", "),
		Remedy: "revoke READ ONLY ADMIN and SUPER from accounts that applications use; the gate alone holds them back"}}, nil
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

func checkSpace(ctx context.Context, s *survey) ([]farm.Finding, error) {
	var data int64
	for _, bytes := range s.twin.Shards {
		data += bytes
	}
	// Data, as much again for the copy's log and growth, and what an empty
	// server takes.
	need := 2*data + 64<<20
	free, err := s.r.freshHost.FreeBytes(ctx, s.r.fresh.Dir())
	if err != nil || free >= need {
		return nil, err
	}
	return []farm.Finding{blocker(string(s.r.order.Move.To.Host), fmt.Sprintf("%d MB are free, the copy needs %d", free>>20, need>>20), "free disk space on the target")}, nil
}
