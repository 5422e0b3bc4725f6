package record

import (
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestOnOtherFlavors: a window of the slow log, and settings put back, on servers of
// other lines. All of this package runs there by STOWAGE_TEST_LINE=mysql-9.7.
func TestOnOtherFlavors(t *testing.T) {
	turns.One(t, 8)
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			mariadbtest.Named(t, line) // or skip, before anything else
			t.Setenv("STOWAGE_TEST_LINE", line)
			t.Run("counts", TestCountsAcrossRotations)
			t.Run("their log", TestTheirLogStaysTheirs)
		})
	}
}
