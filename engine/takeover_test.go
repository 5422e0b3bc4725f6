package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
)

// tended is the one activity of a lane that is pending.
func tended(t *testing.T, c *Client, lane string) *workflow.PendingActivityInfo {
	t.Helper()
	d, err := c.temporal.DescribeWorkflowExecution(t.Context(), lane, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.GetPendingActivities()); n != 1 {
		t.Fatalf("%s has %d pending activities, want 1", lane, n)
	}
	return d.GetPendingActivities()[0]
}

// What a process had begun that was killed need not wait for its heartbeats to be missed: whoever knows that it is dead says so.
func TestTakeOverEndsWhatADeadProcessHadBegun(t *testing.T) {
	s, c := startEngine(t)
	for try := 1; ; try++ { // a machine that stood still for five seconds has had the heartbeats missed
		journal := filepath.Join(t.TempDir(), "journal")
		job := oneLane(fmt.Sprint("orphaned-", try), orders{Sleep: time.Hour, Journal: journal}, "long")
		if err := begin(t, c, job); err != nil {
			t.Fatal(err)
		}
		w := play(t, "worker", keysOf(s)...)
		awaitLines(t, journal, 1)
		if a := tended(t, c, job.ID+"/lane"); a.GetState() != enums.PENDING_ACTIVITY_STATE_STARTED {
			t.Fatalf("the step is %s, want started", a.GetState())
		}
		_ = w.Process.Kill()
		_ = w.Wait()
		ended, err := c.TakeOver(t.Context(), job.ID, lanesOf(job))
		if err != nil {
			t.Fatal(err)
		}
		a := tended(t, c, job.ID+"/lane")
		converter.DecodeCommonFailureAttributes(c.seal, a.GetLastFailure())
		if ended == 0 && a.GetLastFailure().GetTimeoutFailureInfo() != nil && try < 5 {
			continue
		}
		if why := a.GetLastFailure().GetMessage(); ended != 1 || a.GetState() != enums.PENDING_ACTIVITY_STATE_SCHEDULED || !strings.Contains(why, "has died") {
			t.Fatalf("ended %d; the step is %s, its last failure %q", ended, a.GetState(), why)
		}
		return
	}
}

// Only what is known to be dead is ended: not a step of another queue, whose process nobody has asked about, and none of our own.
func TestTakeOverLeavesTheLivingAlone(t *testing.T) {
	s, c := startEngine(t)
	begun, over := make(chan string, 8), make(chan struct{})
	defer close(over)
	stay := &obeyer{hook: func(ctx context.Context, call Call) error {
		begun <- call.Subject
		select {
		case <-over:
		case <-ctx.Done():
		}
		return ctx.Err()
	}}
	serve(t, c, "", stay, 4)
	serve(t, c, "elsewhere", stay, 4)
	job := oneLane("living", orders{}, "own")
	job.Lanes = append(job.Lanes, oneLane("", orders{}, "far").Lanes...)
	job.Lanes[1].Name, job.Lanes[1].Parts[0].Subject, job.Lanes[1].Parts[0].Steps[0].Queue = "other", "o", "elsewhere"
	if err := begin(t, c, job); err != nil {
		t.Fatal(err)
	}
	<-begun
	<-begun
	if ended, err := c.TakeOver(t.Context(), job.ID, lanesOf(job)); ended != 0 || err != nil {
		t.Errorf("ended %d, error %v", ended, err)
	}
	// To a client of another process the own step is an orphan, and the far one is not.
	late, err := Dial(t.Context(), s.Address(), c.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if ended, err := late.TakeOver(t.Context(), job.ID, lanesOf(job)); ended != 1 || err != nil {
		t.Errorf("ended %d, error %v; want the one of the default queue", ended, err)
	}
}

func TestTakeOverOfNothing(t *testing.T) {
	_, c := startEngine(t)
	if ended, err := c.TakeOver(t.Context(), "never-begun", []string{"lane"}); ended != 0 || err != nil {
		t.Errorf("of a job that does not exist: ended %d, error %v", ended, err)
	}
	serve(t, c, "", &obeyer{}, 4)
	job := oneLane("over", orders{}, "one")
	run(t, c, job)
	if ended, err := c.TakeOver(t.Context(), job.ID, lanesOf(job)); ended != 0 || err != nil {
		t.Errorf("of a job that has ended: ended %d, error %v", ended, err)
	}
}
