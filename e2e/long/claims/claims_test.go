// Package claims has two runs go on side by side, and kills one of them in each way.
package claims

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestRunsSideBySide(t *testing.T) {
	t.Parallel() // it mostly waits
	farmtest.RunsSideBySide(t, farmtest.SideBySideRounds)
}
