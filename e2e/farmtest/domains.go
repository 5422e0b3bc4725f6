package farmtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/demo"
	"stowage/farm"
	"stowage/host"
)

// StartInDomainZero is pairs as most shops have it: every server writes GTID
// domain 0, without strict mode, and its replicas go by GTID or by file and
// position.
func StartInDomainZero(t *testing.T, topology farm.Topology, pairs int, byGTID bool) *LiveFarm {
	t.Helper()
	o := demo.Options{Topology: topology, Pairs: pairs, Shards: 2, Rows: 50}
	if o.Hosts = o.Instances(); topology == farm.ActiveActive {
		o.Hosts = 2
	}
	f := EmptyFarm(t, "r630-ssd", 40)
	t.Cleanup(f.Down)
	o.Dir, o.Tell = f.Dir, func(string) {}
	if err := demo.Up(t.Context(), o, QuietLog()); err != nil {
		t.Fatal(err)
	}
	f.intoDomainZero(byGTID)
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *LiveFarm) intoDomainZero(byGTID bool) {
	f.T.Helper()
	f.atEach(func(_ farm.Pair, side farm.SideName, do func(string)) { do("STOP SLAVE") })
	f.atEach(func(p farm.Pair, side farm.SideName, do func(string)) {
		for _, s := range []string{"gtid_strict_mode=OFF", "gtid_ignore_duplicates=OFF", "gtid_domain_id=0"} {
			do("SET GLOBAL " + s)
		}
		do("RESET MASTER")
		do("SET GLOBAL gtid_slave_pos=''")
	})
	using := "MASTER_USE_GTID=no, MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4"
	if byGTID {
		using = "MASTER_USE_GTID=slave_pos"
	}
	f.atEach(func(p farm.Pair, side farm.SideName, do func(string)) {
		if side == farm.B || !p.Topology.HasOneWriter() {
			do("CHANGE MASTER TO " + using)
			do("START SLAVE")
		}
		config := f.config(p, side)
		raw, err := os.ReadFile(config)
		if err != nil {
			f.T.Fatal(err)
		}
		text := host.RewriteOptions(string(raw), "mariadbd", map[string]string{"gtid_domain_id": "", "gtid_strict_mode": "", "gtid_ignore_duplicates": ""})
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			f.T.Fatal(err)
		}
	})
}

// atEach visits each server of the farm with a session of its owner's, which
// ends with the visit.
func (f *LiveFarm) atEach(visit func(p farm.Pair, side farm.SideName, do func(statement string))) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for _, side := range p.SideNames() {
			db := f.Dial("unix", f.Path(p.Sides[side].Datadir)+"/mysqld.sock", "root", "")
			visit(p, side, func(statement string) {
				f.T.Helper()
				if _, err := db.Exec(statement); err != nil {
					f.T.Fatalf("%s: %s: %v", p.Instance(side), statement, err)
				}
			})
			db.Close()
		}
	}
}

func (f *LiveFarm) config(p farm.Pair, side farm.SideName) string {
	return filepath.Join(filepath.Dir(f.Path(p.Sides[side].Datadir)), "my.cnf")
}

// OptionFiles is what is in the option files of all servers.
func (f *LiveFarm) OptionFiles() string {
	f.T.Helper()
	var out []string
	f.atEach(func(p farm.Pair, side farm.SideName, _ func(string)) {
		raw, err := os.ReadFile(f.config(p, side))
		if err != nil {
			f.T.Fatal(err)
		}
		out = append(out, string(p.Instance(side))+":\n"+string(raw))
	})
	return strings.Join(out, "\n")
}

// Identities is what the servers say of their domains and their replication, a
// line a server.
func (f *LiveFarm) Identities() string {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	var out []string
	for _, p := range fm.Pairs {
		for _, side := range p.SideNames() {
			s := f.Open(p.Instance(side), fm.Address(p.Sides[side]))
			d, err := s.Domains(f.T.Context())
			if err != nil {
				f.T.Fatal(err)
			}
			by := "-"
			if d.Replication.Configured {
				by = fmt.Sprintf("%s %v", d.Replication.UsingGTID, d.Replication.Running())
			}
			out = append(out, fmt.Sprintf("%s: domain %d strict %v ignores %v threads %d by %s", p.Instance(side), d.Domain, d.Strict, d.Ignores, d.Threads, by))
		}
	}
	return strings.Join(out, "\n")
}

// AwaitReplicas waits until every server that has a source follows it.
func (f *LiveFarm) AwaitReplicas() {
	f.T.Helper()
	for end := time.Now().Add(WaitLimit); strings.Contains(f.Identities()+"\n", " false\n"); PauseTest() {
		if time.Now().After(end) {
			f.T.Fatalf("replicas do not run:\n%s", f.Identities())
		}
	}
}

// Reconnect lets the clients of the load open new connections.
func (f *LiveFarm) Reconnect() {
	f.T.Helper()
	f.Load.Stop()
	if err := f.StartClients(); err != nil {
		f.T.Fatal(err)
	}
}

// Writers reconnect for every row they write, on each server that takes
// writes, until they are stopped; Wrote is how many were acknowledged.
type Writers struct {
	f     *LiveFarm
	end   context.CancelFunc
	ended chan struct{}
	wrote atomic.Int64
	table string
}

// WritersThatReconnect starts them, beside the clients, who keep their
// connections.
func (f *LiveFarm) WritersThatReconnect() *Writers {
	t := f.T
	t.Helper()
	table := "`" + string(f.Shard()) + "`.outside"
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	first := fm.Pairs[0]
	sides := []farm.SideName{farm.A}
	if !f.hasOneWriter() {
		sides = append(sides, farm.B)
	}
	f.atEach(func(p farm.Pair, side farm.SideName, do func(string)) {
		if p.Name == first.Name && side == farm.A {
			do("CREATE TABLE " + table + " (id BIGINT AUTO_INCREMENT PRIMARY KEY, n BIGINT)")
		}
	})
	for end := time.Now().Add(WaitLimit); f.rowsOf(farm.B, table) != 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the table does not come to side B")
		}
	}
	ctx, end := context.WithCancel(t.Context())
	w := &Writers{f: f, end: end, ended: make(chan struct{}), table: table}
	t.Cleanup(end)
	addresses := map[farm.SideName]string{}
	for _, side := range sides {
		addresses[side] = f.Server(side).Address()
	}
	go func() {
		defer close(w.ended)
		for n := 0; ctx.Err() == nil; n++ {
			db := f.Login(addresses[sides[n%len(sides)]], "client")
			db.SetMaxIdleConns(0)
			if _, err := db.Exec(fmt.Sprintf("INSERT INTO %s (n) VALUES (%d)", table, n)); err != nil {
				t.Errorf("a writer that reconnects: %v", err)
			} else {
				w.wrote.Add(1)
			}
			_ = db.Close()
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return w
}

// Check stops them: each server has every row once.
func (w *Writers) Check() {
	w.f.T.Helper()
	w.end()
	<-w.ended
	want := w.wrote.Load()
	for _, side := range farm.SideNames {
		var has int64
		for end := time.Now().Add(WaitLimit); ; time.Sleep(50 * time.Millisecond) {
			if has = w.f.rowsOf(side, w.table); has == want || time.Now().After(end) {
				break
			}
		}
		if has != want || want == 0 {
			w.f.T.Errorf("side %s has %d rows of the writers that reconnect, %d were acknowledged", side, has, want)
		}
	}
}

// rowsOf counts on a side of the first pair; -1 when it has no such table.
func (f *LiveFarm) rowsOf(side farm.SideName, table string) (n int64) {
	db := f.Root(side)
	defer db.Close()
	if err := db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
		return -1
	}
	return n
}
