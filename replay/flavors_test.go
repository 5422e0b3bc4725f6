package replay

import (
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestOnOtherFlavors: recorded reads against a candidate, on servers of other
// lines.
func TestOnOtherFlavors(t *testing.T) {
	turns.One(t, 8)
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			mariadbtest.Named(t, line) // or skip, before anything else
			t.Setenv("STOWAGE_TEST_LINE", line)
			t.Run("against", TestAgainst)
		})
	}
}
