package act

import (
	"context"
	"fmt"

	"stowage/farm"
)

// Question is one thing asked before something is moved. T is what the
// runbook's questions look at.
type Question[T any] struct {
	Name string
	Look func(context.Context, T) ([]farm.Finding, error)
}

// Ask asks all questions, in their order; each finding says which one it
// answers.
func Ask[T any](ctx context.Context, questions []Question[T], about T) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, q := range questions {
		found, err := q.Look(ctx, about)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", q.Name, err)
		}
		for i := range found {
			found[i].Check = q.Name
		}
		out = append(out, found...)
	}
	return out, nil
}

// MayGoOn asks everything of a part once more, right before it is touched; the
// first blocker refuses it.
func MayGoOn[T Work](ctx context.Context, w T) error {
	findings, err := w.Survey(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Severity == farm.Blocker {
			return &farm.Error{Op: "preflight", Subject: f.Subject, Err: fmt.Errorf("%w: %s (%s)", farm.ErrRefused, f.Text, f.Check), Hint: f.Remedy}
		}
	}
	return nil
}
