package demo

import (
	"path/filepath"
	"testing"
)

// The locks are those of this user's demos: tests take blocks that no demo of a sane size reaches.

// Two demos that begin at the same moment do not choose the same addresses.
// ("demo up" failed with "address already in use" when another program was
// starting its servers.)
func TestAddressesAreReserved(t *testing.T) {
	first, ok := reserve(240, 3)
	if !ok {
		t.Fatal("nobody else is there, and it is taken")
	}
	for _, block := range []int{238, 240, 242} {
		if _, ok := reserve(block, 3); ok {
			t.Errorf("%d to %d is given out beside 240 to 242", block, block+2)
		}
	}
	beside, ok := reserve(243, 3)
	if !ok {
		t.Error("243 to 245 is free, and is not given out")
	}
	beside.release()
	first.release()
	again, ok := reserve(240, 3)
	if !ok {
		t.Error("released, and still taken")
	}
	again.release()
}

// A farm has its addresses for as long as it is up, also those on which nothing
// listens yet. (A host that a move was to reach later had been given to a farm
// of another size, whose range began elsewhere.)
func TestAddressesAreClaimed(t *testing.T) {
	dir := t.TempDir()
	up := state{Block: 240}
	if err := up.write(dir); err != nil {
		t.Fatal(err)
	}
	taken := func(block, n int) bool {
		r, ok := reserve(block, n)
		if !ok {
			t.Fatalf("%d is locked", block)
		}
		defer r.release()
		return r.claimed()
	}
	r, _ := reserve(240, 3)
	if r.claimed() {
		t.Error("claimed by nobody")
	}
	r.claim(dir)
	r.release()
	if !taken(242, 4) || taken(243, 4) {
		t.Error("240 to 242 are claimed, and they alone")
	}
	up.Down = true
	if err := up.write(dir); err != nil {
		t.Fatal(err)
	}
	if taken(240, 3) {
		t.Error("its farm is down, and it is claimed")
	}
	r, _ = reserve(240, 3)
	r.claim(filepath.Join(dir, "gone"))
	r.release()
	if taken(240, 3) {
		t.Error("claimed by a farm that is not there")
	}
}
