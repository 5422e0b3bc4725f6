package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/internal/heard"
)

// background is the program at work in a process of its own.
type background struct {
	cmd  *exec.Cmd
	out  heard.Log
	done chan struct{}
}

func (f *liveFarm) start(args ...string) *background {
	f.t.Helper()
	b := &background{cmd: exec.CommandContext(f.t.Context(), os.Args[0], append(args, "-C", f.dir)...), done: make(chan struct{})}
	b.cmd.Env = append(os.Environ(), playsProgram+"=1", "PATH="+binDir(f.t)+":"+os.Getenv("PATH"))
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	if err := b.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() {
		_ = b.cmd.Wait() // the exit code tells
		close(b.done)
	}()
	return b
}

// waitLimit is how long tests wait for what is to happen. It says that something
// hangs, so it must be more than any machine needs.
const waitLimit = 10 * time.Minute

// ends waits for the end and checks the exit code.
func (b *background) ends(t *testing.T, code int) {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(waitLimit):
		t.Fatalf("does not end\n%s", &b.out)
	}
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit %d, want %d\n%s", got, code, &b.out)
	}
}

func (b *background) kill() {
	_ = b.cmd.Process.Signal(syscall.SIGKILL)
	<-b.done
}

// await waits until something holds, or the program has ended.
func (f *liveFarm) await(b *background, what string, is func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(waitLimit); !is(); time.Sleep(50 * time.Millisecond) {
		select {
		case <-b.done:
			f.t.Fatalf("ended before: %s\n%s", what, &b.out)
		default:
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("never: %s\n%s\n%+v", what, &b.out, f.status())
		}
	}
}

func (f *liveFarm) status() moveStatus {
	f.t.Helper()
	var s moveStatus
	p := runProgram(f.t, "", "move", "status", "--json", "-C", f.dir)
	if err := json.Unmarshal([]byte(p.stdout), &s); err != nil {
		f.t.Fatalf("status: %v\n%s%s", err, p.stdout, p.stderr)
	}
	return s
}

// steps are the steps that began, of either side, in order.
func (f *liveFarm) steps() string {
	var out []string
	for _, e := range f.events() {
		if e.Kind == farm.StepStarted {
			out = append(out, string(e.Side)+":"+e.Step)
		}
	}
	return strings.Join(out, " ")
}

// copied are the bytes the newest seed has moved.
func (f *liveFarm) copied() int64 {
	var n int64
	for _, e := range f.events() {
		if e.Step == "seed" && e.Kind == farm.StepProgress {
			n = e.Bytes
		}
	}
	return n
}

// copiesBelow says whether the newest seed moves, at less than so many MB/s over three
// seconds by the clock of the program and from now on.
func (f *liveFarm) copiesBelow(most float64) func() bool {
	begin := time.Now()
	return func() bool {
		var first, last *farm.Event
		for _, e := range f.events() {
			if e.Step != "seed" || e.Kind != farm.StepProgress || e.Time.Before(begin) {
				continue
			}
			if last = &e; first == nil {
				first = &e
			}
		}
		if first == nil || last.Time.Sub(first.Time) < 3*time.Second {
			return false
		}
		rate := float64(last.Bytes-first.Bytes) / last.Time.Sub(first.Time).Seconds() / 1e6
		f.t.Logf("it copies %.2f MB/s", rate)
		begin = last.Time
		return rate > 0 && rate < most
	}
}

func (f *liveFarm) goals(text string) {
	f.t.Helper()
	goals := "onto: [" + f.onto + "]\nspread_labels: [rack]\nparallel: 2\n" + text
	if err := os.WriteFile(f.dir+"/goals.yaml", []byte(goals), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// A copy is slowed down from another terminal within a second, paused, killed,
// and goes on when somebody says so; the pause is remembered with who and why.
func TestThrottlePauseKillResume(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.goals("soak: 50ms\nbudgets: {disk_write: 2MB/s}\n")
	f.must("plan", "--name", "slow")
	b := f.start("move", "slow", "--reason", "ticket 4711")
	f.await(b, "bytes move", func() bool { return f.copied() > 2e6 })
	if s := runProgram(t, "", "move", "throttle", "0.5", "-C", f.dir); s.code != 0 {
		t.Fatalf("throttle: %+v", s)
	}
	f.await(b, "throttled to 0.5 MB/s it copies that much", f.copiesBelow(0.75))
	f.must("move", "pause", "--copies", "--reason", "the shop opens")
	f.await(b, "paused with its copies it moves nothing", func() bool {
		from := f.copied()
		time.Sleep(2 * time.Second)
		return f.copied() == from
	})
	b.kill()
	st := runProgram(t, "", "move", "status", "-C", f.dir)
	for _, want := range []string{"interrupted", "PAUSED by", "the shop opens", "THROTTLED to 0.5 MB/s", "next: stowage move resume"} {
		if !strings.Contains(st.stdout, want) {
			t.Errorf("status after a kill lacks %q:\n%s", want, st.stdout)
		}
	}
	f.must("move", "throttle", "off")
	f.must("move", "resume")
	f.checkWhole()
	log := runProgram(t, "", "move", "log", "-C", f.dir)
	for _, want := range []string{"pause copies  # the shop opens", "throttle off", "CHANGE MASTER TO", "SET GLOBAL read_only = ON", "# ticket 4711"} {
		if !strings.Contains(log.stdout, want) {
			t.Errorf("the log lacks %q:\n%s", want, log.stdout)
		}
	}
	f.noSecretAnywhere()
}

// noSecretAnywhere looks for the passwords of Stowage's accounts in every file
// below the workspace that is not the accounts' own, or a server's own.
func (f *liveFarm) noSecretAnywhere() {
	t := f.t
	t.Helper()
	accounts, err := os.ReadFile(f.dir + "/accounts.cnf")
	if err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for line := range strings.Lines(string(accounts)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.TrimSpace(k) == "password" {
			secrets = append(secrets, strings.Trim(strings.TrimSpace(v), `"'`))
		}
	}
	if len(secrets) < 2 || len(secrets[0]) < 8 {
		t.Fatalf("these are no canaries: %d passwords", len(secrets))
	}
	looked := 0
	err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		own := d != nil && (d.Name() == "accounts.cnf" || strings.Contains(path, "/data/") && !strings.HasSuffix(path, ".err") && !strings.HasSuffix(path, ".log"))
		if err != nil || own || !d.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil // gone meanwhile
		}
		looked++
		for _, s := range secrets {
			if bytes.Contains(raw, []byte(s)) {
				t.Errorf("%s holds a password", path)
			}
		}
		return nil
	})
	if err != nil || looked < 5 {
		t.Errorf("looked into %d files: %v", looked, err)
	}
}

// A side waits for a person for as long as it takes, through a kill, and goes
// on when it was approved.
func TestApprove(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	if p := runProgram(t, "", "move", "first", "--gate", "before-lunch", "-C", f.dir); p.code != exitUsage || !strings.Contains(p.stderr, "before-retire") {
		t.Errorf("a gate that nobody comes to: exit %d\n%s", p.code, p.stderr)
	}
	b := f.start("move", "first", "--gate", "before-retire", "--gate", "before-out")
	f.await(b, "a side waits before out", func() bool { return len(f.status().Waiting) == 1 })
	if g := f.status().Waiting[0]; g.Step != "out" || g.Part != "dbshard001/B" {
		t.Errorf("waits: %+v", g)
	}
	s := serveNow(t, f.dir) // pages of a move that runs
	s.enter()
	page := func(want string) {
		t.Helper()
		f.await(b, "the page has: "+want, func() bool { _, text := s.get("/moves"); return strings.Contains(text, want) })
	}
	page("move approve before-out --lane dbshard001/B")
	page(`<b>running</b>`)
	if p := runProgram(t, "", "move", "approve", "before-retire", "-C", f.dir); p.code != exitRefused {
		t.Errorf("approved what does not wait: exit %d\n%s", p.code, p.stdout)
	}
	b.kill()
	if status, text := s.get("/moves"); status != http.StatusOK {
		t.Errorf("the page of a move that was killed: %d\n%s", status, text)
	}
	await(t, "the page says that it was interrupted", func() bool {
		_, text := s.get("/moves")
		return strings.Contains(text, "<b>interrupted</b>") && strings.Contains(text, "move resume")
	})
	b = f.start("move", "resume")
	time.Sleep(2 * time.Second)
	if s := f.steps(); strings.Contains(s, "B:out") {
		t.Fatalf("went through a gate: %s", s)
	}
	f.must("move", "approve", "before-out", "--ahead", "--reason", "checked by hand")
	f.await(b, "a side waits before retire", func() bool { w := f.status().Waiting; return len(w) == 1 && w[0].Step == "retire" })
	f.must("move", "approve", "before-retire", "--lane", "dbshard001")
	page("<b>1 of 2</b>")
	f.await(b, "the other side waits before retire", func() bool { w := f.status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.must("move", "approve")
	b.ends(t, exitFine)
	await(t, "the page says that it is done", func() bool {
		_, text := s.get("/moves")
		return strings.Contains(text, "<b>done</b>") && strings.Contains(text, "<b>2 of 2</b>")
	})
	f.checkWhole()
}

// Aborted at any phase before the point of no return, the side is put back as
// it was; nothing of the new instance is left.
func TestAbortInEachPhase(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.wanted = "anywhere"
	before := f.places()
	for n, step := range []string{"seed", "start", "out", "rewire", "in", "retire"} {
		plan := fmt.Sprintf("try-%d", n)
		f.must("plan", "--name", plan)
		b := f.start("move", plan, "--gate", "before-"+step)
		f.await(b, "a side waits before "+step, func() bool { return len(f.status().Waiting) == 1 })
		killed := n%2 == 1
		if killed {
			b.kill() // abort then does it all itself
			f.must("move", "abort", "--reason", "a test says so")
		} else {
			f.must("move", "abort", "--reason", "a test says so")
			b.ends(t, exitFailed)
			if !strings.Contains(b.out.String(), "aborted by") || !strings.Contains(b.out.String(), "a test says so") {
				t.Errorf("it does not say why:\n%s", &b.out)
			}
		}
		if now := f.places(); now != before {
			t.Errorf("aborted before %s: farm.yaml says %s, was %s", step, now, before)
		}
		if left, _ := filepath.Glob(f.dir + "/hosts/ssd*/*"); len(left) > 0 {
			t.Errorf("aborted before %s: left behind %v", step, left)
		}
		f.checkNow()
	}
	f.checkWhole()
}

// A copy that runs is broken off at once.
func TestAbortBreaksACopyOff(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.wanted = "anywhere"
	f.goals("soak: 50ms\nbudgets: {disk_write: 1MB/s}\n")
	f.must("plan", "--name", "slow")
	b := f.start("move", "slow")
	f.await(b, "bytes move", func() bool { return f.copied() > 0 })
	f.must("move", "abort")
	b.ends(t, exitFailed)
	for _, e := range f.events() {
		if e.Step == "seed" && e.Kind == farm.StepDone {
			t.Error("the copy went on to its end")
		}
	}
	if left, _ := filepath.Glob(f.dir + "/hosts/ssd*/*"); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	f.checkWhole()
}

// While the old side soaks, the whole move can be undone; what was dropped
// before is planned back, and that plan can be moved.
func TestUndo(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	before := f.places()
	f.goals("soak: 30m\n")
	f.must("plan", "--name", "soaks")
	b := f.start("move", "soaks")
	f.await(b, "side B soaks", func() bool { return strings.Contains(rowText(f.status(), farm.B), "serves in its new place until") })
	f.must("move", "undo", "--reason", "not today")
	b.ends(t, exitFailed)
	if now := f.places(); now != before {
		t.Errorf("undone: farm.yaml says %s, was %s", now, before)
	}
	f.wanted = "anywhere"
	f.checkNow()

	// The same, and one side is moved for good meanwhile.
	f.goals("soak: 50ms\n")
	f.must("plan", "--name", "half")
	b = f.start("move", "half", "--gate", "before-retire")
	f.await(b, "side B waits", func() bool { return len(f.status().Waiting) == 1 })
	f.must("move", "approve")
	f.await(b, "side A waits", func() bool { w := f.status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.must("move", "undo")
	b.ends(t, exitFailed)
	if !strings.Contains(b.out.String(), "stowage move undo-half") {
		t.Fatalf("no way back:\n%s", &b.out)
	}
	f.checkNow()
	f.clearOld()
	f.must("move", "undo-half")
	if now := f.places(); !samePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	again := runProgram(t, "", "move", "undo", "-C", f.dir)
	if again.code != exitFine || !strings.Contains(again.stdout, "undo-undo-half") {
		t.Errorf("the way back of the way back: %+v", again)
	}
	f.checkWhole()
}

func rowText(s moveStatus, side farm.SideName) string {
	for _, r := range s.Sides {
		if r.Side == side {
			return r.Text
		}
	}
	return ""
}

// samePlaces compares hosts: a port may be another.
func samePlaces(a, b string) bool { return hostsOf(a) == hostsOf(b) }

func hostsOf(places string) string {
	var out []string
	for _, p := range strings.Fields(places) {
		host, _, _ := strings.Cut(p, ":")
		out = append(out, host)
	}
	return strings.Join(out, " ")
}

// clearOld removes the directories of instances that farm.yaml names no more.
func (f *liveFarm) clearOld() {
	f.t.Helper()
	for _, d := range f.unknownDirs() {
		os.RemoveAll(d)
	}
}

// unknownDirs are the directories of instances that farm.yaml does not know.
func (f *liveFarm) unknownDirs() (out []string) {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range fm.Pairs {
		for _, s := range p.Sides {
			used[filepath.Dir(filepath.Join(f.dir, s.Datadir))] = true
		}
	}
	dirs, _ := filepath.Glob(f.dir + "/hosts/*/*")
	for _, d := range dirs {
		if !used[d] {
			out = append(out, d)
		}
	}
	return out
}

// A copy slows down by itself when a server beside it has more to do than
// before, or falls behind; it says why, goes on, and comes back when that is
// over.
func TestCopySlowsDownByItself(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.goals("soak: 50ms\nbudgets: {disk_write: 1MB/s, lag: 1s}\n")
	f.must("plan", "--name", "slow")
	b := f.start("move", "slow")
	f.await(b, "bytes move", func() bool { return f.copied() > 3e6 })
	says := func(side farm.SideName, words string) func() bool {
		return func() bool { return strings.Contains(rowText(f.status(), side), words) }
	}
	quiet := f.occupy(farm.A, 40)
	f.await(b, "it says that statements are in flight", says(farm.B, "MB/s: dbshard001a has"))
	f.await(b, "it is at its floor", says(farm.B, "0.5 of 1.0 MB/s"))
	f.await(b, "with 40 statements in flight it copies at 0.5 MB/s", f.copiesBelow(0.7))
	quiet()
	f.await(b, "it comes back", func() bool {
		text := rowText(f.status(), farm.B)
		return text != "" && !strings.Contains(text, "MB/s:")
	})
	f.await(b, "side A is copied", func() bool { return strings.Contains(f.steps(), "A:seed") })
	unlock := f.lockTables(farm.A)
	f.await(b, "it says who is behind", says(farm.A, "MB/s: dbshard001a (old) is "))
	unlock()
	b.ends(t, exitFine)
	f.checkWhole()
}

// appDB is a pool of an application's connections to one side.
func (f *liveFarm) appDB(side farm.SideName) (*sql.DB, farm.Pair) {
	f.t.Helper()
	_, fm, app, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", fm.Address(fm.Pairs[0].Sides[side])
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	f.t.Cleanup(func() { db.Close() })
	return db, fm.Pairs[0]
}

// occupy keeps n statements running on a side until it is told to stop.
func (f *liveFarm) occupy(side farm.SideName, n int) (stop func()) {
	f.t.Helper()
	db, _ := f.appDB(side)
	ctx, cancel := context.WithCancel(f.t.Context())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = db.ExecContext(ctx, "DO SLEEP(0.5)") // ends with the test
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// lockTables keeps a side from applying what the other writes.
func (f *liveFarm) lockTables(side farm.SideName) (unlock func()) {
	f.t.Helper()
	db, pair := f.appDB(side)
	var held []*sql.Tx
	for _, shard := range pair.Shards {
		tx, err := db.Begin()
		if err == nil {
			_, err = tx.Exec(fmt.Sprintf("SELECT * FROM `%s`.counters FOR UPDATE", shard.Name))
		}
		if err != nil {
			f.t.Fatal(err)
		}
		held = append(held, tx)
	}
	return func() {
		for _, tx := range held {
			_ = tx.Rollback()
		}
	}
}
