package mutate_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/digest"
	"stowage/farm"
	"stowage/route"
	"stowage/workspace"
)

// target is one reader.
type target struct {
	samples [][]byte
	// ready prepares it in a directory of its own and returns the reader, which
	// may refuse what it gets in any way but by dying.
	ready func(dir string) (read func(text []byte), err error)
}

const root = "../.."

func targets() map[string]target {
	farms := files("examples/etsy-2016/farm.yaml")
	farms = append(append(farms, []byte(smallFarm)), sections("farm.yaml", "plan", "farm-faults")...)
	goals := append(files("examples/etsy-2016/goals.yaml"), append(sections("goals.yaml", "plan", "goals-faults"), []byte(someGoals))...)
	table := routing()
	return map[string]target{
		"farm.yaml": {farms, inWorkspace("farm.yaml", func(w *workspace.Workspace) {
			if f, err := w.Farm(); err == nil {
				_ = f.Check()
				_ = workspace.WriteFarm(w.Path("again.yaml"), f)
			}
		})},
		"goals.yaml": {goals, inWorkspace("goals.yaml", againstFarm())},
		"plan":       {files("report/testdata/two-pairs.plan.json"), inWorkspace("plans/p.json", func(w *workspace.Workspace) { _, _ = w.Plan("p") })},
		"decision": {append(files("examples/stackexchange-2011/decision.yaml", "examples/xfs-ext4-2016/decision.yaml"), files("examples/stackexchange-2011/speed-and-price.yaml")...), byFile("decision.yaml", func(path string) {
			_, _ = workspace.ReadDecision(path, func(string) (*result.Result, error) { return nil, errors.New("none here") })
		})},
		"published": {files("examples/xfs-ext4-2016/published.yaml"), byFile("published.yaml", func(path string) { _, _ = workspace.ReadEntered(path) })},
		"matrix.yaml": {files("examples/storage-matrix/matrix.yaml"), byFile("matrix.yaml", func(path string) {
			_, _ = workspace.ReadMatrix(path, func(string) error { return nil })
		})},
		"routing.json": {[][]byte{table}, byFile("routing.json", func(path string) { _, _ = route.ReadFile(path) })},
		"digest": {append(files("digest/testdata/stored-v1.digest"), stored()), plain(func(text []byte) {
			if d, err := digest.Decode(bytes.NewReader(text)); err == nil {
				_ = d.Encode(io.Discard)
			}
		})},
		"log": {append(sections("", "digest", "digest-compare", "replay"), files("digest/testdata/stored-v1.log")...), plain(func(text []byte) {
			_ = digest.New(digest.Options{Workers: 1}).Read("log", bytes.NewReader(text))
		})},
		"bench":   {append(sections(".json", "bench", "bench-matrix", "bench-engine", "bench-decide"), []byte(someBench)), plain(readBench)},
		"haproxy": {[][]byte{[]byte(someServers), []byte(someProc)}, func(dir string) (func([]byte), error) { return haproxy(dir, table) }},
		"etcd":    {[][]byte{etcdAnswer(), []byte(`{"error":"etcdserver: requested lease not found","code":5,"message":"x"}`)}, etcd},
	}
}

func readBench(text []byte) {
	if r, err := result.Read(text); err == nil {
		_ = result.WriteText(io.Discard, r)
	}
	if matrix.IsDocument(text) {
		if d, err := matrix.Read(text); err == nil {
			d.Judge()
		}
	}
	if sheet.IsEngine(text) {
		_, _ = sheet.Read(text)
	}
}

func files(names ...string) (out [][]byte) {
	for _, n := range names {
		raw, err := os.ReadFile(filepath.Join(root, n))
		if err != nil {
			panic(err)
		}
		out = append(out, raw)
	}
	return out
}

// sections are the files of scripts whose names end so.
func sections(suffix string, scripts ...string) (out [][]byte) {
	for _, s := range scripts {
		raw, err := os.ReadFile(filepath.Join(root, "cmd/stowage/testdata/script", s+".txtar"))
		if err != nil {
			continue
		}
		var text []byte
		take := false
		for line := range bytes.Lines(raw) {
			if name, ok := bytes.CutPrefix(line, []byte("-- ")); ok && bytes.HasSuffix(bytes.TrimSpace(line), []byte(" --")) {
				if take && len(text) > 20 {
					out = append(out, text)
				}
				name = bytes.TrimSuffix(bytes.TrimSpace(name), []byte(" --"))
				take, text = bytes.HasSuffix(name, []byte(suffix)), nil
			} else if take {
				text = append(text, line...)
			}
		}
		if take && len(text) > 20 {
			out = append(out, text)
		}
	}
	return out
}

func plain(read func([]byte)) func(string) (func([]byte), error) {
	return func(string) (func([]byte), error) { return read, nil }
}

func byFile(name string, read func(path string)) func(string) (func([]byte), error) {
	return func(dir string) (func([]byte), error) {
		path := filepath.Join(dir, name)
		return func(text []byte) {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				panic(err)
			}
			read(path)
		}, nil
	}
}

func inWorkspace(name string, read func(*workspace.Workspace)) func(string) (func([]byte), error) {
	return func(dir string) (func([]byte), error) {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "plans"), 0o755), os.WriteFile(filepath.Join(dir, "farm.yaml"), files("examples/etsy-2016/farm.yaml")[0], 0o600)); err != nil {
			return nil, err
		}
		w, err := workspace.Open(dir)
		return func(text []byte) {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				panic(err)
			}
			read(w)
		}, err
	}
}

// againstFarm reads goals against a farm that is read once.
func againstFarm() func(*workspace.Workspace) {
	var f *farm.Farm
	return func(w *workspace.Workspace) {
		if f == nil {
			var err error
			if f, err = w.Farm(); err != nil {
				panic(err)
			}
		}
		_, _ = w.GoalsFor(f)
	}
}

const smallFarm = `farm: f
next_server_id: 1
accounts: accounts.cnf
host_types: {t: {cores: 1, disk: 2TB, seats: 3, max_instances: 2, watts: 200, price: 4000}}
profiles: {office: [0.1, 40%, 1]}
agents: {engine: "10.0.0.5:7233", certificates: certificates, hosts: [h1]}
hosts:
  - {name: h1, type: t, address: 10.0.0.1, dir: /srv/db, labels: {rack: r1}, reserved: {disk: 1GB}}
  - {name: h2, type: t, address: 10.0.0.2, labels: {rack: r2}}
pairs:
  - name: p1
    topology: active-active
    sides: {A: {host: h1, port: 1, datadir: /1}, B: {host: h2, port: 1, datadir: /1, config: /etc/mysql/my.cnf}}
    shards: [{name: s1, disk: 1GB, growth: 1MB/day, profile: office, customer: c, seats: 1}]
`

const someGoals = `groups: {a: [dbshard001, b], b: [a, 'db*']}
together: [a]
frozen: ['dbshard[12]*']
pin: [{what: dbshard001, hosts: {rack: [r1, r2]}}]
unit: shard
runway: 1.5 years
growth: x2
surface: {customer: 25%, shards: 1%}
rates: {stream: 1MB/s, rack: 1GB/s, rack_label: rack}
moved_most: 5TB
`

const someBench = `{"format_version": 1, "kind": "bench", "steps": [{"id": "RND4K-R-Q1T1", "runs": 3, "steady": true, "samples": [{"iops": 1000.5, "mbps": 4, "p99": 2.5, "series": [1, 2, 3]}]}], "environment": {"hypervisor": "kvm", "memory": 17179869184}}`

const someServers = `1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl
3 p1_A 1 A 127.0.0.1 2 0 1 1 12 1 0 0 0 0 0 0 - 3306 - 0
3 p1_A 2 B 127.0.0.2 2 1 1 1 12 1 0 0 0 0 0 0 - 3306 - 0
3 p1_A 3 gate 127.0.0.1 2 1 1 1 12 1 0 0 0 0 0 0 - 1 - 0
4 p1_B 1 A 127.0.0.1 2 1 1 1 12 1 0 0 0 0 0 0 - 3306 - 0
4 p1_B 2 B 127.0.0.2 2 0 1 1 12 1 0 0 0 0 0 0 - 3306 - 0
4 p1_B 3 gate 127.0.0.1 2 1 1 1 12 1 0 0 0 0 0 0 - 1 - 0
`

const someProc = `#<PID>          <type>          <reloads>       <uptime>        <version>
20              master          1               0d00h00m12s     2.6.12
# workers
25              worker          0               0d00h00m02s     2.6.12
# old workers
22              worker          1               0d00h00m12s     2.6.12
# programs
`

// stored is a digest of some statements, in the form of today.
func stored() []byte {
	var log strings.Builder
	for i := range 50 {
		n := strconv.Itoa(i)
		log.WriteString("# Time: 260101 10:00:" + n + "\n# User@Host: app[app] @  [10.0.0." + n + "]\n# Query_time: 0.00" + n + "  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: " + n +
			"\nSET timestamp=17672592" + n + ";\nSELECT * FROM t" + strconv.Itoa(i%7) + " WHERE id = " + n + ";\n")
	}
	b := digest.New(digest.Options{Workers: 1})
	if err := b.Read("log", strings.NewReader(log.String())); err != nil {
		panic(err)
	}
	var out bytes.Buffer
	if err := b.Digest().Encode(&out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// routing is a table as it is written.
func routing() []byte {
	dir, err := os.MkdirTemp("", "mutate-table-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f := &farm.Farm{Hosts: []farm.Host{{Name: "h1", Address: "127.0.0.1"}, {Name: "h2", Address: "127.0.0.2"}}}
	pairs := map[farm.PairName]*route.Pair{}
	for _, name := range []farm.PairName{"p1"} {
		p := farm.Pair{Name: name, Topology: farm.ActiveActive, Shards: []farm.Shard{{Name: "s1"}},
			Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1", Port: 3306}, farm.B: {Host: "h2", Port: 3306}}}
		pairs[name] = route.ForFarm(f, p)
	}
	path := filepath.Join(dir, "routing.json")
	if err := route.NewFile(path).Create(pairs); err != nil {
		panic(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return raw
}

// haproxy is a runtime API that answers whatever it is asked with the text.
func haproxy(dir string, table []byte) (func([]byte), error) {
	path := filepath.Join(dir, "table.json")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, os.WriteFile(path, table, 0o600)); err != nil {
		return nil, err
	}
	var now atomic.Pointer[[]byte]
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line := make([]byte, 4096)
				n, _ := c.Read(line)
				answer := *now.Load()
				if strings.Contains(string(line[:n]), "show proc") && len(answer)%3 != 0 { // a worker knows no such command
					answer = []byte("Unknown command: 'show proc'\n")
				}
				_, _ = c.Write(answer)
			}()
		}
	}()
	return func(text []byte) {
		now.Store(&text)
		h := route.NewHAProxy(route.HAProxyOptions{Path: path, Sockets: []string{l.Addr().String()}, Timeout: 5 * time.Second})
		_, _ = h.Read(context.Background())
		_, _ = h.Drain(context.Background(), "p1", farm.A, time.Millisecond)
	}, nil
}

// etcdAnswer is what etcd answers to a range of keys that hold a table.
func etcdAnswer() []byte {
	kv := func(key, value string) string {
		e := base64.StdEncoding.EncodeToString
		return `{"key":"` + e([]byte(key)) + `","create_revision":"2","mod_revision":"7","version":"3","value":"` + e([]byte(value)) + `"}`
	}
	return []byte(`{"header":{"cluster_id":"1","member_id":"2","revision":"9","raft_term":"4"},"succeeded":true,"responses":[{"response_range":{"kvs":[` +
		kv("/s/head", `{"format_version":2,"generation":4,"written":"2026-01-01T00:00:00Z","pairs":1}`) + `,` + kv("/s/pairs/p1", `{"generation":4}`) + `],"count":"2"}}],"kvs":[` +
		kv("/s/head", `{"format_version":2,"generation":4,"written":"2026-01-01T00:00:00Z","pairs":1}`) + `,` + kv("/s/pairs/p1", `{"generation":4,"routes":[{"home":"A","to":"A","share":100}]}`) + `],"more":false,"count":"2"}`)
}

// etcd is a gateway that answers whatever it is asked with the text.
func etcd(string) (func([]byte), error) {
	var now atomic.Pointer[[]byte]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := *now.Load()
		if len(text)%5 == 0 {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(text)
	}))
	return func(text []byte) {
		now.Store(&text)
		r, err := route.NewEtcd(route.EtcdOptions{Endpoints: []string{s.URL}, Prefix: "/s/", Timeout: 50 * time.Millisecond})
		if err != nil {
			panic(err)
		}
		_, _ = r.Read(context.Background())
	}, nil
}
