package farmtest

import (
	"log/slog"
	"os"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Instance is `move instance` of a side, to the host that it is not on.
func (f *LiveFarm) Instance(side farm.SideName) []string {
	f.T.Helper()
	fm, free := f.freeHosts()
	if len(free) > 0 {
		h := free[0]
		os.RemoveAll(f.Dir + "/" + h.Dir) // what an instance that left has left there
		return []string{"move", "instance", string(fm.Pairs[0].Name) + "/" + string(side), "--to", string(h.Name), "-C", f.Dir}
	}
	f.T.Fatal("every host is in use")
	return nil
}

// CheckOneWriter stops the clients and compares every promise with the servers.
func (f *LiveFarm) CheckOneWriter() {
	f.T.Helper()
	f.CheckLedger()
	f.CheckOneServes()
}

// CheckOneServes reads that side A serves and takes writes, that B follows it
// and does not, and that routing and farm.yaml agree.
func (f *LiveFarm) CheckOneServes() {
	t := f.T
	t.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		primary := fm.Address(p.Sides[farm.A])
		r := table.Pairs[p.Name]
		if r.GateIsClosed(farm.A) || r.Share(farm.A, farm.A) != 100 || r.Sides[farm.A].Address != primary {
			t.Errorf("routing of %s: %+v, want open and all at %s", p.Name, r, primary)
		}
		for side, at := range p.Sides {
			address := fm.Address(at)
			if h, _ := fm.Host(at.Host); string(h.Type) != f.Onto && f.Wanted == "" {
				t.Errorf("%s %s is on %s of type %s, want %s", p.Name, side, h.Name, h.Type, f.Onto)
			}
			s := mysql.Open(p.Instance(side), address, admin, slog.New(slog.DiscardHandler))
			defer s.Close()
			on, err := s.IsReadOnly(t.Context())
			if err != nil || on != (side != farm.A) {
				t.Errorf("%s %s: read_only is %v (%v)", p.Name, side, on, err)
			}
			repl, err := s.Replication(t.Context())
			for end := time.Now().Add(WaitLimit); err == nil && side != farm.A && !repl.Running() && time.Now().Before(end); repl, err = s.Replication(t.Context()) {
				PauseTest() // a link that was made anew, or whose source was restarted, connects just now
			}
			switch {
			case err != nil:
				t.Errorf("%s %s: %v", p.Name, side, err)
			case side == farm.A && repl.Configured:
				t.Errorf("%s %s replicates: %+v", p.Name, side, repl)
			case side != farm.A && (!repl.Running() || !repl.Follows(primary)):
				t.Errorf("%s %s does not follow the primary: %+v", p.Name, side, repl)
			case side != farm.A && (len(r.Replicas) != len(p.Sides)-1 || !slices.Contains(r.Replicas, address)):
				t.Errorf("routing of %s names the replicas %v, want %s", p.Name, r.Replicas, address)
			}
		}
	}
}
