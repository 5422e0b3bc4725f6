package engine

import (
	"encoding/json"
	"slices"
	"testing"
)

// A part that got stuck while it was undone is taken up again where it
// stopped, with what its steps had handed on, and none of its steps is done.
func TestPartGoesOnBack(t *testing.T) {
	_, c := startEngine(t)
	d := &obeyer{}
	serve(t, c, "", d, 1)
	r := run(t, c, oneLane("stuck", orders{Fail: map[string]string{"three": "permanent", "undo two": "permanent"}, Text: "no"}, "one?", "two?", "three?"))
	stuck := r.Lanes[0]
	if stuck.End != EndStuck || stuck.UndoStep != "two" || stuck.State != `["one","two","undo three"]` {
		t.Fatalf("ended %+v", stuck)
	}
	d.calls = nil
	again := oneLane("back", orders{}, "one?", "two?")
	part := &again.Lanes[0].Parts[0]
	part.Back, part.State = "somebody put it right", json.RawMessage(stuck.State)
	r = run(t, c, again)
	want := LaneResult{Name: "lane", End: EndUndone, Part: "s", Step: "two", Kind: KindAborted, Error: "somebody put it right"}
	if r.Lanes[0] != want {
		t.Errorf("ended\n%+v\nwant\n%+v", r.Lanes[0], want)
	}
	if got := d.names("s"); !slices.Equal(got, []string{"undo two", "undo one"}) {
		t.Errorf("calls %q", got)
	}
	if len(d.calls) > 0 && string(d.calls[0].State) != stuck.State {
		t.Errorf("the first undo was handed %s, want %s", d.calls[0].State, stuck.State)
	}
}
