package roll

import (
	"context"
	"slices"
	"time"

	"stowage/act"
	"stowage/swing"
)

// StepWork is the step in which what a roll is for is done to a host.
const StepWork = "work"

// StepWindow is the step in which a host waits for a time at which it may be out.
const StepWindow = "window"

// hostSteps are those of a host that is rolled, in order; phases are those of its work, of out and of in.
func hostSteps(phases, out, in []string) []swing.Step[*stay] {
	window := swing.Step[*stay]{
		Name:    StepWindow,
		Needs:   "room for the host beside those that are out",
		Effect:  "none",
		Known:   "a window of the plan is open as long as the host takes",
		Timeout: 15 * 24 * time.Hour,
		Do:      act.Method((*stay).awaitWindow),
	}
	preflight := swing.Step[*stay]{
		Name:    "preflight",
		Needs:   "all pairs of the host serve, and their servers follow each other as farm.yaml says; the host's owner allows the commands",
		Effect:  "none",
		Known:   "preflight finds no blocker; what the sides are is remembered",
		Timeout: 2 * time.Hour, // packages are downloaded
		Do:      act.Method((*stay).preflight),
	}
	work := swing.Step[*stay]{
		Name:    StepWork,
		Needs:   "all sides of the host are out",
		Effect:  "the commands, options and restarts of the plan, each once",
		Known:   "the outcome of each is written down, on the host and here",
		Phases:  phases,
		Timeout: 24 * time.Hour,
		Do:      act.Method((*stay).work),
	}
	back := swing.Step[*stay]{
		Name:    StepReturn,
		Needs:   "the work is done",
		Effect:  "instances that do not run are started; they replicate again, and serve no clients yet",
		Known:   "every server answers and follows its twin",
		Timeout: time.Hour,
		Do:      act.Method((*stay).comeBack),
	}
	all := append([]swing.Step[*stay]{window, preflight}, swing.StepsWith(work, out, in)...)
	at := slices.IndexFunc(all, func(s swing.Step[*stay]) bool { return s.Name == StepWork })
	all = slices.Insert(all, at+1, back)
	for n := range all {
		do := all[n].Do
		switch all[n].Name {
		case "out":
			all[n].Do = func(ctx context.Context, s *stay) error {
				return s.note(do(ctx, s), func(x *Rolled) { x.Out = orNow(x.Out) })
			}
		case "check":
			all[n].Do = func(ctx context.Context, s *stay) error { return s.healthy(ctx, do(ctx, s)) }
		case "in":
			all[n].Do = func(ctx context.Context, s *stay) error { return s.returned(do(ctx, s)) }
		}
		// What was done to a host cannot be taken back, and one that is not what it was gets no clients: a failure leaves it out.
		if n >= at {
			all[n].NoReturn, all[n].Undo, all[n].Undone = true, nil, ""
		}
	}
	return all
}

func orNow(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now().UTC()
	}
	return t
}
