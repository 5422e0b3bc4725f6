package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// A job that somebody has put into the engine who does not have the workspace's key is not carried out, and stays as it is: it could be
// one of an older Stowage, which has to be able to finish it.
func TestUnsealedJobIsNotCarriedOut(t *testing.T) {
	_, c := startEngine(t)
	d := &obeyer{}
	serve(t, c, "", d, 4)
	job := oneLane("forged", orders{}, "one")
	ids := []string{"forged/old", "forged/lane"}
	for n, id := range ids {
		_, err := c.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: DefaultQueue, WorkflowTaskTimeout: workflowTaskTimeout,
			Memo: map[string]any{memoFormat: []int{1, Format}[n], memoKind: "test"}}, laneWorkflowName, laneInput{Format: Format, Job: "forged", Kind: "test", Lane: job.Lanes[0]})
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, c, oneLane("own", orders{}, "one")) // whoever comes later is served
	for _, id := range ids {
		about, err := c.temporal.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil || about.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			t.Errorf("%s has ended: %v, %v", id, about.GetWorkflowExecutionInfo().GetStatus(), err)
		}
	}
	if _, err := c.Run(t.Context(), job, nil); !errors.Is(err, ErrOlder) {
		t.Errorf("continued: %v, want %v", err, ErrOlder)
	}
	if got := d.names("s"); len(got) != 1 {
		t.Errorf("steps ran: %q, want the one of the own job", got)
	}
}

// A result that the step has not given, sealed or not, leaves the lane unknown: no further step, no undo.
func TestForgedResultDoesNotMoveTheLane(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	for name, forge := range map[string]func(id, activity string) error{
		"unsealed": func(id, activity string) error {
			return c.temporal.CompleteActivityByID(t.Context(), "stowage", id, "", activity, stepOutput{}, nil)
		},
		"of another step": func(id, activity string) error {
			return c.jobs.CompleteActivityByID(t.Context(), "stowage", id, "", activity, stepOutput{Of: stepName{Job: "other", Step: "one"}}, nil)
		},
		"unsealed failure": func(id, activity string) error {
			return c.temporal.CompleteActivityByID(t.Context(), "stowage", id, "", activity, nil, Refuse(errors.New("no")))
		},
		"failure of another step": func(id, activity string) error {
			return c.jobs.CompleteActivityByID(t.Context(), "stowage", id, "", activity, nil, wireError(stepName{Job: "other"}, Permanent(errors.New("no"))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var begun atomic.Bool
			d := &obeyer{hook: func(ctx context.Context, call Call) error {
				if call.Step == "two" {
					begun.Store(true)
					<-ctx.Done()
				}
				return ctx.Err()
			}}
			stop := serve(t, c, "", d, 4)
			defer stop()
			job := oneLane("forged-"+strings.ReplaceAll(name, " ", "-"), orders{}, "one?", "two?", "three?")
			ended := make(chan Result, 1)
			go func() { ended <- run(t, c, job) }()
			waitFor(t, "the step has begun", begun.Load)
			if err := forge(job.ID+"/lane", tended(t, c, job.ID+"/lane").GetActivityId()); err != nil {
				t.Fatal(err)
			}
			r := <-ended
			if l := r.Lanes[0]; l.End != EndUnknown || l.Kind != KindUnknown || !strings.Contains(l.Error, "forged") {
				t.Errorf("%+v", l)
			}
			if got := d.names("s"); len(got) != 2 {
				t.Errorf("steps ran: %q", got)
			}
		})
	}
}

func TestKeyThatOthersReadIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.key")
	key, err := readKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := readKey(path); err != nil || string(again) != string(key) {
		t.Errorf("another key: %v", err)
	}
	for name, harm := range map[string]func() error{
		"mode":  func() error { return os.Chmod(path, 0o640) },
		"short": func() error { return errors.Join(os.Chmod(path, 0o600), os.Truncate(path, 5)) },
		"link":  func() error { return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if _, err := readKey(path); err == nil {
			t.Errorf("taken with a wrong %s", name)
		}
		_ = os.Remove(path)
		if _, err := readKey(path); err != nil {
			t.Errorf("not made anew: %v", err)
		}
	}
}

// What waits for a person is ended by nobody: a success that nobody gave has the step asked again, which is held as before, and a
// failure leaves the lane unknown. (The failure was believed, and the part undone.)
func TestForgedEndOfAWaitMovesNothing(t *testing.T) {
	_, c := startEngine(t)
	p := &patient{at: "two", free: make(chan struct{})}
	serve(t, c, "", p, 4)
	ended := make(chan Result, 1)
	go func() { ended <- run(t, c, oneLane("waits", orders{}, "one?", "two?", "three?")) }()
	waitFor(t, "the lane waits", func() bool { return p.hold.Load() > 0 })
	if err := c.temporal.CompleteActivityByID(t.Context(), "stowage", "waits/lane", "", tended(t, c, "waits/lane").GetActivityId(), nil, nil); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it waits again", func() bool { return p.hold.Load() > 1 })
	if err := c.temporal.CompleteActivityByID(t.Context(), "stowage", "waits/lane", "", tended(t, c, "waits/lane").GetActivityId(), nil, Refuse(errors.New("no"))); err != nil {
		t.Fatal(err)
	}
	if l := (<-ended).Lanes[0]; l.End != EndUnknown || !strings.Contains(l.Error, "forged") {
		t.Errorf("%+v", l)
	}
	if got := p.names("s"); len(got) != 1 {
		t.Errorf("steps ran: %q", got)
	}
}
