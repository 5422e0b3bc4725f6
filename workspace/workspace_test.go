package workspace_test

import (
	"bufio"
	"encoding/json"
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
		// A machine has some of everything, and more than is reserved on it.
		Capacity: farm.Resources{farm.CPU: 1e15 + amount("cores"), farm.Disk: 1e15 + amount("disk"), farm.Network: 1 + amount("network"), "licences": 1 + amount("licences")},
	}}
	for i := range rapid.IntRange(0, 2).Draw(t, "profiles") {
		p := farm.Profile{Name: farm.ProfileName(fmt.Sprintf("%d", i)), Hours: [24]float64{7: 1}}
		p.Hours[i] = rapid.Float64Range(0, 1).Draw(t, "share")
		f.Profiles = append(f.Profiles, p)
	}
	for i := range 2 {
		f.Hosts = append(f.Hosts, farm.Host{
			Name: farm.HostName(fmt.Sprintf("h%d", i)), Type: "r630", Address: fmt.Sprintf("fe80::%d", i),
			Dir: text.Draw(t, "dir"), Labels: map[string]string{text.Draw(t, "label"): text.Draw(t, "value"), "on": "null"},
			Reserved: farm.Resources{farm.CPU: amount("reserved cpu"), farm.Disk: amount("reserved disk")},
		})
	}
	if rapid.Bool().Draw(t, "agents") {
		f.Agents = farm.Agents{Engine: "10.0.0.5:7233", Certificates: text.Draw(t, "certificates"), Hosts: rapid.SampledFrom([][]farm.HostName{nil, {"h0"}, {"h1", "h0"}}).Draw(t, "with agents")}
	}
	if rapid.Bool().Draw(t, "backup") {
		f.Backup = farm.Backup{
			Restic: rapid.SampledFrom([]string{"sftp:b@h:/r", "/srv/ r", "s3:http://x/y #z"}).Draw(t, "restic"), PasswordFile: "/etc/p", EnvFile: rapid.SampledFrom([]string{"", "/etc/e"}).Draw(t, "env"),
			Host: rapid.SampledFrom([]farm.HostName{"", "h1"}).Draw(t, "vault"), Full: time.Duration(rapid.IntRange(3, 9000).Draw(t, "full")) * time.Minute,
			Incremental: rapid.SampledFrom([]time.Duration{-1, time.Minute}).Draw(t, "incremental"), Binlogs: rapid.SampledFrom([]time.Duration{-1, 0}).Draw(t, "binlogs"),
			Keep: farm.Keep{Last: rapid.IntRange(0, 9).Draw(t, "last"), Yearly: rapid.IntRange(0, 9).Draw(t, "yearly"), Within: time.Duration(rapid.IntRange(1, 9000).Draw(t, "within")) * time.Hour},
		}
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "pairs") {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("%03d", i)), Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{}}
		for k, side := range farm.SideNames {
			p.Sides[side] = farm.Side{Host: f.Hosts[k].Name, Port: 3306 + i, Datadir: fmt.Sprintf("/%d/", i) + text.Draw(t, "datadir"), Config: text.Draw(t, "config"), GroupSuffix: fmt.Sprintf(rapid.SampledFrom([]string{"%d", ".s%d", "@no-%d"}).Draw(t, "suffix"), i)}
		}
		for j := range rapid.IntRange(0, 3).Draw(t, "shards") {
			p.Shards = append(p.Shards, farm.Shard{
				Name: farm.ShardName(fmt.Sprintf("s%d_%d", i, j)), Growth: amount("growth"),
				Needs:    farm.Resources{farm.Disk: 1 + amount("disk"), farm.CPU: amount("cpu"), farm.IOPS: amount("iops"), "licences": amount("licences")},
				Customer: farm.CustomerName(rapid.SampledFrom([]string{"", "acme", "42", "no"}).Draw(t, "customer")),
			})
			if len(f.Profiles) > 0 {
				p.Shards[j].Profile = f.Profiles[0].Name
			}
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
profiles:  # share of the peak in each hour of the day, UTC
  office: [0, 0, 0, 0, 0, 0, 0, 0.4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
hosts:
  - {name: db001, type: platter-22, address: 10.0.0.1, dir: /srv/mysql, labels: {power: a, rack: r1}, reserved: {memory: 8GiB, disk: 200GB}}
  - {name: db002, type: platter-22, address: 10.0.0.2}
pairs:
  - name: dbshard001
    topology: active-active
    sides:
      A: {host: db001, port: 3306, datadir: /var/lib/mysql/dbshard001a}
      B: {host: db002, port: 3306, datadir: /var/lib/mysql/dbshard001b, config: /etc/b.cnf}
    shards:
      - {name: etsy_shard_0001, customer: etsy, growth: 40MB/day, cpu: 0.07, memory: 4GB, disk: 48GB, iops: 55, profile: office}
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
		Profiles: []farm.Profile{{Name: "office", Hours: [24]float64{7: 0.4, 8: 1, 9: 1}}},
		Hosts: []farm.Host{
			{Name: "db001", Type: "platter-22", Address: "10.0.0.1", Dir: "/srv/mysql", Labels: map[string]string{"rack": "r1", "power": "a"}, Reserved: farm.Resources{farm.Disk: 200e9, farm.Memory: 8 << 30}},
			{Name: "db002", Type: "platter-22", Address: "10.0.0.2"},
		},
		Pairs: []farm.Pair{{Name: "dbshard001", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{
			farm.A: {Host: "db001", Port: 3306, Datadir: "/var/lib/mysql/dbshard001a"},
			farm.B: {Host: "db002", Port: 3306, Datadir: "/var/lib/mysql/dbshard001b", Config: "/etc/b.cnf"},
		}, Shards: []farm.Shard{{Name: "etsy_shard_0001", Growth: 40e6, Profile: "office", Customer: "etsy", Needs: farm.Resources{
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
	text := "onto: [platter-22]\nheadroom: {disk: 25%}\nspread_labels: []\nparallel: 8\nsoak: 2s\n" +
		"ramp: {latency: x4, floor: 20ms, errors: 5%, statements: 500, longest: 1m}\n"
	if err := os.WriteFile(w.Path("goals.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	g, err = w.Goals()
	want := placement.Goals{
		Onto: []farm.HostTypeName{"platter-22"}, Minimise: []string{"hosts"},
		Headroom: map[farm.ResourceName]float64{farm.Disk: 0.25}, Parallel: 8, Soak: 2 * time.Second,
		Ramp: placement.Ramp{Latency: 4, Floor: 20 * time.Millisecond, Errors: 0.05, Statements: 500, Longest: time.Minute},
	}
	if err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("got %+v, %v\nwant %+v", g, err, want)
	}
}

// rulesFarm is four pairs on four old hosts, with two dense ones to go to.
const rulesFarm = `farm: rules
next_server_id: 1025
host_types:
  old: {disk: 2TB, memory: 96GiB, cores: 16}
  dense: {disk: 14TB, memory: 512GiB, cores: 32, licences: 9}
profiles:
  office: [0.1, 40%, 1, 0.5]
  flat: [100%]
hosts:
  - {name: db1, type: old, address: 10.0.0.1, labels: {rack: r1, kernel: odd}}
  - {name: db2, type: old, address: 10.0.0.2, labels: {rack: r2, kernel: even}}
  - {name: ssd1, type: dense, address: 10.0.1.1, labels: {rack: r1, kernel: odd}, reserved: {disk: 200GB, memory: 8GiB, cpu: 0.5, licences: 1}}
  - {name: ssd2, type: dense, address: 10.0.1.2, labels: {rack: r2, kernel: even}}
pairs:
  - name: p1
    topology: active-active
    sides: {A: {host: db1, port: 1, datadir: /1}, B: {host: db2, port: 1, datadir: /1}}
    shards:
      - {name: s1, disk: 48GB, cpu: 0.5, profile: office, customer: acme}   # theirs
      - {name: s2, disk: 48GB, customer: acme}
  - name: p2
    topology: active-active
    sides: {A: {host: db1, port: 2, datadir: /2}, B: {host: db2, port: 2, datadir: /2}}
  - name: p3
    topology: active-active
    sides: {A: {host: db1, port: 3, datadir: /3}, B: {host: db2, port: 3, datadir: /3}}
  - name: q1
    topology: active-active
    sides: {A: {host: db1, port: 4, datadir: /4}, B: {host: db2, port: 4, datadir: /4}}
`

func TestFarmWithProfilesCustomersAndReserved(t *testing.T) {
	f, err := openWith(t, rulesFarm).Farm()
	if err != nil {
		t.Fatal(err)
	}
	office, ok := f.Profile("office")
	for h, v := range office.Hours {
		if want := []float64{0.1, 0.4, 1, 0.5}[h/6]; v != want || !ok {
			t.Errorf("at %d:00 office uses %v, want %v", h, v, want)
		}
	}
	if s := f.Pairs[0].Shards[0]; s.Profile != "office" || s.Customer != "acme" {
		t.Errorf("the first shard is %+v", s)
	}
	want := farm.Resources{farm.Disk: 200e9, farm.Memory: 8 << 30, farm.CPU: 0.5, "licences": 1}
	if got := f.Hosts[2].Reserved; !reflect.DeepEqual(got, want) {
		t.Errorf("reserved is %v, want %v", got, want)
	}
	if f.Hosts[0].Reserved != nil {
		t.Errorf("db1 has reserved %v", f.Hosts[0].Reserved)
	}
}

func TestEveryGoal(t *testing.T) {
	w := openWith(t, rulesFarm)
	text := `
onto: [dense]
unit: shard
minimise: [cost, watts, hosts, moves, balance]
headroom: {disk: 25%}
runway: 540 days
growth: x1.5
overhead: {memory: 1.5GiB, licences: 1}
max_instances: 6
shards_per_instance: 30
spread_labels: [rack, kernel]
surface: {customer: 50%, shards: 100%}
groups:
  vip: [p1]
  eu: [vip, "p?"]
  all: ["*"]
together: [vip]
apart: [eu]
pin:
  - {what: [vip, p2], hosts: [ssd1, ssd2]}
  - {what: p3a, hosts: {rack: r1}}
  - {what: "p?b", hosts: {rack: [r1, r2], kernel: even}}
forbid:
  - {what: p2, hosts: "db*"}
  - {what: p3b, hosts: dense-new-001}
frozen: [q*]
buy:
  dense: {most: 4, labels: {rack: [r1, r2], kernel: [odd]}}
moved_most: 5TB
rates: {stream: 120MB/s, host: 400MB/s, rack: 1GB/s, rack_label: rack}
parallel: 8
soak: 2s
`
	if err := os.WriteFile(w.Path("goals.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := w.Goals()
	if err != nil {
		t.Fatal(err)
	}
	want := placement.Goals{
		Onto: []farm.HostTypeName{"dense"}, Unit: placement.UnitShard,
		Minimise: []string{"cost", "watts", "hosts", "moves", "balance"},
		Headroom: map[farm.ResourceName]float64{farm.Disk: 0.25}, RunwayDays: 540, Growth: 1.5,
		Overhead:     farm.Resources{farm.Memory: 3 << 29, "licences": 1},
		MaxInstances: 6, ShardsPerInstance: 30, SpreadLabels: []string{"rack", "kernel"},
		Surface:  placement.Surface{Customer: 0.5, Shards: 1},
		Together: []placement.Group{{Name: "vip", Pairs: []farm.PairName{"p1"}}},
		Apart:    []placement.Group{{Name: "eu", Pairs: []farm.PairName{"p1", "p2", "p3"}}},
		Pins: []placement.Binding{
			{What: []string{"p1", "p2"}, Hosts: []farm.HostName{"ssd1", "ssd2"}},
			{What: []string{"p3a"}, Hosts: []farm.HostName{"db1", "ssd1", "dense-new-001", "dense-new-003"}},
			{What: []string{"p1b", "p2b", "p3b"}, Hosts: []farm.HostName{"db2", "ssd2"}},
		},
		Forbids: []placement.Binding{
			{What: []string{"p2"}, Hosts: []farm.HostName{"db1", "db2"}},
			{What: []string{"p3b"}, Hosts: []farm.HostName{"dense-new-001"}},
		},
		Frozen:    []farm.PairName{"q1"},
		Buy:       []placement.Purchase{{Type: "dense", Most: 4, Labels: map[string][]string{"rack": {"r1", "r2"}, "kernel": {"odd"}}}},
		MovedMost: 5e12, Rates: placement.Rates{Stream: 120e6, Host: 400e6, Rack: 1e9, RackLabel: "rack"},
		Parallel: 8, Soak: 2 * time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	// Plans hold goals: what is written there reads back.
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back placement.Goals
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, got) {
		t.Errorf("%v: as JSON it is %+v", err, back)
	}
}

func TestSpellingsOfGoals(t *testing.T) {
	tests := []struct {
		text string
		get  func(placement.Goals) float64
		want float64
	}{
		{"runway: 540d", func(g placement.Goals) float64 { return g.RunwayDays }, 540},
		{"runway: 1 day", func(g placement.Goals) float64 { return g.RunwayDays }, 1},
		{"runway: 1.5 years", func(g placement.Goals) float64 { return g.RunwayDays }, 547.5},
		{"runway: 2y", func(g placement.Goals) float64 { return g.RunwayDays }, 730},
		{"runway: 0 days", func(g placement.Goals) float64 { return g.RunwayDays }, 0},
		{"growth: 2", func(g placement.Goals) float64 { return g.Growth }, 2},
		{"growth: x0.5", func(g placement.Goals) float64 { return g.Growth }, 0.5},
		{"buy: {dense: 40}", func(g placement.Goals) float64 { return float64(g.Buy[0].Most) }, 40},
		{"surface: {shards: 100%}", func(g placement.Goals) float64 { return g.Surface.Shards }, 1},
		{"frozen: p1", func(g placement.Goals) float64 { return float64(len(g.Frozen)) }, 1},
	}
	for _, test := range tests {
		w := openWith(t, rulesFarm)
		if err := os.WriteFile(w.Path("goals.yaml"), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		g, err := w.Goals()
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if got := test.get(g); got != test.want {
			t.Errorf("%s reads as %v, want %v", test.text, got, test.want)
		}
	}
}

// TestEditKeepsCustomerAndProfile: new figures leave customer and profile.
func TestEditKeepsCustomerAndProfile(t *testing.T) {
	w := openWith(t, rulesFarm)
	err := w.EditFarm(func(e *workspace.Edit) error {
		e.SetShardNeeds("s1", farm.Resources{farm.Disk: 50e9, farm.CPU: 0.5})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(rulesFarm, "name: s1, disk: 48GB", "name: s1, disk: 50GB", 1)
	if got := farmText(t, w); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
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
