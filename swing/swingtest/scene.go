// Package swingtest puts pairs in rotation on real servers, for tests of swings.
package swingtest

import (
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/route"
	"stowage/swing"
)

// Pair is the name of the pair of New.
const Pair = farm.PairName("dbshard001")

// Scene is a pair in rotation on real servers; side A leaves.
type Scene struct {
	T      *testing.T
	A, B   *mariadbtest.Instance
	Router *route.File
	Swing  *swing.Swing
	Points []string // the borders that were met
}

// New is one pair, on servers with more options, beside other tests.
func New(t *testing.T, options ...string) *Scene {
	t.Helper()
	t.Parallel() // it mostly waits
	return Pairs(t, options, Pair)[0]
}

// Pairs are pairs in rotation, in one routing table, on servers with more options.
func Pairs(t *testing.T, options []string, names ...farm.PairName) (out []*Scene) {
	t.Helper()
	router, pairs := route.NewFile(t.TempDir()+"/routing.json"), map[farm.PairName]*route.Pair{}
	for _, name := range names {
		x := newServers(t, name, router, options)
		pairs[name] = route.NewPair([]farm.ShardName{farm.ShardName(name + "_d")}, x.A.Address, x.B.Address)
		out = append(out, x)
	}
	if err := router.Create(pairs); err != nil {
		t.Fatal(err)
	}
	return out
}

func newServers(t *testing.T, name farm.PairName, router *route.File, options []string) *Scene {
	t.Helper()
	x := &Scene{T: t, A: mariadbtest.Start(t, "a", options...), B: mariadbtest.Start(t, "b", options...), Router: router}
	mariadbtest.Ring(t, x.A, x.B)
	x.A.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	mariadbtest.AwaitApplied(t, x.B, x.A)
	a, b := mysqltest.Open(t, x.A), mysqltest.Open(t, x.B)
	settings := swing.Defaults()
	settings.Soak, settings.Barrier, settings.Patience = 10*time.Millisecond, time.Second, time.Minute
	settings.Ramp = []float64{100}
	x.Swing = &swing.Swing{Pair: name, Side: farm.A, Router: x.Router, Leaves: a, Returns: a, Twin: b, Settings: settings,
		Border: func(point string) error { x.Points = append(x.Points, point); return nil }}
	return x
}

// Table is what routing says of the pair.
func (x *Scene) Table() *route.Pair {
	x.T.Helper()
	table, err := x.Router.Read(x.T.Context())
	if err != nil {
		x.T.Fatal(err)
	}
	return table.Pairs[x.Swing.Pair]
}

// ServedBy is the side that serves the clients of side A.
func (x *Scene) ServedBy() farm.SideName {
	if x.Table().Share(farm.A, farm.A) == 100 {
		return farm.A
	}
	return farm.B
}

// IsFenced reports whether side A takes no writes.
func (x *Scene) IsFenced() bool { return x.A.Value(x.T, "SELECT @@read_only") == "1" }

// AtRest: routing and servers are as before the swing.
func (x *Scene) AtRest(when string) {
	x.T.Helper()
	if p := x.Table(); p.GateIsClosed(farm.A) || x.ServedBy() != farm.A || x.IsFenced() {
		x.T.Errorf("%s: gate closed %v, side A is served by %s, fenced %v", when, p.GateIsClosed(farm.A), x.ServedBy(), x.IsFenced())
	}
}
