// Package toy is an act of three steps on a real pair, of which no other file
// knows. That it survives a kill at every border, is shown and leaves a trail is
// package act's doing.
package toy

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/act"
	"stowage/e2e/farmtest"
	"stowage/engine"
	"stowage/farm"
	"stowage/internal/border"
	"stowage/mysql"
	"stowage/session"
	"stowage/swing"
)

// toy is what the steps act on.
type toy struct {
	act.Task
	db *sql.DB
}

func (*toy) Survey(context.Context) ([]farm.Finding, error) { return nil, nil }
func (*toy) Remember() json.RawMessage                      { return nil }
func (t *toy) Close()                                       { _ = t.db.Close() }

// does is a step that runs statements, each of which may run again.
func does(name string, statements ...string) swing.Step[*toy] {
	return swing.Step[*toy]{Name: name, Timeout: time.Minute, Do: func(ctx context.Context, t *toy) error {
		for _, s := range statements {
			if _, err := t.db.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}}
}

func kind(c *act.Conductor, open func() *sql.DB) act.Kind {
	steps := []swing.Step[*toy]{
		does("make", "CREATE DATABASE IF NOT EXISTS toy", "CREATE TABLE IF NOT EXISTS toy.box (id INT PRIMARY KEY, n INT)"),
		does("fill", "INSERT IGNORE INTO toy.box VALUES (1, 0)"),
		does("close", "UPDATE toy.box SET n = 7 WHERE id = 1"),
	}
	steps[2].NoReturn = true
	return act.Kind{Name: "toy", Runbooks: []act.Runbook{act.NewRunbook("play", steps, func(call engine.Call, step act.Step, beat func(string)) (*toy, error) {
		task, err := c.Task(call, step, beat, &struct{}{}, nil)
		task.About.Pair = farm.PairName(call.Lane)
		return &toy{task, open()}, err
	})}}
}

// play begins the act in a workspace, or continues with it, as its verb would.
func play(ctx context.Context, dir string) error {
	s, err := session.Open(session.Options{Dir: dir, Log: farmtest.QuietLog()})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := errors.Join(s.Prepare(), s.Turn(ctx, "toy")); err != nil {
		return err
	}
	told := s.Store.Record()
	defer told.Close()
	c := &act.Conductor{Log: farmtest.QuietLog(), Border: border.Ordered(), Sink: told.Add}
	pair := s.Farm.Pairs[0]
	c.Kind = kind(c, func() *sql.DB { return dial(s.Admin, s.Farm.Address(pair.Sides[farm.A])) })
	a := &act.Act{Session: s, Conductor: c}
	sides := []farm.SideName{farm.A}
	if step := os.Getenv(askBefore); step != "" {
		sides, a.Terms.ApproveBefore = farm.SideNames[:], []string{step}
	}
	run, err := act.Choose(s.Store, "", "toy")
	if err == nil {
		run, err = a.GoOn(ctx, run, nil)
	}
	if err != nil {
		run, _, err = a.Begin(ctx, act.Proposal{Name: "box", Subject: "box", Job: func(id string) (engine.Job, uint32, error) {
			lane := engine.Lane{Name: string(pair.Name), Holds: []string{act.WholeFarm}}
			for _, side := range sides {
				lane.Parts = append(lane.Parts, engine.Part{Subject: fmt.Sprintf("%s/%s", pair.Name, side), Args: json.RawMessage("{}"), Steps: c.Kind.Runbooks[0].EngineSteps()})
			}
			return engine.Job{ID: id, Kind: "toy", Budgets: map[string]int{act.WholeFarm: 1}, Lanes: []engine.Lane{lane}}, 0, nil
		}, Survey: func(context.Context, engine.Job) ([]farm.Finding, error) { return nil, nil }})
	}
	if err != nil {
		return err
	}
	_, err = a.Carry(ctx, run)
	return err
}

func dial(a mysql.Account, address string) *sql.DB {
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = a.User, a.Password, "tcp", address
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		panic(err)
	}
	return sql.OpenDB(connector)
}

const (
	playIn    = "STOWAGE_TEST_TOY"
	askBefore = "STOWAGE_TEST_TOY_ASK" // both sides play, and a person is asked before this step
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(playIn); dir != "" {
		if err := play(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	farmtest.Main(m)
}

// playing is the act as a program of its own.
func playing(t *testing.T, f *farmtest.LiveFarm, kill, ask string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), playIn+"="+f.Dir, border.KillAt+"="+kill, askBefore+"="+ask, "PATH="+farmtest.BinDir(t)+":"+os.Getenv("PATH"))
	return cmd
}

// A part that got stuck behind its point of no return, which a person had approved, is continued with: nobody is asked about that step
// again, and the part after it waits for a person as it would have.
func TestResumedRunStillAsks(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	play := func(kill string) func() (string, error) {
		cmd, ended := playing(t, f, kill, "close"), make(chan error, 1)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- cmd.Wait() }()
		return func() (string, error) { err := <-ended; return out.String(), err }
	}
	// The command that status prints is run as it stands.
	waits := func(part string) {
		t.Helper()
		farmtest.Await(t, part+" waits for a person", func() bool {
			w := f.Status().Waiting
			return len(w) == 1 && w[0].Part == part && w[0].Step == "close"
		})
	}
	approves := func(part string) {
		t.Helper()
		waits(part)
		_, command, _ := strings.Cut(farmtest.RunProgram(t, "", "status", "-C", f.Dir).Stdout, "A PERSON DECIDES: ")
		_, command, _ = strings.Cut(command, ": stowage ")
		command, _, _ = strings.Cut(command, "\n")
		if p := farmtest.RunProgram(t, "", strings.Fields(command)...); p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, part+" before close") {
			t.Fatalf("stowage %s: exit %d\n%s%s", command, p.Code, p.Stdout, p.Stderr)
		}
	}
	ends := play("step @ before close")
	approves("dbshard001/A")
	if said, err := ends(); err == nil || !strings.Contains(said, farmtest.MarkOfKill) {
		t.Fatalf("it did not get stuck: %v\n%s", err, said)
	}
	ends = play("")
	waits("dbshard001/B")
	if p := farmtest.RunProgram(t, "", "approve", "close", "--lane", "dbshard01", "--ahead", "-C", f.Dir); p.Code != farmtest.ExitUsage || !strings.Contains(p.Stderr, "dbshard001/B") {
		t.Errorf("approved for a lane that is not there: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	approves("dbshard001/B")
	if said, err := ends(); err != nil {
		t.Fatalf("continued: %v\n%s", err, said)
	}
}

// The act is killed at each of its borders in turn, with its engine or without,
// and continued; each time it ends whole, on both sides of the pair.
func TestToyActIsDurableSeenAndSteered(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	player := func(kill string) (string, error) {
		out, err := playing(t, f, kill, "").CombinedOutput()
		return string(out), err
	}
	points := kind(nil, nil).Runbooks[0].Points()
	if len(points) != 6 {
		t.Fatalf("borders %q", points)
	}
	for n, at := range points {
		victim := []string{"both", "stowage"}[n%2]
		if said, _ := player(victim + " @ " + at); !strings.Contains(said, farmtest.MarkOfKill+at) {
			t.Fatalf("never met %q:\n%s", at, said)
		}
		status := farmtest.RunProgram(t, "", "status", "-C", f.Dir)
		if !strings.Contains(status.Stdout, fmt.Sprintf("toy-box-%d of", n+1)) || !strings.Contains(status.Stdout, "interrupted") {
			t.Errorf("killed at %q, status says\n%s%s", at, status.Stdout, status.Stderr)
		}
		if p := farmtest.RunProgram(t, "", "resume", "-C", f.Dir); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "it is a toy") {
			t.Errorf("a program that does not know this act continues with it: exit %d\n%s", p.Code, p.Stderr)
		}
		if said, err := player(""); err != nil {
			t.Fatalf("continued after %q: %v\n%s", at, err, said)
		}
		for _, side := range farm.SideNames {
			var got int
			for end := time.Now().Add(farmtest.WaitLimit); got != 7 && time.Now().Before(end); farmtest.PauseTest() {
				_ = f.Root(side).QueryRow("SELECT n FROM toy.box WHERE id = 1").Scan(&got) // not replicated yet
			}
			if got != 7 {
				t.Errorf("killed at %q: side %s has %d", at, side, got)
			}
		}
		if _, err := f.Root(farm.A).Exec("DELETE FROM toy.box"); err != nil {
			t.Fatal(err)
		}
	}
	// One that nobody kills: of a step that takes a moment a kill may leave no trace on the screen.
	if said, err := player(""); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	all := len(points) + 1
	runs := farmtest.RunProgram(t, "", "runs", "-C", f.Dir)
	if got := strings.Count(runs.Stdout, "done"); got != all {
		t.Errorf("%d of %d runs are done:\n%s", got, all, runs.Stdout)
	}
	if log := farmtest.RunProgram(t, "", "log", "-C", f.Dir); !strings.Contains(log.Stdout, "toy-box") && log.Code != farmtest.ExitFine {
		t.Errorf("log: exit %d\n%s%s", log.Code, log.Stdout, log.Stderr)
	}
	// What shows any run shows this one, too.
	last := fmt.Sprintf("toy-box-%d", all)
	if p := farmtest.RunProgram(t, "", "report", "-C", f.Dir); p.Code != farmtest.ExitFine {
		t.Fatalf("report: exit %d\n%s", p.Code, p.Stderr)
	}
	paper, err := os.ReadFile(f.Dir + "/report.html")
	if err != nil {
		t.Fatal(err)
	}
	_, page := farmtest.OpenPages(t, f.Dir).Get("/moves")
	for name, text := range map[string]string{"the report": string(paper), "the dashboard": page} {
		_, section, found := strings.Cut(text, `<section id="`+last+`"><h2>Toy box</h2>`)
		if !found || !strings.Contains(section, "1 of 1 part done") || !strings.Contains(section, `<th scope="row">fill</th>`) {
			t.Errorf("%s does not show %s step by step", name, last)
		}
	}
	if p := farmtest.RunProgram(t, "", "pause", "-C", f.Dir); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "has ended") {
		t.Errorf("pause of what has ended: exit %d\n%s", p.Code, p.Stderr)
	}
}
