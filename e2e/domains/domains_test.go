package domains

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	verb "stowage/domains"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestEverythingInDomainZero: pairs whose servers all write GTID domain 0 get
// domains of their own and replicate by GTID, while clients write that keep
// their connections and others that reconnect; then it is taken back.
func TestEverythingInDomainZero(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name     string
		topology farm.Topology
		pairs    int
		byGTID   bool
		want     string
	}{
		{"a pair by file and position", farm.ActiveActive, 1, false, `dbshard001a: domain 1001 strict true ignores true threads 2 by Slave_Pos true
dbshard001b: domain 1002 strict true ignores true threads 2 by Slave_Pos true`},
		{"primaries and their replicas by GTID", farm.PrimaryReplica, 2, true, `dbshard001a: domain 1001 strict true ignores false threads 2 by -
dbshard001b: domain 1001 strict true ignores false threads 2 by Slave_Pos true
dbshard002a: domain 1003 strict true ignores false threads 2 by -
dbshard002b: domain 1003 strict true ignores false threads 2 by Slave_Pos true`},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			f := farmtest.StartInDomainZero(t, x.topology, x.pairs, x.byGTID)
			f.AwaitReplicas() // one that still connects is not what it will be
			before, was := f.OptionFiles(), f.Identities()
			w := f.WritersThatReconnect()

			if x.topology == farm.ActiveActive { // a position says nothing of two sides that write one domain
				if p := run(f, "follow", "--shard", string(farmtest.MovedShard), "--from", "now"); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "stowage domains separate dbshard001") {
					t.Errorf("follow in domain 0: exit %d\n%s", p.Code, p.Stderr)
				}
			}
			p := run(f, "domains", "separate", "--dry-run")
			if p.Code != farmtest.ExitFindings || !strings.Contains(p.Stdout, "1. options: ") {
				t.Fatalf("dry run: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
			}
			is := f.Identities()
			for end := time.Now().Add(farmtest.WaitLimit); is != was && time.Now().Before(end); is = f.Identities() {
				farmtest.PauseTest() // a replica that has just lost its source's connection
			}
			if now := f.OptionFiles(); now != before || is != was {
				t.Fatalf("a dry run changed something: option files %v; servers are\n%s\nand were\n%s", now != before, is, was)
			}
			keepTheirConnections(f)
			if p := run(f, "domains", "separate", "--wait", "1m"); p.Code != 0 {
				t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
			}
			if got := f.Identities(); got != x.want {
				t.Errorf("they are\n%s\nwant\n%s", got, x.want)
			}
			if p := run(f, "domains"); p.Code != 0 || !strings.Contains(p.Stdout, "nothing to do") {
				t.Errorf("afterwards: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
			}
			// Replicas with several threads wait for the way back, too.
			if p := run(f, "domains", "undo", "--wait", "2s"); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "app from 127.0") {
				t.Errorf("undo beside clients that keep their connections: exit %d\n%s", p.Code, p.Stderr)
			}
			f.Reconnect()
			if p := run(f, "domains", "undo", "--wait", "1m"); p.Code != 0 {
				t.Fatalf("undo: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
			}
			if got := f.Identities(); got != was {
				t.Errorf("taken back: %s\nwas %s", got, was)
			}
			if got := f.OptionFiles(); got != before {
				t.Errorf("option files taken back:\n%s\nwere\n%s", got, before)
			}
			w.Check()
			f.CheckLedger()
		})
	}
}

// keepTheirConnections: clients that stay connected are named, waited for, and
// nothing begins that they could break; then they reconnect.
func keepTheirConnections(f *farmtest.LiveFarm) {
	t := f.T
	t.Helper()
	p := run(f, "domains", "separate", "--wait", "2s")
	if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "app from 127.0") {
		t.Fatalf("clients that keep their connections: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if got := f.Identities(); !strings.Contains(got, "domain 1001 strict false ignores false threads 0") {
		t.Errorf("while they are waited for: %s", got)
	}
	var v verb.View
	p = run(f, "domains", "--json")
	if err := json.Unmarshal([]byte(p.Stdout), &v); err != nil || len(v.Pairs[0].Members[0].OldSessions) == 0 {
		t.Errorf("it does not name them: %v\n%s", err, p.Stdout)
	}
	if p := run(f, "move", "instance", "dbshard001/A", "--to", "db002"); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "GTID domains are being changed") {
		t.Errorf("a move in the middle of it: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Reconnect()
}

func run(f *farmtest.LiveFarm, args ...string) farmtest.Program {
	return farmtest.RunWith(f.T, f.Env(""), append(args, "-C", f.Dir)...)
}
