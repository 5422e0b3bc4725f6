// Package domains kills `stowage domains` at each of its borders, under load.
package domains

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }
