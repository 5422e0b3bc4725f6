package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/internal/browsertest"
	"stowage/internal/turns"
	"stowage/roll"
	"stowage/store"
)

const rolledRun = "roll-kernel-001-1"

// rolledWorkspace is a workspace of so many hosts in racks of twenty, each with one side of an active-active pair, of which a roll has done some. With STOWAGE_SERVE_DIR
// it is made there and stays, for a person to serve and look at.
func rolledWorkspace(t *testing.T, hosts int) string {
	t.Helper()
	dir := t.TempDir()
	if at := os.Getenv("STOWAGE_SERVE_DIR"); at != "" {
		dir = filepath.Join(at, fmt.Sprintf("roll-%d", hosts))
	}
	var text strings.Builder
	text.WriteString("farm: large\nnext_server_id: 5000\nhost_types:\n  ssd: {cores: 32, memory: 512GiB, disk: 14TB, iops: 70000, network: 10Gbit}\nhosts:\n")
	for n := range hosts {
		fmt.Fprintf(&text, "  - {name: db%04d, type: ssd, address: 10.0.%d.%d, labels: {rack: r%d}}\n", n+1, n/200, n%200+1, n/20+1)
	}
	text.WriteString("pairs:\n")
	for n := range hosts / 2 {
		fmt.Fprintf(&text, "  - name: dbshard%04d\n    topology: active-active\n    sides:\n      A: {host: db%04d, port: 3306, datadir: /d/%d}\n      B: {host: db%04d, port: 3306, datadir: /d/%d}\n    shards: [{name: s%d, disk: 1GB}]\n",
			n+1, n+1, n, n+1+hosts/2, n, n)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(filepath.Join(dir, ".stowage"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(text.String()), 0o644))
	x := &toldRoll{openTeller(t, dir), hosts}
	job := engine.Job{ID: rolledRun, Kind: roll.Roll}
	for n := range hosts - 1 { // the last one is not in the plan
		job.Lanes = append(job.Lanes, engine.Lane{Name: x.host(n), Parts: []engine.Part{{Subject: x.host(n), Args: x.order(n)}}})
	}
	check(x.store.PutDocument("job", rolledRun, x.now, job))
	check(x.store.PutRun(store.Run{ID: rolledRun, Kind: roll.Roll, Subject: "kernel-001", State: store.Running, Started: x.now, PID: os.Getpid()}))
	carries(t, dir, rolledRun)
	r := x.store.Record()
	add := func(n int, kind farm.EventKind, step, text string, millis float64) {
		e := farm.Event{Run: rolledRun, Time: x.now, Host: farm.HostName(x.host(n)), Pair: x.pair(n), Side: x.side(n), Kind: kind, Step: step, Text: text, Millis: millis, Number: 4, Of: 9}
		r.Add(e)
	}
	for n := range hosts / 3 {
		x.now = x.now.Add(20 * time.Millisecond)
		add(n, farm.StepStarted, "out", "", 0)
		add(n, farm.GateOpened, "out", "", 11)
		switch n {
		case 4:
			x.rolled(n, false, 3)
			check(x.store.BeginLane(rolledRun, x.host(n)))
			check(x.store.EndLane(rolledRun, x.host(n), engine.LaneResult{Name: x.host(n), End: engine.EndStuck, Step: "work", Error: "step 1, run: /usr/local/sbin/patch: exit code 3; the host stays out"}))
		case 5:
			x.rolled(n, false, 0)
			add(n, farm.StepStarted, "work", "", 0)
			add(n, farm.StepProgress, "work", "restart its instances", 0)
		default:
			x.rolled(n, true, 0)
			add(n, farm.StepStarted, "in", "", 0)
			add(n, farm.StepDone, "in", "", 0)
		}
	}
	check(r.Close())
	return dir
}

// toldRoll tells of a roll as one in another process does.
type toldRoll struct {
	*teller
	hosts int
}

func (x *toldRoll) host(n int) string { return fmt.Sprintf("db%04d", n+1) }

func (x *toldRoll) pair(n int) farm.PairName {
	return farm.PairName(fmt.Sprintf("dbshard%04d", n%(x.hosts/2)+1))
}

func (x *toldRoll) side(n int) farm.SideName { return farm.SideNames[n/(x.hosts/2)] }

// order is what a run keeps of a host, in the form in which package roll reads it.
func (x *toldRoll) order(n int) json.RawMessage {
	twin := (n + x.hosts/2) % x.hosts
	return json.RawMessage(fmt.Sprintf(`{"runbook": "playbook", "plan": "kernel-001", "made": "today", "host": %q, "number": "n", "takes_ns": 60000000000,
		"work": {"steps": [{"command": ["/usr/local/sbin/patch"]}, {"restart": true}]},
		"sides": [{"pair": %q, "side": %q, "leaves": {"instance": "a", "at": {"host": %q, "port": 3306}}, "twin": {"instance": "b", "at": {"host": %q, "port": 3306}}}]}`,
		x.host(n), x.pair(n), x.side(n), x.host(n), x.host(twin)))
}

func (x *toldRoll) rolled(n int, back bool, code int) {
	x.t.Helper()
	failed, until := "", ""
	if code != 0 {
		failed = `, "failed": "exit code"`
	}
	if back {
		until = fmt.Sprintf(`, "back": %q`, x.now.Add(17*time.Second).UTC().Format(time.RFC3339Nano))
	}
	text := fmt.Sprintf(`{"out": %q%s, "done": [{"step": 0, "what": "run: /usr/local/sbin/patch", "command": {"code": %d, "runs": 1}%s}]}`, x.now.UTC().Format(time.RFC3339Nano), until, code, failed)
	if err := x.store.PutDocument("rolled host", "n/"+x.host(n), x.now, json.RawMessage(text)); err != nil {
		x.t.Fatal(err)
	}
}

// TestServeRoll shows a roll of 150 hosts: the grid by rack, what is out, what failed; and that of one farm of 2,000 within a second, however often it is asked.
func TestServeRoll(t *testing.T) {
	for _, hosts := range []int{2, 150, 2000} {
		dir := rolledWorkspace(t, hosts)
		s := serveNow(t, dir)
		s.enter()
		status, text := s.get("/rolls")
		if status != http.StatusOK || strings.Contains(text, "Cannot be read") || strings.Count(text, `<li class="rollhost`) != hosts {
			t.Fatalf("%d hosts: %d, %d cells\n%.2000s", hosts, status, strings.Count(text, `<li class="rollhost`), text)
		}
		wants := []string{`title="db0002: not in this roll`}
		if hosts > 2 {
			wants = []string{"Roll kernel-001", "rack r1", `title="db0005: stuck: work; dbshard0005/A; out since `, `title="db0006: at work: 2 of 2: restart its instances; dbshard0006/A`, "stowage -C " + dir + " roll in db0005",
				"exit code 3", "db0001", "was out for 17 s", "1 not in this roll", `data-part="rack-1"`, "Clients were held back"}
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%d hosts: it does not have %q", hosts, want)
			}
		}
		var facts rollView
		if _, raw := s.get("/api/rolls"); json.Unmarshal([]byte(raw), &facts) != nil || len(facts.Hosts) != hosts-1 || facts.State != "running" {
			t.Errorf("%d hosts: %.400s", hosts, raw)
		}
		if hosts > 2 && (facts.Hosts[4].Stand != roll.Stuck || facts.Hosts[4].CommandRC == nil || *facts.Hosts[4].CommandRC != 3 || facts.Hosts[5].SecondsOut <= 0 || facts.Hosts[0].SecondsOut != 17) {
			t.Errorf("%d hosts: %+v", hosts, facts.Hosts[4:6])
		}
		if _, report := s.get("/report"); hosts > 2 && !strings.Contains(report, `<section id="roll">`) {
			t.Error("the report has no roll")
		}
	}
}

// TestServeRollInABrowser: what a roll tells meanwhile arrives in the grid, the console is silent, and who listens is told.
func TestServeRollInABrowser(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	dir := rolledWorkspace(t, 150)
	s := serveNow(t, dir)
	s.enter()
	const news = "waits for its agent"
	b := standBetween(t, s, news)
	x := openTeller(t, dir)
	go func() {
		<-b.connected
		r := x.store.Record()
		for _, e := range []farm.Event{{Kind: farm.StepStarted, Step: "preflight"}, {Kind: farm.StepWaiting, Step: "preflight", Text: news}} {
			e.Run, e.Host, e.Time = rolledRun, "db0077", time.Now()
			r.Add(e)
		}
		_ = r.Close()
	}()
	dom, console := browsertest.Open(t, b.URL+"/rolls")
	if console != "" {
		t.Errorf("the console says:\n%s", console)
	}
	for _, want := range []string{news, `title="db0077: waiting, held; dbshard0002/B"`, ">live<", "hosts done; db0005 stays out"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not have %q after it was told", want)
		}
	}
}
