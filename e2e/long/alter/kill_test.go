// Package alter kills what changes tables at every border, and takes changes back from every step.
package alter

import (
	"fmt"
	"slices"
	"testing"

	"stowage/act"
	"stowage/alter"
	"stowage/alter/plan"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/swing"
)

// ways are how pairs come to new tables, with a change that goes there and one that goes back.
var ways = []struct {
	way         plan.Way
	topology    farm.Topology
	there, back string
	hands       int
}{
	{plan.Held, farm.ActiveActive, farmtest.AddColour, farmtest.DropColour, 3},
	{plan.Apart, farm.ActiveActive, farmtest.AddIndex, farmtest.DropIndex, 2},
	{plan.Direct, farm.ActiveActive, farmtest.Remark, "ALTER TABLE receipts COMMENT '';\n", 1},
	{plan.Held + plan.OneWriter, farm.PrimaryReplica, farmtest.AddBoth, farmtest.DropBoth, 3},
	{plan.HeldReplicas, farm.PrimaryReplica, farmtest.AddBoth, farmtest.DropBoth, 3},
	{plan.Apart + plan.OneWriter, farm.PrimaryReplica, farmtest.AddIndex, farmtest.DropIndex, 2},
	{plan.Logged, farm.PrimaryReplica, farmtest.AddColour, farmtest.DropColour, 1},
}

// startFor starts one pair, and says what more an alter of it is told.
func startFor(t *testing.T, way plan.Way, topology farm.Topology) (a *farmtest.AlteredFarm, more []string) {
	t.Helper()
	if way != plan.HeldReplicas {
		return farmtest.StartAlteredFarm(t, topology, 1), nil
	}
	a = farmtest.StartAlteredFarm(t, topology, 2) // the second has the host for another replica of the first
	a.F.GetsAnotherReplica()
	return a, []string{"--shards", "etsy_shard_000[12]"}
}

// The program is killed at each border in turn, with its engine or without; resume goes on. Nothing is lost, no client meets two schemas, and both sides have the same rows.
func TestAlterKilledAtEveryBorder(t *testing.T) {
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for _, w := range ways {
			book, ok := alter.Kind(nil).Runbook(string(w.way))
			if !ok {
				t.Fatalf("no runbook %s", w.way)
			}
			for hand, points := range farmtest.Dealt(farmtest.SampleOf(book.Points(), 3), w.hands) {
				run(fmt.Sprintf("%s %d", w.way, hand), func(t *testing.T) {
					a, more := startFor(t, w.way, w.topology)
					changes := []string{w.there, w.back}
					for n, at := range points {
						a.Killed([]string{"both", "stowage"}[n%2], at, changes[n%2], more...)
						a.Run(farmtest.ExitFine, "1 of 1 pair", "resume")
						a.Rests()
						if t.Failed() {
							t.Fatalf("killed at %q", at)
						}
					}
					colour := w.there != farmtest.AddIndex && w.way != plan.Direct && w.way != plan.HeldReplicas && len(points)%2 == 1
					a.Settle(colour && len(points) == 1, int64(len(points)))
				})
			}
		}
	})
}

// A run that was killed before a step, and is then given up, leaves tables, rows and servers as they were, up to the moment at which clients have met the new tables.
func TestAlterIsTakenBack(t *testing.T) {
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for _, w := range ways {
			if w.way == plan.Direct || w.way == plan.Logged {
				continue
			}
			run(string(w.way), func(t *testing.T) {
				a, more := startFor(t, w.way, w.topology)
				was := a.Consoles()[0].Definition(t, "receipts")
				book, _ := alter.Kind(nil).Runbook(string(w.way))
				for n, at := range undone(book) {
					a.Killed([]string{"both", "stowage"}[n%2], at, w.there, more...)
					a.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
					a.Rests()
					for _, c := range a.Consoles() {
						if is := c.Definition(t, "receipts"); is != was {
							t.Fatalf("killed at %q and given up: %s has\n%s\nand had\n%s", at, c.Name, is, was)
						}
						_ = c.Close()
					}
					if t.Failed() {
						t.Fatalf("killed at %q and given up", at)
					}
				}
				a.Settle(false, 0)
			})
		}
	})
}

// The values of columns that were renamed are there when the run is given up: two names that were swapped, one that is new. Clients do not write users.
func TestRenamedColumnsKeepTheirValues(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	a.Alter("ALTER TABLE users ADD COLUMN one INT NOT NULL DEFAULT 1, ADD COLUMN two BIGINT NOT NULL DEFAULT 2;\n")
	a.Alter("ALTER TABLE users ALTER COLUMN one SET DEFAULT 8, ALTER COLUMN two SET DEFAULT 9;\n")
	comesBack(t, a, "RENAME COLUMN one TO two, RENAME COLUMN two TO one", "CHANGE one uno INT NOT NULL DEFAULT 8", "RENAME COLUMN one TO uno, DROP COLUMN two")
	a.Rests()
	a.Settle(false, 0)
}

// Columns that were dropped together with their unique key, or foreign key, or whose type has no zero that servers take, come back with their values.
// Clients do not write users.
func TestDroppedColumnsComeBackWithTheirKeys(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	for _, c := range a.Consoles() {
		for _, shard := range c.Shards {
			at := fmt.Sprintf("`%s`.users", shard)
			for _, s := range []string{
				"ALTER TABLE " + at + " ADD COLUMN day DATE NOT NULL DEFAULT '2020-02-02', ADD COLUMN up BIGINT NOT NULL DEFAULT 1, ADD COLUMN code VARCHAR(20) NOT NULL DEFAULT ''",
				"UPDATE " + at + " SET code = id, up = id",
				"ALTER TABLE " + at + " ALTER COLUMN day DROP DEFAULT, ALTER COLUMN up DROP DEFAULT, ALTER COLUMN code DROP DEFAULT, ADD UNIQUE KEY code (code), ADD CONSTRAINT above FOREIGN KEY (up) REFERENCES users (id), ADD CONSTRAINT coded CHECK (code <> '')",
			} {
				if _, err := c.ExecContext(t.Context(), "SET STATEMENT sql_log_bin = 0 FOR "+s); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.Close()
	}
	comesBack(t, a, "DROP CONSTRAINT coded, DROP FOREIGN KEY above, DROP COLUMN code, DROP COLUMN up, DROP COLUMN day", "DROP CONSTRAINT coded, DROP COLUMN code")
	a.Rests()
	a.Settle(false, 0)
}

// Partitions and options of the engine are as they were when the run is given up.
func TestPartitionsComeBack(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	for _, c := range a.Consoles() {
		for _, shard := range c.Shards {
			if _, err := c.ExecContext(t.Context(), fmt.Sprintf("SET STATEMENT sql_log_bin = 0 FOR ALTER TABLE `%s`.users PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (20), PARTITION p1 VALUES LESS THAN (1000000))", shard)); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close()
	}
	comesBack(t, a, "ADD PARTITION (PARTITION p2 VALUES LESS THAN (2000000))", "REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (500), PARTITION p2 VALUES LESS THAN (1000000))", "PAGE_COMPRESSED=1")
	a.Alter("ALTER TABLE users REMOVE PARTITIONING;\n") // and the way back has no place for every row
	a.Run(farmtest.ExitRefused, "alter refuses it", "undo")
	a.Rests()
	a.Settle(false, 0)
}

// comesBack gives up runs that have changed the table users on one side; clients do not write it.
func comesBack(t *testing.T, a *farmtest.AlteredFarm, changes ...string) {
	t.Helper()
	was, rows := a.Consoles()[0].Definition(t, "users"), a.Consoles()[0].Sum(t, "users")
	for _, change := range changes {
		a.Killed("both", "before catch-up", "ALTER TABLE users "+change+";\n")
		a.Run(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
		for _, c := range a.Consoles() {
			if is, of := c.Definition(t, "users"), c.Sum(t, "users"); is != was || of != rows {
				t.Errorf("%s: %s has\n%s\n%s\nand had\n%s\n%s", change, c.Name, is, of, was, rows)
			}
			_ = c.Close()
		}
	}
}

// undone are borders behind which a run can be given up: before each step, and between the phases of the switch until clients are sent.
func undone(book act.Runbook) (out []string) {
	for _, s := range book.Steps[1:] {
		if s.NoReturn {
			return out
		}
		out = append(out, "before "+s.Name)
		if s.Name != alter.StepSwitch {
			continue
		}
		for _, p := range s.Phases {
			if p == "open" || p == "flip" {
				break
			}
			out = append(out, "after "+s.Name+"/"+p)
		}
		if slices.Equal(s.Phases, swing.ExchangePhases) {
			out = append(out, "after "+s.Name+"/open")
		}
	}
	return out
}

// What a change has dropped is copied back from the twin when the run is given up, also where pools hold connections to the side.
func TestDroppedValuesComeBack(t *testing.T) {
	t.Parallel()
	a := farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)
	a.Alter(farmtest.AddColour)
	a.Killed("both", "before "+alter.StepHold, farmtest.DropColour)
	for _, c := range a.Consoles() {
		pooled, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer pooled.Close()
	}
	a.Run(farmtest.ExitFine, "", "abort", "--reason", "it is needed after all")
	a.Rests()
	a.Settle(true, 1)
}
