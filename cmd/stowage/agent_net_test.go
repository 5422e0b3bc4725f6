package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/demo/load"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/netlab"
	"stowage/mysql"
	"stowage/route"
	"stowage/workspace"
)

// netFarm is a farm on machines of their own (netlab), an agent and its servers
// in each. The program and the clients stand outside, on the bridge.
type netFarm struct {
	*liveFarm
	topology farm.Topology
	lab      *netlab.Lab
	hosts    map[farm.HostName]*netlab.Machine
	agents   map[farm.HostName]*netAgent
}

const netPort = 23306

var netHosts = []farm.HostName{"old1", "old2", "new1", "new2"}

// needsMachines skips a test where there can be none.
func needsMachines(t *testing.T) {
	t.Helper()
	if missing := netlab.Missing(); missing != "" {
		t.Skip("NOT TESTED: agents on machines of their own: " + missing)
	}
	if _, err := host.NewLocal(slog.New(slog.DiscardHandler)); err != nil {
		t.Skipf("NOT TESTED: agents on machines of their own: %v", err)
	}
}

// startNetFarm makes a farm of four machines, whose servers are founded through
// the agents: an active-active pair.
func startNetFarm(t *testing.T, shards, rows int) *netFarm {
	t.Helper()
	return startNetFarmOf(t, farm.ActiveActive, shards, rows)
}

func startNetFarmOf(t *testing.T, topology farm.Topology, shards, rows int) *netFarm {
	t.Helper()
	f := newNetFarm(t, topology, shards)
	for _, h := range netHosts {
		f.startAgent(h)
	}
	f.serve(shards, rows)
	return f
}

// newNetFarm makes the machines and the workspace, and no agents yet.
func newNetFarm(t *testing.T, topology farm.Topology, shards int) *netFarm {
	t.Helper()
	needsMachines(t)
	f := &netFarm{liveFarm: emptyFarm(t, "dense", 40), topology: topology, hosts: map[farm.HostName]*netlab.Machine{}, agents: map[farm.HostName]*netAgent{}}
	mark := netlab.Mark()
	t.Cleanup(func() { f.remove(mark) })
	network, err := netlab.Network("10.213")
	if err != nil {
		t.Fatal(err)
	}
	if f.lab, err = netlab.New(mark, network); err != nil {
		t.Fatal(err)
	}
	for _, h := range netHosts {
		f.addMachine(h)
	}
	f.writeWorkspace(shards)
	f.must("agent", "certs")
	return f
}

// serve founds the servers, lets clients write and makes a plan.
func (f *netFarm) serve(shards, rows int) {
	f.t.Helper()
	f.found(shards, rows)
	f.did(f.startClients())
	f.must("plan", "--name", "first")
}

// remove takes everything away again, also after a failed test.
func (f *netFarm) remove(mark string) {
	if f.load != nil {
		f.load.Stop()
	}
	if err := netlab.Clear(mark); err != nil { // agents and servers end with their machines
		f.t.Error(err)
	}
	for name, a := range f.agents {
		<-a.exited
		if f.t.Failed() && len(f.agents) <= len(netHosts) {
			f.t.Logf("agent of %s said:\n%s", name, &a.said)
		}
	}
	os.RemoveAll(f.dir)
}

func (f *netFarm) addMachine(h farm.HostName) {
	f.t.Helper()
	m, err := f.lab.Add(string(h))
	if err != nil {
		f.t.Fatal(err)
	}
	f.hosts[h] = m
}

// cut takes a machine off the network, heal puts it back.
func (f *netFarm) cut(h farm.HostName)  { f.did(f.hosts[h].Cut()) }
func (f *netFarm) heal(h farm.HostName) { f.did(f.hosts[h].Heal()) }

func (f *netFarm) did(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *netFarm) writeWorkspace(shards int) {
	t := f.t
	fm := &farm.Farm{Name: "net", NextServerID: 1003, Accounts: "accounts.cnf", Agents: farm.Agents{Engine: f.engineAddress()},
		HostTypes: []farm.HostType{
			{Name: "platter", Capacity: farm.Resources{farm.CPU: 4, farm.Memory: 8 << 30, farm.Disk: 1e12, farm.IOPS: 1000, farm.Network: 1e9}},
			{Name: "dense", Capacity: farm.Resources{farm.CPU: 16, farm.Memory: 64 << 30, farm.Disk: 8e12, farm.IOPS: 50000, farm.Network: 1e9}},
		}}
	pair := farm.Pair{Name: "net001", Topology: f.topology, Sides: map[farm.SideName]farm.Side{}}
	for i, h := range netHosts {
		kind := farm.HostTypeName("platter")
		if i >= 2 {
			kind = "dense"
		}
		fm.Hosts = append(fm.Hosts, farm.Host{Name: h, Type: kind, Address: f.hosts[h].Address, Dir: filepath.Join(f.dir, "hosts", string(h)),
			Labels: map[string]string{"rack": fmt.Sprintf("r%d", i%2)}})
	}
	for i, side := range f.sides() {
		home := filepath.Join(fm.Hosts[i].Dir, string(pair.Instance(side)))
		pair.Sides[side] = farm.Side{Host: netHosts[i], Port: netPort, Datadir: home + "/data", Config: home + "/my.cnf"}
	}
	for i := range shards {
		pair.Shards = append(pair.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("net_shard_%04d", i+1)), Needs: farm.Resources{farm.Disk: 1e9, farm.CPU: 0.05, farm.Memory: 1e8, farm.IOPS: 10}})
	}
	fm.Pairs = []farm.Pair{pair}
	accounts := "[stowage]\nuser = stowage\npassword = stowage-canary\n[replication]\nuser = replication\npassword = replication-canary\n[client]\nuser = app\npassword = app-canary\n"
	goals := "onto: [dense]\nspread_labels: [rack]\nparallel: 1\nsoak: 50ms\n"
	for _, err := range []error{
		workspace.WriteFarm(f.dir+"/farm.yaml", fm), os.WriteFile(f.dir+"/accounts.cnf", []byte(accounts), 0o600), os.WriteFile(f.dir+"/goals.yaml", []byte(goals), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	table := map[farm.PairName]*route.Pair{pair.Name: route.ForFarm(fm, pair)}
	if err := route.NewFile(f.dir + "/routing.json").Create(table); err != nil {
		t.Fatal(err)
	}
}

// found makes the pair through the agents: data directories, option files,
// accounts and shards, and the ring.
func (f *netFarm) found(shards, rows int) {
	t := f.t
	t.Helper()
	a := &app{stdout: os.Stdout, stderr: os.Stderr, dir: f.dir, log: slog.New(slog.DiscardHandler)}
	d, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.login(); err != nil {
		t.Fatal(err)
	}
	app, err := mysql.ReadAccount(d.Path("accounts.cnf"), "client")
	if err != nil {
		t.Fatal(err)
	}
	board, done, err := a.boardFor(t.Context(), d, "")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var schema []string
	for _, s := range d.farm.Pairs[0].Shards {
		schema = append(append(schema, load.Schema(s.Name)...), load.Seed(s.Name, rows)...)
	}
	setup, err := mysql.SetupSQL(mysql.Accounts{Admin: d.admin, Replication: d.replication, Client: app}, schema...)
	if err != nil {
		t.Fatal(err)
	}
	pair := d.farm.Pairs[0]
	servers := map[farm.SideName]*mysql.Server{}
	for n, side := range f.sides() {
		s := pair.Sides[side]
		h, _ := d.farm.Host(s.Host)
		i := host.Instance{Name: pair.Instance(side), Address: h.Address, Port: s.Port, Datadir: s.Datadir, Config: s.Config}
		remote := board.Host(s.Host)
		for what, err := range map[string]error{
			"claim": remote.Claim(t.Context(), i, "test"), "config": remote.WriteFile(t.Context(), i.Config, netConfig(i, f.topology, n)),
			"found": remote.Found(t.Context(), i, setup), "start": remote.Start(t.Context(), i, time.Minute),
		} {
			if err != nil {
				t.Fatalf("%s %s: %v", what, i.Name, err)
			}
		}
		servers[side] = mysql.Open(i.Name, i.Dial(), d.admin, a.log)
		defer servers[side].Close()
	}
	for _, side := range f.sides() {
		if f.topology != farm.ActiveActive && side == farm.A {
			continue
		}
		f.did(servers[side].Follow(t.Context(), servers[side.Twin()].Address(), d.replication, 30*time.Second))
	}
}

// sides are those that the topology has.
func (f *netFarm) sides() []farm.SideName {
	if f.topology == farm.Single {
		return farm.SideNames[:1]
	}
	return farm.SideNames[:]
}

// netConfig is the option file of side n.
func netConfig(i host.Instance, topology farm.Topology, n int) []byte {
	increment, offset, readOnly := 2, 1+n, "OFF"
	if topology.HasOneWriter() {
		increment, offset = 1, 1
		if n > 0 {
			readOnly = "ON"
		}
	}
	return fmt.Appendf(nil, `[mariadbd]
bind_address = %s
port = %d
report_host = %s
report_port = %d
datadir = %s
socket = mysqld.sock
pid_file = %s
log_error = %s
tmpdir = %s
server_id = %d
gtid_domain_id = %d
auto_increment_increment = %d
auto_increment_offset = %d
read_only = %s
log_bin = binlog
relay_log = relay
log_slave_updates = ON
binlog_format = ROW
binlog_row_image = FULL
gtid_strict_mode = ON
gtid_ignore_duplicates = ON
slave_net_timeout = 10
sync_binlog = 1
innodb_flush_log_at_trx_commit = 1
skip_name_resolve = ON
performance_schema = OFF
innodb_buffer_pool_size = 8M
innodb_log_file_size = 8M
innodb_data_file_path = ibdata1:5M:autoextend
innodb_autoextend_increment = 1
innodb_buffer_pool_dump_at_shutdown = OFF
innodb_buffer_pool_load_at_startup = OFF
innodb_use_native_aio = OFF
key_buffer_size = 64K
aria_pagecache_buffer_size = 256K
aria_log_file_size = 8M
table_open_cache = 200
open_files_limit = 2048
max_connections = 150
`, i.Address, i.Port, i.Address, i.Port, i.Datadir, filepath.Join(i.Dir(), host.PidFile), filepath.Join(i.Dir(), host.ErrorLog),
		filepath.Join(i.Dir(), host.TempDir), 1001+n, 1+n, increment, offset, readOnly)
}

// during runs a move and does something when its status first shows a step.
func (f *netFarm) during(step string, do func()) program {
	f.t.Helper()
	ended := make(chan program, 1)
	go func() { ended <- runProgram(f.t, "", "move", "first", "-C", f.dir) }()
	if step != "" {
		f.awaitStep(step)
		do()
	}
	select {
	case p := <-ended:
		return p
	case <-time.After(5 * time.Minute):
		f.t.Fatal("the move does not end")
		return program{}
	}
}

// awaitStep waits until the events of the move tell of a step's beginning, of
// one of some sides.
func (f *netFarm) awaitStep(step string, sides ...farm.SideName) {
	f.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if f.begun(step, sides...) {
			return
		}
	}
	f.t.Fatalf("the move never came to %s %v", step, sides)
}

func (f *netFarm) begun(step string, sides ...farm.SideName) bool {
	a := &app{dir: f.dir, log: slog.New(slog.DiscardHandler)}
	d, err := a.open()
	if err != nil {
		return false
	}
	defer d.close()
	run, err := d.store.LatestRun("move")
	if err != nil {
		return false
	}
	events, _, err := d.store.Events(run.ID, 0)
	if err != nil {
		return false
	}
	for _, e := range events {
		if e.Step == step && e.Kind == farm.StepStarted && (len(sides) == 0 || slices.Contains(sides, e.Side)) {
			return true
		}
	}
	return false
}

// TestMoveAcrossMachines: a pair moves between machines that share nothing but
// the network, while clients write and agents record beside it, and no password
// is in any file that the engine or an agent keeps.
func TestMoveAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNetFarm(t, 2, 50)
	if p := f.during("seed", f.recordBoth); p.code != exitFine {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	f.checkWhole()
	for _, h := range netHosts {
		raw, err := os.ReadFile(filepath.Join(f.dir, "agent-"+string(h), "audit.jsonl"))
		if err != nil || len(raw) == 0 {
			t.Errorf("%s has no audit log: %v", h, err)
		}
		for line := range strings.Lines(string(raw)) {
			if !json.Valid([]byte(line)) {
				t.Errorf("audit line of %s: %q", h, line)
			}
		}
	}
	f.noPasswordIn("agent-old1", "agent-old2", "agent-new1", "agent-new2", ".stowage")
}

// recordBoth records both sides for a moment, each on its machine.
func (f *netFarm) recordBoth() {
	f.t.Helper()
	p := runProgram(f.t, "", "digest", "record", "-C", f.dir, "--from", "network", "--for", "1s", "--save", "beside", "--max-running", "0", "--max-lag", "0", "--json")
	var s recordSummary
	if err := json.Unmarshal([]byte(p.stdout), &s); err != nil || p.code != exitFine || len(s.Instances) != 2 {
		f.t.Fatalf("recording beside a move: exit %d, %v\n%s\n%s", p.code, err, p.stdout, p.stderr)
	}
	for _, i := range s.Instances {
		if i.Events == 0 || i.Error != "" {
			f.t.Errorf("recording beside a move: %+v", i)
		}
	}
}

func (f *netFarm) noPasswordIn(dirs ...string) {
	f.t.Helper()
	for _, d := range dirs {
		err := filepath.WalkDir(filepath.Join(f.dir, d), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if bytes.Contains(raw, []byte("-canary")) {
				f.t.Errorf("%s holds a password in the clear", path)
			}
			return err
		})
		if err != nil {
			f.t.Error(err)
		}
	}
}
