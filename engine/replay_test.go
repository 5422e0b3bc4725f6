package engine

import (
	"bytes"
	"flag"
	"fmt"
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

// recordedKey seals the recorded histories.
var recordedKey = bytes.Repeat([]byte{7}, keySize)

// TestRecordedHistoriesStillReplay: a lane that another build of this format has begun must be interpreted by this one, command by
// command. The recorded histories hold a retry, an undo, and waits for a person that end in an abort and in a turn.
func TestRecordedHistoriesStillReplay(t *testing.T) {
	if *update {
		record(t)
	}
	files, err := filepath.Glob(fmt.Sprintf("testdata/history-%d-*.json", Format))
	if err != nil || len(files) < 4 {
		t.Fatalf("found %q, error %v", files, err)
	}
	log := Options{}.withDefaults().Log
	seal, err := newSealing(recordedKey, log)
	if err != nil {
		t.Fatal(err)
	}
	how := Options{}.jobs(seal)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: how.DataConverter, FailureConverter: how.FailureConverter})
			if err != nil {
				t.Fatal(err)
			}
			r.RegisterWorkflowWithOptions(laneWorkflow, workflow.RegisterOptions{Name: laneWorkflowName})
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
			if err != nil {
				t.Fatal(err)
			}
			begun := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
			whose := worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: begun.GetWorkflowId(), RunID: begun.GetOriginalExecutionRunId()}}
			if err := r.ReplayWorkflowHistoryWithOptions(quietLog{log}, h, whose); err != nil {
				t.Error(err)
			}
		})
	}
}

// recorder is an engine whose key is recordedKey.
func recorder(t *testing.T) *Client {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "engine.key"), recordedKey, 0o600); err != nil {
		t.Fatal(err)
	}
	_, c := startEngineIn(t, dir)
	return c
}

// record runs a job on a real engine and writes the histories of its workflows down, without the name of the machine.
func record(t *testing.T) {
	c := recorder(t)
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
	for name, id := range map[string]string{"lane-done": "recorded/done", "lane-undone": "recorded/undone"} {
		writeHistory(t, c, name, id)
	}
	recordHeld(t)
	recordTurned(t)
}

// recordTurned records an undo that waited for a person and then turned round.
func recordTurned(t *testing.T) {
	c := recorder(t)
	o := &onwards{at: "two", free: make(chan struct{})}
	o.fail.Store(1)
	serve(t, c, "", o, 4)
	go func() {
		waitFor(t, "the undo waits", func() bool { return o.held.Load() > 0 })
		close(o.free)
	}()
	if r := run(t, c, onwardJob("turned", false)); r.End() != EndDone {
		t.Fatalf("%+v", r)
	}
	writeHistory(t, c, "lane-turned", "turned/lane")
}

// recordHeld records a lane that waited for a person and was then aborted.
func recordHeld(t *testing.T) {
	c := recorder(t)
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
	if err := os.WriteFile(fmt.Sprintf("testdata/history-%d-%s.json", Format, name), text, 0o644); err != nil {
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
