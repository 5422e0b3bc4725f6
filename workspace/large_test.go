package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

// The large farm that Stowage must still be quick with.
const (
	largeHosts  = 12_000
	largePairs  = 6_000
	largeShards = 100_000
)

// largeFarm is a farm file as people and inventory write it: measured sizes,
// customers, profiles, labels.
func largeFarm() string {
	draw := rand.New(rand.NewPCG(2016, 1))
	var b strings.Builder
	b.WriteString("farm: large\nnext_server_id: 20000\nhost_types:\n")
	b.WriteString("  platter: {cores: 16, memory: 96GiB, disk: 2.2TB, iops: 1800, network: 1Gbit, watts: 200, price: 4000, licences: 4}\n")
	b.WriteString("profiles:\n  office: [0.1, 0.1, 0.1, 0.4, 1, 1, 0.9, 0.5]\n  night: [100%, 20%]\nhosts:\n")
	for i := range largeHosts {
		fmt.Fprintf(&b, "  - {name: db%05d, type: platter, address: 10.%d.%d.%d, dir: /srv/mysql, labels: {rack: r%03d, power: %c}, reserved: {memory: 2GiB}}\n",
			i, i>>16, i>>8&255, i&255, i/2%400, 'a'+i%2)
	}
	b.WriteString("pairs:\n")
	shard := 0
	for i := range largePairs {
		fmt.Fprintf(&b, "  - name: dbshard%04d\n    topology: active-active\n    sides:\n", i)
		fmt.Fprintf(&b, "      A: {host: db%05d, port: 3306, datadir: /srv/mysql/dbshard%04da/data, config: /srv/mysql/dbshard%04da/my.cnf}\n", 2*i, i, i)
		fmt.Fprintf(&b, "      B: {host: db%05d, port: 3306, datadir: /srv/mysql/dbshard%04db/data, config: /srv/mysql/dbshard%04db/my.cnf}\n", 2*i+1, i, i)
		b.WriteString("    shards:\n")
		for ; shard < (i+1)*largeShards/largePairs; shard++ {
			fmt.Fprintf(&b, "      - {name: shard_%06d, customer: c%d, growth: %dMB/day, cpu: %.3f, memory: 4.5GiB, disk: %dB, iops: %d, profile: %s}\n",
				shard, shard/7, draw.IntN(90), draw.Float64(), draw.Int64N(200e9), draw.IntN(200), []string{"office", "night"}[shard%2])
		}
	}
	return b.String()
}

func largeWorkspace(tb testing.TB) *workspace.Workspace {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(largeFarm()), 0o644); err != nil {
		tb.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// BenchmarkReadFarm100000Shards must stay under 5 s an operation.
func BenchmarkReadFarm100000Shards(b *testing.B) {
	w := largeWorkspace(b)
	b.ReportAllocs()
	for b.Loop() {
		f, err := w.Farm()
		if err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(f)
	}
}

func BenchmarkWriteFarm100000Shards(b *testing.B) {
	w := largeWorkspace(b)
	f, err := w.Farm()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := workspace.WriteFarm(w.Path("written.yaml"), f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEditOneSideOf100000Shards is what a move does for every side.
func BenchmarkEditOneSideOf100000Shards(b *testing.B) {
	w := largeWorkspace(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		side := farm.Side{Host: "db00000", Port: 4000 + n, Datadir: fmt.Sprintf("/srv/mysql/new%d/data", n)}
		if err := w.EditFarm(func(e *workspace.Edit) error { e.SetSide("dbshard3000", farm.A, side); return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEditNeedsOf100000Shards is what `inventory accept` does after a new
// measurement.
func BenchmarkEditNeedsOf100000Shards(b *testing.B) {
	w := largeWorkspace(b)
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		err := w.EditFarm(func(e *workspace.Edit) error {
			for i := range largeShards {
				e.SetShardNeeds(farm.ShardName(fmt.Sprintf("shard_%06d", i)), farm.Resources{farm.Disk: float64(1000*i + n), farm.CPU: 0.5})
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGoalsOf100000Shards has a rule for every pair.
func BenchmarkGoalsOf100000Shards(b *testing.B) {
	w := largeWorkspace(b)
	f, err := w.Farm()
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(w.Path("goals.yaml"), []byte(largeGoals()), 0o644); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.GoalsFor(f); err != nil {
			b.Fatal(err)
		}
	}
}

func largeGoals() string {
	var b strings.Builder
	b.WriteString("runway: 540 days\nspread_labels: [rack, power]\nsurface: {shards: 1%}\n")
	b.WriteString("groups:\n  all: [\"dbshard*\"]\n")
	for i := range largePairs / 10 {
		fmt.Fprintf(&b, "  ten%03d: [\"dbshard%03d?\"]\n", i, i)
	}
	b.WriteString("apart: [ten000")
	for i := range largePairs/10 - 1 {
		fmt.Fprintf(&b, ", ten%03d", i+1)
	}
	b.WriteString("]\npin:\n")
	for i := range largePairs {
		fmt.Fprintf(&b, "  - {what: dbshard%04d, hosts: {rack: [r%03d, r%03d]}}\n", i, i%400, (i+7)%400)
	}
	return b.String()
}

// TestLargeFarm reads all of it. There is no clock in it: what grows with the
// square of the farm would take minutes instead of a second, and be noticed.
func TestLargeFarm(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand shards take half a minute with the race detector: the part whole of test-all has them")
	}
	f, err := largeWorkspace(t).Farm()
	if err != nil {
		t.Fatal(err)
	}
	shards := 0
	for _, p := range f.Pairs {
		shards += len(p.Shards)
	}
	if len(f.Hosts) != largeHosts || len(f.Pairs) != largePairs || shards != largeShards {
		t.Errorf("read %d hosts, %d pairs, %d shards", len(f.Hosts), len(f.Pairs), shards)
	}
	last := f.Pairs[largePairs-1]
	if s := last.Shards[len(last.Shards)-1]; s.Name != "shard_099999" || s.Customer != "c14285" || s.Profile != "night" {
		t.Errorf("the last shard is %+v", s)
	}
}
