// Package kafka follows shards into a real broker of Kafka, which `make kafka`
// fetches. Without it these tests say NOT TESTED.
package kafka

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }
