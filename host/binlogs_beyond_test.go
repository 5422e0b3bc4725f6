package host

import (
	"testing"
	"time"
)

// A server of MySQL that was cloned has transactions that its log never had. A copy of it belongs to a place when it has all that the log had there, and nothing that came later.
func TestCopiesWithMoreThanTheLog(t *testing.T) {
	const own, old = "b9d5a1f0-0000-0000-0000-000000000001", "b9d5a1f0-0000-0000-0000-000000000002"
	made := time.Unix(1_700_000_000, 0)
	at, end := own+":1-7", own+":1-20"
	c := chain{pieces: []Piece{{Was: own + ":1-5", Has: own + ":1-9", Begun: made.Unix()}, {Was: own + ":1-9", Has: end, Begun: made.Unix()}}}
	for _, x := range []struct {
		position string
		by       time.Time
		is       bool
	}{
		{at + "," + old + ":1-90", made.Add(time.Hour), true},
		{own + ":1-6," + old + ":1-90", made.Add(time.Hour), false},    // it lacks one
		{own + ":1-7:20," + old + ":1-90", made.Add(time.Hour), false}, // it has a later one
		{at + "," + old + ":1-90", made.Add(-time.Hour), false},        // the log was begun later
		{at + "," + old + ":1-90", time.Time{}, false},
		{"0-1-7", made.Add(time.Hour), false},
	} {
		p := SeedPoint{By: x.by}
		if is := p.standsIn(x.position, at, end, made); is != x.is {
			t.Errorf("%s, whole at %v, stands there: %v", x.position, x.by, is)
		}
	}
	p := SeedPoint{By: made.Add(time.Hour)}
	for position, is := range map[string]bool{at + "," + old + ":1-90": true, own + ":1-4," + old + ":1": false, own + ":1-20," + old + ":1": false} {
		if p.standsWithin(position, c.pieces[0], c) != is {
			t.Errorf("%s stands in the first piece: %v", position, !is)
		}
	}
	reached, err := Wanted{Position: at + "," + old + ":1-90", GTIDs: own + ":1-9," + old + ":1-90"}.reached(end)
	if err != nil || !reached(c.pieces[0]) {
		t.Errorf("what the copy has is looked for in the log: %v", err)
	}
	if reached, _ := (Wanted{Position: at + "," + old + ":1-90", GTIDs: own + ":1-9," + old + ":1-91"}).reached(end); reached(c.pieces[1]) {
		t.Error("a transaction that nobody has is taken for one of the copy")
	}
}
