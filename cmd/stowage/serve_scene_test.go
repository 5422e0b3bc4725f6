package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/inventory"
	"stowage/move"
	"stowage/serve"
	"stowage/store"
	"stowage/tune"
	"stowage/workspace"
)

// servedScene is a workspace in which everything was done that serve can show, and its server.
type servedScene struct {
	t     *testing.T
	dir   string
	base  string // http://127.0.0.1:PORT
	link  string
	close func() error // ends the server and says what Run said
	http  *http.Client // has entered
}

// serveNow serves a workspace in this process, with options that are changed before it begins.
func serveNow(t *testing.T, dir string, change ...func(*serve.Options)) *servedScene {
	t.Helper()
	a := &app{stdout: io.Discard, stderr: io.Discard, dir: dir, log: slog.New(slog.DiscardHandler)}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Sources: a.serveSources(ws), Listen: l.Addr().String(), Dir: dir, Every: 50 * time.Millisecond, Log: a.log, OpenAPI: openAPI}
	for _, c := range change {
		c(&o)
	}
	server := serve.New(o)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l) }()
	link := server.Link(l.Addr().String())
	base, _, _ := strings.Cut(link, "/enter")
	s := &servedScene{t: t, dir: dir, base: base, link: link, http: browserOf(t)}
	s.close = func() error { stop(); return <-ended }
	t.Cleanup(stop)
	return s
}

// browserOf keeps cookies, as a browser does.
func browserOf(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: time.Minute}
}

// enter follows the link.
func (s *servedScene) enter() {
	s.t.Helper()
	if status, text := s.get(s.link); status != http.StatusOK {
		s.t.Fatalf("entering: %d %s", status, text)
	}
}

// get is a page, by its path or whole address.
func (s *servedScene) get(path string) (int, string) {
	s.t.Helper()
	if path[0] == '/' {
		path = s.base + path
	}
	answer, err := s.http.Get(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// servedWorkspace is such a workspace. With STOWAGE_SERVE_DIR it is made there and stays, for a person to serve and look at.
func servedWorkspace(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("STOWAGE_SERVE_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do := func(code int, args ...string) {
		t.Helper()
		var said bytes.Buffer
		if got := run(t.Context(), append(args, "-C", dir), &said, &said, nil); got != code {
			t.Fatalf("%v: exit %d\n%s", args, got, said.String())
		}
	}
	check(os.CopyFS(dir, os.DirFS("testdata/workspace")))
	do(exitFine, "plan", "--name", "first")
	for name, took := range map[string]string{"before": "5ms", "after": "12ms"} {
		text, err := slowLogOf(40, "users=2ms", "orders="+took, "items=3ms")
		check(err)
		path := filepath.Join(t.TempDir(), name+".log")
		check(os.WriteFile(path, []byte(text), 0o600))
		do(exitFine, "digest", "--save", name, path)
	}
	do(exitFindings, "digest", "compare", "before", "after")
	check(os.WriteFile(filepath.Join(dir, "inventory.yaml"), []byte("sources:\n  cmdb: {kind: csv, path: cmdb.csv, name: name, attributes: {host: host}}\n"), 0o600))
	check(os.WriteFile(filepath.Join(dir, "cmdb.csv"), []byte("name,host\ndbshard001a,db001\ndbshard001b,db009\n"), 0o600))
	do(exitFindings, "inventory", "check")
	check(os.MkdirAll(filepath.Join(dir, "bench"), 0o755))
	for i, name := range []string{"old", "new"} {
		text, err := json.Marshal(inventedBench(i))
		check(err)
		check(os.WriteFile(filepath.Join(dir, "bench", name+".json"), text, 0o644))
	}
	check(os.WriteFile(filepath.Join(dir, "bench", "broken.json"), []byte(`{"format_version": 1, "steps": [`), 0o644))
	for _, name := range []string{"decision.yaml", "published.yaml"} {
		text, err := os.ReadFile("../../examples/xfs-ext4-2016/" + name)
		check(err)
		check(os.WriteFile(filepath.Join(dir, "bench", name), text, 0o644))
	}
	tellMove(t, dir)
	return dir
}

// inventedBench is a result as bench run leaves it, of a storage that nobody has; the second is twice as fast.
func inventedBench(nth int) *result.Result {
	began := time.Date(2026, 11, 20+nth, 9, 0, 0, 0, time.UTC)
	r := &result.Result{FormatVersion: result.FormatVersion, Profile: "quick", Complete: true, Sessions: []result.Session{{Began: began, Ended: began.Add(2 * time.Minute), Command: []string{"stowage", "bench", "run", "/mnt/db"}}},
		Environment: result.Environment{Host: "db01", Directory: "/mnt/db", Filesystem: "xfs"}, Settings: result.Settings{Target: 0.05, MinRuns: 3, MaxRuns: 5}}
	random := rand.New(rand.NewPCG(uint64(nth), 1))
	seq := 0
	for _, op := range []string{"R", "W"} {
		for _, depth := range []int{1, 4, 16, 64} {
			x := &result.Step{ID: fmt.Sprintf("RND16K-%s-Q%dT1", op, depth), Answers: "pages", Pattern: "RND", Op: op, Block: 16384, Outstanding: depth, Threads: 1, Engine: "io_uring", Job: "[job]\n"}
			x.Series.Window = 0.25
			for round := range 4 {
				seq++
				iops := float64(1+nth) * 9000 * math.Sqrt(float64(depth)) * (1 + 0.004*random.NormFloat64())
				middle := uint64(float64(depth) / iops * 1e9)
				h := stat.Histogram{{middle * 8 / 10, 3000}, {middle, 5000}, {middle * 14 / 10, 1500}, {middle * 4, 120}, {middle * 9, 9}}
				x.Add(result.Sample{Seq: seq, Round: round + 1, Began: began, Seconds: 5, IOPS: iops, MBps: iops * 16384 / 1e6, Series: []float64{iops, iops * 0.98, iops * 1.01, iops}, Lat: result.LatencyOf(h, float64(middle)*0.8, float64(middle), float64(middle)*9), Check: result.Check{Of: "nvme0n1"}}, h, nil, 0.05)
			}
			r.Steps = append(r.Steps, x)
		}
	}
	r.Noise.SetAA("RND16K-R-Q1T1", 9000, 9040)
	r.Judge()
	return r
}

// teller writes events into the store as a move does.
type teller struct {
	t     *testing.T
	store *store.Store
	now   time.Time
}

const toldRun = "move-first-1"

func (x *teller) tell(events ...farm.Event) {
	x.t.Helper()
	r := x.store.Record()
	for _, e := range events {
		x.now = x.now.Add(700 * time.Millisecond)
		e.Run, e.Time = toldRun, x.now
		r.Add(e)
	}
	if err := r.Close(); err != nil {
		x.t.Fatal(err)
	}
}

// side tells of the steps of one side up to one that has begun.
func (x *teller) side(pair farm.PairName, side farm.SideName, upTo string) {
	x.t.Helper()
	book, ok := move.ByName(move.Replace)
	if !ok {
		x.t.Fatal("there is no such runbook")
	}
	for i, step := range book.Steps {
		e := farm.Event{Pair: pair, Side: side, Step: step.Name, Kind: farm.StepStarted, Number: i + 1, Of: len(book.Steps)}
		x.tell(e)
		if step.Name == upTo {
			return
		}
		if step.Name == "out" {
			closed, opened := e, e
			closed.Kind, opened.Kind, opened.Millis = farm.GateClosed, farm.GateOpened, 41
			x.tell(closed, opened)
		}
		e.Kind = farm.StepDone
		x.tell(e)
	}
}

// openTeller opens the store for writing, as a move in another process has it open.
func openTeller(t *testing.T, dir string) *teller {
	t.Helper()
	s, err := store.Open(filepath.Join(dir, ".stowage", "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &teller{t: t, store: s, now: time.Now().Add(-2 * time.Minute)}
}

// carries has this process hold the claim of a run, as one that carries it out does.
func carries(t *testing.T, dir, run string) {
	t.Helper()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := ws.Take(workspace.Claim{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(taken.Leave)
}

// tellMove tells of a move that is under way: one side is moved, one copies, one waits for a person.
func tellMove(t *testing.T, dir string) {
	t.Helper()
	x := openTeller(t, dir)
	defer x.store.Close()
	if err := x.store.PutRun(store.Run{ID: toldRun, Kind: "move", Subject: "first", State: store.Running, Started: x.now, PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	carries(t, dir, toldRun)
	x.side("dbshard001", "B", "")
	x.side("dbshard002", "B", "seed")
	x.tell(farm.Event{Pair: "dbshard002", Side: "B", Step: "seed", Kind: farm.StepProgress, Text: "copied", Bytes: 12e9, Total: 48e9})
	x.side("dbshard001", "A", "out")
	x.tell(farm.Event{Pair: "dbshard001", Side: "A", Step: "out", Kind: farm.StepWaiting, Text: "a person decides before out; stowage approve"})
	for _, o := range []store.Order{{Verb: "gate", What: "out"}, {Verb: "asked", Part: "dbshard001/A", What: "out"}} {
		o.Run, o.At, o.Who = toldRun, time.Now(), "ops"
		if err := x.store.PutOrder(o); err != nil {
			t.Fatal(err)
		}
	}
}

// lookedAt has a workspace know findings of an inventory and of tune.
func lookedAt(t *testing.T, dir string) {
	t.Helper()
	x := openTeller(t, dir)
	defer x.store.Close()
	for kind, value := range map[string]any{
		"inventory": inventory.Inventory{FormatVersion: 1, Farm: "small", Taken: x.now, Findings: []farm.Finding{
			{Check: "server-id-unique", Severity: farm.Blocker, Subject: "dbshard001a", Text: "server_id 7 is that of dbshard002a, too", Remedy: "give each server its own"},
			{Check: "replica-behind", Severity: farm.Warning, Subject: "dbshard002b", Text: "400 s behind", Remedy: "wait", Names: []string{"dbshard002b"}},
		}},
		tuneKind: tuneAll{FormatVersion: 1, Farm: "small", Hosts: []farm.HostName{"db001"}, Table: []tuneCell{{Rule: "SWAP", Host: "db001", Answer: "warning", Count: 1}}, Silent: []tuneSilent{{Host: "db002"}},
			Machines: []tuneMachine{{Hosts: []farm.HostName{"db001"}, Report: tune.Report{Findings: []tune.Finding{{ID: "SWAP", Severity: farm.Warning, Subject: "vm.swappiness", Verdict: "pages of servers may be swapped out", Fix: "sysctl vm.swappiness=1"}}}}}},
	} {
		if err := x.store.PutDocument(kind, "small", x.now, value); err != nil {
			t.Fatal(err)
		}
	}
}
