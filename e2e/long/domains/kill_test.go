package domains

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// borders are those of a way, in the order in which a run meets them; every
// effect has two.
func borders(back string, effects ...string) []string {
	var out []string
	for _, e := range effects {
		out = append(out, "domains before "+back+e, "domains after "+back+e)
	}
	return out
}

// TestDomainsKilledAtEveryBorder: killed at each border and begun again, it
// arrives; taken back in the same manner, all is as it was.
func TestDomainsKilledAtEveryBorder(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name     string
		topology farm.Topology
		byGTID   bool
		pairs    int
		want     string
	}{
		{"a pair by file and position", farm.ActiveActive, false, 1, "domain 1001 strict true ignores true threads 2 by Slave_Pos true"},
		{"a pair by GTID", farm.ActiveActive, true, 1, "domain 1001 strict true ignores true threads 2 by Slave_Pos true"},
		{"a primary and its replica by file and position", farm.PrimaryReplica, false, 2, "domain 1001 strict true ignores false threads 2 by Slave_Pos true"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			f := farmtest.StartInDomainZero(t, x.topology, x.pairs, x.byGTID)
			before, was := f.OptionFiles(), f.Identities()
			w := f.WritersThatReconnect()
			killed := func(verb string, points []string) {
				t.Helper()
				for _, point := range points {
					p := farmtest.RunWith(t, f.Env("stowage @ "+point), "domains", verb, "dbshard001", "--wait", "1m", "-C", f.Dir)
					if p.Code != -1 || !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
						t.Fatalf("%s: exit %d\n%s%s", point, p.Code, p.Stdout, p.Stderr)
					}
					if strings.HasSuffix(point, "domain B") && strings.Contains(point, "after") {
						f.Reconnect()
					}
				}
			}
			killed("separate", borders("", "record", "options A", "options B", "serial A", "serial B", "domain A", "domain B",
				"sessions", "settle", "options-gtid A", "options-gtid B", "gtid A", "gtid B", "check"))
			must(f, "separate")
			if got := f.Identities(); !slices.ContainsFunc(strings.Split(got, "\n"), func(line string) bool {
				return strings.HasSuffix(line, x.want) || strings.Contains(line, strings.TrimSuffix(x.want, " by Slave_Pos true"))
			}) {
				t.Errorf("they are\n%s\nwant %s", got, x.want)
			}
			killed("undo", borders("back ", "record", "gtid A", "gtid B", "options A", "options B", "domain A", "domain B", "sessions", "serial A", "serial B", "check"))
			must(f, "undo")
			if got := f.Identities(); got != was {
				t.Errorf("taken back:\n%s\nwas\n%s", got, was)
			}
			if got := f.OptionFiles(); got != before {
				t.Errorf("option files taken back:\n%s\nwere\n%s", got, before)
			}
			w.Check()
			f.CheckLedger()
		})
	}
}

func must(f *farmtest.LiveFarm, verb string) {
	f.T.Helper()
	f.Must("domains", verb, "dbshard001", "--wait", "1m")
}

// TestSeparatedPairMoves: a pair that has just left domain 0 is moved, both
// sides, while its history still has that domain.
func TestSeparatedPairMoves(t *testing.T) {
	t.Parallel()
	f := farmtest.StartInDomainZero(t, farm.ActiveActive, 1, false)
	go func() { // while it is waited for
		time.Sleep(4 * time.Second)
		f.Load.Stop()
	}()
	must(f, "separate")
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	f.Must("plan", "--name", "first")
	f.Must("move", "first")
	if got := f.Identities(); strings.Count(got, "strict true ignores true") != 2 || strings.Count(got, "by Slave_Pos true") != 2 ||
		!strings.Contains(got, "domain 1001 ") || !strings.Contains(got, "domain 1002 ") {
		t.Errorf("moved, they are\n%s", got)
	}
	f.CheckLedger()
}
