// Package load compares `stowage inventory load` with what each shard of a demo farm costs alone.
package load

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }
