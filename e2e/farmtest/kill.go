package farmtest

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Lanes is how many farms the points of a series are dealt out to. All are
// moved side by side: after a kill most of the time is spent waiting for the
// engine to miss a heartbeat.
const Lanes = 8

// Every is every nth of a list, beginning at an offset.
func Every(points []string, n, offset int) (out []string) {
	for i := offset; i < len(points); i += n {
		out = append(out, points[i])
	}
	return out
}

// Dealt deals a list out to so many hands, in turn.
func Dealt(points []string, hands int) [][]string {
	out := make([][]string, hands)
	for lane := range out {
		out[lane] = Every(points, hands, lane)
	}
	return out
}

// SideBySide runs the parts of a test at the same time, and beside other tests.
func SideBySide(t *testing.T, list func(run func(string, func(*testing.T)))) {
	t.Parallel()
	list(func(name string, test func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	})
}

func (f *LiveFarm) Must(args ...string) {
	f.T.Helper()
	if p := RunWith(f.T, f.Env(""), append(args, "-C", f.Dir)...); p.Code != 0 {
		f.T.Fatalf("stowage %s: exit %d\n%s", strings.Join(args, " "), p.Code, p.Stderr)
	}
}

// freeHosts is the farm as it is, and its hosts that carry nothing.
func (f *LiveFarm) freeHosts() (fm *farm.Farm, free []farm.Host) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	used := fm.HostsInUse()
	for _, h := range fm.Hosts {
		if !slices.Contains(used, h.Name) {
			free = append(free, h)
		}
	}
	return fm, free
}

// FreeHosts are the hosts that carry nothing, cleared of what moved away from them.
func (f *LiveFarm) FreeHosts() []string {
	f.T.Helper()
	_, free := f.freeHosts()
	var out []string
	for _, h := range free {
		os.RemoveAll(f.Dir + "/" + h.Dir)
		out = append(out, string(h.Name))
	}
	return out
}

// ServerIDs are those of all servers of farm.yaml.
func (f *LiveFarm) ServerIDs() (out []uint32) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		f.T.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for side, place := range p.Sides {
			s := mysql.Open(p.Instance(side), fm.Address(place), admin, slog.New(slog.DiscardHandler))
			defer s.Close()
			facts, err := s.Facts(f.T.Context())
			if err != nil {
				f.T.Fatal(err)
			}
			out = append(out, facts.ServerID)
		}
	}
	return out
}

// TurnAround clears the place the farm came from and makes a plan that goes
// back there.
func (f *LiveFarm) TurnAround() {
	f.T.Helper()
	_, free := f.freeHosts()
	for _, h := range free {
		os.RemoveAll(f.Dir + "/" + h.Dir)
	}
	f.Onto = map[string]string{"r630-ssd": "platter-22", "platter-22": "r630-ssd"}[f.Onto]
	goals := fmt.Sprintf("onto: [%s]\nspread_labels: [rack]\nparallel: %d\nsoak: 50ms\n", f.Onto, max(1, f.Lanes))
	if err := os.WriteFile(f.Dir+"/goals.yaml", []byte(goals), 0o644); err != nil {
		f.T.Fatal(err)
	}
	f.plans++
	f.Must("plan", "--name", f.Plan())
}

func (f *LiveFarm) Plan() string { return fmt.Sprintf("turn-%d", f.plans) }

// CheckWhole stops the clients and compares every promise with the servers.
func (f *LiveFarm) CheckWhole() {
	f.T.Helper()
	f.CheckLedger()
	f.CheckNow()
}

// checkServing reads from routing and servers that both sides serve, take
// writes, follow each other, and are where the plan wants them.
func (f *LiveFarm) checkServing(fm *farm.Farm) {
	t := f.T
	t.Helper()
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			address := fm.Address(p.Sides[side])
			if h, _ := fm.Host(p.Sides[side].Host); string(h.Type) != f.Onto && f.Wanted == "" {
				t.Errorf("%s %s is on %s of type %s, want %s", p.Name, side, h.Name, h.Type, f.Onto)
			}
			r := table.Pairs[p.Name]
			if r.GateIsClosed(side) || r.Share(side, side) != 100 || r.Sides[side].Address != address {
				t.Errorf("routing of %s %s: %+v, want open and all at %s", p.Name, side, r, address)
			}
			s := mysql.Open(p.Instance(side), address, admin, slog.New(slog.DiscardHandler))
			defer s.Close()
			if on, err := s.IsReadOnly(t.Context()); err != nil || on {
				t.Errorf("%s %s is left read-only: %v %v", p.Name, side, on, err)
			}
			repl, err := s.Replication(t.Context())
			if err != nil || !repl.Running() || !repl.Follows(fm.Address(p.Sides[side.Twin()])) {
				t.Errorf("%s %s does not replicate from its twin: %+v %v", p.Name, side, repl, err)
			}
		}
	}
}
