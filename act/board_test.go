package act

import (
	"testing"

	"stowage/farm"
)

func TestWritePausesAreThoseOfSwitchovers(t *testing.T) {
	b := NewBoard()
	for _, e := range []farm.Event{
		{Kind: farm.GateOpened, Step: "out", Millis: 500},
		{Kind: farm.GateOpened, Step: "cutover", Millis: 30},
		{Kind: farm.GateOpened, Step: "cutover", Millis: 40},
		{Kind: farm.GateOpened, Step: "cutover", Millis: 90},
	} {
		b.Apply(e)
	}
	if w := b.WritePauses(); w == nil || *w != (WritePauses{3, 40, 90, 90}) {
		t.Errorf("write pauses %+v", w)
	}
	if w := NewBoard().WritePauses(); w != nil {
		t.Errorf("of a run without switchovers: %+v", w)
	}
}
