package workspace_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stowage/farm"
	"stowage/placement"
	"stowage/workspace"
)

// drawFarm is any valid farm, with awkward texts and amounts.
func drawFarm(t *rapid.T) *farm.Farm {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/.:-#'\"{}, é\\%&*!|>@`~?")), 1, 12, -1)
	amount := func(what string) float64 {
		return rapid.OneOf(
			rapid.Float64Range(0, 1e15),
			rapid.Map(rapid.Int64Range(0, 5000), func(n int64) float64 { return float64(n) * 1e9 }),
			rapid.Map(rapid.Int64Range(0, 5000), func(n int64) float64 { return float64(n << 30) }),
			rapid.Float64Range(0, 1),
		).Draw(t, what)
	}
	f := &farm.Farm{Name: "drawn", NextServerID: rapid.Uint32Range(1, 1<<32-1).Draw(t, "id"), Accounts: rapid.SampledFrom([]string{"", "accounts.cnf", "no"}).Draw(t, "accounts")}
	f.HostTypes = []farm.HostType{{
		Name: "r630", MaxInstances: rapid.IntRange(0, 9).Draw(t, "max"), Watts: amount("watts"), Price: amount("price"),
		Capacity: farm.Resources{farm.CPU: amount("cores"), farm.Disk: amount("disk"), farm.Network: amount("network"), "licences": amount("licences")},
	}}
	for i := range 2 {
		f.Hosts = append(f.Hosts, farm.Host{
			Name: farm.HostName(fmt.Sprintf("h%d", i)), Type: "r630", Address: fmt.Sprintf("fe80::%d", i),
			Dir: text.Draw(t, "dir"), Labels: map[string]string{text.Draw(t, "label"): text.Draw(t, "value"), "on": "null"},
		})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "pairs") {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("%03d", i)), Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{}}
		for k, side := range farm.SideNames {
			p.Sides[side] = farm.Side{Host: f.Hosts[k].Name, Port: 3306 + i, Datadir: fmt.Sprintf("/%d/", i) + text.Draw(t, "datadir"), Config: text.Draw(t, "config")}
		}
		for j := range rapid.IntRange(0, 3).Draw(t, "shards") {
			p.Shards = append(p.Shards, farm.Shard{
				Name: farm.ShardName(fmt.Sprintf("s%d_%d", i, j)), Growth: amount("growth"),
				Needs: farm.Resources{farm.Disk: amount("disk"), farm.CPU: amount("cpu"), farm.IOPS: amount("iops"), "licences": amount("licences")},
			})
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

func TestWrittenFarmReadsBackEqual(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "farm.yaml")
	rapid.Check(t, func(t *rapid.T) {
		f := drawFarm(t)
		if err := workspace.WriteFarm(path, f); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		back, err := w.Farm()
		if err != nil {
			t.Fatal(err)
		}
		for i := range back.Pairs {
			if len(back.Pairs[i].Shards) == 0 {
				back.Pairs[i].Shards = nil
			}
		}
		if !reflect.DeepEqual(f, back) {
			t.Fatalf("wrote %+v\nread %+v", f, back)
		}
	})
}

func TestWriteFarmLooksLikeTheManual(t *testing.T) {
	f := demoFarm()
	path := filepath.Join(t.TempDir(), "farm.yaml")
	if err := workspace.WriteFarm(path, f); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `farm: etsy-2016
next_server_id: 1025  # only ever grows: a server_id is never given twice
accounts: accounts.cnf
host_types:
  platter-22: {cores: 16, memory: 96GiB, disk: 2.2TB, iops: 1800, network: 1Gbit, watts: 200, price: 4000}
hosts:
  - {name: db001, type: platter-22, address: 10.0.0.1, dir: /srv/mysql, labels: {power: a, rack: r1}}
  - {name: db002, type: platter-22, address: 10.0.0.2}
pairs:
  - name: dbshard001
    topology: active-active
    sides:
      A: {host: db001, port: 3306, datadir: /var/lib/mysql/dbshard001a}
      B: {host: db002, port: 3306, datadir: /var/lib/mysql/dbshard001b, config: /etc/b.cnf}
    shards:
      - {name: etsy_shard_0001, growth: 40MB/day, cpu: 0.07, memory: 4GB, disk: 48GB, iops: 55}
`
	if text := string(got); !strings.HasSuffix(text, want) || !strings.HasPrefix(text, "# ") {
		t.Errorf("got:\n%s\nwant, after a comment:\n%s", text, want)
	}
	f.Pairs[0].Sides[farm.B] = f.Pairs[0].Sides[farm.A]
	if err := workspace.WriteFarm(path, f); !errors.Is(err, farm.ErrInput) {
		t.Errorf("a farm with a problem was written: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(got) {
		t.Errorf("the refused farm replaced the old file: %v", err)
	}
}

func demoFarm() *farm.Farm {
	return &farm.Farm{
		Name: "etsy-2016", NextServerID: 1025, Accounts: "accounts.cnf",
		HostTypes: []farm.HostType{{Name: "platter-22", Watts: 200, Price: 4000, Capacity: farm.Resources{
			farm.CPU: 16, farm.Memory: 96 << 30, farm.Disk: 2.2e12, farm.IOPS: 1800, farm.Network: 1e9,
		}}},
		Hosts: []farm.Host{
			{Name: "db001", Type: "platter-22", Address: "10.0.0.1", Dir: "/srv/mysql", Labels: map[string]string{"rack": "r1", "power": "a"}},
			{Name: "db002", Type: "platter-22", Address: "10.0.0.2"},
		},
		Pairs: []farm.Pair{{Name: "dbshard001", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{
			farm.A: {Host: "db001", Port: 3306, Datadir: "/var/lib/mysql/dbshard001a"},
			farm.B: {Host: "db002", Port: 3306, Datadir: "/var/lib/mysql/dbshard001b", Config: "/etc/b.cnf"},
		}, Shards: []farm.Shard{{Name: "etsy_shard_0001", Growth: 40e6, Needs: farm.Resources{
			farm.Disk: 48e9, farm.Memory: 4e9, farm.CPU: 0.07, farm.IOPS: 55,
		}}}}},
	}
}

func writtenWorkspace(t *testing.T) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	if err := workspace.WriteFarm(filepath.Join(dir, "farm.yaml"), demoFarm()); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestGoals(t *testing.T) {
	w := writtenWorkspace(t)
	g, err := w.Goals()
	if err != nil || !reflect.DeepEqual(g, placement.Defaults()) {
		t.Errorf("without goals.yaml: %+v, %v", g, err)
	}
	text := "onto: [platter-22]\nheadroom: {disk: 25%}\nspread_labels: []\nparallel: 8\nsoak: 2s\n"
	if err := os.WriteFile(w.Path("goals.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	g, err = w.Goals()
	want := placement.Goals{
		Onto: []farm.HostTypeName{"platter-22"}, Minimise: []string{"hosts"},
		Headroom: map[farm.ResourceName]float64{farm.Disk: 0.25}, Parallel: 8, Soak: 2 * time.Second,
	}
	if err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("got %+v, %v\nwant %+v", g, err, want)
	}
}

func TestPlansAreKeptAsTheyWereReviewed(t *testing.T) {
	w := writtenWorkspace(t)
	f, err := w.Farm()
	if err != nil {
		t.Fatal(err)
	}
	p, err := placement.Solve(f, placement.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	path, err := w.SavePlan(p)
	if err != nil || path != w.Path("plans/plan-001.json") {
		t.Fatalf("saved at %s, %v", path, err)
	}
	p.Name = "plan-001"
	for _, name := range []string{"plan-001", "plan-001.json", "plans/plan-001.json", path} {
		back, err := w.Plan(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Moves) == 0 {
			back.Moves = p.Moves
		}
		if ds := placement.Drift(back, f, nil); len(ds) > 0 {
			t.Errorf("drift of %s: %v", name, ds)
		}
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s: read %+v\nwrote %+v", name, back, p)
		}
	}
	if _, err := w.SavePlan(p); err != nil {
		t.Errorf("saving the same again: %v", err)
	}
	p.Made = "2016-11-14T00:00:00Z"
	if _, err := w.SavePlan(p); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("replacing a plan by another: %v", err)
	}
	p.Name = "../escape"
	if _, err := w.SavePlan(p); !errors.Is(err, farm.ErrInput) {
		t.Errorf("saving outside: %v", err)
	}
}

// TestLockIsHeldByAnotherProcess runs this test binary again as the holder and
// kills it: the lock must go with the process.
func TestLockIsHeldByAnotherProcess(t *testing.T) {
	if dir := os.Getenv("STOWAGE_TEST_LOCK"); dir != "" {
		holdLock(dir)
		return
	}
	w := writtenWorkspace(t)
	holder := exec.Command(os.Args[0], "-test.run=^TestLockIsHeldByAnotherProcess$")
	holder.Env = append(os.Environ(), "STOWAGE_TEST_LOCK="+w.Dir)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	_, err = w.Lock("digest")
	var held *workspace.Held
	if !errors.As(err, &held) || !errors.Is(err, farm.ErrRefused) {
		t.Fatalf("error is %v, want Held", err)
	}
	if held.PID != holder.Process.Pid || held.Purpose != "move plan-001" || held.Since.IsZero() {
		t.Errorf("held by %+v, want process %d", held, holder.Process.Pid)
	}
	// Editing the farm is not the act's lock: the act itself does it.
	if err := w.EditFarm(func(e *workspace.Edit) error { e.SetNextServerID(2000); return nil }); err != nil {
		t.Errorf("edit during an act: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed: that is its error
	release, err := w.Lock("digest")
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	release()
	release()
	if st, err := os.Stat(w.State()); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf(".stowage has mode %v, %v", st.Mode(), err)
	}
}

func holdLock(dir string) {
	w, err := workspace.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	release, err := w.Lock("move plan-001")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()
	fmt.Println("held")
	// Wait for the other end, so that a failing test leaves nothing behind.
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestWriteFileAtomicLeavesTheOldFileOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := workspace.WriteFileAtomic(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("x", link); err != nil {
		t.Fatal(err)
	}
	if err := workspace.WriteFileAtomic(link, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "two" {
		t.Errorf("through the link: %q, %v", got, err)
	}
	// A directory cannot be replaced by a file: the rename fails.
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := workspace.WriteFileAtomic(filepath.Join(dir, "d"), []byte("no"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries left, %v: want x, link and d", len(entries), err)
	}
}

// BenchmarkFarm100000Shards must stay under 5 s an operation.
func BenchmarkFarm100000Shards(b *testing.B) {
	var text strings.Builder
	text.WriteString("farm: large\nnext_server_id: 1\nhost_types:\n  t: {disk: 14TB}\nhosts:\n")
	for i := range 10000 {
		fmt.Fprintf(&text, "  - {name: h%d, type: t, address: 10.%d.%d.%d}\n", i, i>>16, i>>8&255, i&255)
	}
	text.WriteString("pairs:\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "  - name: p%d\n    topology: active-active\n    sides:\n      A: {host: h%d, port: 3306, datadir: /d}\n      B: {host: h%d, port: 3306, datadir: /d}\n    shards:\n", i, 2*i, 2*i+1)
		for j := range 20 {
			fmt.Fprintf(&text, "      - {name: s_%d_%d, disk: 48GB, growth: 40MB/day, memory: 4GB, cpu: 0.07, iops: 55}\n", i, j)
		}
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := w.Farm(); err != nil {
			b.Fatal(err)
		}
	}
}
