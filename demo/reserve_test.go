package demo

import (
	"path/filepath"
	"testing"
)

// Two demos that begin at the same moment do not choose the same addresses.
// ("demo up" failed with "address already in use" when another program was
// starting its servers.)
func TestAddressesAreReserved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, ok := reserve(10, 3)
	if !ok {
		t.Fatal("nobody else is there, and it is taken")
	}
	for _, block := range []int{8, 10, 12} {
		if _, ok := reserve(block, 3); ok {
			t.Errorf("%d to %d is given out beside 10 to 12", block, block+2)
		}
	}
	beside, ok := reserve(13, 3)
	if !ok {
		t.Error("13 to 15 is free, and is not given out")
	}
	beside.release()
	first.release()
	again, ok := reserve(10, 3)
	if !ok {
		t.Error("released, and still taken")
	}
	again.release()
}

// A farm has its addresses for as long as it is up, also those on which nothing
// listens yet. (A host that a move was to reach later had been given to a farm
// of another size, whose range began elsewhere.)
func TestAddressesAreClaimed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	up := state{Block: 10}
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
	r, _ := reserve(10, 3)
	if r.claimed() {
		t.Error("claimed by nobody")
	}
	r.claim(dir)
	r.release()
	if !taken(12, 4) || taken(13, 4) {
		t.Error("10 to 12 are claimed, and they alone")
	}
	up.Down = true
	if err := up.write(dir); err != nil {
		t.Fatal(err)
	}
	if taken(10, 3) {
		t.Error("its farm is down, and it is claimed")
	}
	r, _ = reserve(10, 3)
	r.claim(filepath.Join(dir, "gone"))
	r.release()
	if taken(10, 3) {
		t.Error("claimed by a farm that is not there")
	}
}
