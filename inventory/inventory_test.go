package inventory

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opener(name farm.InstanceName, address string) *mysql.Server {
	account := mysqltest.Account(mariadbtest.Stowage)
	return mysql.Open(name, address, account, slog.New(slog.DiscardHandler))
}

// farmOf is a farm of pairs whose sides are at the addresses given, A and B in turn.
func farmOf(nextID uint32, shards []farm.ShardName, addresses ...string) *farm.Farm {
	f := &farm.Farm{Name: "test", NextServerID: nextID, HostTypes: []farm.HostType{{Name: "platter"}}}
	for n, address := range addresses {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("db%03d", n+1)), Type: "platter", Address: address})
		if n%2 == 0 {
			f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName(fmt.Sprintf("dbshard%03d", n/2+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}})
		}
		p := &f.Pairs[n/2]
		p.Sides[farm.SideNames[n%2]] = farm.Side{Host: f.Hosts[n].Name, Port: 23306, Datadir: "/d"}
	}
	for _, s := range shards {
		f.Pairs[0].Shards = append(f.Pairs[0].Shards, farm.Shard{Name: s})
	}
	return f
}

// checks are the names of findings with their subjects.
func checks(findings []farm.Finding) string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s %s %s", f.Severity, f.Check, f.Subject))
	}
	return strings.Join(out, "\n")
}

// TestSurvey: a ring that is as agreed, and then everything that may go wrong with it.
func TestSurvey(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b")
	mariadbtest.Ring(t, a, b)
	a.Exec(t, "CREATE DATABASE shard1", "CREATE TABLE shard1.t (id INT PRIMARY KEY)", "CREATE DATABASE shard2")
	mariadbtest.AwaitApplied(t, b, a)
	gone := "127.0.77.254" // nobody is there: tests' servers have smaller numbers
	f := farmOf(a.ServerID+b.ServerID, []farm.ShardName{"shard1", "shard2"}, a.Host, b.Host, gone, gone)
	survey := func() Inventory {
		t.Helper()
		var last [2]int
		inv, err := Survey(t.Context(), f, opener, func(done, total int) {
			if done != last[0]+1 || total != 4 {
				t.Errorf("progress %d of %d after %v", done, total, last)
			}
			last = [2]int{done, total}
		})
		must(t, err)
		if last != [2]int{4, 4} {
			t.Errorf("progress ended at %v", last)
		}
		return inv
	}

	inv := survey()
	const unreachable = "blocker reachable dbshard002a\nblocker reachable dbshard002b"
	if got := checks(inv.Findings); got != unreachable {
		t.Errorf("findings:\n%s\nwant\n%s", got, unreachable)
	}
	if inv.FormatVersion != FormatVersion || inv.Farm != "test" || inv.Pairs != 2 || inv.Hosts != 4 || len(inv.Instances) != 4 || inv.Taken.IsZero() {
		t.Errorf("inventory %+v", inv)
	}
	one := inv.Instances[0]
	if one.Name != "dbshard001a" || one.Pair != "dbshard001" || one.Side != farm.A || one.Host != "db001" || one.Address != a.Address || one.Error != "" ||
		one.ServerID != a.ServerID || one.Domain != a.ServerID || one.Source != b.Address || one.Behind == nil || one.Pool != 8<<20 ||
		!strings.HasPrefix(one.Version, "MariaDB ") || len(one.Shards) != 2 || one.Bytes() < 16384 {
		t.Errorf("side A is %+v", one)
	}
	if lost := inv.Instances[2]; !strings.Contains(lost.Error, "connect") || !strings.Contains(lost.Error, "dbshard002a") || lost.Version != "" {
		t.Errorf("an instance that cannot be reached is %+v", lost)
	}
	if got := inv.ShardBytes(); len(got) != 2 || got["shard1"] != one.Shards["shard1"] || got["shard2"] != 0 {
		t.Errorf("bytes of shards %v", got)
	}
	if got := inv.HighestServerID(); got != max(a.ServerID, b.ServerID) {
		t.Errorf("highest server id %d", got)
	}

	for _, test := range []struct {
		name       string
		spoil, fix func()
		want       string
	}{
		{"a replica that stopped", func() { b.Exec(t, "STOP SLAVE") }, func() { b.Exec(t, "START SLAVE") }, "blocker replication dbshard001b"},
		{"a ring that is open", func() { a.Exec(t, "STOP SLAVE", "RESET SLAVE ALL") }, func() { mariadbtest.Replicate(t, a, b) }, "blocker ring dbshard001a"},
		{"a ring to somebody else", func() {
			b.Exec(t, "STOP SLAVE", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s'", gone))
		}, func() { mariadbtest.Replicate(t, b, a) }, "blocker ring dbshard001b\nblocker replication dbshard001b"},
		{"a server id that was given before", func() { f.NextServerID = max(a.ServerID, b.ServerID) }, func() { f.NextServerID *= 2 }, "blocker server-id-spent farm.yaml"},
		{"a database nobody agreed on", func() { f.Pairs[0].Shards = f.Pairs[0].Shards[:1] },
			func() { f.Pairs[0].Shards = append(f.Pairs[0].Shards, farm.Shard{Name: "shard2"}) },
			"warning shards dbshard001a\nwarning shards dbshard001b"},
		{"a shard that is not there", func() { f.Pairs[0].Shards[1].Name = "shard3" }, func() { f.Pairs[0].Shards[1].Name = "shard2" },
			"warning shards dbshard001a\nblocker shards dbshard001a\nwarning shards dbshard001b\nblocker shards dbshard001b"},
		{"one domain on both sides", func() { b.Exec(t, fmt.Sprintf("SET GLOBAL gtid_domain_id=%d", a.ServerID)) },
			func() { b.Exec(t, fmt.Sprintf("SET GLOBAL gtid_domain_id=%d", b.ServerID)) }, "blocker gtid-domain-unique dbshard001b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.spoil()
			defer test.fix()
			got := strings.TrimSpace(strings.TrimPrefix(checks(survey().Findings), unreachable))
			if got != test.want {
				t.Errorf("findings:\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	if got := checks(survey().Findings); got != unreachable {
		t.Errorf("put right, and there is still:\n%s", got)
	}

	t.Run("an account that is refused is a finding", func(t *testing.T) {
		inv, err := Survey(t.Context(), f, func(n farm.InstanceName, address string) *mysql.Server {
			return mysql.Open(n, address, mysql.Account{User: "stowage", Password: "secret-word"}, slog.New(slog.DiscardHandler))
		}, nil)
		must(t, err)
		if len(inv.Findings) < 2 || !strings.Contains(inv.Findings[0].Text, "Access denied") || strings.Contains(fmt.Sprint(inv), "secret-word") {
			t.Errorf("findings %v", inv.Findings)
		}
	})
	t.Run("an interrupted survey is none", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Survey(ctx, f, opener, nil); err == nil {
			t.Error("passes for a survey")
		}
	})
}

// sample is an inventory with one instance of every kind.
func sample() (*farm.Farm, Inventory) {
	f := farmOf(1003, []farm.ShardName{"etsy_shard_0001", "etsy_shard_0002"}, "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
	behind := 2.0
	up := mysql.Replication{Configured: true, IO: "Yes", SQL: "Yes", SourceLog: "bl.000001"}
	down := mysql.Replication{Configured: true, IO: "Yes", SQL: "No", SQLError: "Error 'Duplicate entry'"}
	both := map[farm.ShardName]int64{"etsy_shard_0001": 48_000_000_000, "etsy_shard_0002": 51_500_000_000}
	version, maria := "MariaDB 10.11.19", mysql.Flavor{Vendor: "MariaDB"}
	inv := Inventory{FormatVersion: FormatVersion, Farm: f.Name, Taken: time.Date(2021, 6, 1, 12, 0, 0, 0, time.UTC), Hosts: 4, Pairs: 2, Instances: []Instance{
		{Name: "dbshard001a", Pair: "dbshard001", Side: farm.A, Host: "db001", Address: "10.0.0.1:23306", Version: version, ServerID: 1001, Domain: 1,
			KnownIDs: []uint32{1001, 1002, 1007}, Source: "10.0.0.2:23306", Behind: &behind, Pool: 8 << 30, Shards: both, facts: mysql.Facts{Flavor: maria, Replication: up}},
		{Name: "dbshard001b", Pair: "dbshard001", Side: farm.B, Host: "db002", Address: "10.0.0.2:23306", Version: version, ServerID: 1001, Domain: 1,
			Source: "10.0.0.1:23306", Pool: 8 << 30, Shards: map[farm.ShardName]int64{"etsy_shard_0001": 49_000_000_000, "left_over": 5}, facts: mysql.Facts{Flavor: maria, Replication: down}},
		{Name: "dbshard002a", Pair: "dbshard002", Side: farm.A, Host: "db003", Address: "10.0.0.3:23306", Error: "connect dbshard002a (10.0.0.3:23306): connection refused"},
		{Name: "dbshard002b", Pair: "dbshard002", Side: farm.B, Host: "db004", Address: "10.0.0.4:23306", Version: version, ServerID: 1004, Domain: 4, facts: mysql.Facts{Flavor: maria}},
	}}
	inv.Findings = reconcile(f, inv.Instances)
	return f, inv
}

func TestGolden(t *testing.T) {
	t.Parallel() // it mostly waits
	_, inv := sample()
	var text bytes.Buffer
	must(t, inv.WriteText(&text))
	golden(t, "inventory.txt", text.Bytes())
	raw, err := json.MarshalIndent(inv, "", "  ")
	must(t, err)
	golden(t, "inventory.json", append(raw, '\n'))
	var back Inventory
	must(t, json.Unmarshal(raw, &back))
	if again, _ := json.MarshalIndent(back, "", "  "); !bytes.Equal(again, raw) {
		t.Errorf("read back it is\n%s", again)
	}
	text.Reset()
	must(t, WriteFindings(&text, nil))
	if text.String() != "\nno findings\n" {
		t.Errorf("no findings are %q", text.String())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now (rewrite with -update)\n%s", name, got)
	}
}

// TestReconcile: each finding by itself.
func TestReconcile(t *testing.T) {
	t.Parallel() // it mostly waits
	up := mysql.Facts{Flavor: mysql.Flavor{Vendor: "MariaDB"}, Replication: mysql.Replication{Configured: true, IO: "Yes", SQL: "Yes", SourceLog: "bl.000001"}}
	good := func() (*farm.Farm, []Instance) {
		f := farmOf(100, []farm.ShardName{"s"}, "10.0.0.1", "10.0.0.2")
		s := map[farm.ShardName]int64{"s": 1}
		return f, []Instance{
			{Name: "dbshard001a", Pair: "dbshard001", Side: farm.A, ServerID: 1, Domain: 1, Source: "10.0.0.2:23306", Shards: s, facts: up},
			{Name: "dbshard001b", Pair: "dbshard001", Side: farm.B, ServerID: 2, Domain: 2, Source: "10.0.0.1:23306", Shards: s, facts: up},
		}
	}
	for _, test := range []struct {
		name  string
		spoil func(*farm.Farm, []Instance)
		want  string
		text  string
	}{
		{"nothing", func(*farm.Farm, []Instance) {}, "", ""},
		{"unreachable", func(_ *farm.Farm, i []Instance) {
			i[1] = Instance{Name: "dbshard001b", Pair: "dbshard001", Error: "no route"}
		}, "blocker reachable dbshard001b", "no route"},
		{"both unreachable: nothing else is made up", func(_ *farm.Farm, i []Instance) {
			for n := range i {
				i[n] = Instance{Name: i[n].Name, Pair: "dbshard001", Error: "no route"}
			}
		}, "blocker reachable dbshard001a\nblocker reachable dbshard001b", ""},
		{"one id twice", func(_ *farm.Farm, i []Instance) { i[1].ServerID = 1 }, "blocker server-id-unique dbshard001b", "has server_id 1, as dbshard001a has"},
		{"ids 1 and 2 in each pair", func(f *farm.Farm, i []Instance) {
			f.Pairs = append(f.Pairs, farm.Pair{Name: "dbshard002", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {}}})
			i[1].Pair, i[1].Name, i[1].Side, i[1].ServerID, i[1].Source, i[1].facts.Replication = "dbshard002", "dbshard002a", farm.A, 1, "", mysql.Replication{}
			i[1].Shards, i[0].Address = nil, "10.0.0.1:23306"
		}, "note server-id-shared dbshard001a", "has server_id 1, as dbshard002a"},
		{"one id on servers of two pairs that replicate", func(f *farm.Farm, i []Instance) {
			f.Pairs = append(f.Pairs, farm.Pair{Name: "dbshard002", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.B: {}}})
			i[1].Pair, i[1].Name, i[1].ServerID = "dbshard002", "dbshard002b", 1
			i[1].Shards, i[0].Address, i[1].Address = nil, "10.0.0.1:23306", "10.0.0.2:23306"
		}, "blocker server-id-unique dbshard002b\nblocker ring dbshard002b", "has server_id 1, as dbshard001a has"},
		{"one domain twice", func(_ *farm.Farm, i []Instance) { i[1].Domain = 1 }, "blocker gtid-domain-unique dbshard001b", "has GTID domain 1, as dbshard001a has"},
		{"the default domain", func(_ *farm.Farm, i []Instance) { i[0].Domain, i[1].Domain = 0, 0 }, "blocker gtid-domain-unique dbshard001b", "GTID domain 0"},
		{"unrelated pairs that share a domain", func(f *farm.Farm, i []Instance) {
			f.Pairs = append(f.Pairs, farm.Pair{Name: "dbshard002", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {}}})
			i[0].Domain = 7
			i[1].Pair, i[1].Name, i[1].Side, i[1].Domain, i[1].Source, i[1].facts.Replication = "dbshard002", "dbshard002a", farm.A, 7, "", mysql.Replication{}
			i[1].Shards = nil
		}, "note gtid-domain-shared dbshard001", "writes GTID domain 7, as dbshard002"},
		{"one domain of one writer", func(f *farm.Farm, i []Instance) {
			f.Pairs[0].Topology, i[1].Domain = farm.PrimaryReplica, 1
			i[0].Source, i[0].facts.Replication = "", mysql.Replication{}
		}, "", ""},
		{"MySQL has no domains", func(_ *farm.Farm, i []Instance) {
			for n := range i {
				i[n].Domain, i[n].facts.Flavor.Vendor = 0, "MySQL"
			}
		}, "", ""},
		{"an id of a server long gone", func(_ *farm.Farm, i []Instance) { i[0].KnownIDs = []uint32{7, 100} }, "blocker server-id-spent farm.yaml", "next_server_id is 100, and servers know ids up to 100"},
		{"options of another size", func(f *farm.Farm, i []Instance) {
			f.HostTypes = []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.Memory: 8 << 30}, Options: []farm.HostOption{{Name: "innodb_buffer_pool_size", Share: 0.5}, {Name: "innodb_io_capacity", Value: "300"}, {Name: "innodb_flush_method", Value: "O_DIRECT"}}}}
			f.Hosts[0].Type, f.Hosts[1].Type = "t", "t"
			i[0].Host, i[0].options = f.Hosts[0].Name, map[string]string{"innodb_buffer_pool_size": "4294967296", "innodb_io_capacity": "300", "innodb_flush_method": "o_direct"}
			i[1].Host, i[1].options = f.Hosts[1].Name, map[string]string{"innodb_buffer_pool_size": "2147483648", "innodb_io_capacity": "300"}
		}, "warning options-drift dbshard001b", "runs with innodb_buffer_pool_size = 2147483648, and host type t says 4096M (instances there: 1)"},
		{"a pool that the server has rounded", func(f *farm.Farm, i []Instance) {
			f.HostTypes = []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.Memory: 8 << 30}, Options: []farm.HostOption{{Name: "innodb_buffer_pool_size", Value: "200M"}}}}
			f.Hosts[0].Type = "t"
			i[0].Host, i[0].options = f.Hosts[0].Name, map[string]string{"innodb_buffer_pool_size": "268435456"}
		}, "", ""},
		{"ring", func(_ *farm.Farm, i []Instance) { i[0].Source = "10.0.0.9:3306" }, "blocker ring dbshard001a", `replicates from "10.0.0.9:3306", its twin is at 10.0.0.2:23306`},
		{"no ring is asked of a primary", func(f *farm.Farm, i []Instance) {
			f.Pairs[0].Topology = farm.PrimaryReplica
			i[0].Source, i[0].facts = "", mysql.Facts{}
		}, "", ""},
		{"IO thread", func(_ *farm.Farm, i []Instance) {
			i[0].facts.Replication.IO, i[0].facts.Replication.IOError = "No", "fatal error 1236"
		}, "blocker replication dbshard001a", "IO thread stopped: fatal error 1236"},
		{"stopped by hand", func(_ *farm.Farm, i []Instance) { i[0].facts.Replication.SQL = "No" }, "blocker replication dbshard001a", "stopped by hand?"},
		{"a source that does not let it in", func(_ *farm.Farm, i []Instance) {
			r := &i[0].facts.Replication
			r.IO, r.IOCode, r.IOError = "Connecting", 1045, "Access denied for user 'repl'"
		}, "blocker replication dbshard001a", "IO thread is not let in: Access denied for user 'repl'"},
		{"a source that is down", func(_ *farm.Farm, i []Instance) {
			r := &i[0].facts.Replication
			r.IO, r.IOCode, r.IOError = "Connecting", 2003, "Can't connect to server"
		}, "warning replication dbshard001a", "has no connection to its source: Can't connect to server"},
		{"connecting is not broken", func(_ *farm.Farm, i []Instance) { i[0].facts.Replication.IO = "Connecting" }, "", ""},
		{"unknown database", func(_ *farm.Farm, i []Instance) { i[0].Shards = map[farm.ShardName]int64{"z": 1, "s": 1, "a": 1} },
			"warning shards dbshard001a\nwarning shards dbshard001a", "has a database a that farm.yaml does not know"},
		{"unknown database that cannot be a shard", func(_ *farm.Farm, i []Instance) { i[0].Shards = map[farm.ShardName]int64{"armazém": 1, "s": 1} },
			"warning shards dbshard001a", "has a database armazém that farm.yaml does not know -> rename it, or leave it"},
		{"missing shard", func(_ *farm.Farm, i []Instance) { i[1].Shards = nil }, "blocker shards dbshard001b", "lacks shard s of farm.yaml"},
	} {
		f, instances := good()
		test.spoil(f, instances)
		got := reconcile(f, instances)
		if checks(got) != test.want {
			t.Errorf("%s: findings\n%s\nwant\n%s", test.name, checks(got), test.want)
			continue
		}
		if len(got) > 0 && !strings.Contains(got[0].Text+" -> "+got[0].Remedy, test.text) {
			t.Errorf("%s: says %q, want %q", test.name, got[0].Text, test.text)
		}
		for _, finding := range got {
			if finding.Remedy == "" {
				t.Errorf("%s: %v has no remedy", test.name, finding)
			}
		}
	}
}
