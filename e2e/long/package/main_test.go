// Package packaged installs the package for Debian in a root of its own, runs
// Stowage from it, upgrades it under a move, and takes it away again.
package packaged

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }
