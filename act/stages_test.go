package act

import (
	"strings"
	"testing"

	"stowage/engine"
)

// The lanes at the end take back what a lane of the same name has made for
// others that did not follow, and nothing else.
func TestClosingLanes(t *testing.T) {
	last := engine.Job{Lanes: []engine.Lane{{Name: "shardset001", Closing: true}, {Name: "shardset002", Closing: true}}}
	end := func(name string, e engine.End) engine.LaneResult { return engine.LaneResult{Name: name, End: e} }
	for _, c := range []struct {
		name  string
		soFar []engine.LaneResult
		runs  string
	}{
		{"all went well", []engine.LaneResult{end("shardset001", engine.EndDone), end("shardset002", engine.EndDone), end("p0", engine.EndDone)}, ""},
		{"a shard did not come", []engine.LaneResult{end("shardset001", engine.EndDone), end("shardset002", engine.EndDone), end("shardset001", engine.EndUndone), end("shardset002", engine.EndDone)}, "shardset001"},
		{"a pair could not be made", []engine.LaneResult{end("shardset001", engine.EndUndone), end("shardset002", engine.EndDone), end("shardset001", engine.EndNotStarted), end("shardset002", engine.EndNotStarted)}, "shardset002"},
		{"and could not be taken back", []engine.LaneResult{end("shardset001", engine.EndStuck), end("shardset002", engine.EndNotStarted)}, ""},
	} {
		now, rest := closing(last, engine.Result{Lanes: c.soFar})
		var runs []string
		for _, l := range now.Lanes {
			runs = append(runs, l.Name)
		}
		if got := strings.Join(runs, " "); got != c.runs || len(runs)+len(rest) != 2 {
			t.Errorf("%s: closes %q and leaves %v, want %q", c.name, got, rest, c.runs)
		}
	}
}
