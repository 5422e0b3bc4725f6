package move

import (
	"context"
	"slices"
	"sync"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
)

// Survey asks everything of every pair of a job, before anything is touched.
func (m *Mover) Survey(ctx context.Context, job engine.Job) ([]farm.Finding, error) {
	polite := *m
	polite.Machines = greeting{m.Machines, ctx}
	m = &polite
	found := make([][]farm.Finding, len(job.Lanes))
	var asked sync.WaitGroup
	tokens := make(chan struct{}, surveysAtOnce)
	for n, lane := range job.Lanes {
		tokens <- struct{}{}
		asked.Go(func() {
			defer func() { <-tokens }()
			found[n] = m.surveyLane(ctx, job.ID, lane)
		})
	}
	asked.Wait()
	out := []farm.Finding{m.Router.Guarantee().Finding()}
	if ctx.Err() != nil {
		return out, &farm.Error{Op: "preflight", Err: farm.ErrInterrupted}
	}
	return append(out, slices.Concat(found...)...), nil
}

// greeting greets every machine before it is asked anything.
type greeting struct {
	Machines
	ctx context.Context //nolint:containedctx // of the survey, in whose place it stands
}

func (g greeting) Host(name farm.HostName) (host.Host, error) {
	if err := g.Greet(g.ctx, name); err != nil {
		return nil, err
	}
	return g.Machines.Host(name)
}

// surveysAtOnce is how many pairs are asked side by side. An agent is asked
// through the engine: one pair after the other would take a large farm minutes.
const surveysAtOnce = 8

func (m *Mover) surveyLane(ctx context.Context, job string, lane engine.Lane) []farm.Finding {
	if ctx.Err() != nil {
		return nil
	}
	// Of a pair that moves both sides, the second side's twin does not
	// exist yet; it is asked when its turn comes. What is wrong with its own
	// option file would only be found half way then.
	part := lane.Parts[0]
	found, err := m.surveyPart(ctx, engine.Call{Job: job, Subject: part.Subject, Args: part.Args})
	for _, next := range lane.Parts[1:] {
		if err == nil {
			part = next
			var more []farm.Finding
			more, err = m.surveyLater(ctx, engine.Call{Job: job, Subject: next.Subject, Args: next.Args})
			found = append(slices.DeleteFunc(found, func(f farm.Finding) bool { // said of it as the twin
				return slices.ContainsFunc(more, func(x farm.Finding) bool { return x.Subject == f.Subject && x.Text == f.Text })
			}), more...)
		}
	}
	if err == nil {
		return found
	}
	// One pair that cannot be asked must not hide what others say.
	remedy := farm.Hint(err)
	if remedy == "" {
		remedy = "stowage inventory shows which servers answer"
	}
	f := blocker(part.Subject, err.Error(), remedy)
	f.Check = "can-be-asked"
	return []farm.Finding{f}
}

// surveyLater asks what can be asked of a part whose turn comes later: how the
// instance that it replaces starts.
func (m *Mover) surveyLater(ctx context.Context, c engine.Call) ([]farm.Finding, error) {
	w, err := Kind(m).Open(c)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	r, ok := w.(interface {
		surveyOptions(context.Context) ([]farm.Finding, error)
	})
	if !ok {
		return nil, nil
	}
	return r.surveyOptions(ctx)
}

func (m *Mover) surveyPart(ctx context.Context, c engine.Call) ([]farm.Finding, error) {
	w, err := Kind(m).Open(c)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.Survey(ctx)
}
