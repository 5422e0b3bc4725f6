package sides

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/roll/agenda"
)

func warning(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Warning, Subject: subject, Text: text, Remedy: remedy}
}

// askOneWriterRouting: all clients are sent to the primary, at the address of farm.yaml, and nobody waits.
func askOneWriterRouting(_ context.Context, s *survey) ([]farm.Finding, error) {
	pair, side := string(s.v.Pair), s.v.Side
	if s.routing == nil {
		return []farm.Finding{Blocker(pair, "routing does not know the pair", "add it: stowage routing init")}, nil
	}
	var out []farm.Finding
	if got := s.routing.Sides[side].Address; got != s.v.Leaves.Address() || s.routing.Share(side, side) != 100 {
		out = append(out, Blocker(pair, fmt.Sprintf("routing does not send all clients to %s at %s (it has %q)", s.v.Leaves.Name(), s.v.Leaves.Address(), got), "make the two agree"))
	}
	if s.routing.GateIsClosed(side) {
		out = append(out, Blocker(pair, "the gate of the pair is closed", "finish what closed it: stowage status, stowage resume"))
	}
	return out, nil
}

// askReplicaRouting: whoever reads from a replica that routing does not name cannot be sent elsewhere.
func askReplicaRouting(ctx context.Context, s *survey) ([]farm.Finding, error) {
	if s.routing != nil && slices.Contains(s.routing.Replicas, s.v.Leaves.Address()) {
		return nil, nil
	}
	n, err := s.v.Leaves.Clients(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []farm.Finding{warning(string(s.v.Leaves.Name()), fmt.Sprintf("it has %s, and routing does not name it: nobody sends them elsewhere", farm.Counted(n, "client session")),
		"end them before its server is stopped, or name it in routing")}, nil
}

// askReplicaFollows: the replica follows its primary alone, by GTID, and has nearly everything.
func askReplicaFollows(_ context.Context, s *survey) ([]farm.Finding, error) {
	primary, replica, is := s.v.Leaves, s.v.Twin, s.twin
	if s.v.Order.Role != agenda.Primary {
		primary, replica, is = s.v.Twin, s.v.Leaves, s.side
	}
	name, r := string(replica.Name()), is.Replication
	var out []farm.Finding
	switch {
	case !r.Follows(primary.Address()):
		return []farm.Finding{Blocker(name, "it does not replicate from the primary at "+primary.Address(), "point it there, or correct farm.yaml")}, nil
	case r.Broken() != nil:
		return []farm.Finding{Blocker(name, r.Broken().Error(), "repair its replication first")}, nil
	case r.BehindOK && r.Behind > time.Minute:
		out = append(out, Blocker(name, fmt.Sprintf("it is %v behind the primary", r.Behind), "wait until it has caught up"))
	}
	if s.v.Order.Role != agenda.Primary {
		return out, nil
	}
	if r.Sources > 1 {
		out = append(out, Blocker(name, fmt.Sprintf("it replicates from %d sources", r.Sources), "a replica that is to take writes must follow one primary only"))
	}
	if r.Filters != "" {
		out = append(out, Blocker(name, "it filters replication: "+r.Filters, "it lacks what it filters, and cannot take the writes: remove the filters and rebuild it"))
	}
	if is.Flavor.HasGTIDDomains() && !strings.EqualFold(r.UsingGTID, "Slave_Pos") {
		out = append(out, Blocker(name, "it replicates by file and position", "STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID = slave_pos; START SLAVE"))
	}
	if p := s.side.Replication; p.Configured {
		out = append(out, Blocker(string(primary.Name()), fmt.Sprintf("it takes the writes and is set up to replicate from %s:%d", p.Host, p.Port),
			"it would get writes from two sides: "+s.side.Flavor.Forget()+" there, or correct farm.yaml (active-active?)"))
	}
	return out, nil
}

// askFlavor: each of the two can follow the other.
func askFlavor(_ context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	for server, f := range map[*mysql.Server]mysql.Facts{s.v.Leaves: s.side, s.v.Twin: s.twin} {
		if why := f.Flavor.TooOld(); why != "" {
			out = append(out, Blocker(string(server.Name()), "it is "+f.Flavor.String()+"; "+why, "upgrade the pair first, or leave its hosts out"))
		}
	}
	if !s.twin.Flavor.CanSeedFrom(s.side.Flavor) {
		out = append(out, Blocker(string(s.v.Twin.Name()), fmt.Sprintf("the servers of the pair run %s and %s", s.side.Flavor, s.twin.Flavor), "bring both to one series first"))
	}
	return out, nil
}

// askOneWriterLog: both have everything in their binary logs, by GTID.
func askOneWriterLog(_ context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	for server, f := range map[*mysql.Server]mysql.Facts{s.v.Leaves: s.side, s.v.Twin: s.twin} {
		for _, need := range f.Flavor.SuccessionNeeds() {
			if f.Variables[need[0]] != need[1] {
				out = append(out, Blocker(string(server.Name()), fmt.Sprintf("%s is %s, must be %s", need[0], f.Variables[need[0]], need[1]),
					"stowage domains separate "+string(s.v.Pair)+" sets GTID variables; others need the option file and a restart"))
			}
		}
	}
	return out, nil
}

// askOneWrites: the primary takes writes, the replica takes none and has none that the primary lacks.
func askOneWrites(ctx context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	if s.side.Variables["read_only"] != "OFF" {
		out = append(out, Blocker(string(s.v.Leaves.Name()), "farm.yaml has it as the server that takes the writes, and it is read-only", "which server serves? correct farm.yaml, or SET GLOBAL read_only = OFF"))
	}
	if s.twin.Variables["read_only"] == "OFF" {
		out = append(out, Blocker(string(s.v.Twin.Name()), "it is a replica and takes writes", "SET GLOBAL read_only = ON, and in its option file"))
	}
	now, err := s.v.Leaves.BinlogPosition(ctx) // later than what the replica said
	if err != nil {
		return out, err
	}
	if !now.Reached(s.twin.Binlog) {
		out = append(out, Blocker(string(s.v.Twin.Name()), fmt.Sprintf("it has transactions that the primary lacks: %s, and the primary is at %s", s.twin.Binlog, now),
			"a client wrote to the replica: find the transactions in its binary log, reconcile the two servers, and rebuild the replica"))
	}
	return out, nil
}

// askSemiSync: commits on the server that serves meanwhile must not wait for an acknowledgement that nobody gives.
func askSemiSync(ctx context.Context, s *survey) ([]farm.Finding, error) {
	is, err := s.v.Twin.Variables(ctx, "rpl_semi_sync_master_enabled", "rpl_semi_sync_master_timeout")
	if err != nil || is["rpl_semi_sync_master_enabled"] != "ON" {
		return nil, err
	}
	text, err := s.v.Twin.Status(ctx, "Rpl_semi_sync_master_clients")
	if err != nil {
		return nil, err
	}
	if n, _ := strconv.Atoi(text); n > 1 {
		return nil, nil // another replica acknowledges
	}
	return []farm.Finding{Blocker(string(s.v.Twin.Name()),
		fmt.Sprintf("its commits wait for a replica's acknowledgement, and while %s is away none gives it: the first ones would wait for %s ms", s.v.Leaves.Name(), is["rpl_semi_sync_master_timeout"]),
		"SET GLOBAL rpl_semi_sync_master_enabled = OFF there for that time")}, nil
}

// askKeptOut: who is not stopped by read_only is kept out of the server that does not serve.
func askKeptOut(ctx context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, server := range []*mysql.Server{s.v.Leaves, s.v.Twin} {
		who, err := server.Privileged(ctx, s.v.base.Replication.User)
		if err != nil {
			return nil, err
		}
		if len(who.Bar) == 0 {
			continue
		}
		names := who.Bar[0].String()
		if n := len(who.Bar) - 1; n > 0 {
			names += fmt.Sprintf(" and %s more", farm.Counted(n, "account"))
		}
		if err := server.MayBar(ctx); err != nil { // better known before the gate is closed
			out = append(out, Blocker(string(server.Name()), fmt.Sprintf("read_only does not stop %s, and Stowage may not lock accounts: %v", names, errors.Unwrap(err)),
				"GRANT CREATE USER to the [stowage] account, or revoke READ ONLY ADMIN from these: docs/privileges.md"))
			continue
		}
		if server == s.v.Leaves {
			out = append(out, warning(string(server.Name()), "read_only does not stop "+names+": their sessions are ended, and the accounts locked while it does not serve",
				"revoke READ ONLY ADMIN and SUPER from accounts that applications use, and this is not needed"))
		}
	}
	return out, nil
}

// askWhoFollows: whoever else follows the server stands still while it is away.
func askWhoFollows(ctx context.Context, s *survey) ([]farm.Finding, error) {
	readers, tools, err := s.v.Leaves.Readers(ctx)
	if err != nil {
		return nil, err
	}
	n := tools
	for _, r := range readers {
		if s.v.Twin == nil || r.Address != s.v.Twin.Address() && r.ServerID != s.twin.ServerID {
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	return []farm.Finding{warning(string(s.v.Leaves.Name()), fmt.Sprintf("%s of its binary log gets nothing while it is away", farm.Counted(n, "other reader")),
		"nothing to do: replicas go on by themselves when it is back, up to a minute later; tools may have to be started again")}, nil
}
