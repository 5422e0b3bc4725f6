package act_test

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/session"
	"stowage/swing"
)

// The measured times of a side's steps; its head says where they come from.
//
//go:embed testdata/measured-steps.tsv
var measuredSteps string

// scaleRun is one run of the bench: so many pairs of two sides, so many at once, whose steps sleep as long as measured ones took, times Scale.
type scaleRun struct {
	Dir    string  `json:"dir"`
	Lanes  int     `json:"lanes"`
	AtOnce int     `json:"at_once"`
	Scale  float64 `json:"scale"`
}

const (
	scaleEnv     = "STOWAGE_SCALE_RUN"
	scaleJournal = "steps.journal"
	scaleUp      = "up.json" // what the program and its engine had used when the run began
	scaleUsed    = "used.json"
)

// usage is what a program and its engine have used: seconds of CPU, and the most memory, MB.
type usage struct {
	EnginePID               int
	Program, Engine         float64
	ProgramPeak, EnginePeak float64
}

// job has sides that go to many hosts in twenty racks, by the budgets that a plan has.
func (r scaleRun) job(id string, steps []engine.Step) engine.Job {
	job := engine.Job{ID: id, Kind: "scale", Budgets: map[string]int{act.WholeFarm: r.AtOnce}}
	hosts := max(90, 2*r.Lanes/12)
	for i := range r.Lanes {
		name := fmt.Sprintf("dbshard%05d", i)
		lane := engine.Lane{Name: name, Holds: []string{act.WholeFarm}}
		for s, side := range []string{"B", "A"} {
			host := (7*i + s*(hosts/2+3)) % hosts
			for token, most := range map[string]int{fmt.Sprintf("host ssd%04d", host): act.StreamsPerHost, fmt.Sprintf("rack r%02d", host%20): 8} {
				if job.Budgets[token] = most; !strings.Contains(strings.Join(lane.Holds, "|"), token) {
					lane.Holds = append(lane.Holds, token)
				}
			}
			// As long as the order of a move is.
			args, _ := json.Marshal(map[string]string{"instance": name + strings.ToLower(side), "from": strings.Repeat("f", 250), "to": strings.Repeat("t", 250)})
			lane.Parts = append(lane.Parts, engine.Part{Subject: name + "/" + side, Args: args, Steps: steps})
		}
		job.Lanes = append(job.Lanes, lane)
	}
	return job
}

// sleeper is what the steps act on: a side of which nothing is there.
type sleeper struct{ act.Task }

func (*sleeper) Survey(context.Context) ([]farm.Finding, error) { return nil, nil }
func (s *sleeper) Remember() json.RawMessage {
	return json.RawMessage(`{"step":"` + s.Step + `","gtid":"0-1001-123456,1-1002-7890"}`)
}
func (*sleeper) Close() {}

// scaleKind has the steps of a move, each of which sleeps for one of the times that were measured of it.
func scaleKind(c *act.Conductor, scale float64, journal io.Writer) (act.Kind, error) {
	var steps []swing.Step[*sleeper]
	for lines := bufio.NewScanner(strings.NewReader(measuredSteps)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		words := strings.Split(lines.Text(), "\t")
		name, times := words[0], words[1:]
		step := swing.Step[*sleeper]{Name: name, Timeout: time.Hour, NoReturn: name == "retire", Do: func(ctx context.Context, s *sleeper) error {
			h := fnv.New32a()
			fmt.Fprint(h, s.Part, name)
			ms, err := strconv.Atoi(times[h.Sum32()%uint32(len(times))])
			if err != nil {
				return err
			}
			fmt.Fprintf(journal, "begin\t%s\t%s\t%d\n", s.Part, name, time.Now().UnixNano())
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Duration(scale * float64(ms) * float64(time.Millisecond))):
			}
			fmt.Fprintf(journal, "end\t%s\t%s\t%d\n", s.Part, name, time.Now().UnixNano())
			return nil
		}}
		if name == "out" || name == "in" {
			step.Phases = []string{"flip"} // it may hold a gate: its beginning is noted
		}
		steps = append(steps, step)
	}
	return act.Kind{Name: "scale", Runbooks: []act.Runbook{act.NewRunbook("scale", steps, func(call engine.Call, step act.Step, beat func(string)) (*sleeper, error) {
		task, err := c.Task(call, step, beat, &struct{}{}, nil)
		pair, side, _ := strings.Cut(call.Subject, "/")
		task.About.Pair, task.About.Side = farm.PairName(pair), farm.SideName(side)
		return &sleeper{task}, err
	})}}, nil
}

// TestScaleProgram is the program of the bench: it begins the run, or continues with it.
func TestScaleProgram(t *testing.T) {
	var r scaleRun
	if os.Getenv(scaleEnv) == "" {
		t.Skip("only as a process of TestBenchScale")
	}
	if err := json.Unmarshal([]byte(os.Getenv(scaleEnv)), &r); err != nil {
		t.Fatal(err)
	}
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r scaleRun) play(ctx context.Context) error {
	log := slog.New(slog.DiscardHandler)
	s, err := session.Open(session.Options{Dir: r.Dir, Log: log})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Turn(ctx, "scale"); err != nil {
		return err
	}
	journal, err := os.OpenFile(filepath.Join(r.Dir, scaleJournal), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer journal.Close()
	if _, err := s.Engine(ctx); err != nil {
		return err
	}
	before, err := r.used(os.Getpid())
	if err == nil {
		err = writeJSON(filepath.Join(r.Dir, scaleUp), before)
	}
	if err != nil {
		return err
	}
	told := s.Store.Record()
	defer told.Close()
	c := &act.Conductor{Log: log, Sink: told.Add}
	if c.Kind, err = scaleKind(c, r.Scale, journal); err != nil {
		return err
	}
	a := &act.Act{Session: s, Conductor: c}
	run, err := act.Choose(s.Store, "", "scale")
	if err == nil {
		run, err = a.GoOn(ctx, run, nil)
	}
	if err != nil {
		run, _, err = a.Begin(ctx, act.Proposal{Name: "bench", Subject: "bench",
			Job: func(id string) (engine.Job, uint32, error) {
				return r.job(id, c.Kind.Runbooks[0].EngineSteps()), 0, nil
			},
			Survey: func(context.Context, engine.Job) ([]farm.Finding, error) { return nil, nil }})
	}
	if err != nil {
		return err
	}
	if _, err = a.Carry(ctx, run); err != nil {
		return err
	}
	after, err := r.used(os.Getpid())
	return errors.Join(err, writeJSON(filepath.Join(r.Dir, scaleUsed), after))
}

// used reads what a program and the engine of its directory have used.
func (r scaleRun) used(program int) (u usage, err error) {
	var at struct{ PID int }
	raw, err := os.ReadFile(filepath.Join(r.Dir, ".stowage", "engine.at"))
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	u.EnginePID = at.PID
	for _, p := range []struct {
		pid       int
		cpu, peak *float64
	}{{program, &u.Program, &u.ProgramPeak}, {at.PID, &u.Engine, &u.EnginePeak}} {
		if err == nil {
			*p.cpu, *p.peak, err = usedBy(p.pid)
		}
	}
	return u, err
}

// usedBy is the CPU seconds and the highest memory, MB, of a process.
func usedBy(pid int) (cpu, peak float64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	field := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, n := range []int{11, 12} { // utime and stime, in hundredths of a second
		ticks, err := strconv.ParseFloat(string(field[n]), 64)
		if err != nil {
			return 0, 0, err
		}
		cpu += ticks / 100
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(after + " 0")[0], 64)
	return cpu, kb / 1024, err
}

func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
