package demo

import "testing"

// Two demos that begin at the same moment do not choose the same addresses.
// ("demo up" failed with "address already in use" when another program was
// starting its servers.)
func TestAddressesAreReserved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	release, ok := reserve(10, 3)
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
	beside()
	release()
	again, ok := reserve(10, 3)
	if !ok {
		t.Error("released, and still taken")
	}
	again()
}
