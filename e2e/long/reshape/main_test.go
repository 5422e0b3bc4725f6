// Package reshape kills what denormalises tenants at every border, takes it back from every step, and lets it be killed at random for rounds.
package reshape

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }
