package act

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/engine"
	"stowage/farm"
)

// book is what the store says is to be done: the parts of the run's job, by job, lane and subject. A step that it does not hold is
// refused, whoever asks for it; and which approvals lie behind a step is read here, not believed from the way that led to it.
type book map[[3]string]engine.Part

// bookOf is the book of a job that was read from the store.
func bookOf(job engine.Job) book {
	b := book{}
	for _, stage := range Stages(job) {
		for _, lane := range stage.Lanes {
			for _, part := range lane.Parts {
				part.Args = asSent(part.Args)
				b[[3]string{stage.ID, lane.Name, part.Subject}] = part
			}
		}
	}
	return b
}

// asSent is how arguments look when they have crossed the engine.
func asSent(args json.RawMessage) json.RawMessage {
	if sent, err := json.Marshal(args); err == nil && len(args) > 0 {
		return sent
	}
	return args
}

// Knows implements engine.Knower.
func (m *Conductor) Knows(c engine.Call) error {
	if m.known == nil { // no act: a test that calls steps by itself
		return nil
	}
	err := m.known.holds(c)
	if err != nil {
		m.refused(c.Step, "a step that this workspace did not ask for: "+err.Error())
	}
	return err
}

// AnswerRefused tells of an answer that the agent of a host has not given.
func (m *Conductor) AnswerRefused(on farm.HostName, call string, err error) {
	m.refused("", fmt.Sprintf("an answer to %s that came instead of one to %s: %v", call, on, err))
}

func (m *Conductor) refused(step, what string) {
	if m.Sink != nil {
		m.Sink(farm.Event{Time: time.Now(), Step: step, Kind: farm.Forged, Text: "refused: " + what})
	}
}

func (b book) holds(c engine.Call) error {
	part, ok := b[[3]string{c.Job, c.Lane, c.Subject}]
	switch {
	case !ok:
		return fmt.Errorf("this workspace has begun no job %q with lane %q and part %q", c.Job, c.Lane, c.Subject)
	case !bytes.Equal(asSent(c.Args), part.Args):
		return errors.New("the step's arguments are not those that this workspace has kept")
	case !slices.ContainsFunc(slices.Concat(part.Steps, part.Ahead), func(s engine.Step) bool { return s.Name == c.Step }):
		return fmt.Errorf("part %q of job %q has no step %q", c.Subject, c.Job, c.Step)
	}
	return nil
}

// behind are the steps that come before this one in its part.
func (b book) behind(c engine.Call) (out []string) {
	part := b[[3]string{c.Job, c.Lane, c.Subject}]
	for _, steps := range [][]engine.Step{part.Steps, part.Ahead} {
		n := slices.IndexFunc(steps, func(s engine.Step) bool { return s.Name == c.Step })
		for i := range max(n, 0) {
			out = append(out, steps[i].Name)
		}
		if n >= 0 {
			return out
		}
	}
	return out
}
