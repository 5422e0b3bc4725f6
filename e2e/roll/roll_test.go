// Package roll rolls the hosts of a farm under load, as people do who patch it,
// and kills once what does it.
package roll

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

func TestHostsAreRolled(t *testing.T) {
	r := farmtest.StartRolledFarm(t)
	p := r.Run(farmtest.ExitFine, "", "inventory")
	t.Log(p.Stdout)
	name := r.Plan("--hosts", "db*", "--restart")
	p = r.Run(farmtest.ExitFine, "", "roll", "show", name)
	t.Log(p.Stdout)
	p = r.Run(farmtest.ExitFine, "", "roll", name, "--json")
	t.Log(p.Stdout, p.Stderr)
	r.AllServe()
	r.F.CheckLedger()
}
