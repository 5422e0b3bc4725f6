package farmtest

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/heard"
	"stowage/mysql"
	"stowage/mysql/rows"
	"stowage/route"
)

// Followed is a shard whose changes a program reads, which is killed again and
// again. What it writes down is folded into the rows that the shard had.
type Followed struct {
	F     *LiveFarm
	shard farm.ShardName
	rows  map[string]string // by table and key
	args  []string
	to    Lines
	kills int
	Said  heard.Log
	held  sync.Mutex // while it is, nothing is killed
	done  chan struct{}
	once  sync.Once
	ended sync.WaitGroup
}

// Lines are where a follower's lines go, and how they are read back.
type Lines struct {
	Name  string   // of the state's file, in the directory of the farm
	Flags []string // for stowage follow
	Size  func() int64
	Read  func() []string // in the order in which they were written, or those of each row are
	ByRow bool            // only those of each row are
}

// Follow begins to follow a shard from what it holds now, into a file.
func (f *LiveFarm) Follow(shard farm.ShardName) *Followed {
	f.T.Helper()
	out := f.Dir + "/followed.jsonl"
	return f.FollowInto(shard, Lines{Name: "followed", Flags: []string{"--out", out}, Size: func() int64 {
		info, err := os.Stat(out)
		if err != nil {
			return 0
		}
		return info.Size()
	}, Read: func() []string {
		text, err := os.ReadFile(out)
		if err != nil {
			f.T.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}})
}

// FollowInto follows a shard to wherever lines go.
func (f *LiveFarm) FollowInto(shard farm.ShardName, to Lines) *Followed {
	f.T.Helper()
	g := &Followed{F: f, shard: shard, rows: map[string]string{}, to: to, done: make(chan struct{})}
	server := g.serving()
	defer server.Close()
	at := g.read(server, g.rows)
	g.args = []string{"follow", "-C", f.Dir, "--shard", string(shard), "--from", at.String(), "--state", f.Dir + "/" + to.Name + ".state"}
	g.args = append(g.args, to.Flags...)
	f.T.Cleanup(g.stop)
	g.ended.Add(1)
	go func() {
		defer g.ended.Done()
		g.again()
	}()
	return g
}

// serving is a server in rotation that has the shard now.
func (g *Followed) serving() *mysql.Server {
	t := g.F.T
	t.Helper()
	table, err := route.ReadFile(g.F.Dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(g.F.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range table.Serves(g.shard) {
		for _, s := range table.Pairs[pair].Sides {
			return mysql.Open(farm.InstanceName(pair), s.Address, admin, slog.New(slog.DiscardHandler))
		}
	}
	t.Fatalf("nobody serves %s", g.shard)
	return nil
}

// read puts the rows that a server shows at one position into found.
func (g *Followed) read(server *mysql.Server, found map[string]string) mysql.Position {
	t := g.F.T
	t.Helper()
	ctx := t.Context()
	tables, err := rows.CopyTables(ctx, server, string(g.shard))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	view, err := rows.Snapshot(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for _, table := range tables {
		p, err := rows.PlainOf(ctx, server, table)
		if err == nil {
			err = view.EachPlain(ctx, p, func(row rows.PlainRow) error {
				found[table.Name+string(p.AppendObject(nil, row, table.Key))] = string(p.AppendObject(nil, row, nil))
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return view.At
}

// again runs the program, and kills it after a while, until it is told to end.
func (g *Followed) again() {
	for {
		cmd := exec.Command(LiveProgram(g.F.T), g.args...)
		cmd.Stderr = &g.Said
		if err := cmd.Start(); err != nil {
			g.F.T.Error(err)
			return
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // the exit code tells
			close(ended)
		}()
		select {
		case <-ended:
		case <-g.done:
			_ = cmd.Process.Kill()
			<-ended
			return
		case <-time.After(time.Duration(300+rand.IntN(2500)) * time.Millisecond):
		}
		g.held.Lock()
		select {
		case <-ended:
			g.held.Unlock()
			g.F.T.Errorf("stowage follow ended by itself: exit %d\n%s", cmd.ProcessState.ExitCode(), &g.Said)
			return
		default:
			g.kills++
			_ = cmd.Process.Kill()
			<-ended
		}
		g.held.Unlock()
	}
}

// stop ends the program, once.
func (g *Followed) stop() {
	g.once.Do(func() { close(g.done) })
	g.ended.Wait()
}

// End stops the clients, reads to the end, and holds what the lines make of the
// rows against the shard as it is.
func (g *Followed) End() {
	t := g.F.T
	t.Helper()
	g.F.CheckLedger()
	g.stop()
	server := g.serving()
	defer server.Close()
	want := map[string]string{}
	at := g.read(server, want)
	for try := 0; ; try++ { // what the twin has had last is still on its way
		time.Sleep(500 * time.Millisecond)
		now := map[string]string{}
		next := g.read(server, now)
		if maps.Equal(now, want) && next.Equal(at) || try > 20 {
			break
		}
		want, at = now, next
	}
	if p := RunProgram(t, "", append(g.args, "--to", at.String())...); p.Code != ExitFine {
		t.Fatalf("stowage follow --to %s: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
	}
	lines, repeats := fold(t, g.to.Read(), g.rows, g.to.ByRow)
	t.Logf("killed %d times: %d lines, %d of them repeats, up to %s", g.kills, lines, repeats, at)
	if lines-repeats < 50 || g.kills == 0 {
		t.Errorf("%d lines and %d kills: too few to say anything", lines-repeats, g.kills)
	}
	bad := 0
	for key, row := range want {
		if g.rows[key] != row && bad < 5 {
			bad++
			t.Errorf("%s is\n%s, followed it is\n%s", key, row, g.rows[key])
		}
	}
	if len(g.rows) != len(want) {
		t.Errorf("%d rows followed, %d there", len(g.rows), len(want))
	}
	if t.Failed() {
		t.Logf("%s", &g.Said)
	}
}

// Alone runs what happens while the program is not killed.
func (g *Followed) Alone(f func()) {
	g.held.Lock()
	defer g.held.Unlock()
	f()
}

// Soon waits until the follower has written more lines than it has now.
func (g *Followed) Soon() {
	t := g.F.T
	t.Helper()
	was, began := g.to.Size(), time.Now()
	for end := began.Add(WaitLimit); g.to.Size() <= was; PauseTest() {
		if t.Failed() || time.Now().After(end) {
			t.Fatalf("no line for %v\n%s", time.Since(began).Round(time.Second), &g.Said)
		}
	}
}

// Do runs a statement on every server of the shard's pair.
func (g *Followed) Do(statement string) {
	t := g.F.T
	t.Helper()
	_, fm, _, err := FarmAccess(g.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for _, side := range p.SideNames() {
			db := g.F.Login(fm.Address(p.Sides[side]), "stowage")
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(fmt.Errorf("%s: %w", statement, err))
			}
			db.Close()
		}
	}
}
