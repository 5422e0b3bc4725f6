package swing_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/route"
	"stowage/swing"
	"stowage/swing/swingtest"
)

// At each border on the way out everything that the next phase stands on holds:
// the gate is closed until the flip, the side is fenced before the barrier, the
// twin has the last write before it serves, and routing sends no client there before.
func TestClientsGoToTheTwinWithEverythingTheyWrote(t *testing.T) {
	x := swingtest.New(t)
	x.Swing.Border = func(point string) error {
		x.Points = append(x.Points, point)
		inside := slices.Contains(x.Points, "after out/close") && point != "after out/flip"
		if closed := x.Table().GateIsClosed(farm.A); closed != inside {
			t.Errorf("%s: gate closed %v", point, closed)
		}
		if inside && x.ServedBy() != farm.A {
			t.Errorf("%s: the twin serves already", point)
		}
		switch point {
		case "before out/close": // acknowledged last
			x.A.Exec(t, "INSERT d.t VALUES (1)")
		case "after out/fence":
			if !x.IsFenced() {
				t.Errorf("%s: side A takes writes", point)
			}
		case "before out/flip":
			if x.B.Value(t, "SELECT COUNT(*) FROM d.t") != "1" {
				t.Errorf("%s: the twin lacks the last write", point)
			}
		}
		return nil
	}
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range swing.OutPhases {
		want = append(want, "before out/"+p, "after out/"+p)
	}
	if !slices.Equal(x.Points, want) {
		t.Errorf("phases %v, want %v", x.Points, want)
	}
	if x.ServedBy() != farm.B || !x.IsFenced() {
		t.Errorf("afterwards: served by %s, fenced %v", x.ServedBy(), x.IsFenced())
	}
	// Out again changes nothing, and In ends where it began.
	x.Points = nil
	x.Swing.Border = nil
	if err := errors.Join(x.Swing.Out(t.Context()), x.Swing.In(t.Context())); err != nil {
		t.Fatal(err)
	}
	x.AtRest("back again")
}

// A twin that lacks a write is never sent clients: the swing is given up, and
// the side serves and takes writes as before.
func TestTwinThatLacksAWriteIsNotSentClients(t *testing.T) {
	x := swingtest.New(t)
	x.Swing.Border = func(point string) error {
		if point == "before out/close" {
			x.B.Exec(t, "STOP SLAVE SQL_THREAD")
			x.A.Exec(t, "INSERT d.t VALUES (1)")
		}
		return nil
	}
	if err := x.Swing.Out(t.Context()); err == nil {
		t.Error("clients were sent to a twin that lacks a write")
	}
	x.AtRest("given up")
	x.B.Exec(t, "START SLAVE SQL_THREAD")
	x.Swing.Border = nil
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
}

// Whatever phase fails, nothing is left closed or fenced.
func TestFailureAtEveryBorderLeavesTheSideServing(t *testing.T) {
	x := swingtest.New(t)
	broken := errors.New("a test says so")
	for _, phase := range swing.OutPhases {
		for _, when := range []string{"before", "after"} {
			at := when + " out/" + phase
			x.Swing.Border = func(point string) error {
				if point == at {
					return broken
				}
				return nil
			}
			err := x.Swing.Out(t.Context())
			if !errors.Is(err, broken) {
				t.Fatalf("%s: %v", at, err)
			}
			if at == "after out/flip" { // it is done
				continue
			}
			x.AtRest(at)
		}
	}
	x.Swing.Border = nil
	if err := errors.Join(x.Swing.Out(t.Context()), x.Swing.UndoOut(t.Context())); err != nil {
		t.Fatal(err)
	}
	x.AtRest("undone")
}

// What was written on the twin while it served is on the side before clients
// are sent back.
func TestUndoBringsHomeWhatWasWrittenOnTheTwin(t *testing.T) {
	x := swingtest.New(t)
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.A.Exec(t, "STOP SLAVE SQL_THREAD")
	x.B.Exec(t, "INSERT d.t VALUES (7)")
	if err := x.Swing.UndoOut(t.Context()); err == nil {
		t.Error("clients were sent back to a side that lacks a write")
	}
	if x.ServedBy() != farm.B || x.Table().GateIsClosed(farm.A) {
		t.Errorf("given up: served by %s, gate closed %v", x.ServedBy(), x.Table().GateIsClosed(farm.A))
	}
	x.A.Exec(t, "START SLAVE SQL_THREAD")
	if err := x.Swing.UndoOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x.A.Value(t, "SELECT COUNT(*) FROM d.t") != "1" {
		t.Error("side A serves and lacks what was written on the twin")
	}
	x.AtRest("undone")
}

// On a side that does worse every statement may be a long one, one beginning before the other has ended. Its clients are sent away all the same.
func TestSideWhoseStatementsAreAllLongIsSentAway(t *testing.T) {
	x := swingtest.New(t)
	x.Swing.Settings.Drain, x.Swing.Settings.Long = 300*time.Millisecond, 100*time.Millisecond
	if err := x.Swing.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	follow, err := route.Follow(x.Router.Path())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer func() { stop(); clients.Wait() }()
	dbs := map[string]*sql.DB{x.A.Address: x.A.DB(t, mariadbtest.App, "d"), x.B.Address: x.B.DB(t, mariadbtest.App, "d")}
	sick := func() {
		x.A.Exec(t, "STOP SLAVE SQL_THREAD")
		for n := range 3 {
			clients.Go(func() {
				time.Sleep(time.Duration(n) * 300 * time.Millisecond)
				for ctx.Err() == nil {
					_, at, err := follow.AwaitOpen(ctx, swingtest.Pair, "client of A")
					if err != nil {
						return
					}
					takes := "0"
					if at == x.A.Address {
						takes = "0.9"
					}
					if _, err := dbs[at].ExecContext(ctx, "DO SLEEP("+takes+")"); err != nil && ctx.Err() == nil {
						t.Errorf("a query failed: %v", err)
					}
				}
			})
		}
		time.Sleep(time.Second)
	}
	x.Swing.Border = func(point string) error {
		if point == "after in/flip" {
			sick()
		}
		return nil
	}
	began := time.Now()
	err = x.Swing.In(t.Context())
	t.Logf("%v: %v", time.Since(began), err)
	if p := x.Table(); !errors.Is(err, swing.ErrWorse) || p.Share(farm.A, farm.A) != 0 || p.GateIsClosed(farm.A) || !x.IsFenced() {
		t.Errorf("the side serves %v %%, gate closed %v, fenced %v: %v", p.Share(farm.A, farm.A), p.GateIsClosed(farm.A), x.IsFenced(), err)
	}
	if err != nil && strings.Contains(err.Error(), "hold work open") {
		t.Errorf("it was sent away, and the error says that it was not: %v", err)
	}
}

// A long transaction delays the swing with the gate open, and one that nobody
// ends gives it up.
func TestLongTransactionIsWaitedForWithTheGateOpen(t *testing.T) {
	x := swingtest.New(t)
	x.Swing.Settings.Patience = 700 * time.Millisecond
	tx, err := x.A.DB(t, mariadbtest.App, "d").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	told := 0
	x.Swing.Tell = func(kind farm.EventKind, phase, text string, _ float64) {
		if kind == farm.StepWaiting && phase == "ready" && strings.Contains(text, "hold work open") {
			told++
		}
		if kind == farm.GateClosed {
			t.Error("the gate was closed over a long transaction")
		}
	}
	if err := x.Swing.Out(t.Context()); err == nil || told == 0 {
		t.Errorf("%v, told %d times that it waits", err, told)
	}
	x.AtRest("given up")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	x.Swing.Tell = nil
	if err := x.Swing.Out(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
