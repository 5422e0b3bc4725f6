// Package alter changes tables of a farm under load, as people do twice a week, and kills once what does it.
package alter

import (
	"strings"
	"testing"

	"stowage/alter"
	"stowage/alter/plan"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

// A column comes and is written as soon as a client sees it, an index, longer types, and the column goes again: no query fails, nothing is lost, and both sides have the same rows.
func TestTablesChangeUnderLoad(t *testing.T) {
	t.Parallel() // it mostly waits
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	a.Run(farmtest.ExitFine, "directional", "alter", a.Script(farmtest.AddColour), "--dry-run")
	a.Run(farmtest.ExitUsage, "not a pattern of shards", "alter", a.Script(farmtest.AddColour), "--shards", "[")
	a.Run(farmtest.ExitUsage, "change3.sql:1", "alter", a.Script("DROP TABLE receipts;"))
	a.Run(farmtest.ExitUsage, "no shard of farm.yaml is called etsy_shard_01", "alter", a.Script(farmtest.AddColour), "--shards", "etsy_shard_0001,etsy_shard_01")
	if p := a.Run(farmtest.ExitRefused, "safely", "alter", a.Script("ALTER TABLE receipts ADD COLUMN hue INT NOT NULL DEFAULT 0 AFTER id;")); !strings.Contains(p.Stdout, "-safe-1.sql") {
		t.Errorf("no script of safe steps:\n%s", p.Stdout)
	}
	a.Alter(farmtest.AddColour)
	a.Run(farmtest.ExitUsage, "may have this change already", "alter", a.Script(farmtest.AddColour))
	a.Alter(farmtest.AddIndex)
	a.Alter(farmtest.Remark)
	a.Alter(farmtest.Widen)
	a.Run(farmtest.ExitFine, "nothing to do", "alter", a.Script(farmtest.Widen), "--dry-run")
	a.Rests()
	a.Settle(true, 1)

	if err := a.F.StartClients(); err != nil {
		t.Fatal(err)
	}
	a.Alter(farmtest.DropColour)
	a.Rests()
	a.Settle(false, 1)
	for _, c := range a.Consoles() {
		text := c.Definition(t, "receipts")
		if strings.Contains(text, "colour") || !strings.Contains(text, "`amount` bigint") || !strings.Contains(text, "KEY `made`") || !strings.Contains(text, "what was bought") {
			t.Errorf("%s has\n%s", c.Name, text)
		}
	}
}

// One border of all, another with each commit: e2e/long/alter has the others.
func TestAlterKilledOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	book, _ := alter.Kind(nil).Runbook(string(plan.Held))
	points := book.Points()
	at := points[farmtest.Turn()%len(points)]
	a.Killed("both", at, farmtest.AddColour)
	a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
	a.Rests()
	a.Settle(true, 1)
}
