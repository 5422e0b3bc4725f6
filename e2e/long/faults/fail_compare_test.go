package faults

import (
	"testing"

	"stowage/demo"
	"stowage/e2e/farmtest"
)

// New servers are killed while they are compared, four pairs at once, a hundred
// times and more. (A server that died while it made a new relay log answered 1201
// to every START SLAVE afterwards, and its side was undone: two of 31.)
func TestNewServersKilledAtCompare(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: new servers killed while they are compared")
	}
	f := farmtest.Raise(t, demo.Options{Pairs: 4, Shards: 1, Hosts: 4, Rows: 400}, 60, nil)
	kills, lost := 0, 0
	wanted := 24
	if farmtest.AllPoints() {
		wanted = 100
	}
	for kills < wanted && !t.Failed() {
		k, l := f.KillNewServersAtCompare(4)
		kills, lost = kills+k, lost+l
	}
	t.Logf("%d kills, a relay log was lost %d times", kills, lost)
	f.CheckWhole()
}
