package farmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
	"stowage/session"
)

// LoseSide ends the server of a side with SIGKILL, for good, when its twin has received all of its writes, applied or not: what a twin never received is lost
// with a host, whoever restores what. The clients are stopped first.
func (k *KeptFarm) LoseSide(side farm.SideName) {
	k.F.T.Helper()
	k.LoseSideBy(side, func() { k.Signal(side, syscall.SIGKILL) })
}

// LoseSideBy is LoseSide by something else than a kill.
func (k *KeptFarm) LoseSideBy(side farm.SideName, lose func()) {
	t := k.F.T
	t.Helper()
	if s := k.F.Load.Stop(); s.Failed+s.StaleReads+s.UnknownLeft != 0 || s.Acknowledged == 0 {
		t.Errorf("before side %s was lost clients met failed %d, stale %d, unknown %d, acknowledged %d: %v", side, s.Failed, s.StaleReads, s.UnknownLeft, s.Acknowledged, s.Failures)
	}
	lost, twin := k.serverOf(side), k.serverOf(side.Twin())
	defer lost.Close()
	defer twin.Close()
	is, err := lost.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k.await(fmt.Sprintf("side %s has received what side %s wrote", side.Twin(), side), func() bool {
		if !is.Flavor.HasGTIDDomains() {
			has, err := twin.AppliedPosition(t.Context())
			return err == nil && has.Reached(is.Binlog)
		}
		now, err := twin.Replication(t.Context())
		has, bad := mysql.ParsePosition(now.Received)
		return err == nil && bad == nil && has.Reached(is.Binlog.Only(is.Domain))
	})
	lose()
	k.await(fmt.Sprintf("side %s does not answer", side), func() bool { return lost.Again().Answers(t.Context()) != nil })
}

func (k *KeptFarm) await(what string, is func() bool) {
	k.F.T.Helper()
	for end := time.Now().Add(WaitLimit); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			k.F.T.Fatalf("never: %s", what)
		}
	}
}

// Reconnect makes the receiver of a side connect again, to a source that need not answer.
func (k *KeptFarm) Reconnect(side farm.SideName) {
	k.F.T.Helper()
	server := k.serverOf(side)
	defer server.Close()
	if err := server.StopReplicating(k.F.T.Context()); err != nil {
		k.F.T.Fatal(err)
	}
	_ = server.StartReplicating(k.F.T.Context(), time.Millisecond) // it waits for its source
}

// AwaitReceiver waits until the receiver of a side has noticed that its source is gone, or is back.
func (k *KeptFarm) AwaitReceiver(side farm.SideName, connected bool) {
	k.F.T.Helper()
	server := k.serverOf(side)
	defer server.Close()
	k.await("the receiver notices", func() bool {
		now, err := server.Replication(k.F.T.Context())
		return err == nil && (now.IO == "Yes") == connected
	})
}

// TellSide runs statements on a side as its administrator does.
func (k *KeptFarm) TellSide(side farm.SideName, statements ...string) {
	k.F.T.Helper()
	was := k.Of
	k.Of = side
	k.Told(statements...)
	k.Of = was
}

// NoSideLeft: nothing of a restored side is on a host, and the clients of the side are served by its twin, whose link leads to the lost server.
func (k *KeptFarm) NoSideLeft(side farm.SideName, on string) {
	t := k.F.T
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(k.F.Dir, "hosts", on, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if percent, _ := k.SidesOf(side, side.Twin()); percent != 100 {
		t.Errorf("its twin serves %g %% of the clients of side %s", percent, side)
	}
	lost, twin := k.serverOf(side), k.serverOf(side.Twin())
	defer lost.Close()
	defer twin.Close()
	if now, err := twin.Replication(t.Context()); err != nil || !now.Follows(lost.Address()) || now.Broken() != nil {
		t.Errorf("the link of side %s: %+v %v", side.Twin(), now, err)
	}
}

// Signal sends a signal to the server of a side.
func (k *KeptFarm) Signal(side farm.SideName, signal syscall.Signal) {
	k.F.T.Helper()
	k.signalIn(filepath.Dir(k.F.Path(k.placeOf(side).Datadir)), signal)
}

func (k *KeptFarm) signalIn(dir string, signal syscall.Signal) {
	t := k.F.T
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %q %v", dir, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, signal)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// StartSide starts the server of a side.
func (k *KeptFarm) StartSide(side farm.SideName) {
	k.F.T.Helper()
	if err := k.host.Start(k.F.T.Context(), k.instanceOf(side), time.Minute); err != nil {
		k.F.T.Fatal(err)
	}
}

func (k *KeptFarm) instanceOf(side farm.SideName) host.Instance {
	k.F.T.Helper()
	ws, fm, _, err := FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	p := fm.Pairs[0]
	h, _ := fm.Host(p.Sides[side].Host)
	return session.InstanceAt(ws, p.Instance(side), h.Address, p.Sides[side])
}

// CrashOn kills the only server on a host, and starts it again as whoever looks after servers does.
func (k *KeptFarm) CrashOn(on string) {
	t := k.F.T
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(k.F.Dir, "hosts", on, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("on host %s: %q %v", on, dirs, err)
	}
	k.signalIn(dirs[0], syscall.SIGKILL)
	text, err := os.ReadFile(filepath.Join(dirs[0], "my.cnf"))
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		v, _ := host.Option(string(text), host.ServerGroup(string(text)), name)
		return v
	}
	port, _ := strconv.Atoi(value("port"))
	i := host.Instance{Name: farm.InstanceName(filepath.Base(dirs[0])), Address: value("bind_address"), Port: port, Datadir: filepath.Join(dirs[0], "data"), Config: filepath.Join(dirs[0], "my.cnf")}
	k.await("the server is gone", func() bool { pid, err := k.host.Running(t.Context(), i); return err == nil && pid == 0 })
	if err := k.host.Start(t.Context(), i, time.Minute); err != nil {
		t.Fatal(err)
	}
}

// Purge takes all but the newest binary log of a side away.
func (k *KeptFarm) Purge(side farm.SideName) {
	t := k.F.T
	t.Helper()
	db := k.F.Root(side)
	defer db.Close()
	k.TellSide(side, "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
	var file, size string
	k.await("old binary logs are purged", func() bool { // a file that its server still needs for recovery stays
		rows, err := db.QueryContext(t.Context(), "SHOW BINARY LOGS")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			n++
			if err := rows.Scan(&file, &size); err != nil {
				t.Fatal(err)
			}
		}
		if n == 1 || rows.Err() != nil {
			return n == 1
		}
		_, err = db.ExecContext(t.Context(), "PURGE BINARY LOGS TO '"+file+"'")
		return err != nil
	})
}

// FailOver sends the clients of a side to its twin, as somebody does who has noticed, and starts clients.
func (k *KeptFarm) FailOver(side farm.SideName) {
	t := k.F.T
	t.Helper()
	twin := k.serverOf(side.Twin())
	defer twin.Close()
	err := route.NewFile(filepath.Join(k.F.Dir, "routing.json")).Change(t.Context(), k.pairName(), func(p *route.Pair) error {
		p.Serve(side, side.Twin(), twin.Address(), 100)
		return nil
	})
	if err == nil {
		err = k.F.StartClients()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SidesOf is which side serves how much of a side's clients, and at which address.
func (k *KeptFarm) SidesOf(home, side farm.SideName) (percent float64, address string) {
	k.F.T.Helper()
	table, err := route.ReadFile(filepath.Join(k.F.Dir, "routing.json"))
	if err != nil {
		k.F.T.Fatal(err)
	}
	p := table.Pairs[k.pairName()]
	return p.Share(home, side), p.Sides[side].Address
}

// CheckAdopted: farm.yaml and routing name the same server for the side, on that host, and the two sides replicate from each other.
func (k *KeptFarm) CheckAdopted(t *testing.T, side farm.SideName, on string) {
	t.Helper()
	here, twin := k.serverOf(side), k.serverOf(side.Twin())
	defer here.Close()
	defer twin.Close()
	if got := k.placeOf(side).Host; string(got) != on {
		t.Errorf("farm.yaml has side %s on host %s, want %s", side, got, on)
	}
	if percent, at := k.SidesOf(side, side); percent != 100 || at != here.Address() {
		t.Errorf("routing has %g %% of side %s at %q, farm.yaml %s", percent, side, at, here.Address())
	}
	for _, way := range [][2]*mysql.Server{{here, twin}, {twin, here}} {
		now, err := way[0].Replication(t.Context())
		if err != nil || !now.Follows(way[1].Address()) || !now.Running() {
			t.Errorf("%s does not replicate from %s: %+v %v", way[0].Name(), way[1].Name(), now, err)
		}
	}
}

func (k *KeptFarm) placeOf(side farm.SideName) farm.Side {
	k.F.T.Helper()
	_, fm, _, err := FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	return fm.Pairs[0].Sides[side]
}

func (k *KeptFarm) pairName() farm.PairName {
	pair, _, _ := strings.Cut(k.Name, "/")
	return farm.PairName(pair)
}

// serverOf is the server of a side, as Stowage's account sees it.
func (k *KeptFarm) serverOf(side farm.SideName) *mysql.Server {
	t := k.F.T
	t.Helper()
	_, fm, _, err := FarmAccess(k.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(filepath.Join(k.F.Dir, "accounts.cnf"), "stowage")
	if err != nil {
		t.Fatal(err)
	}
	return mysql.Open(fm.Pairs[0].Instance(side), fm.Address(fm.Pairs[0].Sides[side]), admin, QuietLog())
}

// KillSide ends the server of a side with SIGKILL, for good; clients go on.
func (k *KeptFarm) KillSide(side farm.SideName) {
	k.F.T.Helper()
	lost := k.serverOf(side)
	defer lost.Close()
	k.Signal(side, syscall.SIGKILL)
	k.await(fmt.Sprintf("side %s does not answer", side), func() bool { return lost.Again().Answers(k.F.T.Context()) != nil })
}

// CheckReplica: farm.yaml and routing name the same server for a replica, on that host; it follows the primary, takes no writes, and has its lasting options.
func (k *KeptFarm) CheckReplica(side farm.SideName, on string) {
	t := k.F.T
	t.Helper()
	here, primary := k.serverOf(side), k.serverOf(farm.A)
	defer here.Close()
	defer primary.Close()
	place := k.placeOf(side)
	if string(place.Host) != on {
		t.Errorf("farm.yaml has side %s on host %s, want %s", side, place.Host, on)
	}
	table, err := route.ReadFile(filepath.Join(k.F.Dir, "routing.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Pairs[k.pairName()].Replicas; !slices.Equal(got, []string{here.Address()}) {
		t.Errorf("routing has the replicas %q, farm.yaml %s", got, here.Address())
	}
	now, err := here.Replication(t.Context())
	if err != nil || !now.Follows(primary.Address()) || !now.Running() {
		t.Errorf("%s does not replicate from %s: %+v %v", here.Name(), primary.Name(), now, err)
	}
	if closed, err := here.IsReadOnly(t.Context()); err != nil || !closed {
		t.Errorf("%s takes writes: %v", here.Name(), err)
	}
	text, err := os.ReadFile(k.F.Path(place.Config))
	if err != nil {
		t.Fatal(err)
	}
	group := host.ServerGroup(string(text))
	closed, _ := host.Option(string(text), group, "read_only")
	if _, waits := host.Option(string(text), group, "skip_slave_start"); waits || closed != "ON" || strings.Contains(string(text), fresh.Mark) {
		t.Errorf("%s starts with\n%s", here.Name(), text)
	}
}
