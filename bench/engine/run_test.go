package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// storage is an empty directory for servers. Where none can run, the test says loudly that nothing was tested.
func storage(t *testing.T) string {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		t.Skip("SKIPPED: no servers are wanted")
	}
	p, err := host.FindPrograms()
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	dir := t.TempDir()
	if p.Account != nil { // the servers' account must be able to walk through
		if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.CanReach(dir); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	return dir
}

// small is an order that takes seconds.
func small(t *testing.T, mode sheet.Mode, cells, loads []string) Order {
	t.Helper()
	o, err := NewOrder("quick", mode)
	if err != nil {
		t.Fatal(err)
	}
	if o.Cells, err = sheet.ParseCells(cells, true); err != nil {
		t.Fatal(err)
	}
	if o.Loads, err = sheet.ParseLoads(loads); err != nil {
		t.Fatal(err)
	}
	o.Rows, o.Runtime, o.Warmup, o.MinRuns, o.MaxRuns, o.Clients, o.Seed = 2000, 500*time.Millisecond, 0, 1, 1, 2, 5
	return o
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind in %s: %v, %v", dir, entries, err)
	}
}

// TestEveryEngineAnswers: each is started, filled, measured and settled, and tells everything that is promised.
func TestEveryEngineAnswers(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	dir := storage(t)
	cells := []string{"innodb-4k-fsync", "aria", "myisam", "myrocks"}
	o := small(t, sheet.Engines, cells, []string{"update"})
	o.Keys = "zipf"
	r, err := Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	isEmpty(t, dir)
	if !r.Complete || !r.Valid || r.Server == "" || r.Noise.Runs != len(r.Rows) {
		t.Errorf("complete %v, valid %v %q, server %q, %d runs of %d rows", r.Complete, r.Valid, r.Invalid, r.Server, r.Noise.Runs, len(r.Rows))
	}
	for _, id := range cells {
		c := r.Cell(id)
		if c.Engine == sheet.MyRocks && c.Missing != "" {
			t.Logf("NOT TESTED: MyRocks: %s", c.Missing)
			continue
		}
		if x := r.Row(id + "/update"); x == nil || len(x.Samples) == 0 {
			t.Errorf("%s was not measured (%q)", id, c.Missing)
		}
	}
	for _, x := range r.Rows {
		l := x.Lat
		if x.TPS.Mean <= 0 || x.PerCPU.Mean <= 0 || x.RSS < 10<<20 || x.Unsettled || x.Durability == "" || x.Ratio <= 0 {
			t.Errorf("%s: %+v", x.ID, x)
		}
		if !(0 < l.P50 && l.P50 <= l.P95 && l.P95 <= l.P99 && l.P99 <= l.P999 && l.P999 <= l.Max) || x.Histogram.Count() != uint64(x.Samples[0].Transactions) {
			t.Errorf("%s: latencies %+v, %d in the histogram of %d", x.ID, l, x.Histogram.Count(), x.Samples[0].Transactions)
		}
		if x.Written.Settled <= 0 || x.Written.Settled < x.Written.During || x.Amplification == nil || x.Size.Loaded < sheet.DataBytes(o.Rows)/2 || x.Size.Settled < sheet.DataBytes(o.Rows)/2 {
			t.Errorf("%s: written %+v, amplification %+v, sizes %+v", x.ID, x.Written, x.Amplification, x.Size)
		}
	}
	if x := r.Row("innodb-4k-fsync/update"); x != nil && x.Flushes < 0.4 {
		t.Errorf("durable commits of two clients ask for %.2f flushes each", x.Flushes)
	}
	if x := r.Row("innodb-4k-fsync/update again"); x == nil || x.Versus == nil || r.Noise.AA == nil {
		t.Errorf("the A/A cell: %+v, %+v", x, r.Noise.AA)
	}
}

// TestMySQLIsMeasured: InnoDB of a MySQL by the same loads; engines that it does not have are left out with the reason, a replica is refused, and nobody goes on
// with another server than the one a result was begun with.
func TestMySQLIsMeasured(t *testing.T) {
	turns.One(t, 8)
	line := mariadbtest.Named(t, mariadbtest.MySQL9)
	ours := os.Getenv("PATH")
	t.Setenv("PATH", line.Path())
	dir := storage(t)
	o := small(t, sheet.Engines, []string{"innodb-16k", "innodb-4k-nodw-relaxed", "aria"}, []string{"update", "rw"})
	r, err := Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	isEmpty(t, dir)
	if !r.Complete || !r.Valid || !strings.HasPrefix(r.Server, "MySQL 9.") {
		t.Errorf("complete %v, valid %v %q, server %q", r.Complete, r.Valid, r.Invalid, r.Server)
	}
	if c := r.Cell("aria"); c == nil || !strings.Contains(c.Missing, "is MySQL, which has no Aria") {
		t.Errorf("aria: %+v", c)
	}
	if len(r.Rows) != 6 { // two loads of two cells, and the first cell again
		t.Errorf("%d rows", len(r.Rows))
	}
	for _, x := range r.Rows {
		l := x.Lat
		if x.TPS.Mean <= 0 || x.PerCPU.Mean <= 0 || x.RSS < 10<<20 || x.Unsettled || x.Written.Settled <= 0 || x.Written.Settled < x.Written.During || !(0 < l.P50 && l.P50 <= l.P99 && l.P99 <= l.Max) {
			t.Errorf("%s: %+v tps, %+v by CPU, RSS %d, unsettled %v, written %+v, %+v", x.ID, x.TPS, x.PerCPU, x.RSS, x.Unsettled, x.Written, l)
		}
		// Two tables of 2000 rows: nothing of logs, doublewrite files or the server's own schemas is in the size.
		if x.Size.Loaded < sheet.DataBytes(o.Rows)/2 || x.Size.Loaded > 120<<20 {
			t.Errorf("%s: %d bytes of data", x.ID, x.Size.Loaded)
		}
	}
	apply := small(t, sheet.Apply, []string{"innodb-16k"}, []string{"write"})
	if _, err := Run(t.Context(), dir, apply); !errors.Is(err, farm.ErrInput) {
		t.Errorf("a replica of MySQL: %v", err)
	}
	t.Setenv("PATH", ours)
	r.Complete = false
	for _, x := range r.Rows {
		x.Samples = nil
	}
	o.Previous, o.Cells = r, o.Cells[:2]
	r.Settings = o.settings()
	if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "another server") {
		t.Errorf("continuing with MariaDB: %v", err)
	}
	isEmpty(t, dir)
}

// TestDoublewriteWritesTwice is the positive control: bytes are steady where times are not. Rows are drawn all over tables that are larger than
// the cache, so that nearly every change writes a page, and with doublewrite it writes it twice; commits are not synced, or each would write blocks of
// the log, too. Where a device of our own can be made, it is
// that device's counts that must show it.
func TestDoublewriteWritesTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of writes: the part whole of test-all has it")
	}
	t.Parallel()
	dir, device := ownDevice(t)
	o := small(t, sheet.Engines, []string{"innodb-16k-relaxed", "innodb-16k-nodw-relaxed"}, []string{"update"})
	o.Rows, o.Ratios, o.Runtime = 30_000, []float64{4}, time.Second
	r, err := Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	on, again, off := r.Row("innodb-16k-relaxed/update"), r.Row("innodb-16k-relaxed/update again"), r.Row("innodb-16k-nodw-relaxed/update")
	if on.Written.Settled < 1.3*off.Written.Settled {
		t.Errorf("%.0f bytes a transaction with doublewrite, %.0f without", on.Written.Settled, off.Written.Settled)
	}
	if x := again.Written.Settled / on.Written.Settled; x < 0.65 || x > 1.55 {
		t.Errorf("the same cell wrote %.0f and %.0f bytes a transaction", on.Written.Settled, again.Written.Settled)
	}
	if on.Read == 0 {
		t.Error("nothing was read although the cache holds only a part")
	}
	t.Logf("%.0f and %.0f bytes a transaction with doublewrite, %.0f without, by %s", on.Written.Settled, again.Written.Settled, off.Written.Settled, r.BytesFrom)
	if device == "" {
		return
	}
	m := on.Samples[0].During
	if r.BytesFrom != "device "+device || on.FlushesFrom != "device" || m.Written != m.DeviceWritten || m.DeviceWritten < m.ProcessWritten/10*9 || m.ProcessWritten == 0 || m.Flushes == 0 {
		t.Errorf("counted by %s, flushes by the %s: %+v", r.BytesFrom, on.FlushesFrom, m)
	}
}

// ownDevice is a directory that is the mount point of a loop device, or where that cannot be had an ordinary one, with a word about what is
// not tested then.
func ownDevice(t *testing.T) (dir, device string) {
	t.Helper()
	plain := storage(t)
	image, dir := filepath.Join(filepath.Dir(plain), "image"), filepath.Join(filepath.Dir(plain), "mnt")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The device of `mount -o loop` goes with its last mount, wherever that is: a network namespace that somebody makes meanwhile has a copy of it.
	for _, args := range [][]string{{"truncate", "-s", "3G", image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}, {"findmnt", "-no", "SOURCE", dir}} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Logf("NOT TESTED: the counts of a device of our own: %v: %v %s", args, err, out)
			return plain, ""
		}
		switch args[0] {
		case "mount":
			t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
		case "findmnt":
			device = strings.TrimSpace(string(out))
		}
	}
	return dir, filepath.Base(device)
}

// TestInstancesAtOnce: cut short after its first run it leaves nothing behind, continues with the second, and tells of each server among several.
func TestInstancesAtOnce(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	dir := storage(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := small(t, sheet.Instances, []string{"innodb-16k"}, []string{"rw"})
	o.Counts, o.Clients = []int{1, 2}, 1
	var kept []byte
	o.Save = func(r *sheet.Result) (err error) { kept, err = json.Marshal(r); return err }
	o.Tell = func(p Progress) {
		if p.Done == 1 {
			cancel()
		}
	}
	if _, err := Run(ctx, dir, o); !errors.Is(err, farm.ErrInterrupted) {
		t.Fatalf("cut short: %v", err)
	}
	isEmpty(t, dir)
	half, err := sheet.Read(kept)
	if err != nil || half.Complete || half.Valid {
		t.Fatalf("%+v, %v", half, err)
	}
	other := o
	other.Previous, other.Rows = half, o.Rows*2
	if _, err := Run(t.Context(), dir, other); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "cells, loads and times") {
		t.Errorf("continued as another: %v", err)
	}
	isEmpty(t, dir)

	o.Previous, o.Tell, o.Seed = half, nil, 99
	r, err := Run(t.Context(), dir, o)
	if err != nil || !r.Complete || len(r.Sessions) != 2 || r.Settings.Seed != 5 {
		t.Fatalf("%v: %+v", err, r)
	}
	isEmpty(t, dir)
	one, two := r.Row("1 x innodb-16k/rw"), r.Row("2 x innodb-16k/rw")
	if len(one.Samples) != 1 || len(two.Samples) != 1 || one.Samples[0].Seq+two.Samples[0].Seq != 3 {
		t.Fatalf("%+v, %+v", one.Samples, two.Samples)
	}
	if two.Instances != 2 || two.WorstP99 <= 0 || len(two.Samples[0].Instances) != 2 || two.Versus == nil || len(r.Knees) != 1 {
		t.Errorf("%+v, %+v", two, r.Knees)
	}
	if two.Size.Loaded < one.Size.Loaded*3/2 || two.CPUPerTx <= 0 {
		t.Errorf("two of them take %d bytes, one %d; %f us a transaction", two.Size.Loaded, one.Size.Loaded, two.CPUPerTx)
	}
	for _, i := range two.Samples[0].Instances {
		if i.TPS <= 0 || i.P99 <= 0 {
			t.Errorf("%+v", i)
		}
	}
}

// TestReplicaAppliesTheBacklog: all of it, and the rows are the primary's.
func TestReplicaAppliesTheBacklog(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	dir := storage(t)
	o := small(t, sheet.Apply, []string{"innodb-16k"}, []string{"write"})
	o.Backlog, o.Threads, o.Modes, o.Clients = 400, []int{0, 2}, []string{"optimistic"}, 4
	r, err := Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	isEmpty(t, dir)
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for _, x := range r.Rows {
		s := x.Samples[0]
		if s.Transactions != 400 || x.TPS.Mean <= 0 || s.PrimaryTPS <= 0 || x.Keeps <= 0 || x.PrimaryTPS == nil || x.Written.Settled <= 0 {
			t.Errorf("%s: %+v", x.ID, s)
		}
	}
	if x := r.Row("innodb-16k/write 2 threads optimistic"); x == nil || x.Versus == nil || x.Versus.Base != "innodb-16k/write one applier" {
		t.Errorf("%+v", x)
	}
}

// TestRunIsRefused: what is not ours stays, what would not fit is not begun, and what is not there is named.
func TestRunIsRefused(t *testing.T) {
	dir := storage(t)
	o := small(t, sheet.Engines, []string{"innodb-16k"}, []string{"update"})
	foreign := filepath.Join(dir, ".stowage-bench")
	if err := os.MkdirAll(filepath.Join(foreign, "servers", "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "no marker of ours") {
		t.Errorf("a directory that is not ours: %v", err)
	}
	if _, err := os.Stat(filepath.Join(foreign, "servers", "data")); err != nil {
		t.Error("it was touched:", err)
	}
	if err := os.RemoveAll(foreign); err != nil {
		t.Fatal(err)
	}
	large := small(t, sheet.Instances, []string{"innodb-16k"}, []string{"rw"})
	large.Rows, large.Counts, large.Ratios = 1_000_000, []int{64}, []float64{0.01}
	if _, err := Run(t.Context(), dir, large); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "memory") {
		t.Errorf("64 servers of 36 GiB: %v", err)
	}
	isEmpty(t, dir)
	for dir, want := range map[string]string{filepath.Join(dir, "absent"): "no such file", "/dev/shm": "tmpfs"} {
		if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if rocksPlugin() == "" {
		o.Cells, _ = sheet.ParseCells([]string{"myrocks"}, false)
		if _, err := Run(t.Context(), dir, o); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "scripts/setup.sh bench") {
			t.Errorf("no MyRocks: %v", err)
		}
		isEmpty(t, dir)
	}
}

// TestEngineThatDoesNotLoad: a plugin that is none is a cell less, and no crash.
func TestEngineThatDoesNotLoad(t *testing.T) {
	turns.One(t, 6)
	dir, plugins := storage(t), t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(plugins), 0o755), os.WriteFile(filepath.Join(plugins, "ha_rocksdb.so"), []byte("no plugin"), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STOWAGE_PLUGINS", plugins)
	r, err := Run(t.Context(), dir, small(t, sheet.Engines, []string{"innodb-16k", "myrocks"}, []string{"point"}))
	if err != nil || r.Cell("myrocks").Missing == "" || len(r.Rows) != 2 || !r.Valid {
		t.Fatalf("%v: %+v", err, r)
	}
	isEmpty(t, dir)
}
