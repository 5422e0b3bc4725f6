package farmtest

import (
	"os"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
	"stowage/workspace"
)

// GetsAnotherReplica moves the replica of the first pair to a host it will stay
// on, and makes a second one of what that has left.
func (f *LiveFarm) GetsAnotherReplica() {
	t := f.T
	t.Helper()
	_, was, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	left := was.Pairs[0].Sides[farm.B]
	f.Must("move", "instance", "dbshard001/B", "--to", "ssd03")
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &fm.Pairs[0]
	p.Sides["C"] = left
	local, err := host.NewLocal(QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	at, _ := fm.Host(left.Host)
	in := host.Instance{Name: p.Instance("C"), Address: at.Address, Port: left.Port, Datadir: f.Path(left.Datadir), Config: f.Path(left.Config)}
	if err := local.Start(t.Context(), in, time.Minute); err != nil {
		t.Fatal(err)
	}
	repl, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "replication")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(p.Instance("C"), fm.Address(left)).Follow(t.Context(), fm.Address(p.Sides[farm.A]), repl, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := workspace.WriteFarm(f.Dir+"/farm.yaml", fm); err != nil {
		t.Fatal(err)
	}
	routes := route.NewFile(f.Dir + "/routing.json")
	if err := routes.Change(t.Context(), p.Name, func(r *route.Pair) error { r.Replicas = append(r.Replicas, fm.Address(left)); return nil }); err != nil {
		t.Fatal(err)
	}
	goals, err := os.ReadFile(f.Dir + "/goals.yaml")
	if err != nil {
		t.Fatal(err)
	}
	two := strings.Replace(string(goals), "spread_labels: [rack]", "spread_labels: []", 1) // there are two racks, and three sides
	if err := os.WriteFile(f.Dir+"/goals.yaml", []byte(two), 0o644); err != nil {
		t.Fatal(err)
	}
}

// StartAgain kills the server of a side of the first pair, and starts it again.
func (f *LiveFarm) StartAgain(side farm.SideName) {
	t := f.T
	t.Helper()
	s := f.held(side)
	pid, err := s.host.Running(t.Context(), s.At)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	for err == nil && pid != 0 {
		PauseTest()
		pid, err = s.host.Running(t.Context(), s.At)
	}
	if err == nil {
		err = s.host.Start(t.Context(), s.At, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BecomesSingle takes the replica away from a pair with one writer, for good,
// between two loads.
func (f *LiveFarm) BecomesSingle(n int) {
	t := f.T
	t.Helper()
	f.Load.Stop()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &fm.Pairs[n]
	socket := f.Path(p.Sides[farm.B].Datadir) + "/mysqld.sock"
	if _, err := f.Dial("unix", socket, "root", "").Exec("SHUTDOWN"); err != nil {
		t.Fatal(err)
	}
	for gone := false; !gone; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(socket)
		gone = os.IsNotExist(err)
	}
	p.Topology = farm.Single
	delete(p.Sides, farm.B)
	if err := workspace.WriteFarm(f.Dir+"/farm.yaml", fm); err != nil {
		t.Fatal(err)
	}
	routes := route.NewFile(f.Dir + "/routing.json")
	if err := routes.Change(t.Context(), p.Name, func(r *route.Pair) error { r.Replicas = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
}
