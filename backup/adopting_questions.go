package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/inventory"
	"stowage/mysql"
	"stowage/swing"
)

// What is asked before a restored instance becomes a side. Restores that stay beside have nothing to answer.

// askTwin asks whether the side that is left can carry the pair, and be the source of the restored one.
func askTwin(ctx context.Context, r *restoring) (out []farm.Finding, err error) {
	x := r.order.Side
	if x == nil {
		return nil, nil
	}
	name := string(r.order.LiveName)
	block := func(remedy, format string, args ...any) {
		out = append(out, farm.Finding{Severity: farm.Blocker, Subject: name, Text: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	is, err := r.live.Preflight(ctx)
	if err != nil {
		block("start the twin first: the restored side catches up from it", "it does not answer: %v", err)
		return out, nil
	}
	needs := is.Flavor.RingNeeds()
	if x.Replica {
		needs = is.Flavor.SuccessionNeeds()
	}
	for _, need := range needs {
		if is.Variables[need[0]] != need[1] {
			block(swing.RemedyOf(x.Pair, is.Flavor, need[0]), "%s is %s, must be %s", need[0], is.Variables[need[0]], need[1])
		}
	}
	if is.Variables["read_only"] != "OFF" {
		block("SET GLOBAL read_only = OFF, if this side must serve", "it is read-only, but must take the writes of the pair")
	}
	if n := is.Replication.Sources; n > 1 {
		block("end that replication: only a pair of two servers gets a side back", "it replicates from %s", farm.Counted(n, "source"))
	}
	if is.Replication.Filters != "" {
		block("remove the filters: the sides of a pair hold the same data", "it filters replication: %s", is.Replication.Filters)
	}
	if is.Replication.Configured && is.Replication.SQL == "No" {
		block("repair its replication first: no other server has the changes that it has received and not applied", "its SQL thread stopped: %s", orNothing(is.Replication.SQLError))
	}
	if id := r.order.ServerID; slices.Contains(is.KnownIDs, id) || is.ServerID == id {
		block("raise next_server_id in farm.yaml above every id ever used", "server_id %d, meant for the restored instance, was used before", id)
	}
	t, err := r.side.Routing(ctx)
	if err != nil {
		return out, err
	}
	switch p := t.Pairs[x.Pair]; {
	case p == nil:
		block("stowage routing init writes a first table", "routing does not know pair %s", x.Pair)
	case p.Sides[x.twin()].Address != r.live.Address():
		block("make the two agree", "routing sends side %s to %q, farm.yaml says %s", x.twin(), p.Sides[x.twin()].Address, r.live.Address())
	case p.GateIsClosed(x.twin()):
		block("finish the run that closed it: stowage status, stowage resume", "the gate of side %s is closed", x.twin())
	}
	return out, nil
}

func orNothing(text string) string {
	if text == "" {
		return "no error given (stopped by hand?)"
	}
	return text
}

// askLost asks whether the side that is replaced is really lost. One that only this program cannot reach still takes writes.
func askLost(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	x := r.order.Side
	if x == nil {
		return nil, nil
	}
	block := func(remedy, format string, args ...any) ([]farm.Finding, error) {
		return []farm.Finding{{Severity: farm.Blocker, Subject: x.name(), Text: fmt.Sprintf(format, args...), Remedy: remedy}}, nil
	}
	if isThere(r.lost.Answers(ctx)) {
		return block(fmt.Sprintf("stowage move instance %s --to %s replaces a running side without loss. To restore it from a backup, stop its server first", x.name(), r.order.On), "its server answers at %s", x.LostAt)
	}
	if now, err := r.live.Replication(ctx); err == nil && now.Follows(x.LostAt) && now.IO == "Yes" {
		return block(fmt.Sprintf("stop it, or cut its power. If it is down: STOP SLAVE IO_THREAD; START SLAVE IO_THREAD on %s drops the dead connection", r.order.LiveName),
			"it does not answer at %s, but %s is still connected to it: it may serve other clients", x.LostAt, r.order.LiveName)
	}
	if pid := r.hungProcess(ctx); pid != 0 {
		return block("end that process: it may still serve connected clients", "it does not answer at %s, and its process %d runs on host %s", x.LostAt, pid, x.Lost.Host)
	}
	return nil, nil
}

// isThere: the server has taken the connection, or has refused it itself.
func isThere(err error) bool { return err == nil || mysql.CodeOf(err) != 0 }

// lostHostPatience is how long a machine is asked that is probably dead.
const lostHostPatience = 5 * time.Second

// hungProcess is the process of the lost side's server on a machine that can be asked; 0: there is none, or nobody knows.
func (r *restoring) hungProcess(ctx context.Context) int {
	x := r.order.Side
	ctx, cancel := context.WithTimeout(ctx, lostHostPatience)
	defer cancel()
	if r.act.Greet(ctx, x.Lost.Host) != nil {
		return 0
	}
	h, err := r.act.Host(x.Lost.Host)
	if err != nil {
		return 0
	}
	pid, err := h.Running(ctx, r.act.instanceOf(x))
	if err != nil {
		return 0
	}
	return pid
}

// mustBeLost asks that again, before clients are sent elsewhere.
func (r *restoring) mustBeLost(ctx context.Context) error {
	found, err := askLost(ctx, r)
	return errorsOf(found, err, "out")
}

// askDomains asks whether the two sides can be distinguished by their GTIDs.
func askDomains(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	x := r.order.Side
	if x == nil || x.Replica || len(x.Domains) == 0 { // it writes nothing, or under a uuid of its own
		return nil, nil
	}
	is, err := r.live.Facts(ctx)
	if err != nil {
		return nil, nil // the question before says so
	}
	if slices.Contains(x.Domains, is.Domain) {
		found := inventory.OneDomain(x.Pair, string(r.order.Instance.Name), string(r.order.LiveName), is.Domain)
		found.Remedy = fmt.Sprintf("make a server of it (stowage restore %s --to %s), let it replicate by hand and without clients, add it to farm.yaml, then: stowage domains separate %s", r.order.last().ID, r.order.On, x.Pair)
		return []farm.Finding{found}, nil
	}
	if len(x.Domains) > 1 {
		return []farm.Finding{{Severity: farm.Blocker, Subject: x.name(), Text: fmt.Sprintf("its GTID domain is not known: %s has %v, and no backup of this side names one", r.order.LiveName, x.Domains),
			Remedy: "restore a backup of this side: stowage backup list"}}, nil
	}
	return nil, nil
}

// askReach asks whether the twin can bring the restored instance from the position of the backup to its own.
func askReach(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	x, b := r.order.Side, r.order.last()
	if x == nil || b.GTID == "" {
		return nil, nil
	}
	at, err := mysql.ParsePosition(b.GTID)
	if err != nil {
		return nil, err
	}
	oldest, err := r.live.OldestPosition(ctx)
	if err != nil {
		return nil, nil // the question before says so
	}
	newest, err := r.live.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	instead := r.wouldDo(oldest, newest)
	switch {
	case !at.Reached(oldest):
		return []farm.Finding{{Severity: farm.Blocker, Subject: string(r.order.LiveName),
			Text: fmt.Sprintf("its binary logs do not reach back to %s at %s: they begin at %s", b.ID, at, oldest), Remedy: instead}}, nil
	case !newest.Reached(at):
		return []farm.Finding{{Severity: farm.Blocker, Subject: string(r.order.LiveName),
			Text:   fmt.Sprintf("it never received %s of backup %s: it is at %s, the backup at %s", farm.Counted(at.Missing(newest)+newest.Missing(at), "transaction"), b.ID, newest, at),
			Remedy: instead + ". To see what only this backup has: stowage restore " + b.ID}}, nil
	}
	return nil, nil
}

// wouldDo names the newest backup of the pair whose position the twin can bring up to its own.
func (r *restoring) wouldDo(oldest, newest mysql.Position) string {
	x := r.order.Side
	none := fmt.Sprintf("no other backup of %s can be used: back up the side that serves (stowage backup run %s/%s --full), and restore that", x.Pair, x.Pair, x.twin())
	all, err := kept.All(r.act.Store)
	if err != nil {
		return none
	}
	for _, b := range slices.Backward(catalogue.Of(catalogue.Physical(all), r.act.Farm.Name, x.Pair)) {
		at, err := mysql.ParsePosition(b.GTID)
		if err != nil || b.GTID == "" || !at.Reached(oldest) || !newest.Reached(at) {
			continue
		}
		if _, err := chainOf(b.ID, all); err == nil {
			return fmt.Sprintf("the newest usable backup is %s: stowage restore %s --as-side %s --to %s", b.ID, b.ID, x.Side, r.order.On)
		}
	}
	return none
}

// mayReach asks that again, before the restored instance asks the twin.
func (r *restoring) mayReach(ctx context.Context) error {
	found, err := askReach(ctx, r)
	return errorsOf(found, err, "attach")
}

// askEvents names the scheduled events that fire nowhere until somebody enables them: the twin does not know whether the lost side fired them.
func askEvents(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	x := r.order.Side
	if x == nil || x.Replica {
		return nil, nil
	}
	events, err := r.live.ScheduledEvents(ctx)
	if err != nil {
		return nil, nil // the question about the twin says so
	}
	var of []string
	for _, e := range events {
		if e.Status == "SLAVESIDE_DISABLED" {
			of = append(of, e.Schema+"."+e.Name)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return []farm.Finding{{Severity: farm.Warning, Subject: x.name(), Text: fmt.Sprintf("it may have fired %s: %s. Events that the backup of this side lacks stay disabled", farm.Counted(len(of), "event"), farm.Some(of)),
		Remedy: "once it serves, enable them there: ALTER EVENT ... ENABLE"}}, nil
}

// askUnreceived says up to where the twin has what the lost side wrote.
func askUnreceived(ctx context.Context, r *restoring) ([]farm.Finding, error) {
	x := r.order.Side
	if x == nil || x.Replica || len(x.Domains) > 1 {
		return nil, nil
	}
	now, err := r.live.Replication(ctx)
	if err != nil {
		return nil, nil // the question about the twin says so
	}
	its, reader := mysql.Origin(now.SourceUUID), "mysqlbinlog"
	if len(x.Domains) == 1 {
		its, reader = mysql.OriginOf(x.Domains[0]), "mariadb-binlog"
	}
	applied, err := r.live.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	at := applied.From(its)
	if received, err := mysql.ParsePosition(now.Received); err == nil && !at.Reached(received.From(its)) {
		at = received.From(its)
	}
	return []farm.Finding{{Severity: farm.Warning, Subject: x.name(), Text: fmt.Sprintf("%s has its writes up to %s; writes after that are on its own disk only, and are not restored", r.order.LiveName, at),
		Remedy: "keep that disk if it can be read: " + reader + " shows the writes after that position"}}, nil
}

// errorsOf is the first blocker as an error.
func errorsOf(found []farm.Finding, err error, op string) error {
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Severity == farm.Blocker {
			return &farm.Error{Op: op, Subject: f.Subject, Err: fmt.Errorf("%w: %s", farm.ErrRefused, f.Text), Hint: f.Remedy}
		}
	}
	return nil
}
