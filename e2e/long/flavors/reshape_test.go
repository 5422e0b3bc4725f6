package flavors

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// TestApplierOnOtherFlavors: the applier keeps the columns behind clients of both sides; it is killed, logs rotate, and each side leaves and returns.
func TestApplierOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := farmtest.StartKept(t, line, 1, 13)
			b := f.Apply()
			f.Begin()
			f.KeepsUp(&b.Out, 2)
			b.Kill()
			f.Rotate()
			b = f.Apply()
			for _, side := range []farm.SideName{farm.A, farm.B} {
				f.Stowage(farmtest.ExitFine, "", "side", "out", farmtest.Home+"/"+string(side))
				f.KeepsUp(&b.Out, 1)
				f.Stowage(farmtest.ExitFine, "", "side", "in", farmtest.Home+"/"+string(side))
				f.KeepsUp(&b.Out, 2)
			}
			f.End(&b.Out)
		})
	}
}
