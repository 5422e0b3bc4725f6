package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/digest"
	"stowage/internal/mariadbtest"
	"stowage/inventory/shardload"
	"stowage/store"
)

// singleFarm is a workspace with one server, whose window is two seconds.
func singleFarm(t *testing.T, i *mariadbtest.Instance) string {
	t.Helper()
	dir := t.TempDir()
	host, port, err := net.SplitHostPort(i.Address)
	if err != nil {
		t.Fatal(err)
	}
	login := "user=" + string(mariadbtest.Stowage) + "\npassword=" + mariadbtest.Stowage.Password() + "\n"
	for name, text := range map[string]string{
		"accounts.cnf": "[stowage]\n" + login + "[replication]\n" + login,
		"farm.yaml": fmt.Sprintf("farm: one\nnext_server_id: 100000\naccounts: accounts.cnf\ndue: {load: 1m, window: 3s}\nhost_types: {box: {cores: 4, memory: 16GB, disk: 40GB}}\n"+
			"hosts: [{name: h1, type: box, address: %s}]\npairs:\n  - {name: p, topology: single, sides: {A: {host: h1, port: %s, datadir: %s, config: %s}}, shards: [{name: shop_0001, disk: 1MB}, {name: shop_0002, disk: 1MB}]}\n", host, port, i.Datadir, i.Config),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDueReadsTheLoadOfARealServer: by shard, the same statement of two shards as one class; and two at once read it once.
func TestDueReadsTheLoadOfARealServer(t *testing.T) {
	i := remembering(t, "due", false)
	for _, shard := range []string{"shop_0001", "shop_0002"} {
		i.Exec(t, "CREATE DATABASE "+shard, "CREATE TABLE "+shard+".items (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
	}
	dir := singleFarm(t, i)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	asked := map[string]int{}
	var mu sync.Mutex
	for shard, pause := range map[string]time.Duration{"shop_0001": 10 * time.Millisecond, "shop_0002": 40 * time.Millisecond} {
		db := i.DB(t, mariadbtest.App, shard)
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(pause):
				}
				var v int
				_ = db.QueryRow(fmt.Sprintf("SELECT COUNT(*) FROM items WHERE v = %d", n)).Scan(&v)
				mu.Lock()
				asked[shard]++
				mu.Unlock()
			}
		})
	}
	defer func() { close(stop); clients.Wait() }()
	answers := make([]dueAnswer, 2)
	var both sync.WaitGroup
	for k := range answers {
		both.Go(func() {
			var out, said bytes.Buffer
			code := run(t.Context(), []string{"-C", dir, "due", "--json"}, &out, &said, nil)
			if err := json.Unmarshal(out.Bytes(), &answers[k]); err != nil || code > exitFindings {
				t.Errorf("exit code %d, %v\n%s%s", code, err, out.String(), said.String())
			}
		})
	}
	both.Wait()
	done := map[string]int{}
	for _, a := range answers {
		for _, task := range a.Tasks {
			if task.State == "done" {
				done[task.Task]++
			}
		}
	}
	if done["hosts"] != 1 || done["load"] != 1 || done["sizes"] != 1 || done["sources"] != 1 {
		t.Errorf("two at once did %v", done)
	}
	var o digest.OverTime
	if err := json.Unmarshal([]byte(stowageIn(t, dir, "digest", "farm", "--json")), &o); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(o.Classes, func(c digest.ClassLoad) bool { return strings.Contains(c.Fingerprint, "from items where v") })
	if at < 0 {
		t.Fatalf("%+v", o.Classes)
	}
	c := o.Classes[at]
	mu.Lock()
	all := asked["shop_0001"] + asked["shop_0002"]
	mu.Unlock()
	if c.Shards != 2 || c.TopShard != "shop_0001" && c.TopShard != "shop_0002" || c.Calls < 5 || c.Calls > float64(all) || c.Load <= 0 {
		t.Errorf("%+v of %d asked", c, all)
	}
	calls := map[string]float64{}
	for _, s := range o.Shards {
		calls[s.Shard] = s.Calls
	}
	if ratio := calls["shop_0001"] / calls["shop_0002"]; ratio < 1.5 || ratio > 8 {
		t.Errorf("calls by shard: %v, about four times as many in the first are asked", calls)
	}
	text := stowageIn(t, dir, "metrics", "--shards")
	for _, want := range []string{`stowage_size_bytes{kind="host",name="h1"}`, `stowage_size_bytes{kind="shard",name="shop_0001"}`, `stowage_due_runs_total{task="load",outcome="done"} 1`, `stowage_shard_load_ratio{shard="shop_0001"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	promtool(t, []byte(text), "check", "metrics")
	hostIsKept(t, dir)
	if rows := stowageIn(t, dir, "capacity", "--json"); !strings.Contains(rows, `"too few samples`) || !strings.Contains(rows, `"source": "inventory, due"`) {
		t.Errorf("capacity does not see what was measured:\n%s", rows)
	}
}

// hostIsKept: what the host used in the window is in the store, as its kernel has it.
func hostIsKept(t *testing.T, dir string) {
	t.Helper()
	s, err := store.Open(filepath.Join(dir, ".stowage", "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	gauges, err := s.Gauges(time.Now().Add(-time.Hour), false)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]float64{}
	for _, g := range gauges {
		if g.Name != "h1" || g.Windows != 1 {
			t.Errorf("%+v", g)
		}
		kept[g.Measure] = g.Mean
	}
	if kept[shardload.HostProcessors] != float64(runtime.NumCPU()) || kept[shardload.HostCPU] <= 0 || kept[shardload.HostCPU] > 1.2*kept[shardload.HostProcessors] ||
		kept[shardload.HostMemory] <= 0 || kept[shardload.HostMemory] >= kept[shardload.HostMemoryOf] {
		t.Errorf("%v", kept)
	}
}
