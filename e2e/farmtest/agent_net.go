package farmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"stowage/demo/load"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/netlab"
	"stowage/mysql"
	"stowage/route"
	"stowage/session"
	"stowage/workspace"
)

// NetFarm is a farm on machines of their own (netlab), an agent and its servers
// in each. The program and the clients stand outside, on the bridge.
type NetFarm struct {
	*LiveFarm
	Topology farm.Topology
	Lab      *netlab.Lab
	Hosts    map[farm.HostName]*netlab.Machine
	Agents   map[farm.HostName]*NetAgent
	Options  string // further lines of the servers' option files
	Allow    string // what their agents may run: a file
	Private  string // a directory that is another one on each machine: see PrivateOf

	agents sync.Mutex // held to look at Agents while machines are rebooted
}

const netPort = 23306

var NetHosts = []farm.HostName{"old1", "old2", "new1", "new2"}

// NeedsMachines skips a test where there can be none.
func NeedsMachines(t *testing.T) {
	t.Helper()
	if missing := netlab.Missing(); missing != "" {
		t.Skip("NOT TESTED: agents on machines of their own: " + missing)
	}
	if _, err := host.NewLocal(slog.New(slog.DiscardHandler)); err != nil {
		t.Skipf("NOT TESTED: agents on machines of their own: %v", err)
	}
}

// StartNetFarm makes a farm of four machines with an agent each, whose pair serves clients, and a plan named first.
func StartNetFarm(t *testing.T, topology farm.Topology, shards, rows int) *NetFarm {
	t.Helper()
	f := NewNetFarm(t, topology, shards)
	for _, h := range NetHosts {
		f.StartAgent(h)
	}
	f.Serve(shards, rows)
	return f
}

// NewNetFarm makes the machines and the workspace, and no agents yet.
func NewNetFarm(t *testing.T, topology farm.Topology, shards int) *NetFarm {
	t.Helper()
	NeedsMachines(t)
	f := &NetFarm{LiveFarm: EmptyFarm(t, "dense", 40), Topology: topology, Hosts: map[farm.HostName]*netlab.Machine{}, Agents: map[farm.HostName]*NetAgent{}}
	mark := netlab.Mark()
	t.Cleanup(func() { f.Remove(mark) })
	network, err := netlab.Network("10.213")
	if err != nil {
		t.Fatal(err)
	}
	if f.Lab, err = netlab.New(mark, network); err != nil {
		t.Fatal(err)
	}
	for _, h := range NetHosts {
		f.AddMachine(h)
	}
	f.WriteWorkspace(shards)
	f.Must("agent", "certs")
	return f
}

// Serve founds the servers, lets clients write and makes a plan.
func (f *NetFarm) Serve(shards, rows int) {
	f.T.Helper()
	f.found(shards, rows)
	f.Did(f.StartClients())
	f.Must("plan", "--name", "first")
}

// Remove takes everything away again, also after a failed test.
func (f *NetFarm) Remove(mark string) {
	if f.Load != nil {
		f.Load.Stop()
	}
	if err := netlab.Clear(mark); err != nil { // agents and servers end with their machines
		f.T.Error(err)
	}
	for name, a := range f.Agents {
		<-a.Exited
		if f.T.Failed() && len(f.Agents) <= len(NetHosts) {
			f.T.Logf("agent of %s said:\n%s", name, &a.Said)
		}
	}
	os.RemoveAll(f.Dir)
}

func (f *NetFarm) AddMachine(h farm.HostName) {
	f.T.Helper()
	m, err := f.Lab.Add(string(h))
	if err != nil {
		f.T.Fatal(err)
	}
	f.Hosts[h] = m
}

// Cut takes a machine off the network, heal puts it back.
func (f *NetFarm) Cut(h farm.HostName)  { f.Did(f.Hosts[h].Cut()) }
func (f *NetFarm) Heal(h farm.HostName) { f.Did(f.Hosts[h].Heal()) }

func (f *NetFarm) Did(err error) {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
}

func (f *NetFarm) WriteWorkspace(shards int) {
	t := f.T
	fm := &farm.Farm{Name: "net", NextServerID: 1003, Accounts: "accounts.cnf", Agents: farm.Agents{Engine: f.EngineAddress()},
		HostTypes: []farm.HostType{
			{Name: "platter", Capacity: farm.Resources{farm.CPU: 4, farm.Memory: 8 << 30, farm.Disk: 1e12, farm.IOPS: 1000, farm.Network: 1e9}},
			{Name: "dense", Capacity: farm.Resources{farm.CPU: 16, farm.Memory: 64 << 30, farm.Disk: 8e12, farm.IOPS: 50000, farm.Network: 1e9}},
		}}
	pair := farm.Pair{Name: "net001", Topology: f.Topology, Sides: map[farm.SideName]farm.Side{}}
	for i, h := range NetHosts {
		kind := farm.HostTypeName("platter")
		if i >= 2 {
			kind = "dense"
		}
		fm.Hosts = append(fm.Hosts, farm.Host{Name: h, Type: kind, Address: f.Hosts[h].Address, Dir: filepath.Join(f.Dir, "hosts", string(h)),
			Labels: map[string]string{"rack": fmt.Sprintf("r%d", i%2)}})
	}
	for i, side := range f.sides() {
		home := filepath.Join(fm.Hosts[i].Dir, string(pair.Instance(side)))
		pair.Sides[side] = farm.Side{Host: NetHosts[i], Port: netPort, Datadir: home + "/data", Config: home + "/my.cnf"}
	}
	for i := range shards {
		pair.Shards = append(pair.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("net_shard_%04d", i+1)), Needs: farm.Resources{farm.Disk: 1e9, farm.CPU: 0.05, farm.Memory: 1e8, farm.IOPS: 10}})
	}
	fm.Pairs = []farm.Pair{pair}
	accounts := "[stowage]\nuser = stowage\npassword = stowage-canary\n[replication]\nuser = replication\npassword = replication-canary\n[client]\nuser = app\npassword = app-canary\n"
	goals := "onto: [dense]\nspread_labels: [rack]\nparallel: 1\nsoak: 50ms\n"
	for _, err := range []error{
		workspace.WriteFarm(f.Dir+"/farm.yaml", fm), os.WriteFile(f.Dir+"/accounts.cnf", []byte(accounts), 0o600), os.WriteFile(f.Dir+"/goals.yaml", []byte(goals), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	table := map[farm.PairName]*route.Pair{pair.Name: route.ForFarm(fm, pair)}
	if err := route.NewFile(f.Dir + "/routing.json").Create(table); err != nil {
		t.Fatal(err)
	}
}

// found makes the pair, each side in its machine: data directories, option files,
// accounts and shards, and the ring.
func (f *NetFarm) found(shards, rows int) {
	t := f.T
	t.Helper()
	_, _, client, err := FarmAccess(f.Dir)
	f.Did(err)
	open, err := session.Open(session.Options{Dir: f.Dir, Log: QuietLog()})
	f.Did(err)
	defer open.Close()
	f.Did(open.Prepare())
	local, err := host.NewLocal(QuietLog()) // a data directory is made where its files are, which is here
	f.Did(err)
	fm, admin, repl := open.Farm, open.Admin, open.Replication
	var schema []string
	for _, s := range fm.Pairs[0].Shards {
		schema = append(append(schema, load.Schema(s.Name)...), load.Seed(s.Name, rows)...)
	}
	setup, err := mysql.SetupSQL(mysql.Accounts{Admin: admin, Replication: repl, Client: client}, schema...)
	if err != nil {
		t.Fatal(err)
	}
	pair := fm.Pairs[0]
	servers := map[farm.SideName]*mysql.Server{}
	for n, side := range f.sides() {
		s := pair.Sides[side]
		h, _ := fm.Host(s.Host)
		i := host.Instance{Name: pair.Instance(side), Address: h.Address, Port: s.Port, Datadir: s.Datadir, Config: s.Config}
		machine, err := open.Host(s.Host) // through its agent: as units, where the machine has booted
		f.Did(err)
		for what, err := range map[string]error{
			"claim": machine.Claim(t.Context(), i, "test"), "config": machine.WriteFile(t.Context(), i.Config, append(netConfig(i, f.Topology, n), f.Options...)),
			"found": local.Found(t.Context(), i, setup), "start": machine.Start(t.Context(), i, time.Minute),
		} {
			if err != nil {
				t.Fatalf("%s %s: %v", what, i.Name, err)
			}
		}
		servers[side] = mysql.Open(i.Name, i.Dial(), admin, QuietLog())
		defer servers[side].Close()
	}
	for _, side := range f.sides() {
		if f.Topology != farm.ActiveActive && side == farm.A {
			continue
		}
		f.Did(servers[side].Follow(t.Context(), servers[side.Twin()].Address(), repl, 30*time.Second))
	}
}

// sides are those that the topology has.
func (f *NetFarm) sides() []farm.SideName {
	if f.Topology == farm.Single {
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

// During runs a move and does something when its status first shows a step.
func (f *NetFarm) During(step string, do func()) Program {
	f.T.Helper()
	ended := make(chan Program, 1)
	go func() { ended <- RunProgram(f.T, "", "move", "first", "-C", f.Dir) }()
	if step != "" {
		f.AwaitStep(step)
		do()
	}
	select {
	case p := <-ended:
		return p
	case <-time.After(5 * time.Minute):
		f.T.Fatal("the move does not end")
		return Program{}
	}
}

// AwaitStep waits until the events of the move tell of a step's beginning, of
// one of some sides.
func (f *NetFarm) AwaitStep(step string, sides ...farm.SideName) {
	f.T.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if f.begun(step, sides...) {
			return
		}
	}
	f.T.Fatalf("the move never came to %s %v", step, sides)
}

func (f *NetFarm) begun(step string, sides ...farm.SideName) bool {
	kept, err := keptIn(f.Dir)
	if err != nil {
		return false
	}
	defer kept.Close()
	run, err := kept.LatestRun("move")
	if err != nil {
		return false
	}
	events, _, err := kept.Events(run.ID, 0)
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

// RecordBoth records both sides for a moment, each on its machine.
func (f *NetFarm) RecordBoth() {
	f.T.Helper()
	p := RunProgram(f.T, "", "digest", "record", "-C", f.Dir, "--from", "network", "--for", "1s", "--save", "beside", "--max-running", "0", "--max-lag", "0", "--json")
	var s RecordAnswer
	if err := json.Unmarshal([]byte(p.Stdout), &s); err != nil || p.Code != ExitFine || len(s.Instances) != 2 {
		f.T.Fatalf("recording beside a move: exit %d, %v\n%s\n%s", p.Code, err, p.Stdout, p.Stderr)
	}
	for _, i := range s.Instances {
		if i.Events == 0 || i.Error != "" {
			f.T.Errorf("recording beside a move: %+v", i)
		}
	}
}

func (f *NetFarm) NoPasswordIn(dirs ...string) {
	f.T.Helper()
	for _, d := range dirs {
		err := filepath.WalkDir(filepath.Join(f.Dir, d), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if bytes.Contains(raw, []byte("-canary")) {
				f.T.Errorf("%s holds a password in the clear", path)
			}
			return err
		})
		if err != nil {
			f.T.Error(err)
		}
	}
}
