package swing_test

import (
	"errors"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/swing"
	"stowage/swing/swingtest"
)

func newGroup(t *testing.T, names ...farm.PairName) ([]*swingtest.Scene, swing.Group) {
	t.Helper()
	t.Parallel() // it mostly waits
	all := swingtest.Pairs(t, nil, names...)
	var g swing.Group
	for _, x := range all {
		g = append(g, x.Swing)
	}
	return all, g
}

// The sides of a host leave one gate after the other, what was written on the
// twins meanwhile is there when they return, and one that fails keeps none out.
func TestSidesOfAHostLeaveTogetherOrNotAtAll(t *testing.T) {
	all, g := newGroup(t, "dbshard001", "dbshard002", "dbshard003")
	closed := 0
	for _, x := range all {
		x.Swing.Tell = func(kind farm.EventKind, _, _ string, _ float64) {
			switch kind {
			case farm.GateClosed:
				closed++
			case farm.GateOpened:
				closed--
			}
			if closed > 1 {
				t.Errorf("%s: the clients of %d pairs wait at once", x.Swing.Pair, closed)
			}
		}
	}
	broken := errors.New("a test says so")
	all[2].Swing.Border = func(point string) error {
		if point == "after out/barrier" {
			return broken
		}
		return nil
	}
	if err := g.Out(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("out: %v", err)
	}
	for _, x := range all {
		x.AtRest("one of three could not leave")
	}
	all[2].Swing.Border = nil
	if err := g.Out(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if x.ServedBy() != farm.B || !x.IsFenced() {
			t.Errorf("%s is out: served by %s, fenced %v", x.Swing.Pair, x.ServedBy(), x.IsFenced())
		}
		x.B.Exec(t, "INSERT d.t VALUES (3)")
	}
	if err := errors.Join(g.CatchUp(t.Context()), g.Warm(t.Context()), g.In(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		x.AtRest("back")
		if x.A.Value(t, "SELECT COUNT(*) FROM d.t") != "1" {
			t.Errorf("%s serves and lacks what was written on its twin", x.Swing.Pair)
		}
	}
	if err := errors.Join(g.Out(t.Context()), g.UndoOut(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		x.AtRest("undone")
	}
}

func TestBothSidesOfAPairNeverLeaveTogether(t *testing.T) {
	all, g := newGroup(t, "dbshard001")
	other := *all[0].Swing
	other.Side, other.Leaves, other.Returns, other.Twin = farm.B, other.Twin, other.Twin, other.Leaves
	err := append(g, &other).Out(t.Context())
	if !errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	if len(all[0].Points) > 0 {
		t.Errorf("it had begun: %v", all[0].Points)
	}
	all[0].AtRest("refused")
}

// A side that was changed in place is held to what it was before it left, not
// to itself. What the act announces may differ, and nothing else.
func TestSideInPlaceIsHeldToWhatItWas(t *testing.T) {
	x := swingtest.New(t)
	s := x.Swing
	if err := s.Check(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("checked without a baseline: %v", err)
	}
	was, err := swing.ReadBaseline(t.Context(), s.Leaves)
	if err != nil {
		t.Fatal(err)
	}
	s.Baseline = &was
	if err := errors.Join(s.Out(t.Context()), s.CatchUp(t.Context()), s.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
	x.A.Exec(t, "SET GLOBAL sync_binlog = 77", "SET GLOBAL max_connections = 99")
	err = s.Check(t.Context())
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), `sync_binlog is "77", was "`+was.Variables["sync_binlog"]+`", and 1 variable more`) {
		t.Errorf("two variables differ: %v", err)
	}
	s.MayDiffer = []string{"sync_binlog", "max_connections"}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("both are announced: %v", err)
	}

	x.A.Exec(t, "SET sql_log_bin = 0", "ALTER TABLE d.t ADD COLUMN c INT")
	if err := s.Check(t.Context()); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "d.t") {
		t.Errorf("a table differs from the twin's: %v", err)
	}
	s.TablesMayDiffer = []string{"d.t"}
	if err := errors.Join(s.Check(t.Context()), s.In(t.Context())); err != nil {
		t.Errorf("the table is announced: %v", err)
	}
	x.AtRest("back")
}
