package swing_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

const pair = farm.PairName("dbshard001")

// scene is a pair in rotation on real servers; side A leaves.
type scene struct {
	t      *testing.T
	a, b   *mariadbtest.Instance
	router *route.File
	swing  *swing.Swing
	points []string
}

func newScene(t *testing.T, options ...string) *scene {
	t.Helper()
	t.Parallel() // it mostly waits
	return newScenes(t, options, pair)[0]
}

// newScenes are pairs in rotation, in one routing table, on servers with more options.
func newScenes(t *testing.T, options []string, names ...farm.PairName) (out []*scene) {
	t.Helper()
	router, pairs := route.NewFile(t.TempDir()+"/routing.json"), map[farm.PairName]*route.Pair{}
	for _, name := range names {
		x := newServers(t, name, router, options)
		pairs[name] = route.NewPair([]farm.ShardName{farm.ShardName(name + "_d")}, x.a.Address, x.b.Address)
		out = append(out, x)
	}
	if err := router.Create(pairs); err != nil {
		t.Fatal(err)
	}
	return out
}

func newServers(t *testing.T, name farm.PairName, router *route.File, options []string) *scene {
	t.Helper()
	x := &scene{t: t, a: mariadbtest.Start(t, "a", options...), b: mariadbtest.Start(t, "b", options...), router: router}
	mariadbtest.Ring(t, x.a, x.b)
	x.a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	mariadbtest.AwaitApplied(t, x.b, x.a)
	account := mysql.Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}
	open := func(i *mariadbtest.Instance) *mysql.Server {
		s := mysql.Open(farm.InstanceName(i.Name), i.Address, account, slog.New(slog.DiscardHandler))
		t.Cleanup(func() { s.Close() })
		return s
	}
	a, b := open(x.a), open(x.b)
	settings := swing.Defaults()
	settings.Soak, settings.Barrier, settings.Patience = 10*time.Millisecond, time.Second, time.Minute
	settings.Ramp = []float64{100}
	x.swing = &swing.Swing{Pair: name, Side: farm.A, Router: x.router, Leaves: a, Returns: a, Twin: b, Settings: settings,
		Border: func(point string) error { x.points = append(x.points, point); return nil }}
	return x
}

func (x *scene) table() *route.Pair {
	x.t.Helper()
	table, err := x.router.Read(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	return table.Pairs[x.swing.Pair]
}

func (x *scene) servedBy() farm.SideName {
	if x.table().Share(farm.A, farm.A) == 100 {
		return farm.A
	}
	return farm.B
}

func (x *scene) isFenced() bool { return x.a.Value(x.t, "SELECT @@read_only") == "1" }

// atRest: routing and servers are as before the swing.
func (x *scene) atRest(when string) {
	x.t.Helper()
	if p := x.table(); p.GateIsClosed(farm.A) || x.servedBy() != farm.A || x.isFenced() {
		x.t.Errorf("%s: gate closed %v, side A is served by %s, fenced %v", when, p.GateIsClosed(farm.A), x.servedBy(), x.isFenced())
	}
}

// At each border on the way out everything that the next phase stands on holds:
// the gate is closed until the flip, the side is fenced before the barrier, the
// twin has the last write before it serves, and routing sends no client there before.
func TestClientsGoToTheTwinWithEverythingTheyWrote(t *testing.T) {
	x := newScene(t)
	x.swing.Border = func(point string) error {
		x.points = append(x.points, point)
		inside := slices.Contains(x.points, "after out/close") && point != "after out/flip"
		if closed := x.table().GateIsClosed(farm.A); closed != inside {
			t.Errorf("%s: gate closed %v", point, closed)
		}
		if inside && x.servedBy() != farm.A {
			t.Errorf("%s: the twin serves already", point)
		}
		switch point {
		case "before out/close": // acknowledged last
			x.a.Exec(t, "INSERT d.t VALUES (1)")
		case "after out/fence":
			if !x.isFenced() {
				t.Errorf("%s: side A takes writes", point)
			}
		case "before out/flip":
			if x.b.Value(t, "SELECT COUNT(*) FROM d.t") != "1" {
				t.Errorf("%s: the twin lacks the last write", point)
			}
		}
		return nil
	}
	if err := x.swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range swing.OutPhases {
		want = append(want, "before out/"+p, "after out/"+p)
	}
	if !slices.Equal(x.points, want) {
		t.Errorf("phases %v, want %v", x.points, want)
	}
	if x.servedBy() != farm.B || !x.isFenced() {
		t.Errorf("afterwards: served by %s, fenced %v", x.servedBy(), x.isFenced())
	}
	// Out again changes nothing, and In ends where it began.
	x.points = nil
	x.swing.Border = nil
	if err := errors.Join(x.swing.Out(t.Context()), x.swing.In(t.Context())); err != nil {
		t.Fatal(err)
	}
	x.atRest("back again")
}

// A twin that lacks a write is never sent clients: the swing is given up, and
// the side serves and takes writes as before.
func TestTwinThatLacksAWriteIsNotSentClients(t *testing.T) {
	x := newScene(t)
	x.swing.Border = func(point string) error {
		if point == "before out/close" {
			x.b.Exec(t, "STOP SLAVE SQL_THREAD")
			x.a.Exec(t, "INSERT d.t VALUES (1)")
		}
		return nil
	}
	if err := x.swing.Out(t.Context()); err == nil {
		t.Error("clients were sent to a twin that lacks a write")
	}
	x.atRest("given up")
	x.b.Exec(t, "START SLAVE SQL_THREAD")
	x.swing.Border = nil
	if err := x.swing.Out(t.Context()); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
}

// Whatever phase fails, nothing is left closed or fenced.
func TestFailureAtEveryBorderLeavesTheSideServing(t *testing.T) {
	x := newScene(t)
	broken := errors.New("a test says so")
	for _, phase := range swing.OutPhases {
		for _, when := range []string{"before", "after"} {
			at := when + " out/" + phase
			x.swing.Border = func(point string) error {
				if point == at {
					return broken
				}
				return nil
			}
			err := x.swing.Out(t.Context())
			if !errors.Is(err, broken) {
				t.Fatalf("%s: %v", at, err)
			}
			if at == "after out/flip" { // it is done
				continue
			}
			x.atRest(at)
		}
	}
	x.swing.Border = nil
	if err := errors.Join(x.swing.Out(t.Context()), x.swing.UndoOut(t.Context())); err != nil {
		t.Fatal(err)
	}
	x.atRest("undone")
}

// What was written on the twin while it served is on the side before clients
// are sent back.
func TestUndoBringsHomeWhatWasWrittenOnTheTwin(t *testing.T) {
	x := newScene(t)
	if err := x.swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.a.Exec(t, "STOP SLAVE SQL_THREAD")
	x.b.Exec(t, "INSERT d.t VALUES (7)")
	if err := x.swing.UndoOut(t.Context()); err == nil {
		t.Error("clients were sent back to a side that lacks a write")
	}
	if x.servedBy() != farm.B || x.table().GateIsClosed(farm.A) {
		t.Errorf("given up: served by %s, gate closed %v", x.servedBy(), x.table().GateIsClosed(farm.A))
	}
	x.a.Exec(t, "START SLAVE SQL_THREAD")
	if err := x.swing.UndoOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x.a.Value(t, "SELECT COUNT(*) FROM d.t") != "1" {
		t.Error("side A serves and lacks what was written on the twin")
	}
	x.atRest("undone")
}

// A long transaction delays the swing with the gate open, and one that nobody
// ends gives it up.
func TestLongTransactionIsWaitedForWithTheGateOpen(t *testing.T) {
	x := newScene(t)
	x.swing.Settings.Patience = 700 * time.Millisecond
	tx, err := x.a.DB(t, mariadbtest.App, "d").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	told := 0
	x.swing.Tell = func(kind farm.EventKind, phase, text string, _ float64) {
		if kind == farm.StepWaiting && phase == "ready" && strings.Contains(text, "hold work open") {
			told++
		}
		if kind == farm.GateClosed {
			t.Error("the gate was closed over a long transaction")
		}
	}
	if err := x.swing.Out(t.Context()); err == nil || told == 0 {
		t.Errorf("%v, told %d times that it waits", err, told)
	}
	x.atRest("given up")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	x.swing.Tell = nil
	if err := x.swing.Out(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
