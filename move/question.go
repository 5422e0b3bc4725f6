package move

import (
	"context"
	"fmt"

	"stowage/farm"
)

// question is one thing asked before something is moved. T is what the
// runbook's questions look at.
type question[T any] struct {
	name string
	look func(context.Context, T) ([]farm.Finding, error)
}

// ask asks all questions, in their order; each finding says which one it
// answers.
func ask[T any](ctx context.Context, questions []question[T], about T) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, q := range questions {
		found, err := q.look(ctx, about)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", q.name, err)
		}
		for i := range found {
			found[i].Check = q.name
		}
		out = append(out, found...)
	}
	return out, nil
}

// mayGoOn asks everything of a part once more, right before it is touched; the
// first blocker refuses it.
func mayGoOn[T work](ctx context.Context, w T) error {
	findings, err := w.survey(ctx)
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
