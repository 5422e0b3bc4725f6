package reshape

import (
	"testing"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/turns"
)

// A shard of the spec that cannot be read stops neither who sends a tenant of another one back, nor the comparison of its rows.
func TestOneShardCannotBeRead(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	f := farmtest.StartFilesFarm(t, farm.ActiveActive, 1000, files.Clients{Seed: 9})
	f.Stowage(farmtest.ExitFine, "", "reshape", "--all")
	f.Stowage(farmtest.ExitFine, "", "due") // notes where the log ends
	states := f.States()
	first, second := states[0].ID, states[1].ID
	f.Spec("shards: [fs01]", "shards: [etsy_shard_0001, fs01]")
	const silent = "shard etsy_shard_0001 has no table tenants"

	f.Stowage(farmtest.ExitUsage, silent, "reshape", "off", first)
	f.Stowage(farmtest.ExitUsage, "fs01/"+second, "reshape", "status")
	f.Stowage(farmtest.ExitFine, "is active", "reshape", "on", "fs01/"+first)
	f.Past("UPDATE fs01.files SET latest_size = latest_size + 1 WHERE tenant_id = ? AND latest_size IS NOT NULL LIMIT 1", second)
	f.Forget("reshape")
	f.Stowage(farmtest.ExitFailed, "fs01/"+second+": 1 of its ", "due")
	f.Spec("", "")
	if n := f.Active(); n != len(states)-1 {
		t.Errorf("%d of %d tenants are active, and one was found wrong", n, len(states))
	}
}
