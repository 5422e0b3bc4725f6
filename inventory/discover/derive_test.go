package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

// sketch makes servers of lines, the way people draw them:
//
//	db1 <- db2       db2 replicates from db1; db1 knows db2 as its replica
//	db1              is there
//	!db1             was told, and does not answer
//	db2 -> far:3306  db2 replicates from somebody who is no server of ours
//
// Each has server_id 1, 2, ... in the order of first mention, and a datadir and
// a hostname of its own. In a name with a dot, db1.a, what is behind it is only
// the port: h.3307 is a second server of host h.
func sketch(lines ...string) []Server {
	var names []string
	by := map[string]*Server{}
	get := func(name string) *Server {
		if s, ok := by[name]; ok {
			return s
		}
		host, port, _ := strings.Cut(name, ".")
		if port == "" {
			port = "3306"
		}
		s := &Server{Address: host + ":" + port, IsTold: true, Hostname: host, Datadir: "/var/lib/mysql/", ServerID: uint32(len(names) + 1), Pool: 8 << 30, Version: "MariaDB 10.11.19"}
		if s.Listens = portOf(s.Address); s.Listens != 3306 {
			s.Datadir = "/var/lib/mysql-" + port + "/"
		}
		names, by[name] = append(names, name), s
		return s
	}
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			s := get(name)
			*s = Server{Address: s.Address, IsTold: true, Error: "does not answer: connection refused", Remedy: "start it"}
			continue
		}
		if from, replica, ok := strings.Cut(line, " <- "); ok {
			s, r := get(from), get(replica)
			r.Sources = append(r.Sources, Source{s.Address, s.ServerID})
			s.Replicas = append(s.Replicas, Replica{r.ServerID, []string{r.Address}})
			continue
		}
		if replica, far, ok := strings.Cut(line, " -> "); ok {
			r := get(replica)
			r.Sources = append(r.Sources, Source{far, 99})
			continue
		}
		get(line)
	}
	var out []Server
	for _, n := range names {
		out = append(out, *by[n])
	}
	return out
}

// drawn is what was found, a line a pair, and what was not.
func drawn(f Found) string {
	var out []string
	for _, p := range f.Pairs {
		var sides, shards []string
		for _, s := range p.Sides {
			sides = append(sides, fmt.Sprintf("%s %s", s.Side, s.Address))
		}
		for _, s := range p.Shards {
			shards = append(shards, fmt.Sprintf("%s=%d", s.Name, s.Bytes))
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s: %s; %s", p.Name, p.Topology, strings.Join(sides, ", "), strings.Join(shards, " "))))
	}
	for _, n := range f.NotUnderstood {
		out = append(out, fmt.Sprintf("? %s %s: %s", n.Check, n.Subject, n.Text))
	}
	return strings.Join(out, "\n")
}

func TestTopologies(t *testing.T) {
	for _, test := range []struct {
		name   string
		sketch []string
		want   string
	}{
		{"nobody", nil, ""},
		{"one alone", []string{"db1"}, "db1 single: A db1:3306;"},
		{"two by themselves", []string{"db1", "db2"}, "db1 single: A db1:3306;\ndb2 single: A db2:3306;"},
		{"one another", []string{"db017a <- db017b", "db017b <- db017a"}, "db017 active-active: A db017a:3306, B db017b:3306;"},
		{"named from behind", []string{"db017b <- db017a", "db017a <- db017b"}, "db017 active-active: A db017a:3306, B db017b:3306;"},
		{"one way", []string{"orders1 <- orders2"}, "orders primary-replica: A orders1:3306, B orders2:3306;"},
		{"one way, after a switchover", []string{"db017b <- db017a"}, "db017 primary-replica: A db017b:3306, B db017a:3306;"},
		{"three replicas", []string{"db2 <- db10", "db2 <- db3", "db2 <- db1"}, "db1-db2-db3-db10 primary-replica: A db2:3306, B db1:3306, C db3:3306, D db10:3306;"},
		{"two pairs of the same words", []string{"db1 <- db2", "db3 <- db4"}, "db1-db2 primary-replica: A db1:3306, B db2:3306;\ndb3-db4 primary-replica: A db3:3306, B db4:3306;"},
		{"a chain", []string{"db1 <- db2", "db2 <- db3"},
			"? topology db1:3306, db2:3306, db3:3306: a chain, a replica that has replicas itself: db1:3306 -> db2:3306, db2:3306 -> db3:3306"},
		{"a ring of three", []string{"db1 <- db2", "db2 <- db3", "db3 <- db1"},
			"? topology db1:3306, db2:3306, db3:3306: a ring of 3 servers: db1:3306 <- db3:3306 <- db2:3306 <- db1:3306"},
		{"two that replicate from each other, and a replica", []string{"db1 <- db2", "db2 <- db1", "db1 <- db3"},
			"? topology db1:3306, db2:3306, db3:3306: a ring with replicas besides: db2:3306 -> db1:3306, db1:3306 -> db2:3306, db1:3306 -> db3:3306"},
		{"two primaries and a replica of one", []string{"db1", "db2 <- db3"}, "db1 single: A db1:3306;\ndb2-db3 primary-replica: A db2:3306, B db3:3306;"},
		{"several sources", []string{"db1 <- db3", "db2 <- db3"},
			"? topology db1:3306, db2:3306, db3:3306: db3:3306 replicates from several sources: db1:3306, db2:3306"},
		{"a replica of itself", []string{"db1 <- db1"}, "? topology db1:3306: db1:3306 replicates from itself"},
		{"a replica of somebody who was not asked", []string{"db1 -> far:3306", "db2"},
			"db2 single: A db2:3306;\n? topology db1:3306: db1:3306 replicates from far:3306, which was not asked"},
		{"a replica of somebody silent", []string{"db1 <- db2", "!db1"},
			"? reachable db1:3306: does not answer: connection refused\n? topology db2:3306: db2:3306 replicates from db1:3306, which did not answer: does not answer: connection refused"},
		{"a primary whose replica is silent", []string{"db1", "!db2"}, "db1 single: A db1:3306;\n? reachable db2:3306: does not answer: connection refused"},
		{"both sides on one machine", []string{"h.3306 <- h.3307"},
			"? topology h:3306, h:3307: h:3306 and h:3307 hold the same data and are on one host, h: losing it would lose both"},
		{"two pairs on two machines", []string{"h1.3306 <- h2.3306", "h2.3307 <- h1.3307"},
			"h1-h2-3306 primary-replica: A h1:3306, B h2:3306;\nmysql-3307 primary-replica: A h2:3307, B h1:3307;"},
	} {
		t.Run(test.name, func(t *testing.T) {
			servers := sketch(test.sketch...)
			found := Derive(servers)
			if got := drawn(found); got != test.want {
				t.Errorf("found\n%s\nwant\n%s", got, test.want)
			}
			reads(t, found)
			remedied(t, found)
			// In whatever order they were asked, the draft is the same.
			for range 5 {
				rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
				if again := Derive(servers); drafted(again) != drafted(found) {
					t.Fatalf("in another order the draft is\n%s\nand was\n%s", drafted(again), drafted(found))
				}
			}
		})
	}
}

func drafted(f Found) string {
	fm, remarks := f.Farm("accounts.cnf")
	text, _ := workspace.DraftFarm("farm.yaml", fm, remarks)
	return string(text)
}

// reads: the strict reader takes the draft.
func reads(t *testing.T, f Found) {
	t.Helper()
	fm, remarks := f.Farm("accounts.cnf")
	text, faults := workspace.DraftFarm("farm.yaml", fm, remarks)
	if faults != nil {
		t.Errorf("the draft does not read: %v\n%s", faults, text)
	}
}

func remedied(t *testing.T, f Found) {
	t.Helper()
	for _, n := range append(slices.Clone(f.NotUnderstood), f.Notes...) {
		if n.Remedy == "" || n.Subject == "" || n.Check == "" || n.Severity == "" {
			t.Errorf("%+v lacks something", n)
		}
	}
}

// TestOdd: what topologies alone do not show.
func TestOdd(t *testing.T) {
	ring := func() []Server { return sketch("db1 <- db2", "db2 <- db1") }
	for _, test := range []struct {
		name    string
		servers []Server
		spoil   func([]Server)
		want    string // drawn
		note    string // in notes, when it is not empty
	}{
		{"shards: the larger of both sizes, those of Stowage left out", ring(), func(s []Server) {
			s[0].Shards = map[farm.ShardName]int64{"s10": 5, "s9": 0, "_stow_x": 1}
			s[1].Shards = map[farm.ShardName]int64{"s10": 7, "s9": 0}
		}, "db1-db2 active-active: A db1:3306, B db2:3306; s9=0 s10=7", ""},
		{"a database on one side only", ring(), func(s []Server) {
			s[0].Shards = map[farm.ShardName]int64{"s": 5, "test": 1}
			s[1].Shards = map[farm.ShardName]int64{"s": 5}
		}, "db1-db2 active-active: A db1:3306, B db2:3306; s=5\n? shards db1-db2: database test is on db1:3306 and not on db2:3306", ""},
		{"one database in two pairs", sketch("db1", "db2"), func(s []Server) {
			s[0].Shards = map[farm.ShardName]int64{"app": 5, "one": 1}
			s[1].Shards = map[farm.ShardName]int64{"app": 5}
		}, "db1 single: A db1:3306; one=1\ndb2 single: A db2:3306;\n? shards db1, db2: database app is in 2 pairs, and the name of a shard is unique in the farm", ""},
		{"names that farm.yaml does not take", sketch("db1"), func(s []Server) {
			s[0].Shards = map[farm.ShardName]int64{"ein schöner\nName": 5, "#mysql50#lost+found": 0}
		}, "db1 single: A db1:3306;\n? shards db1: database #mysql50#lost+found is a directory in the datadir and no database\n" +
			"? shards db1: database ein schöner\nName has a name that farm.yaml does not take", ""},
		{"the letter of datadirs says who is A, and names the pair", ring(), func(s []Server) {
			s[0].Datadir, s[1].Datadir = "/srv/dbshard007b/data/", "/srv/dbshard007a/data/"
		}, "dbshard007 active-active: A db2:3306, B db1:3306;", ""},
		{"auto_increment_offset says it else", ring(), func(s []Server) { s[0].Offset, s[1].Offset = 2, 1 },
			"db1-db2 active-active: A db2:3306, B db1:3306;", ""},
		{"a pair named by its only database", ring(), func(s []Server) {
			for i := range s {
				s[i].Shards = map[farm.ShardName]int64{"orders": 1}
			}
		}, "orders active-active: A db1:3306, B db2:3306; orders=1", ""},
		{"machines without names", ring(), func(s []Server) {
			for i, address := range []string{"10.0.0.1:3306", "10.0.0.2:3306"} {
				s[i].Address, s[1-i].Sources[0].Address, s[i].Hostname = address, address, "localhost"
			}
		}, "pair001 active-active: A 10.0.0.1:3306, B 10.0.0.2:3306;", "2 hosts whose servers all call their machine localhost"},
		{"a source under another name that was reached is the same server", ring(), func(s []Server) {
			s[0].AlsoAt, s[1].Sources[0].Address = []string{"10.0.0.1:3306"}, "10.0.0.1:3306"
		}, "db1-db2 active-active: A 10.0.0.1:3306, B db2:3306;", "is also at 10.0.0.1:3306"},
		{"a source that only the replica reaches is known by its id and its replica", ring(), func(s []Server) {
			s[1].Sources[0].Address = "192.168.0.1:3306"
		}, "db1-db2 active-active: A db1:3306, B db2:3306;", "replicates from 192.168.0.1:3306, which is db1:3306 in the draft"},
		{"but not by its id alone", ring(), func(s []Server) {
			s[1].Sources[0].Address, s[0].Replicas = "192.168.0.1:3306", nil
		}, "? topology db1:3306, db2:3306: db2:3306 replicates from 192.168.0.1:3306, which was not asked", ""},
		{"nor by ids that every pair has", sketch("db1 <- db2", "db3 <- db4"), func(s []Server) {
			s[2].ServerID, s[3].ServerID, s[2].Replicas[0].ServerID = 1, 2, 2
			s[1].Sources[0], s[3].Sources[0] = Source{"192.168.0.1:3306", 1}, Source{"192.168.0.3:3306", 1}
		}, "db1-db2 primary-replica: A db1:3306, B db2:3306;\ndb3-db4 primary-replica: A db3:3306, B db4:3306;", ""},
		{"nor when the replica that is registered is another one", sketch("db1", "db4"), func(s []Server) {
			s[0].Replicas = []Replica{{ServerID: 2, MayBeAt: []string{"db2:3306"}}}
			s[1].Sources = []Source{{"192.168.0.3:3306", 1}}
		}, "db1 single: A db1:3306;\n? topology db4:3306: db4:3306 replicates from 192.168.0.3:3306, which was not asked\n" +
			"? replicas db1:3306: server_id 2 at db2:3306 replicates from it, and is none of the servers that answered", ""},
		{"an address where somebody else answers us", sketch("db1 <- db2"), func(s []Server) {
			s[1].Sources[0].ServerID, s[0].Replicas = 77, nil
		}, "db1 single: A db1:3306;\n? topology db2:3306: db2:3306 replicates from server_id 77 at db1:3306, where server_id 1 answers", ""},
		{"a replica that was not asked", sketch("db1"), func(s []Server) {
			s[0].Replicas = []Replica{{ServerID: 40, MayBeAt: []string{"db9:3306"}}, {ServerID: 41}}
		}, "db1 single: A db1:3306;\n? replicas db1:3306: server_id 40 at db9:3306 replicates from it, and is none of the servers that answered\n" +
			"? replicas db1:3306: server_id 41 at an address it does not report replicates from it, and is none of the servers that answered", ""},
		{"replicas that may not be looked at", sketch("db1"), func(s []Server) { s[0].Unseen = "SHOW SLAVE HOSTS: Error 1227" },
			"db1 single: A db1:3306;\n? replicas db1:3306: who replicates from it cannot be read: SHOW SLAVE HOSTS: Error 1227", ""},
		{"a Galera cluster", sketch("db1"), func(s []Server) { s[0].Cluster = "Galera shop" },
			"? topology db1:3306: db1:3306 is a member of a cluster: Galera shop", ""},
		{"a standby", ring(), func(s []Server) { s[1].ReadOnly = true }, "db1-db2 active-active: A db1:3306, B db2:3306;", "is read_only"},
		{"an old server", sketch("db1"), func(s []Server) {
			s[0].Version, s[0].TooOld = "MariaDB 10.1.48", "Stowage speaks to MariaDB from 10.6 on"
		},
			"db1 single: A db1:3306;", "is MariaDB 10.1.48"},
		{"a proxy", sketch("db1"), func(s []Server) { s[0].Listens = 3310 }, "db1 single: A db1:3306;", "listens on port 3310"},
		{"two servers of one machine with two addresses", sketch("db1", "db2.3307"), func(s []Server) {
			s[1].AlsoAt = []string{"db1:3307"}
		}, "db1-3306 single: A db1:3306;\nmysql-3307 single: A db1:3307;", ""},
		{"loopback is not how others reach it", ring(), func(s []Server) {
			s[0].AlsoAt, s[1].Sources[0].Address = []string{"127.0.0.1:3306"}, "127.0.0.1:3306"
		}, "db1-db2 active-active: A db1:3306, B db2:3306;", "replicates from 127.0.0.1:3306"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.spoil(test.servers)
			found := Derive(test.servers)
			if got := drawn(found); got != test.want {
				t.Errorf("found\n%s\nwant\n%s", got, test.want)
			}
			if test.note != "" && !slices.ContainsFunc(found.Notes, func(n farm.Finding) bool { return strings.Contains(n.Text, test.note) }) {
				t.Errorf("notes %v lack %q", found.Notes, test.note)
			}
			reads(t, found)
			remedied(t, found)
		})
	}
}

// TestContainers: each says the same datadir, and the machine has them elsewhere.
func TestContainers(t *testing.T) {
	s := sketch("h.3306", "h.3307")
	s[1].Datadir = s[0].Datadir
	found := Derive(s)
	if want := "h-3306 single: A h:3306;\nh-3307 single: A h:3307;\n? datadir h:3307: has datadir /var/lib/mysql, as h:3306 has on the same host h: in containers?"; drawn(found) != want {
		t.Errorf("found\n%s\nwant\n%s", drawn(found), want)
	}
	fm, remarks := found.Farm("accounts.cnf")
	text, faults := workspace.DraftFarm("farm.yaml", fm, remarks)
	if faults == nil || !strings.Contains(faults.Error(), "would both own datadir") || !strings.Contains(string(text), "  # FILL IN: the datadir of side A on host h") {
		t.Errorf("faults %v of\n%s", faults, text)
	}
}

func TestNextServerID(t *testing.T) {
	s := sketch("db1 <- db2")
	s[0].KnownIDs = []uint32{7, 900}
	s[1].Replicas = []Replica{{ServerID: 1200}}
	if got := Derive(s).NextServerID; got != 1201 {
		t.Errorf("next_server_id %d, want 1201", got)
	}
	s[1].ServerID = math.MaxUint32
	found := Derive(s)
	fm, remarks := found.Farm("accounts.cnf")
	text, faults := workspace.DraftFarm("farm.yaml", fm, remarks)
	if found.NextServerID != 0 || faults == nil || !strings.Contains(faults.Error(), "next_server_id is missing") || !strings.Contains(string(text), "# FILL IN: next_server_id") {
		t.Errorf("there is no id above the highest: next_server_id %d, faults %v", found.NextServerID, faults)
	}
}

func TestHostTypes(t *testing.T) {
	s := sketch("h1.3306", "h1.3307", "h2", "h3")
	s[3].Pool = 16 << 30
	found := Derive(s)
	fm, _ := found.Farm("")
	got := map[farm.HostName]farm.HostTypeName{}
	for _, h := range fm.Hosts {
		got[h.Name] = h.Type
	}
	want := map[farm.HostName]farm.HostTypeName{"h1": "pool-16GiB", "h2": "pool-8GiB", "h3": "pool-16GiB"}
	if !reflect.DeepEqual(got, want) || len(fm.HostTypes) != 2 {
		t.Errorf("hosts have types %v, want %v, of %v", got, want, fm.HostTypes)
	}
	for _, h := range fm.HostTypes {
		if len(h.Capacity) > 0 {
			t.Errorf("type %s has %v: nobody knows that", h.Name, h.Capacity)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden: a draft, what a person sees, and the JSON, of a farm that has
// something of everything. Rewrite with -update and read it as prose.
func TestGolden(t *testing.T) {
	s := sketch("dbshard001a <- dbshard001b", "dbshard001b <- dbshard001a", "orders1 <- orders2", "orders1 <- orders3", "old1", "c1 <- c2", "c2 <- c3", "!gone")
	for i := range s {
		switch {
		case strings.HasPrefix(s[i].Address, "dbshard"):
			s[i].Shards = map[farm.ShardName]int64{"etsy_shard_0001": 48_000_000_000, "etsy_shard_0002": 51_500_000_000}
		case strings.HasPrefix(s[i].Address, "orders"):
			s[i].Shards = map[farm.ShardName]int64{"orders": 7 << 30, "test": 0}
			s[i].Pool = 64 << 30
		case strings.HasPrefix(s[i].Address, "old"):
			s[i].Shards = map[farm.ShardName]int64{"legacy": 1e9, "test": 16384}
			s[i].Version, s[i].TooOld = "MariaDB 10.3.39", "Stowage speaks to MariaDB from 10.6 on"
		}
	}
	found := Derive(s)
	golden(t, "draft.yaml", []byte(drafted(found)))
	var text bytes.Buffer
	if err := found.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "found.txt", text.Bytes())
	raw, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "found.json", append(raw, '\n'))
	reads(t, found)
	remedied(t, found)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now (rewrite with -update)\n%s", name, got)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{"db1": "db1:3306", "db1.example.com:3307": "db1.example.com:3307", "10.0.0.1": "10.0.0.1:3306"} {
		if got, err := ParseAddress(text); got != want || err != nil {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":3306", "db1:", "db1:0", "db1:65536", "db1:x", "a:b:c", "::1", "[::1]:3306", "-x", "user@db1", "tcp://db1", "db 1", "db1/x"} {
		if got, err := ParseAddress(text); err == nil {
			t.Errorf("%q passes for %s", text, got)
		}
	}
	got, err := ReadAddresses("servers.txt", strings.NewReader("# all\ndb1 # first\n\n  db2:3307\n"))
	if err != nil || !slices.Equal(got, []string{"db1:3306", "db2:3307"}) {
		t.Errorf("read %v, %v", got, err)
	}
	_, err = ReadAddresses("servers.txt", strings.NewReader("db1\ndb2:x\nuser@db3\n"))
	if err == nil || !strings.Contains(err.Error(), "servers.txt:2: ") || !strings.Contains(err.Error(), "servers.txt:3: ") {
		t.Errorf("bad lines: %v", err)
	}
}

func TestStem(t *testing.T) {
	for _, test := range []struct{ names, want string }{
		{"dbshard017a dbshard017b", "dbshard017 ab"}, {"orders-b orders-a", "orders ba"}, {"db1a db1b db1d", "db1 abd"}, {"dbshard001a", "dbshard001 a"},
		{"dbshard001b", ""}, {"extra", ""}, {"data datb", ""}, {"db1a db2b", ""}, {"db1a db1a", ""}, {"db1a", "db1 a"}, {"1a", ""}, {"--a --b", ""},
	} {
		shared, letters, ok := stem(strings.Fields(test.names))
		if got := strings.TrimSpace(shared + " " + letters); ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%s: %q %v, want %q", test.names, got, ok, test.want)
		}
	}
}

func TestNatural(t *testing.T) {
	want := []string{"", "a", "db", "db1", "db01", "db2", "db10", "db10a", "dc"}
	got := slices.Clone(want)
	rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, farm.Natural)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %q", got)
	}
}

// TestDraftKnowsNoOptionFile: what servers tell of their option files is in the
// draft, with a dir for the way back; what they do not is asked for.
func TestDraftKnowsNoOptionFile(t *testing.T) {
	s := sketch("h.3306", "h.3307", "db2", "db3", "db4")
	for n, files := range [][]string{{"/etc/mysql/mariadb.conf.d/50-server.cnf", "/etc/mysql/mariadb.conf.d/60-x.cnf"}, {"/etc/mysql/my.cnf"}, {"/srv/db2/my.cnf"}, {"/etc/my.cnf", "/srv/a.cnf"}, nil} {
		s[n].OptionFiles, s[n].Config = files, configOf(files)
	}
	s[2].Datadir, s[3].Datadir = "/srv/db2/data/", "/data/"
	found := Derive(s)
	fm, remarks := found.Farm("accounts.cnf")
	text, faults := workspace.DraftFarm("farm.yaml", fm, remarks)
	for _, want := range []string{
		"A: {host: h, port: 3306, datadir: /var/lib/mysql, config: /etc/mysql/my.cnf}",
		"# FILL IN: group_suffix of side A; h:3307 starts with the same file. It is 1 for [mysqld1] of mysqld_multi, .s1 for mariadb@s1, \"@s1\" for mysqld@s1",
		"A: {host: db2, port: 3306, datadir: /srv/db2/data, config: /srv/db2/my.cnf}",
		"# FILL IN: config of side A, the option file that its server reads last; its options come from /etc/my.cnf, /srv/a.cnf",
		"# FILL IN: config of side A, the option file that its server starts with; the server does not report it",
		"name: h, type: pool-16GiB, address: h, dir: /var/lib/stowage}", "name: db2, type: pool-8GiB, address: db2, dir: /srv/stowage}", "name: db3, type: pool-8GiB, address: db3, dir: /stowage}",
		"pool-16GiB: {max_instances: 2}",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the draft does not say %q:\n%s", want, text)
		}
	}
	if faults == nil || !strings.Contains(faults.Error(), "start with the same option file, /etc/mysql/my.cnf") {
		t.Errorf("faults: %v", faults)
	}
	s[0].GroupSuffix, s[1].GroupSuffix = ".a", ".b"
	fm, remarks = Derive(s).Farm("accounts.cnf")
	text, faults = workspace.DraftFarm("farm.yaml", fm, remarks)
	if faults != nil || !strings.Contains(string(text), "config: /etc/mysql/my.cnf, group_suffix: \".b\"}") || strings.Contains(string(text), "FILL IN: group_suffix") {
		t.Errorf("faults %v of\n%s", faults, text)
	}
}
