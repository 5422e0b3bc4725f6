package alter

import (
	"context"
	"fmt"
	"slices"

	"stowage/act"
	"stowage/alter/plan"
	"stowage/farm"
	"stowage/mysql"
	"stowage/sides"
	"stowage/swing"
)

// Questions are asked in this order, all of them, behind those about sides that leave.
var questions = []act.Question[*work]{
	{Name: "altered-tables", Look: askTables},
	{Name: "privileges", Look: askPrivileges},
	{Name: "fence", Look: askFence},
	{Name: "log", Look: askLog},
	{Name: "replication", Look: askReplicas},
	{Name: "readers", Look: askReaders},
	{Name: "relay-log", Look: askRelayLog},
	{Name: "room", Look: askRoom},
}

// Survey implements act.Work: whether the sides may leave, and whether the tables are what the plan begins with.
func (w *work) Survey(ctx context.Context) ([]farm.Finding, error) {
	var found []farm.Finding
	for _, s := range w.all() {
		if err := w.act.Greet(ctx, s.Order.Leaves.At.Host); err != nil {
			return nil, err
		}
		if w.order.servesMeanwhile() {
			continue
		}
		of, err := s.Survey(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range of { // all sides are asked: what is wrong with the pair is said once
			if !slices.ContainsFunc(found, func(o farm.Finding) bool { return o.Subject == f.Subject && o.Text == f.Text }) {
				found = append(found, f)
			}
		}
	}
	more, err := act.Ask(ctx, questions, w)
	return slices.Concat(found, more), err
}

// askTables: each table is as it was when the plan was made, or as the plan wants it.
func askTables(ctx context.Context, w *work) (found []farm.Finding, err error) {
	for _, s := range w.all() {
		now, err := w.look(ctx, s.Leaves)
		if err != nil {
			return nil, err
		}
		other, of := "", 0
		for _, t := range w.pair.Tables {
			switch is, text := now(t); {
			case is == isBefore, is == isAfter:
			case text == "":
				found = append(found, sides.Blocker(subjectOf(s.Leaves, t.Shard, w.plan.Forms[t.Form].Change.Table), "the table is not there", "plan again"))
			default:
				other, of = subjectOf(s.Leaves, t.Shard, w.plan.Forms[t.Form].Change.Table), of+1
			}
		}
		if of > 0 {
			found = append(found, sides.Blocker(other, fmt.Sprintf("%s of this server, this one among them, are defined in another way than when the plan was made", farm.Counted(of, "table")), "see what was changed, and plan again"))
		}
	}
	return found, nil
}

// askPrivileges: the account may change tables.
func askPrivileges(ctx context.Context, w *work) (found []farm.Finding, err error) {
	for _, s := range w.all() {
		lacking, err := s.Leaves.LackingOf(ctx, "ALTER", "CREATE", "DROP", "INDEX", "INSERT")
		if err != nil {
			return nil, err
		}
		if !lacking.IsNone() {
			found = append(found, sides.Blocker(string(s.Leaves.Name()), lacking.Text(), lacking.Remedy()))
		}
	}
	return found, nil
}

// askLog: statements in the binary log would be carried out on tables of another shape.
func askLog(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.order.servesMeanwhile() {
		return nil, nil
	}
	for _, s := range w.all() {
		is, err := s.Leaves.Variables(ctx, "binlog_format")
		if err != nil {
			return nil, err
		}
		if is["binlog_format"] != "ROW" {
			found = append(found, sides.Blocker(string(s.Leaves.Name()), "binlog_format is "+is["binlog_format"]+", must be ROW", "SET GLOBAL binlog_format = ROW, and in its option file; sessions keep the old one until they end"))
		}
	}
	return found, nil
}

// askReplicas: a statement of the binary log reaches replicas whose replication runs.
func askReplicas(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.order.Runbook != plan.Logged || w.second == nil {
		return nil, nil
	}
	for _, s := range append([]*side{w.second}, w.others...) {
		r, err := s.Leaves.Replication(ctx)
		if err != nil {
			return nil, err
		}
		peer := swing.Peer{Name: string(s.Leaves.Name()), Server: s.Leaves, Facts: mysql.Facts{Replication: r}}
		found = append(found, swing.AskFollows(peer, w.first.Leaves, "")...)
		found = append(found, swing.AskHealthy(peer)...)
		for _, f := range swing.AskUnfiltered(peer, "the ALTER may not reach it") {
			f.Severity, f.Remedy = farm.Warning, "the run waits until it has the new tables; where its filters leave one out, change that one there yourself"
			found = append(found, f)
		}
	}
	return found, nil
}

// askReaders: what is not in the binary log reaches nobody else who follows the server.
func askReaders(ctx context.Context, w *work) (found []farm.Finding, err error) {
	if w.order.Runbook == plan.Logged {
		return nil, nil
	}
	for _, s := range w.all() {
		readers, tools, err := s.Leaves.Readers(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range readers {
			known, err := w.isOurs(ctx, r)
			if err != nil {
				return nil, err
			}
			if !known {
				found = append(found, sides.Blocker(string(s.Leaves.Name()), fmt.Sprintf("server %d at %s replicates from it and is not a side of the pair: the ALTER would not reach it", r.ServerID, r.Address),
					"take it into farm.yaml, or detach it and make it anew afterwards"))
			}
		}
		if tools > 0 {
			f := sides.Blocker(string(s.Leaves.Name()), farm.Counted(tools, "other reader")+" of its binary log sees rows of the new shape without an ALTER before them", "tell its owner; it may have to be started again")
			f.Severity = farm.Warning
			found = append(found, f)
		}
	}
	return found, nil
}

// isOurs reports whether a replica is a side of the pair, and gets the change.
func (w *work) isOurs(ctx context.Context, r mysql.Reader) (bool, error) {
	for _, s := range w.all() {
		id, err := s.Leaves.Setting(ctx, "server_id")
		if err != nil {
			return false, err
		}
		if r.Address == s.Leaves.Address() || id == fmt.Sprint(r.ServerID) {
			return true, nil
		}
	}
	pair, _ := w.act.Farm.Pair(w.order.Pair)
	for _, at := range pair.Sides { // a further replica: it has a part of its own
		if r.Address == w.act.Farm.Address(at) {
			return true, nil
		}
	}
	return false, nil
}

// askRelayLog: while the twin is held its relay log grows.
func askRelayLog(ctx context.Context, w *work) ([]farm.Finding, error) {
	if !w.order.isHeld() {
		return nil, nil
	}
	is, err := w.second.Leaves.Variables(ctx, "relay_log_space_limit")
	if err != nil || is["relay_log_space_limit"] == "0" || is["relay_log_space_limit"] == "" {
		return nil, err
	}
	return []farm.Finding{sides.Blocker(string(w.second.Leaves.Name()), "relay_log_space_limit is "+is["relay_log_space_limit"]+": when it is full the server receives nothing more, and while it is altered it applies nothing",
		"set it to 0 in its option file and restart it: stowage roll")}, nil
}

// askRoom: a table that is written anew needs its size again, meanwhile.
func askRoom(ctx context.Context, w *work) (found []farm.Finding, err error) {
	_, largest := w.plan.Bytes(w.pair)
	if largest == 0 {
		return nil, nil
	}
	for _, s := range w.all() {
		free, err := s.At.FreeBytes(ctx, s.At.Datadir)
		if err != nil {
			return nil, err
		}
		if need := largest + largest/5 + 64<<20; free < need {
			found = append(found, sides.Blocker(string(s.Leaves.Name()), fmt.Sprintf("its disk has %s free, and its largest table of the plan needs %s while it is written anew", bytes(free), bytes(need)), "make room first"))
		}
	}
	return found, nil
}

func bytes(n int64) string { return farm.RoundQuantity(float64(n), farm.Disk.Kind()) }
