package farmtest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
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

// Background is the program at work, for tests of other packages that hand it on.
type Background = background

// background is the program at work in a process of its own.
type background struct {
	cmd  *exec.Cmd
	Out  heard.Log
	done chan struct{}
}

func (f *LiveFarm) Start(args ...string) *background {
	f.T.Helper()
	b := &background{cmd: exec.CommandContext(f.T.Context(), LiveProgram(f.T), append(args, "-C", f.Dir)...), done: make(chan struct{})}
	b.cmd.Env = append(append(os.Environ(), "PATH="+BinDir(f.T)+":"+os.Getenv("PATH")), f.Env("")...)
	b.cmd.Stdout, b.cmd.Stderr = &b.Out, &b.Out
	if err := b.cmd.Start(); err != nil {
		f.T.Fatal(err)
	}
	go func() {
		_ = b.cmd.Wait() // the exit code tells
		close(b.done)
	}()
	return b
}

// WaitLimit is how long tests wait for what is to happen. It says that something
// hangs, so it must be more than any machine needs.
const WaitLimit = 10 * time.Minute

// Ends waits for the end and checks the exit code.
func (b *background) Ends(t *testing.T, code int) {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(WaitLimit):
		t.Fatalf("does not end\n%s", &b.Out)
	}
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit %d, want %d\n%s", got, code, &b.Out)
	}
}

// Interrupt is Ctrl-C.
func (b *background) Interrupt() { _ = b.cmd.Process.Signal(os.Interrupt) }

// Ended reports whether it has ended.
func (b *background) Ended() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

func (b *background) Kill() {
	_ = b.cmd.Process.Signal(syscall.SIGKILL)
	<-b.done
}

// Await waits until something holds, or the program has ended.
func (f *LiveFarm) Await(b *background, what string, is func() bool) {
	f.T.Helper()
	for deadline := time.Now().Add(WaitLimit); !is(); time.Sleep(50 * time.Millisecond) {
		select {
		case <-b.done:
			f.T.Fatalf("ended before: %s\n%s", what, &b.Out)
		default:
		}
		if time.Now().After(deadline) {
			f.T.Fatalf("never: %s\n%s\n%+v", what, &b.Out, f.Status())
		}
	}
}

func (f *LiveFarm) Status() StatusAnswer {
	f.T.Helper()
	var s StatusAnswer
	p := RunProgram(f.T, "", "status", "--json", "-C", f.Dir)
	if err := json.Unmarshal([]byte(p.Stdout), &s); err != nil {
		f.T.Fatalf("status: %v\n%s%s", err, p.Stdout, p.Stderr)
	}
	return s
}

// Steps are the steps that began, of either side, in order.
func (f *LiveFarm) Steps() string {
	var out []string
	for _, e := range f.Events() {
		if e.Kind == farm.StepStarted {
			out = append(out, string(e.Side)+":"+e.Step)
		}
	}
	return strings.Join(out, " ")
}

// Copied are the bytes the newest seed has moved.
func (f *LiveFarm) Copied() int64 {
	var n int64
	for _, e := range f.Events() {
		if e.Step == "seed" && e.Kind == farm.StepProgress {
			n = e.Bytes
		}
	}
	return n
}

// CopiesBelow says whether the newest seed moves, at less than so many MB/s over three
// seconds by the clock of the program and from now on.
func (f *LiveFarm) CopiesBelow(most float64) func() bool {
	begin := time.Now()
	return func() bool {
		var first, last *farm.Event
		for _, e := range f.Events() {
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
		f.T.Logf("it copies %.2f MB/s", rate)
		begin = last.Time
		return rate > 0 && rate < most
	}
}

func (f *LiveFarm) Goals(text string) {
	f.T.Helper()
	goals := "onto: [" + f.Onto + "]\nspread_labels: [rack]\nparallel: 2\n" + text
	if err := os.WriteFile(f.Dir+"/goals.yaml", []byte(goals), 0o644); err != nil {
		f.T.Fatal(err)
	}
}

// NoSecretAnywhere looks for the passwords of Stowage's accounts in every file
// below the workspace that is not the accounts' own, or a server's own.
func (f *LiveFarm) NoSecretAnywhere() {
	t := f.T
	t.Helper()
	accounts, err := os.ReadFile(f.Dir + "/accounts.cnf")
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
	err = filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
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

// SamePlaces compares hosts: a port may be another.
func SamePlaces(a, b string) bool { return hostsOf(a) == hostsOf(b) }

func hostsOf(places string) string {
	var out []string
	for _, p := range strings.Fields(places) {
		host, _, _ := strings.Cut(p, ":")
		out = append(out, host)
	}
	return strings.Join(out, " ")
}

// ClearOld removes the directories of instances that farm.yaml names no more.
func (f *LiveFarm) ClearOld() {
	f.T.Helper()
	for _, d := range f.unknownDirs() {
		os.RemoveAll(d)
	}
}

// unknownDirs are the directories of instances that farm.yaml does not know.
func (f *LiveFarm) unknownDirs() (out []string) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range fm.Pairs {
		for _, s := range p.Sides {
			used[filepath.Dir(filepath.Join(f.Dir, s.Datadir))] = true
		}
	}
	dirs, _ := filepath.Glob(f.Dir + "/hosts/*/*")
	for _, d := range dirs {
		if !used[d] {
			out = append(out, d)
		}
	}
	return out
}

// appDB is a pool of an application's connections to one side.
func (f *LiveFarm) appDB(side farm.SideName) (*sql.DB, farm.Pair) {
	f.T.Helper()
	_, fm, app, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", fm.Address(fm.Pairs[0].Sides[side])
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(connector)
	f.T.Cleanup(func() { db.Close() })
	return db, fm.Pairs[0]
}

// Occupy keeps n statements running on a side until it is told to stop.
func (f *LiveFarm) Occupy(side farm.SideName, n int) (stop func()) {
	f.T.Helper()
	db, _ := f.appDB(side)
	ctx, cancel := context.WithCancel(f.T.Context())
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

// LockTables keeps a side from applying what the other writes.
func (f *LiveFarm) LockTables(side farm.SideName) (unlock func()) {
	f.T.Helper()
	db, pair := f.appDB(side)
	var held []*sql.Tx
	for _, shard := range pair.Shards {
		tx, err := db.Begin()
		if err == nil {
			_, err = tx.Exec(fmt.Sprintf("SELECT * FROM `%s`.counters FOR UPDATE", shard.Name))
		}
		if err != nil {
			f.T.Fatal(err)
		}
		held = append(held, tx)
	}
	return func() {
		for _, tx := range held {
			_ = tx.Rollback()
		}
	}
}
