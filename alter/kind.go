package alter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/alter/plan"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/sides"
	"stowage/swing"
)

// Name is the name of the kind.
const Name = "alter"

// The steps that are of this act alone.
const (
	StepAlter    = "alter"  // the tables of the side that leaves first
	StepHold     = "hold"   // its twin applies nothing of it
	StepSwitch   = "switch" // all clients go to it
	StepTwin     = "twin-alter"
	StepFree     = "release" // the twin applies what it has received
	StepRows     = "compare"
	StepChange   = "change"   // of servers that serve
	StepOthers   = "replicas" // further replicas leave and are changed
	StepOthersIn = "replicas-in"
	StepWave     = "wave" // before which a person is asked whether the next wave may begin
)

// Act is the carrying out of runs of kind alter in a session.
type Act struct{ sides.Opener }

// NewAct makes changing tables what an act carries out, in a session that is prepared.
func NewAct(bare *act.Act, settings swing.Settings) *Act {
	a := &Act{sides.Opener{Act: bare, Settings: settings, Editor: &host.Editor{}}}
	a.Kind = Kind(a)
	a.WayBack = a.wayBack
	return a
}

// replicaAlone is the runbook of a further replica of a pair with one writer.
const replicaAlone plan.Way = "apart-replica"

// betweenWaves is the runbook of a part that waits for a person.
const betweenWaves plan.Way = "wave"

// Kind is changing tables. That of an Act that is nil can be looked at and not carried out.
func Kind(a *Act) act.Kind {
	book := func(w plan.Way, steps []swing.Step[*work]) act.Runbook {
		last := &steps[len(steps)-1]
		do := last.Do
		last.Do = func(ctx context.Context, w *work) error {
			if err := do(ctx, w); err != nil {
				return err
			}
			return w.done()
		}
		return act.NewRunbook(string(w), steps, func(c engine.Call, s act.Step, beat func(string)) (*work, error) { return a.work(c, s, beat) })
	}
	return act.Kind{
		Name: Name,
		Runbooks: []act.Runbook{
			book(plan.Apart, apart(swing.OutPhases, swing.InPhases, swing.OutPhases, swing.InPhases)),
			book(plan.Held, held(swing.OutPhases, swing.InPhases, swing.ExchangePhases, nil)),
			book(plan.Apart+plan.OneWriter, apart(swing.FollowerOut, swing.FollowerIn, swing.StepdownOut, swing.StepdownIn)),
			book(plan.Held+plan.OneWriter, held(swing.FollowerOut, swing.StepdownIn, swing.StepdownOut, swing.FollowerIn)),
			book(plan.HeldReplicas, withOthers(held(swing.FollowerOut, swing.StepdownIn, swing.StepdownOut, swing.FollowerIn))),
			book(replicaAlone, alone(swing.FollowerOut, swing.FollowerIn)),
			book(plan.Direct, whileServing(true)),
			book(plan.Logged, whileServing(false)),
			act.NewRunbook(string(betweenWaves), []swing.Step[*wave]{{
				Name: StepWave, Needs: "the wave before has ended", Effect: "none", Known: "a person has let the next wave begin", Timeout: time.Minute,
				Do: func(context.Context, *wave) error { return nil },
			}}, func(c engine.Call, s act.Step, beat func(string)) (*wave, error) {
				t, err := a.Conductor.Task(c, s, beat, &struct{}{}, nil)
				return &wave{t}, err
			}),
		},
		Part:  "pair",
		Stuck: "the side that is out stays out, its twin serves all clients; look at both servers, remedy the cause, then: stowage resume",
	}
}

// wave is what the step between two waves acts on: nothing.
type wave struct{ act.Task }

func (*wave) Survey(context.Context) ([]farm.Finding, error) { return nil, nil }
func (*wave) Remember() json.RawMessage                      { return nil }
func (*wave) Close()                                         {}

// half is one side in the steps that package swing composes.
type half struct {
	*work
	dance swing.Dance
}

// TheSwing lets the steps of package swing work on a half.
func (h half) TheSwing() swing.Dance { return h.dance }

// of makes a step of one half one of the whole pair.
func of(which func(*work) half, prefix string, s swing.Step[half]) swing.Step[*work] {
	t := swing.Step[*work]{Name: prefix + s.Name, Needs: s.Needs, Effect: s.Effect, Known: s.Known, Undone: s.Undone, NoReturn: s.NoReturn, Phases: s.Phases, Timeout: s.Timeout}
	t.Do = func(ctx context.Context, w *work) error { return s.Do(ctx, which(w)) }
	if s.Undo != nil {
		t.Undo = func(ctx context.Context, w *work) error { return s.Undo(ctx, which(w)) }
	}
	return t
}

func first(w *work) half  { return half{w, w.first.Dance} }
func second(w *work) half { return half{w, w.second.Dance} }

// twin begins the names of the steps of the side that leaves second.
const twin = "twin-"

// leaves are the steps of a side that leaves, is altered and returns; alter is what is done while it is out.
func leaves(which func(*work) half, prefix string, out, in []string, alter swing.Step[half]) []swing.Step[*work] {
	var steps []swing.Step[*work]
	for _, s := range swing.StepsWith(alter, out, in) {
		steps = append(steps, of(which, prefix, s))
	}
	return steps
}

var preflight = swing.Step[*work]{
	Name:    "preflight",
	Needs:   "the pair serves, and its servers follow each other as farm.yaml says",
	Effect:  "none",
	Known:   "preflight finds no blocker; tables are as the plan has them; what the sides are is remembered",
	Timeout: 10 * time.Minute,
	Do:      act.Method((*work).preflight),
}

func alterOf(which func(*work) half) swing.Step[half] {
	side := func(h half) *side {
		if which(h.work).dance == h.work.first.Dance {
			return h.work.first
		}
		return h.work.second
	}
	return swing.Step[half]{
		Name:    StepAlter,
		Needs:   "the side serves no clients",
		Effect:  "its tables are changed, outside of the binary log",
		Known:   "the server defines each table as the plan wants it",
		Undone:  "its tables are defined as before; values that the change has dropped are copied back from the twin",
		Phases:  AlterPhases,
		Timeout: 15 * 24 * time.Hour,
		Do:      func(ctx context.Context, h half) error { return h.alter(ctx, side(h)) },
		Undo:    func(ctx context.Context, h half) error { return h.alterBack(ctx, side(h)) },
	}
}

var compareRows = swing.Step[*work]{
	Name:    StepRows,
	Needs:   "both sides have the new tables; one of them serves no clients",
	Effect:  "none",
	Known:   "every row of the changed shards is equal on both sides, at one position",
	Timeout: 15 * 24 * time.Hour,
	Do:      act.Method((*work).compare),
}

// alone are the steps of a further replica.
func alone(out, in []string) []swing.Step[*work] {
	return slices.Concat([]swing.Step[*work]{preflight}, leaves(first, "", out, in, alterOf(first)))
}

// apart are those of two sides that leave one after the other.
func apart(out, in, twinOut, twinIn []string) []swing.Step[*work] {
	then := leaves(second, twin, twinOut, twinIn, alterOf(second))
	at := slices.IndexFunc(then, func(s swing.Step[*work]) bool { return s.Name == twin+"check" })
	return slices.Concat(alone(out, in), slices.Insert(then, at, compareRows))
}

// held are those of two sides of which the second applies nothing until its tables are changed. in is how it returns; replicaIn, where there is one, how the first returns to the list of
// replicas at the end.
func held(out, in, exchange, replicaIn []string) []swing.Step[*work] {
	steps := alone(out, replicaIn)
	back := steps[len(steps)-1] // "in" of the first
	steps = append(steps[:len(steps)-1],
		swing.Step[*work]{
			Name:    StepHold,
			Needs:   "the side that is out is altered, caught up and warm",
			Effect:  "its twin receives what it writes and does not apply it, not even after a restart",
			Known:   "the twin's applier is stopped, and its option file says so",
			Undone:  "the twin applies again",
			Timeout: 10 * time.Minute,
			Do:      act.Method((*work).hold),
			Undo:    act.Method((*work).letGo),
		},
		swing.Step[*work]{
			Name:    StepSwitch,
			Needs:   "the twin applies nothing; both are within a few transactions of each other",
			Effect:  "all clients of the pair are served by the altered side; the twin takes no writes",
			Known:   "routing shows the altered side for all slots",
			Undone:  "nothing, where no client was sent; what clients have written into new columns cannot be taken back",
			Phases:  exchange,
			Timeout: time.Hour,
			Do:      act.Method((*work).switchOver),
			Undo:    act.Method((*work).switchBack),
		})
	then := leaves(second, twin, nil, in, alterOf(second))[1:] // its clients have left already
	at := slices.IndexFunc(then, func(s swing.Step[*work]) bool { return s.Name == twin+"catch-up" })
	then = slices.Insert(then, at, swing.Step[*work]{
		Name:    StepFree,
		Needs:   "the twin's tables are changed",
		Effect:  "the twin applies what it has received",
		Known:   "replication runs both ways, with the settings of before",
		Timeout: 30 * time.Minute,
		Do:      act.Method((*work).release),
	})
	at = slices.IndexFunc(then, func(s swing.Step[*work]) bool { return s.Name == twin+"check" })
	then = slices.Insert(then, at, compareRows)
	if replicaIn != nil {
		then = append(then, back)
	}
	for n := range then {
		// Clients have written rows of the new shape: there is no way back.
		then[n].NoReturn, then[n].Undo, then[n].Undone = true, nil, ""
	}
	return append(steps, then...)
}

// whileServing are those of servers that are changed while clients use them: each of them, or the one that takes the writes.
func whileServing(each bool) []swing.Step[*work] {
	where := "on the server that takes the writes; replicas get it through the binary log"
	if each {
		where = "on each side, outside of the binary log"
	}
	return []swing.Step[*work]{preflight, {
		Name:    StepChange,
		Needs:   "the server does it without rebuilding the table",
		Effect:  "the tables are changed " + where + "; a statement that has to wait for a table gives up after a second and comes again",
		Known:   "every server of the pair defines each table as the plan wants it",
		Undone:  "the tables are defined as before, where that loses nothing",
		Timeout: 24 * time.Hour,
		Do:      act.Method((*work).change),
		Undo:    act.Method((*work).changeBack),
	}}
}

// border gives the borders of a side's swing the names of this act's steps: pairs of a step's name there, and here.
func (w *work) border(names ...string) func(string) error {
	return func(point string) error {
		for n := 0; n < len(names); n += 2 {
			if was := " " + names[n] + "/"; strings.Contains(point, was) {
				point = strings.Replace(point, was, " "+names[n+1]+"/", 1)
				break
			}
		}
		return w.AtBorder(point)
	}
}

// secondOut is the step in which the clients of the second side leave it.
func (w *work) secondOut() string {
	if w.order.isHeld() {
		return StepSwitch
	}
	return twin + "out"
}

func unknownWay(w plan.Way) error { return fmt.Errorf("this version of Stowage knows no way %q", w) }
