package roll

import (
	"slices"
	"time"

	"stowage/act"
	"stowage/swing"
)

// steps are those of a side that is held out, in order.
func steps(out, in []string) []swing.Step[*visit] {
	preflight := swing.Step[*visit]{
		Name:    "preflight",
		Needs:   "the pair serves, and its servers follow each other as farm.yaml says",
		Effect:  "none",
		Known:   "preflight finds no blocker; the side's variables are remembered",
		Timeout: 2 * time.Minute,
		Do:      act.Method((*visit).preflight),
	}
	back := swing.Step[*visit]{
		Name:    StepReturn,
		Needs:   "a person has finished with the server",
		Effect:  "the server replicates again; it still serves no clients",
		Known:   "the server answers and follows its twin",
		Timeout: 24 * time.Hour,
		Do:      act.Method((*visit).comeBack),
	}
	all := append([]swing.Step[*visit]{preflight}, swing.StepsWith(back, out, in)...)
	// A server that is not what it was gets no clients: what fails from the return on leaves the side out, and the next attempt goes on from there.
	for n := slices.IndexFunc(all, func(s swing.Step[*visit]) bool { return s.Name == StepReturn }); n < len(all); n++ {
		all[n].NoReturn, all[n].Undo, all[n].Undone = true, nil, ""
	}
	return all
}
