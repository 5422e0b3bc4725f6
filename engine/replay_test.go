package engine

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
)

var update = flag.Bool("update", false, "record the histories in testdata anew; only right together with a new Format")

// TestOldHistoriesStillReplay: a job started by an older Stowage must be interpreted by this one, command by command. The recorded
// histories hold lanes that waited for a budget, a retry, an undo and lanes that never started.
func TestOldHistoriesStillReplay(t *testing.T) {
	if *update {
		record(t)
	}
	files, err := filepath.Glob("testdata/history-*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %q, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(jobWorkflow, workflow.RegisterOptions{Name: jobWorkflowName})
			r.RegisterWorkflowWithOptions(laneWorkflow, workflow.RegisterOptions{Name: laneWorkflowName})
			if err := r.ReplayWorkflowHistoryFromJSONFile(quietLog{Options{}.withDefaults().Log}, file); err != nil {
				t.Error(err)
			}
		})
	}
}

// record runs a job on a real engine and writes the histories of its workflows down, without the name of the machine.
func record(t *testing.T) {
	_, c := startEngine(t)
	serve(t, c, "", &obeyer{}, 4)
	job := Job{ID: "recorded", Kind: "test", Budgets: map[string]int{"one": 1}, Lanes: []Lane{
		{Name: "done", Holds: []string{"one"}, Parts: []Part{{Subject: "a", Steps: steps("one", "two?")}, {Subject: "b", Steps: steps("one!")}}},
		{Name: "undone", Holds: []string{"one"}, Parts: []Part{{Subject: "c", Steps: steps("one?", "two?"),
			Args: orders{Fail: map[string]string{"two": "ordinary"}, Text: "no"}.args()}}},
		{Name: "not-started", Holds: []string{"one"}, Parts: []Part{{Subject: "d", Steps: steps("one")}}},
	}}
	if r := run(t, c, job); r.End() != EndUndone {
		t.Fatalf("%+v", r)
	}
	for name, id := range map[string]string{"job": "recorded", "lane-done": "recorded/done", "lane-undone": "recorded/undone"} {
		writeHistory(t, c, name, id)
	}
	recordHeld(t)
}

// recordHeld records a lane that waited for a person and was then aborted.
func recordHeld(t *testing.T) {
	_, c := startEngine(t)
	p := &patient{at: "two", free: make(chan struct{})}
	p.end.Store(true)
	serve(t, c, "", p, 4)
	go func() {
		waitFor(t, "the lane waits", func() bool { return p.hold.Load() > 0 })
		close(p.free)
	}()
	if r := run(t, c, oneLane("held", orders{}, "one?", "two?", "three!")); r.End() != EndUndone {
		t.Fatalf("%+v", r)
	}
	writeHistory(t, c, "lane-held", "held/lane")
}

func writeHistory(t *testing.T, c *Client, name, id string) {
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(historyOf(t, c.temporal, id))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/history-1-"+name+".json", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func historyOf(t *testing.T, c client.Client, id string) *history.History {
	h := &history.History{}
	for events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		forgetMachine(e)
		h.Events = append(h.Events, e)
	}
	return h
}

// forgetMachine blanks "pid@host" and the sticky queue named after it.
func forgetMachine(e *history.HistoryEvent) {
	const nobody = "worker"
	switch a := e.Attributes.(type) {
	case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
		a.WorkflowExecutionStartedEventAttributes.Identity = nobody
	case *history.HistoryEvent_WorkflowTaskScheduledEventAttributes:
		if q := a.WorkflowTaskScheduledEventAttributes.GetTaskQueue(); q.GetKind() == enums.TASK_QUEUE_KIND_STICKY {
			q.Name = nobody
		}
	case *history.HistoryEvent_WorkflowTaskStartedEventAttributes:
		a.WorkflowTaskStartedEventAttributes.Identity = nobody
	case *history.HistoryEvent_WorkflowTaskCompletedEventAttributes:
		a.WorkflowTaskCompletedEventAttributes.Identity = nobody
	case *history.HistoryEvent_ActivityTaskStartedEventAttributes:
		a.ActivityTaskStartedEventAttributes.Identity = nobody
	case *history.HistoryEvent_ActivityTaskCompletedEventAttributes:
		a.ActivityTaskCompletedEventAttributes.Identity = nobody
	case *history.HistoryEvent_ActivityTaskFailedEventAttributes:
		a.ActivityTaskFailedEventAttributes.Identity = nobody
	}
}
