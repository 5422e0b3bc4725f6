package main

import (
	"context"
	"fmt"
	"io"

	"stowage/farm"
	"stowage/inventory"
)

// preflightAnswer is what `move PLAN --dry-run` and `move instance --dry-run` print.
type preflightAnswer struct {
	FormatVersion int            `json:"format_version"`
	Plan          string         `json:"plan"`
	Ready         bool           `json:"ready"` // nothing stands in the way
	Blockers      int            `json:"blockers"`
	Warnings      int            `json:"warnings"`
	Notes         int            `json:"notes"`
	Findings      []farm.Finding `json:"findings"`
	Refused       string         `json:"refused,omitempty"` // why, when the act would be

	verb string
}

// moveDry asks everything that a move asks before it begins, and touches nothing.
func (a *app) moveDry(ctx context.Context, plan string) error {
	d, moving, err := a.moving()
	if err != nil {
		return err
	}
	defer d.Close()
	moving.Dry = true
	run, findings, err := moving.Begin(ctx, plan)
	if err != nil && len(findings) == 0 {
		return err // not even asked
	}
	if err == nil && run.ID == "" {
		return a.ended(moveSummary{FormatVersion: 1, Plan: plan, State: "nothing-to-do", Next: []string{"stowage inventory", "stowage report"}}, nil)
	}
	return a.preflightOf("move", plan, findings, err)
}

// preflightOf prints what was asked before an act that was not begun.
func (a *app) preflightOf(verb, plan string, findings []farm.Finding, err error) error {
	out := preflightOfAll(verb, plan, findings, err)
	if printErr := a.emit(out, out.writeText, a.afterDry(err, findings)...); printErr != nil {
		return printErr
	}
	return err
}

// preflightOfAll counts what was asked.
func preflightOfAll(verb, plan string, findings []farm.Finding, err error) preflightAnswer {
	out := preflightAnswer{FormatVersion: 1, verb: verb, Plan: plan, Ready: err == nil, Findings: findings}
	if err != nil {
		out.Refused = err.Error()
	}
	if out.Findings == nil {
		out.Findings = []farm.Finding{}
	}
	for _, f := range findings {
		switch f.Severity {
		case farm.Blocker:
			out.Blockers++
		case farm.Warning:
			out.Warnings++
		default:
			out.Notes++
		}
	}
	return out
}

func (p preflightAnswer) writeText(w io.Writer) error {
	if err := inventory.WriteEach(w, p.Findings); err != nil {
		return err
	}
	word := "it can begin"
	switch {
	case !p.Ready:
		word = "it would be refused"
	case p.Blockers > 0: // each lane is by itself
		word = "what has no blocker can begin"
	}
	_, err := fmt.Fprintf(w, "%s %s: %s, %s, %s: %s; nothing was touched\n", p.verb, p.Plan, farm.Counted(p.Blockers, "blocker"), farm.Counted(p.Warnings, "warning"), farm.Counted(p.Notes, "note"), word)
	return err
}
