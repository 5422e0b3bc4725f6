package roll

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/roll/agenda"
	"stowage/sides"
	"stowage/store"
)

// rollTold is a store into which a test tells of rolls, as a roll in another process does.
type rollTold struct {
	t     *testing.T
	store *store.Store
	now   time.Time
	watch Watch
}

func tellOfRolls(t *testing.T) *rollTold {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &rollTold{t: t, store: s, now: time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC)}
}

func (x *rollTold) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// begin is a run of hosts; number is that of its orders, the same in what continues with another run.
func (x *rollTold) begin(run, number string, hosts ...farm.HostName) {
	x.t.Helper()
	job := engine.Job{ID: run, Kind: Roll}
	for _, h := range hosts {
		args, err := json.Marshal(x.order(number, h))
		x.check(err)
		job.Lanes = append(job.Lanes, engine.Lane{Name: string(h), Parts: []engine.Part{{Subject: string(h), Args: args}}})
	}
	x.now = x.now.Add(time.Minute)
	x.check(x.store.PutDocument("job", run, x.now, job))
	x.check(x.store.PutRun(store.Run{ID: run, Kind: Roll, Subject: "roll-001", State: store.Running, Started: x.now}))
}

func (x *rollTold) order(number string, h farm.HostName) hostOrder {
	return hostOrder{Plan: "roll-001", Made: "today", Host: h, Number: number, Takes: time.Minute, Work: agenda.Work{Steps: []agenda.Step{{Restart: true}}},
		Sides: []sides.Order{{Pair: farm.PairName("p-" + h), Side: farm.A, Twin: sides.Place{At: farm.Side{Host: "twin"}}}}}
}

func (x *rollTold) tell(run string, h farm.HostName, kind farm.EventKind, step, text string) {
	x.t.Helper()
	r := x.store.Record()
	x.now = x.now.Add(time.Second)
	r.Add(farm.Event{Time: x.now, Run: run, Host: h, Kind: kind, Step: step, Text: text, Pair: farm.PairName("p-" + h), Side: farm.A, Millis: 12})
	x.check(r.Close())
}

func (x *rollTold) rolled(number string, h farm.HostName, out, back bool) {
	x.t.Helper()
	r := Rolled{Done: []Did{{What: "restart its instances"}}}
	if out {
		r.Out = x.now
	}
	if back {
		r.Back = x.now.Add(20 * time.Second)
	}
	x.check(x.store.PutDocument(rolledDocument, x.order(number, h).key(), x.now, r))
}

func (x *rollTold) end(run string, h farm.HostName, end engine.End) {
	x.t.Helper()
	x.check(x.store.BeginLane(run, string(h)))
	x.check(x.store.EndLane(run, string(h), engine.LaneResult{Name: string(h), End: end, Step: StepWork, Error: "it is not as it must be"}))
}

// stands are read by the watch of the test, which has read before, and by a new one: both say the same.
func (x *rollTold) stands(want map[farm.HostName]Stand) Progress {
	x.t.Helper()
	var p Progress
	for _, w := range []*Watch{&x.watch, {}} {
		var err error
		p, err = w.Of(x.store)
		x.check(err)
		if len(p.Hosts) != len(want) {
			x.t.Errorf("%d hosts, want %d", len(p.Hosts), len(want))
		}
		for _, h := range p.Hosts {
			if h.Stand != want[h.Host] {
				x.t.Errorf("%s is %s, want %s (%+v)", h.Host, h.Stand, want[h.Host], h)
			}
		}
	}
	return p
}

// TestWhereHostsStand follows a roll: hosts go on, one is stuck, what went on with it brings it back, and the same plan rolls the rest.
func TestWhereHostsStand(t *testing.T) {
	x := tellOfRolls(t)
	if _, err := x.watch.Of(x.store); !errors.Is(err, store.ErrNone) {
		t.Fatalf("no roll was begun: %v", err)
	}
	x.begin("roll-1", "n1", "db1", "db2", "db3", "db4")
	x.stands(map[farm.HostName]Stand{"db1": Waiting, "db2": Waiting, "db3": Waiting, "db4": Waiting})

	x.tell("roll-1", "db1", farm.StepStarted, StepWindow, "")
	x.tell("roll-1", "db1", farm.StepWaiting, StepWindow, "no window is long enough")
	if p := x.stands(map[farm.HostName]Stand{"db1": Waiting, "db2": Waiting, "db3": Waiting, "db4": Waiting}); !p.Hosts[0].Holds || p.Hosts[0].Text != "no window is long enough" {
		t.Errorf("what it waits for is not known: %+v", p.Hosts[0])
	}
	x.tell("roll-1", "db1", farm.StepStarted, "out", "")
	x.tell("roll-1", "db1", farm.GateOpened, "out", "")
	x.stands(map[farm.HostName]Stand{"db1": Leaving, "db2": Waiting, "db3": Waiting, "db4": Waiting})
	x.rolled("n1", "db1", true, false)
	x.tell("roll-1", "db1", farm.StepStarted, StepWork, "")
	x.tell("roll-1", "db2", farm.StepStarted, "warm", "")
	p := x.stands(map[farm.HostName]Stand{"db1": AtWork, "db2": Returning, "db3": Waiting, "db4": Waiting})
	if !p.Hosts[0].IsOut() || len(p.Pauses) != 1 || p.Pauses[0].Pair != "p-db1" || p.Pauses[0].Millis != 12 || p.Hosts[0].Sides[0].Twin != "twin" {
		t.Errorf("%+v", p)
	}
	x.rolled("n1", "db2", true, true)
	x.end("roll-1", "db1", engine.EndStuck)
	x.end("roll-1", "db2", engine.EndDone)
	x.tell("roll-1", "db3", farm.StepStarted, "out", "")
	x.end("roll-1", "db3", engine.EndUndone)
	p = x.stands(map[farm.HostName]Stand{"db1": Stuck, "db2": Done, "db3": Undone, "db4": Waiting})
	if p.Hosts[0].Text != "it is not as it must be" || p.Hosts[0].Step != StepWork || !p.Hosts[0].IsOut() || p.Hosts[1].IsOut() || !p.Ended.IsZero() {
		t.Errorf("%+v", p.Hosts)
	}
	result, err := json.Marshal(act.Outcome{Run: "roll-1", Lanes: []engine.LaneResult{{Name: "db1", End: engine.EndStuck, Step: StepWork, Error: "it is not as it must be"}, {Name: "db2", End: engine.EndDone}, {Name: "db3", End: engine.EndUndone}, {Name: "db4", End: engine.EndNotStarted}}})
	x.check(err)
	x.check(x.store.PutRun(store.Run{ID: "roll-1", Kind: Roll, Subject: "roll-001", State: store.Failed, Started: x.now, Ended: x.now, Result: string(result)}))
	x.stands(map[farm.HostName]Stand{"db1": Stuck, "db2": Done, "db3": Undone, "db4": Waiting})

	x.begin("roll-2", "n1", "db1") // continues with the stuck one
	x.tell("roll-2", "db1", farm.StepStarted, StepReturn, "")
	x.stands(map[farm.HostName]Stand{"db1": Returning, "db2": Done, "db3": Undone, "db4": Waiting})
	x.rolled("n1", "db1", true, true) // killed before it could tell: the events were lost, and what is kept counts
	x.tell("roll-2", "db1", farm.StepProgress, "in", "100 %")
	x.stands(map[farm.HostName]Stand{"db1": Done, "db2": Done, "db3": Undone, "db4": Waiting})

	x.begin("roll-3", "n3", "db3", "db4") // the plan once more
	x.tell("roll-3", "db4", farm.StepStarted, StepWork, "")
	p = x.stands(map[farm.HostName]Stand{"db1": Done, "db2": Done, "db3": Waiting, "db4": AtWork})
	if len(p.Runs) != 3 || p.Runs[2].ID != "roll-3" || p.Plan != "roll-001" || p.Takes != time.Minute {
		t.Errorf("%+v", p)
	}
}
