package sides

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"stowage/farm"
	"stowage/mysql"
	"stowage/roll/agenda"
	"stowage/swing"
)

func warning(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Warning, Subject: subject, Text: text, Remedy: remedy}
}

// askOneWriterRouting: all clients are sent to the primary, at the address of farm.yaml, and nobody waits.
func askOneWriterRouting(_ context.Context, s *survey) ([]farm.Finding, error) {
	return swing.AskWriterRouting(s.v.Pair, s.v.Side, s.v.Leaves, s.routing), nil
}

// peers are the side and its twin, for questions that acts share.
func (s *survey) peers() (side, twin swing.Peer) {
	of := func(server *mysql.Server, f mysql.Facts) swing.Peer {
		return swing.Peer{Name: string(server.Name()), Server: server, Facts: f}
	}
	return of(s.v.Leaves, s.side), of(s.v.Twin, s.twin)
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
	return []farm.Finding{warning(string(s.v.Leaves.Name()), fmt.Sprintf("it has %s, and routing does not name it: its clients would not be sent elsewhere", farm.Counted(n, "client session")),
		"end them before its server is stopped, or name it in routing")}, nil
}

// askReplicaFollows: the replica follows its primary alone, by GTID, and has nearly everything.
func askReplicaFollows(_ context.Context, s *survey) ([]farm.Finding, error) {
	side, twin := s.peers()
	if s.v.Order.Role != agenda.Primary {
		if out := swing.AskFollows(side, s.v.Twin, ""); len(out) > 0 {
			return out, nil
		}
		return swing.AskHealthy(side), nil
	}
	if out := swing.AskFollows(twin, s.v.Leaves, "a replica that is to take writes"); len(out) > 0 {
		return out, nil
	}
	return slices.Concat(swing.AskHealthy(twin), swing.AskUnfiltered(twin, "it lacks what it filters, and cannot take the writes"), swing.AskByGTID(s.v.Pair, twin), swing.AskFollowsNobody(side)), nil
}

// askFlavor: each of the two can follow the other.
func askFlavor(_ context.Context, s *survey) ([]farm.Finding, error) {
	side, twin := s.peers()
	return swing.AskSeries([]swing.Peer{side, twin}, side, twin, "its hosts out"), nil
}

// askOneWriterLog: both have everything in their binary logs, by GTID.
func askOneWriterLog(_ context.Context, s *survey) ([]farm.Finding, error) {
	side, twin := s.peers()
	return swing.AskBinaryLogs(s.v.Pair, []swing.Peer{side, twin}), nil
}

// askOneWrites: the primary takes writes, the replica takes none and has none that the primary lacks.
func askOneWrites(ctx context.Context, s *survey) ([]farm.Finding, error) {
	side, twin := s.peers()
	return swing.AskWrites(ctx, side, twin)
}

// askSemiSync: commits on the server that serves meanwhile must not wait for an acknowledgement that nobody gives.
func askSemiSync(ctx context.Context, s *survey) ([]farm.Finding, error) {
	is, err := s.v.Twin.Variables(ctx, mysql.SemiSync...)
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
		"SET GLOBAL "+mysql.OwnWord(is, "rpl_semi_sync_master_enabled")+" = OFF there for that time")}, nil
}

// askKeptOut: who is not stopped by read_only is kept out of the server that does not serve.
func askKeptOut(ctx context.Context, s *survey) ([]farm.Finding, error) {
	out, err := swing.AskKeptOut(ctx, s.v.Leaves, s.v.base.Replication.User, "their sessions are ended, and the accounts locked while it does not serve")
	if err != nil {
		return nil, err
	}
	twin, err := swing.AskKeptOut(ctx, s.v.Twin, s.v.base.Replication.User, "")
	return append(out, twin...), err
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
		"nothing to do: replicas continue when it is back, up to a minute later; tools may have to be started again")}, nil
}
