package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/farm"
	"stowage/session"
	"stowage/store"
)

func (a *app) approveCommand() *cobra.Command {
	lane, ahead, forward := "", false, false
	cmd := &cobra.Command{
		Use: "approve [STEP]", Short: "Let sides go on that wait for a person", Args: args(cobra.MaximumNArgs(1)),
		Long: `Lets sides go on that wait for a person: before STEP (out, retire), or before any. It approves
what waits now, and nothing that comes there later, unless --ahead is given. --lane: only
that pair, side or shard, with --ahead too.
Nothing times out while it waits.

A shard whose way back is lost (someone changed a table at its new place during the soak)
waits for a person, too, and only --without-way-back lets it go on: the soak ends,
its last step is approved, and it settles where it is. --reason goes to the trail.

` + exitHelp,
		Example: "  stowage approve\n  stowage approve retire --lane dbshard007\n  stowage approve out --ahead\n" +
			"  stowage approve --without-way-back --reason \"the column has to stay\"",
		RunE: func(c *cobra.Command, given []string) error {
			step := strings.Join(given, "")
			if ahead && step == "" {
				return usage(c, errors.New("--ahead wants to know before which step"))
			}
			if forward && (ahead || step != "") {
				return usage(c, errors.New("--without-way-back is about no step: give it alone, or with --lane and --reason"))
			}
			if forward {
				return a.goForward(lane)
			}
			return a.steerOpen(func(d *session.Session) (steered, error) {
				run, passed, err := act.Approve(d.Store, a.run, step, lane, ahead, a.terms.Reason)
				s := steered{Run: run.ID, Verb: "approve", Approved: passed, PID: act.Carrier(d.Workspace, run), Text: approvedText(passed, step, lane, ahead)}
				if err == nil && len(passed) == 0 && !ahead {
					err = a.nothingToApprove(d, run)
				}
				return s, err
			})
		},
	}
	cmd.Flags().BoolVar(&forward, "without-way-back", false, "let shards settle whose way back is lost")
	cmd.Flags().StringVar(&lane, "lane", "", "only this pair, this side of it (dbshard007/B), or this shard")
	cmd.Flags().BoolVar(&ahead, "ahead", false, "and whatever comes to that step later, of --lane or of all")
	return cmd
}

// nothingToApprove says what waits instead.
func (a *app) nothingToApprove(d *session.Session, run store.Run) error {
	hint := "stowage status; --ahead approves a step before anything has come to it"
	now, err := act.SteeringOf(d.Store, run.ID)
	for _, w := range now.Lost {
		if w.IsOpen() {
			hint = fmt.Sprintf("%s waits because its way back is lost; to let it settle without one: stowage approve --without-way-back", w.Part)
		}
	}
	return errors.Join(err, &farm.Error{Op: "approve", Subject: run.ID, Err: fmt.Errorf("%w: no part waits for an approval there", farm.ErrRefused), Hint: hint})
}

// goForward lets shards settle whose way back is lost.
func (a *app) goForward(part string) error {
	return a.steerOpen(func(d *session.Session) (steered, error) {
		run, ways, err := act.Forward(d.Store, a.run, part, a.terms.Reason)
		s := steered{Run: run.ID, Verb: "approve", Forward: ways, PID: act.Carrier(d.Workspace, run)}
		for _, w := range ways {
			s.Text += fmt.Sprintf("%s settles where it is, without a way back; ", w.Part)
		}
		s.Text = strings.TrimSuffix(s.Text, "; ")
		if now, readErr := act.SteeringOf(d.Store, run.ID); readErr == nil && now.Paused != nil {
			s.Text += fmt.Sprintf("\n  but the move is paused %s: stowage resume", now.Paused)
		}
		return s, err
	})
}

func approvedText(passed []act.Approval, step, lane string, ahead bool) string {
	words := make([]string, 0, len(passed))
	for _, g := range passed {
		words = append(words, g.Part+" before "+g.Step)
	}
	if ahead {
		words = append(words, "what comes to "+step+" later"+ofLane(lane))
	}
	return "approved: " + strings.Join(words, ", ")
}

func ofLane(lane string) string {
	if lane == "" {
		return ""
	}
	return ", of " + lane
}

// writeForward names what goes on, or has settled, without a way back.
func writeForward(w io.Writer, ways []act.LostWay) {
	for _, l := range ways {
		if l.Forward != nil {
			fmt.Fprintf(w, "  %s: %s\n", l.Part, l)
		}
	}
}
