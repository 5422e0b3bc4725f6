package swing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Peer is one server of a pair with one writer, as questions look at it that are asked before its writes go elsewhere, whichever act wants that. An answer
// has no name of its question yet: the act has its own list, and order, of them.
type Peer struct {
	Name   string // in findings
	Server *mysql.Server
	Facts  mysql.Facts
}

// nearlyAll is how far behind its primary a replica may be that is to take part.
const nearlyAll = time.Minute

func blocker(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Blocker, Subject: subject, Text: text, Remedy: remedy}
}

// AskWriterRouting: all clients of the pair are sent to the server that takes the writes, at its address of farm.yaml, and nobody waits.
func AskWriterRouting(pair farm.PairName, side farm.SideName, primary *mysql.Server, routing *route.Pair) []farm.Finding {
	if routing == nil {
		return []farm.Finding{blocker(string(pair), "routing does not know the pair", "stowage routing init writes a first table")}
	}
	var out []farm.Finding
	if got := routing.Sides[side].Address; got != primary.Address() || routing.Share(side, side) != 100 || routing.Share(side.Twin(), side)+routing.Share(side.Twin(), side.Twin()) != 0 {
		out = append(out, blocker(string(pair), fmt.Sprintf("routing does not send all clients to side %s at %s (it has %q)", side, primary.Address(), got), "make the two agree"))
	}
	if routing.GateIsClosed(side) {
		out = append(out, blocker(string(pair), fmt.Sprintf("the gate of side %s is closed", side), "finish the run that closed it: stowage status, stowage resume"))
	}
	return out
}

// AskFollowsNobody: the server that takes the writes gets none from elsewhere.
func AskFollowsNobody(primary Peer) []farm.Finding {
	r := primary.Facts.Replication
	if !r.Configured {
		return nil
	}
	return []farm.Finding{blocker(primary.Name, fmt.Sprintf("it takes the writes and is set up to replicate from %s:%d", r.Host, r.Port),
		"it would get writes from two sides: "+primary.Facts.Flavor.Forget()+" there, or correct farm.yaml (active-active?)")}
}

// AskFollows: a replica follows the primary. which says what kind of replica must follow nobody else; "": any may.
func AskFollows(replica Peer, primary *mysql.Server, which string) []farm.Finding {
	switch r := replica.Facts.Replication; {
	case which != "" && r.Sources > 1:
		return []farm.Finding{blocker(replica.Name, fmt.Sprintf("it replicates from %s", farm.Counted(r.Sources, "source")), which+" must follow one primary only")}
	case !r.Follows(primary.Address()):
		return []farm.Finding{blocker(replica.Name, "it does not replicate from the primary at "+primary.Address(), "point it there, or correct farm.yaml")}
	}
	return nil
}

// AskHealthy: the replication of a replica runs, and it has nearly everything.
func AskHealthy(replica Peer) []farm.Finding {
	r := replica.Facts.Replication
	if err := r.Ailing(); err != nil {
		return []farm.Finding{blocker(replica.Name, err.Error(), "repair its replication first")}
	}
	if r.BehindOK && r.Behind > nearlyAll {
		return []farm.Finding{blocker(replica.Name, fmt.Sprintf("it is %v behind the primary", r.Behind), "wait until it has caught up")}
	}
	return nil
}

// AskUnfiltered: a replica has everything. so says what follows where it has not.
func AskUnfiltered(replica Peer, so string) []farm.Finding {
	if replica.Facts.Replication.Filters == "" {
		return nil
	}
	return []farm.Finding{blocker(replica.Name, "it filters replication: "+replica.Facts.Replication.Filters, so+": remove the filters and rebuild it")}
}

// AskByGTID: a replica follows by GTID, so that it can be pointed elsewhere.
func AskByGTID(pair farm.PairName, replica Peer) []farm.Finding {
	if strings.EqualFold(replica.Facts.Replication.UsingGTID, "Slave_Pos") {
		return nil
	}
	return []farm.Finding{blocker(replica.Name, FollowsBy(replica.Facts.Replication), ByGTID(pair, replica.Facts.Flavor))}
}

// FollowsBy says how a replica follows that does not go by its applied position (slave_pos).
func FollowsBy(r mysql.Replication) string {
	if strings.EqualFold(r.UsingGTID, "Current_Pos") {
		return "it replicates by MASTER_USE_GTID = current_pos, must be slave_pos"
	}
	return "it replicates by file and position"
}

// AskSeries: none of the servers is too old, and the replica can be made of the primary and follow it. leave says what to leave out, and of what.
func AskSeries(peers []Peer, primary, replica Peer, leave string) []farm.Finding {
	var out []farm.Finding
	for _, x := range peers {
		if why := x.Facts.Flavor.TooOld(); why != "" {
			out = append(out, blocker(x.Name, "it is "+x.Facts.Flavor.String()+"; "+why, "upgrade the pair first, or leave "+leave))
		}
	}
	if !replica.Facts.Flavor.CanSeedFrom(primary.Facts.Flavor) {
		out = append(out, blocker(replica.Name, fmt.Sprintf("the servers of the pair run %s and %s", primary.Facts.Flavor, replica.Facts.Flavor), "bring both to one series first"))
	}
	return out
}

// AskBinaryLogs: the servers have everything in their binary logs, by GTID.
func AskBinaryLogs(pair farm.PairName, peers []Peer) []farm.Finding {
	var out []farm.Finding
	for _, x := range peers {
		for _, need := range x.Facts.Flavor.SuccessionNeeds() {
			if is := x.Facts.Variables[need[0]]; is != need[1] {
				out = append(out, blocker(x.Name, fmt.Sprintf("%s is %s, must be %s", need[0], is, need[1]), RemedyOf(pair, x.Facts.Flavor, need[0])))
			}
		}
	}
	return out
}

// countedWithin is how long a server may take to count what it has sent.
const countedWithin = 2 * time.Second

// AskWrites: the primary takes writes; a replica takes none, and has none that the primary lacks. A zero replica: there is none.
func AskWrites(ctx context.Context, primary, replica Peer) ([]farm.Finding, error) {
	var out []farm.Finding
	if primary.Facts.Variables["read_only"] != "OFF" {
		out = append(out, blocker(primary.Name, "farm.yaml has it as the server that takes the writes, and it is read-only", "find out which server serves, then correct farm.yaml, or SET GLOBAL read_only = OFF"))
	}
	if replica.Server == nil {
		return out, nil
	}
	if replica.Facts.Variables["read_only"] == "OFF" {
		out = append(out, blocker(replica.Name, "it is a replica and takes writes", "SET GLOBAL read_only = ON, and in its option file"))
	}
	now, err := primary.Server.BinlogPosition(ctx) // later than what the replica said
	// A server may send a transaction before it counts it as its own: MySQL on a busy machine did with three.
	for end := time.Now().Add(countedWithin); err == nil && !now.Reached(replica.Facts.Binlog) && time.Now().Before(end); {
		if err = mysql.Sleep(ctx, 100*time.Millisecond); err == nil {
			now, err = primary.Server.BinlogPosition(ctx)
		}
	}
	if err != nil {
		return out, err
	}
	if !now.Reached(replica.Facts.Binlog) {
		out = append(out, blocker(replica.Name, fmt.Sprintf("it has transactions that the primary lacks: %s, and the primary is at %s", replica.Facts.Binlog, now),
			"a client wrote to the replica: find the transactions in its binary log, reconcile the two servers, and rebuild the replica"))
	}
	return out, nil
}

// AskKeptOut: accounts that read_only does not stop can be kept out of a server that does not serve. meanwhile says what becomes of them; "": it is not told.
func AskKeptOut(ctx context.Context, server *mysql.Server, replication, meanwhile string) ([]farm.Finding, error) {
	who, err := server.Privileged(ctx, replication)
	if err != nil || len(who.Bar) == 0 {
		return nil, err
	}
	name, names := string(server.Name()), make([]string, 0, len(who.Bar))
	for _, g := range who.Bar {
		names = append(names, g.String())
	}
	if err := server.MayBar(ctx); err != nil { // better known before the gate is closed
		return []farm.Finding{blocker(name, fmt.Sprintf("read_only does not stop %s, and Stowage may not lock accounts: %v", farm.Some(names), errors.Unwrap(err)),
			"GRANT CREATE USER to the [stowage] account, or revoke READ ONLY ADMIN from these: docs/reference/privileges.md")}, nil
	}
	if meanwhile == "" {
		return nil, nil
	}
	return []farm.Finding{{Severity: farm.Warning, Subject: name, Text: "read_only does not stop " + farm.Some(names) + ": " + meanwhile,
		Remedy: "to avoid this, revoke READ ONLY ADMIN and SUPER from accounts that applications use"}}, nil
}

// RemedyOf a variable that a pair needs otherwise. What has to do with GTIDs is a matter of their domains, and needs no restart.
func RemedyOf(pair farm.PairName, flavor mysql.Flavor, variable string) string {
	if flavor.HasGTIDDomains() && strings.HasPrefix(variable, "gtid_") {
		return "without a restart, in the order that loses nothing: stowage domains separate " + string(pair)
	}
	return "set " + variable + " in the option file and restart, one server after the other"
}

// ByGTID is what to do about a replica by file and position. By hand it loses writes where both sides write one domain.
func ByGTID(pair farm.PairName, flavor mysql.Flavor) string {
	if flavor.HasGTIDDomains() {
		return "stowage domains separate " + string(pair)
	}
	return flavor.ByGTID()
}
