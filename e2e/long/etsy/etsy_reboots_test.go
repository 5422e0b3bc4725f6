package etsy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/roll"
)

// Every machine of that farm, 120 that serve and 30 that were bought, is rebooted once under load, while a fault strikes each minute. PAIRS, SEED, EVERY and the
// directories are those of TestEtsyFarmForReal; OUT=n is how many hosts may be out at once (8).
func TestEtsyFarmIsRebooted(t *testing.T) {
	f, ctx := startRealEtsy(t, "150 machines are rebooted; BENCH=reboots make bench runs it")
	reboot, boots := f.Reboots()
	f.begin()
	asked := f.askAll()
	f.planReboots(reboot, farmtest.Number("OUT", 8))
	hosts := f.reboot(ctx, time.Duration(farmtest.Number("EVERY", 60))*time.Second)
	f.judge(func(*farm.Farm) []string {
		var wrong []string
		for h := range f.Hosts {
			if n := boots(h); n != 1 {
				wrong = append(wrong, fmt.Sprintf("%s was rebooted %d times", h, n))
			}
		}
		return wrong
	})
	f.tellReboots(hosts, asked, os.Getenv("STOWAGE_ETSY_SUM"))
}

// askAll asks every server what it is, while three of them hang, and which tables its shards have: in seconds, a cell of the table.
func (f *realEtsy) askAll() string {
	j := f.sidesThatRoll()
	s := f.Striker(j)
	began := time.Now()
	for n := range 3 {
		s.Hit(farmtest.Fault{What: "freeze", Whom: farmtest.Target, Long: 25 * time.Second}, j.Casts[n*len(j.Casts)/3].Who[farmtest.Target])
	}
	p := farmtest.RunProgram(f.T, "", "inventory", "-C", f.Dir)
	known := time.Since(began).Seconds()
	s.Healing.Wait()
	if p.Code != farmtest.ExitFindings {
		f.T.Errorf("inventory, three servers hang: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Must("schema", "pull")
	files, _ := filepath.Glob(f.Dir + "/schema/*.sql")
	began = time.Now()
	f.Must("schema", "drift")
	out := fmt.Sprintf("inventory %.1f s, three hang; schema drift of %d shards x %d tables %.1f s", known, f.sum.Shards, len(files), time.Since(began).Seconds())
	f.say("%s", out)
	return out
}

// planReboots writes and plans a playbook for all machines.
func (f *realEtsy) planReboots(script string, out int) {
	goals := filepath.Join(f.Dir, "goals.yaml")
	raw, err := os.ReadFile(goals)
	f.Did(err)
	if strings.Contains(string(raw), "budgets:") {
		f.T.Fatal("goals.yaml of the example has budgets of its own now")
	}
	f.Did(os.WriteFile(goals, fmt.Appendf(raw, "budgets: {hosts_out: %d, hosts_out_per_rack: 2}\n", out), 0o644))
	f.Did(os.MkdirAll(f.Dir+"/rolls", 0o755))
	f.Did(os.WriteFile(f.Dir+"/rolls/kernel.yaml", []byte("hosts: \"*\"\nsteps: [{reboot: ["+script+"], time_limit: 5m}]\n"), 0o644))
	f.Must("roll", "kernel", "--name", "k1")
}

// rebootFaults are those of a roll: no server is new, and the one that was left is the one that returns.
var rebootFaults = []farmtest.Fault{
	{What: "kill", Whom: farmtest.Twin, Long: 12 * time.Second},
	{What: "kill", Whom: farmtest.Target, Long: 12 * time.Second},
	{What: "freeze", Whom: farmtest.Twin, Long: 12 * time.Second},
	{What: "freeze", Whom: farmtest.Target, Long: 12 * time.Second},
	{What: "cut", Whom: farmtest.Twin, Long: 20 * time.Second},
	{What: "cut", Whom: farmtest.Target, Long: 20 * time.Second},
	{What: "slow", Whom: farmtest.Target, Long: 40 * time.Second},
	{What: "agent", Whom: farmtest.Twin, Long: 10 * time.Second},
	{What: "agent", Whom: farmtest.Target, Long: 10 * time.Second},
	{What: "stowage"}, {What: "engine"}, {What: "both"}, {What: "interrupt"},
}

// sidesThatRoll are all sides, each with its twin.
func (f *realEtsy) sidesThatRoll() farmtest.Journey {
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	f.Did(err)
	var j farmtest.Journey
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			at := func(s farm.SideName) host.Instance { return f.At(p.Instance(s), farmtest.PlaceOf(fm, p.Name, s)) }
			j.Casts = append(j.Casts, farmtest.Cast{Pair: p.Name, Side: side,
				Who: map[farmtest.Role]host.Instance{farmtest.Target: at(side), farmtest.Twin: at(side.Twin())}})
		}
	}
	return j
}

// reboot carries the plan out: a run that was killed is resumed, a host that stayed out comes in once its servers are healed, what is left is rolled.
func (f *realEtsy) reboot(ctx context.Context, every time.Duration) map[farm.HostName]roll.HostEnd {
	began := time.Now()
	s := f.strikes(f.sidesThatRoll(), roll.Roll, rebootFaults, f.sum.Seed)
	faults, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.strikeEvery(faults, every) }()
	defer func() {
		stop()
		<-ended
		s.Finish()
		s.Healing.Wait()
		f.sum.Faults, f.sum.Log, f.sum.MoveSeconds = s.struck, s.Log, time.Since(began).Seconds()
	}()
	hosts := map[farm.HostName]roll.HostEnd{}
	todo := [][]string{{"roll", "k1", "--json"}}
	for attempts := 0; len(todo) > 0; attempts++ {
		if attempts == 60 {
			f.T.Fatalf("the roll does not end: exit codes %v", f.sum.Codes)
		}
		args := todo[0]
		code, said, printed := f.program(ctx, s, args...)
		f.sum.Codes = append(f.sum.Codes, code)
		if ctx.Err() != nil {
			f.T.Fatal("interrupted")
		}
		if code == farmtest.ExitFine {
			todo = todo[1:]
		}
		var answer struct{ Hosts []roll.HostEnd }
		_ = json.Unmarshal([]byte(printed), &answer) // nothing is printed by a program that was killed
		var stuck [][]string
		for _, h := range answer.Hosts {
			if h.End == engine.EndStuck || h.End == engine.EndUnknown {
				stuck = append(stuck, []string{"roll", "in", string(h.Host), "--json"})
			}
			if h.SecondsOut > hosts[h.Host].SecondsOut {
				hosts[h.Host] = h
			}
		}
		switch code {
		case farmtest.ExitFine:
		case -1, farmtest.ExitInterrupted:
			f.say("exit %d: stowage resume", code)
			f.sum.Resumes++
			if args[0] != "resume" {
				todo = append([][]string{{"resume", "--json"}}, todo...)
			}
		case farmtest.ExitUnknown, farmtest.ExitFailed, farmtest.ExitRefused:
			s.Healing.Wait() // whoever looks at the host brings its servers back first
			f.sum.Again++
			f.say("exit %d after %s: %d hosts stayed out\n%s", code, strings.Join(args, " "), len(stuck), said)
			if args[0] == "resume" {
				todo = todo[1:]
			}
			todo = append(stuck, todo...)
		default:
			f.T.Fatalf("stowage %s: exit %d\n%s", strings.Join(args, " "), code, said)
		}
	}
	f.say("all machines are rebooted")
	return hosts
}

// tellReboots prints the figures, and writes the row of docs/measuring/benchmarks.md.
func (f *realEtsy) tellReboots(hosts map[farm.HostName]roll.HostEnd, asked, file string) {
	out := []float64{}
	for _, h := range hosts {
		if len(h.Pairs) > 0 {
			out = append(out, h.SecondsOut)
		}
	}
	if len(out) == 0 {
		f.T.Fatal("no host was out")
	}
	slices.SortFunc(out, cmp.Compare[float64])
	s := &f.sum
	row := fmt.Sprintf("%d / %d | %d | %.0f | %d | %.0f / %.0f / %.0f | %d | %d | %d | %d | %d | %d | %d: %.0f / %.0f / %.0f / %.0f | %s | %d / %d | %s",
		len(f.Hosts), 2*s.Pairs, s.Seed, s.MoveSeconds/60, s.PeakMB, out[len(out)/2], out[len(out)*95/100], out[len(out)-1],
		s.Acknowledged, s.Lost, s.Duplicated, s.Failed, s.Stale, len(s.Wrong),
		s.Pauses.Count, s.Pauses.P50, s.Pauses.P95, s.Pauses.P99, s.Pauses.Max, s.kinds(), s.Resumes, s.Again, asked)
	f.say("%s; exit codes %v", row, s.Codes)
	if file != "" {
		f.Did(os.WriteFile(file, []byte(row+"\n"), 0o644))
	}
}
