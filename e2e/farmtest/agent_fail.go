package farmtest

import (
	"fmt"
	"time"

	"stowage/farm"
)

// Steps tells of every step that has begun, once for each side or shard, until
// the move of a plan ends.
func (f *NetFarm) Steps(plan string, met func(e farm.Event)) Program {
	f.T.Helper()
	return f.stepsOf([]string{"move", plan, "-C", f.Dir}, met)
}

// stepsOf is steps of any command that moves.
func (f *NetFarm) stepsOf(args []string, met func(e farm.Event)) Program {
	f.T.Helper()
	before, _ := RunSoFar(f.Dir)
	ended := make(chan Program, 1)
	go func() { ended <- RunProgram(f.T, "", args...) }()
	seen := map[string]bool{}
	// Some forty steps, each of which may wait for a machine that is away.
	for limit := time.Now().Add(20 * time.Minute); time.Now().Before(limit); {
		select {
		case p := <-ended:
			return p
		case <-time.After(30 * time.Millisecond):
		}
		run, events := RunSoFar(f.Dir)
		if run == before {
			continue
		}
		for _, e := range events {
			key := fmt.Sprint(e.Pair, e.Shard, e.Side, e.Step)
			if e.Kind == farm.StepStarted && !seen[key] {
				seen[key] = true
				met(e)
			}
		}
	}
	_, last := RunSoFar(f.Dir)
	for _, e := range last[max(0, len(last)-20):] {
		f.T.Logf("%s %s %s %s %s", e.Time.Format(time.TimeOnly), e.Side, e.Step, e.Kind, e.Text)
	}
	f.T.Fatal("the move does not end; above is what it said last")
	return Program{}
}

// RunSoFar is the newest move and what it has told.
func RunSoFar(dir string) (id string, events []farm.Event) { return RunOfKind(dir, "move") }

// RunOfKind is the newest run of a kind and what it has told.
func RunOfKind(dir, kind string) (id string, events []farm.Event) {
	kept, err := keptIn(dir)
	if err != nil {
		return "", nil
	}
	defer kept.Close()
	run, err := kept.LatestRun(kind)
	if err != nil {
		return "", nil
	}
	if events, _, err = kept.Events(run.ID, 0); err != nil {
		return "", nil
	}
	return run.ID, events
}

// IsOpen reports whether the newest run of a kind has not ended.
func IsOpen(dir, kind string) bool {
	kept, err := keptIn(dir)
	if err != nil {
		return false
	}
	defer kept.Close()
	run, err := kept.LatestRun(kind)
	return err == nil && run.Ended.IsZero()
}

// mustEndWell: the move has come to its end and the ledger is whole.
func (f *NetFarm) MustEndWell(p Program) {
	f.T.Helper()
	if p.Code != ExitFine {
		f.T.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
}
