package sides

import (
	"context"
	"fmt"
	"strconv"

	"stowage/act"
	"stowage/farm"
	"stowage/mysql"
	"stowage/roll/agenda"
	"stowage/route"
	"stowage/swing"
)

// survey is what the questions of one side look at.
type survey struct {
	v          *Member
	routing    *route.Pair
	side, twin mysql.Facts
}

// Questions are asked in this order, all of them, and every answer is reported. They follow from what the side is in its pair.
var (
	ofServes = []act.Question[*survey]{
		{Name: "routing", Look: askRouting},
		{Name: "replication", Look: askReplication},
		{Name: "binary-log", Look: askBinaryLog},
		{Name: "twin-writes", Look: askTwinWrites},
		{Name: "sessions", Look: askTwinRoom},
		{Name: "semi-sync", Look: askSemiSync},
	}
	ofPrimary = []act.Question[*survey]{
		{Name: "routing", Look: askOneWriterRouting},
		{Name: "replication", Look: askReplicaFollows},
		{Name: "flavor", Look: askFlavor},
		{Name: "binary-log", Look: askOneWriterLog},
		{Name: "writer", Look: askOneWrites},
		{Name: "sessions", Look: askTwinRoom},
		{Name: "semi-sync", Look: askSemiSync},
		{Name: "fence", Look: askKeptOut},
		{Name: "replicas", Look: askWhoFollows},
	}
	ofReplica = []act.Question[*survey]{
		{Name: "routing", Look: askReplicaRouting},
		{Name: "replication", Look: askReplicaFollows},
		{Name: "semi-sync", Look: askSemiSync},
		{Name: "replicas", Look: askWhoFollows},
	}
	ofSingle = []act.Question[*survey]{
		{Name: "routing", Look: askOneWriterRouting},
		{Name: "replicas", Look: askWhoFollows},
	}
)

var questions = map[agenda.Role][]act.Question[*survey]{agenda.Serves: ofServes, agenda.Primary: ofPrimary, agenda.Replica: ofReplica, agenda.Single: ofSingle}

// Survey asks whether the side may leave.
func (m *Member) Survey(ctx context.Context) ([]farm.Finding, error) {
	s := &survey{v: m}
	var err error
	if s.side, err = m.Leaves.Facts(ctx); err != nil {
		return nil, err
	}
	if m.Twin != nil {
		if s.twin, err = m.Twin.Facts(ctx); err != nil {
			return nil, err
		}
	}
	t, err := m.Routing(ctx)
	if err != nil {
		return nil, err
	}
	s.routing = t.Pairs[m.Pair]
	return act.Ask(ctx, questions[m.Order.Role], s)
}

// Blocker is a finding that refuses.
func Blocker(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Blocker, Subject: subject, Text: text, Remedy: remedy}
}

// askRouting: both sides are in rotation, at the addresses of farm.yaml, with open gates.
func askRouting(_ context.Context, s *survey) ([]farm.Finding, error) {
	pair := string(s.v.Pair)
	if s.routing == nil {
		return []farm.Finding{Blocker(pair, "routing does not know the pair", "add it: stowage routing init")}, nil
	}
	var out []farm.Finding
	for side, server := range map[farm.SideName]*mysql.Server{s.v.Side: s.v.Leaves, s.v.Side.Twin(): s.v.Twin} {
		switch got := s.routing.Sides[side].Address; {
		case s.routing.GateIsClosed(side):
			out = append(out, Blocker(pair, fmt.Sprintf("the gate of side %s is closed", side), "finish the run that closed it: stowage status, stowage resume"))
		case s.routing.Share(side, side) != 100:
			out = append(out, Blocker(pair, fmt.Sprintf("side %s serves %g %% of its clients", side, s.routing.Share(side, side)), "finish what took it out: stowage status, stowage resume"))
		case got != server.Address():
			out = append(out, Blocker(pair, fmt.Sprintf("routing sends side %s to %q, farm.yaml says %s", side, got, server.Address()), "make the two agree"))
		}
	}
	return out, nil
}

// askReplication: each side follows the other, and runs.
func askReplication(_ context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, x := range []struct {
		server *mysql.Server
		is     mysql.Replication
		of     *mysql.Server
	}{{s.v.Leaves, s.side.Replication, s.v.Twin}, {s.v.Twin, s.twin.Replication, s.v.Leaves}} {
		name := string(x.server.Name())
		if !x.is.Follows(x.of.Address()) {
			out = append(out, Blocker(name, "it does not replicate from its twin at "+x.of.Address(), "repair the ring, or correct farm.yaml"))
		} else if err := x.is.Ailing(); err != nil {
			out = append(out, Blocker(name, err.Error(), "repair its replication first"))
		}
	}
	return out, nil
}

// askBinaryLog: without GTIDs of its own nobody can tell what the other side has.
func askBinaryLog(_ context.Context, s *survey) ([]farm.Finding, error) {
	var out []farm.Finding
	for server, f := range map[*mysql.Server]mysql.Facts{s.v.Leaves: s.side, s.v.Twin: s.twin} {
		for _, need := range f.Flavor.RingNeeds() {
			if f.Variables[need[0]] != need[1] {
				out = append(out, Blocker(string(server.Name()), fmt.Sprintf("%s is %s, must be %s", need[0], f.Variables[need[0]], need[1]), swing.RemedyOf(s.v.Pair, f.Flavor, need[0])))
			}
		}
	}
	return out, nil
}

// askTwinWrites: the twin is about to take all writes.
func askTwinWrites(_ context.Context, s *survey) ([]farm.Finding, error) {
	if s.twin.Variables["read_only"] != "ON" {
		return nil, nil
	}
	return []farm.Finding{Blocker(string(s.v.Twin.Name()), "read_only is ON", "find out who fenced it and why; then SET GLOBAL read_only = OFF")}, nil
}

// askTwinRoom: the twin will have the connections of both sides.
func askTwinRoom(ctx context.Context, s *survey) ([]farm.Finding, error) {
	limit, err := strconv.Atoi(s.twin.Variables["max_connections"])
	if err != nil {
		return nil, nil //nolint:nilerr // a server that does not say has no limit that we know
	}
	sum := 0
	for _, server := range []*mysql.Server{s.v.Leaves, s.v.Twin} {
		text, err := server.Status(ctx, "Threads_connected")
		if err != nil {
			return nil, err
		}
		n, _ := strconv.Atoi(text)
		sum += n
	}
	if sum < limit*9/10 {
		return nil, nil
	}
	return []farm.Finding{Blocker(string(s.v.Twin.Name()), fmt.Sprintf("both sides have %s together, and max_connections of this one is %d", farm.Counted(sum, "connection"), limit),
		fmt.Sprintf("SET GLOBAL max_connections = %d, or wait for a quieter hour", sum*3/2))}, nil
}
