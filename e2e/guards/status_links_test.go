package guards

import (
	"encoding/json"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/mysql"
)

// STATUS_LINKS: both sides serve, one of them applies nothing of what the other is told, and status says so.
func TestStatusNamesASideThatDoesNotReplicate(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	ws, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(ws.Path(fm.Accounts), "stowage")
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		NotReplicating []struct {
			Pair    farm.PairName `json:"pair"`
			Side    farm.SideName `json:"side"`
			Address string        `json:"address"`
			Why     string        `json:"why"`
		} `json:"not_replicating"`
		LinksUnknown string `json:"links_unknown"`
	}
	ask := func() (got answer) {
		p := farmtest.RunWith(t, f.Env(""), "status", "--json", "-C", f.Dir)
		if err := json.Unmarshal([]byte(p.Stdout), &got); err != nil {
			t.Fatalf("%v\n%s\n%s", err, p.Stdout, p.Stderr)
		}
		return got
	}
	if got := ask(); got.NotReplicating == nil || len(got.NotReplicating) != 0 || got.LinksUnknown != "" {
		t.Errorf("at rest: %+v", got)
	}
	pair := fm.Pairs[0]
	address := fm.Address(pair.Sides[farm.B])
	server := mysql.Open(pair.Instance(farm.B), address, admin, farmtest.QuietLog())
	defer server.Close()
	if err := server.StopReplicating(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := ask()
	if len(got.NotReplicating) != 1 || got.NotReplicating[0].Pair != pair.Name || got.NotReplicating[0].Side != farm.B || got.NotReplicating[0].Address != address {
		t.Fatalf("side B was stopped, and status says %+v", got)
	}
	if p := farmtest.RunWith(t, f.Env(""), "status", "-C", f.Dir); !strings.Contains(p.Stdout, "NOT REPLICATING: "+string(pair.Name)+" side B") {
		t.Errorf("the page says\n%s", p.Stdout)
	}
}
