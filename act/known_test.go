package act

import (
	"encoding/json"
	"testing"
	"time"

	"stowage/engine"
	"stowage/store"
)

// A forged "done" of the step that a person was to decide about leads to the next step, which reads the approvals itself.
func TestForgedStepDoesNotPassAnApproval(t *testing.T) {
	const part = "p1/B"
	asks := []store.Order{order1(orderAskBefore, "", "out"), order1(orderAsked, part, "out")}
	if v := steeringOf(asks).judge(part, retireStep, 1, time.Unix(1000, 0), "", "seed", "out"); v.may != mustWait || v.note != "" {
		t.Errorf("past an approval that nobody gave: %+v", v)
	}
	for name, said := range map[string]store.Order{"this part": order1(orderApprove, part, "out"), "every part": order1(orderApprove, "", "out")} {
		if v := steeringOf(append(asks, said)).judge(part, retireStep, 1, time.Unix(1000, 0), "", "seed", "out"); v.may != mayBegin {
			t.Errorf("approved for %s: %+v", name, v)
		}
	}
	if v := steeringOf(asks).judge(part, seedStep, 1, time.Unix(1000, 0), ""); v.may != mayBegin {
		t.Errorf("in front of it: %+v", v)
	}
}

// A step that the store's job does not hold, as it is, is not carried out.
func TestStepThatTheStoreDoesNotHoldIsRefused(t *testing.T) {
	job := engine.Job{ID: "move-x-1", Lanes: []engine.Lane{{Name: "p1", Parts: []engine.Part{{Subject: "p1/B", Args: json.RawMessage(`{"a": "<b>"}`),
		Steps: []engine.Step{{Name: "one"}, {Name: "two"}, {Name: "three"}}}}}}}
	b := bookOf(job)
	good := engine.Call{Job: "move-x-1", Lane: "p1", Subject: "p1/B", Step: "two", Args: asSent(job.Lanes[0].Parts[0].Args)}
	if err := b.holds(good); err != nil {
		t.Error(err)
	}
	if got := b.behind(good); len(got) != 1 || got[0] != "one" {
		t.Errorf("behind two: %q", got)
	}
	for name, change := range map[string]func(*engine.Call){
		"job": func(c *engine.Call) { c.Job = "move-y-1" }, "lane": func(c *engine.Call) { c.Lane = "p2" }, "part": func(c *engine.Call) { c.Subject = "p1/A" },
		"step": func(c *engine.Call) { c.Step = "start" }, "arguments": func(c *engine.Call) { c.Args = json.RawMessage(`{"a":"/etc"}`) }} {
		c := good
		change(&c)
		if b.holds(c) == nil {
			t.Errorf("another %s is carried out", name)
		}
	}
}
