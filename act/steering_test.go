package act

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"stowage/store"
)

var (
	seedStep   = Step{Name: "seed"}
	outStep    = Step{Name: "out", Phases: []string{"close", "flip"}}
	retireStep = Step{Name: "retire", NoReturn: true, Phases: []string{"stop"}}
)

func order1(verb, part, what string) store.Order {
	return store.Order{Verb: verb, Part: part, What: what, Who: "ada", Why: "because", At: time.Unix(1000, 0)}
}

func TestJudge(t *testing.T) {
	const part = "p1/B"
	now := time.Unix(1000, 0)
	for _, x := range []struct {
		name   string
		orders []store.Order
		step   Step
		try    int
		later  string
		may    answer
		note   string
		text   string
	}{
		{"nobody said anything", nil, seedStep, 1, "", mayBegin, "", ""},
		{"a step that may hold a gate is noted", nil, outStep, 1, "", mayBegin, orderBegun, ""},
		{"a step of no return is noted", nil, retireStep, 1, "", mayBegin, orderSealed, ""},
		{"paused", []store.Order{order1(orderPause, "", "")}, seedStep, 1, "", mustWait, "", "paused before seed by ada"},
		{"paused and resumed", []store.Order{order1(orderPause, "", ""), order1(orderResume, "", "")}, seedStep, 1, "", mayBegin, "", ""},
		{"paused, and a gate may be closed since before", []store.Order{order1(orderBegun, part, "out"), order1(orderPause, "", "")}, outStep, 1, "", mayBegin, "", ""},
		{"paused, and another side's gate may be closed", []store.Order{order1(orderBegun, "p2/B", "out"), order1(orderPause, "", "")}, outStep, 1, "", mustWait, "", "paused"},
		{"approval", []store.Order{order1(orderAskBefore, "", "out")}, outStep, 1, "", mustWait, orderAsked, "a person decides before out"},
		{"approval of another step", []store.Order{order1(orderAskBefore, "", "retire")}, outStep, 1, "", mayBegin, orderBegun, ""},
		{"approval, asked", []store.Order{order1(orderAskBefore, "", "out"), order1(orderAsked, part, "out")}, outStep, 1, "", mustWait, "", "since"},
		{"approval, approved", []store.Order{order1(orderAskBefore, "", "out"), order1(orderAsked, part, "out"), order1(orderApprove, part, "out")}, outStep, 1, "", mayBegin, orderBegun, ""},
		{"approval, approved for another", []store.Order{order1(orderAskBefore, "", "out"), order1(orderApprove, "p2/B", "out")}, outStep, 1, "", mustWait, orderAsked, ""},
		{"approval, approved for all", []store.Order{order1(orderAskBefore, "", "out"), order1(orderApprove, "", "out")}, outStep, 1, "", mayBegin, orderBegun, ""},
		{"soak begins", []store.Order{order1(orderSoak, "", "30m")}, retireStep, 1, "", mustWait, orderSoaking, ""},
		{"soak goes on", []store.Order{order1(orderSoak, "", "30m"), order1(orderSoaking, part, "retire")}, retireStep, 1, "", mustWait, "", "then the old one is dropped"},
		{"soak is for the step of no return", []store.Order{order1(orderSoak, "", "30m")}, outStep, 1, "", mayBegin, orderBegun, ""},
		{"aborted", []store.Order{order1(orderAbort, "", "")}, seedStep, 1, "", mustEnd, "", "aborted by ada"},
		{"aborted during a pause", []store.Order{order1(orderPause, "", ""), order1(orderAbort, "", "")}, seedStep, 1, "", mustEnd, "", ""},
		{"aborted at an approval", []store.Order{order1(orderAskBefore, "", "retire"), order1(orderAsked, part, "retire"), order1(orderAbort, "", "")}, retireStep, 1, "", mustEnd, "", ""},
		{"aborted during a soak", []store.Order{order1(orderSoak, "", "30m"), order1(orderSoaking, part, "retire"), order1(orderUndo, "", "")}, retireStep, 1, "", mustEnd, "", "undone by ada"},
		{"aborted behind the point of no return", []store.Order{order1(orderSealed, part, "retire"), order1(orderAbort, "", "")}, retireStep, 1, "", mayBegin, "", ""},
		{"aborted, and the step of no return was tried before", []store.Order{order1(orderAbort, "", "")}, retireStep, 2, "", mayBegin, "", ""},
		{"aborted with a gate that may be closed: its undo opens it", []store.Order{order1(orderBegun, part, "out"), order1(orderAbort, "", "")}, outStep, 1, "", mustEnd, "", ""},
		{"undone, but another lane first", []store.Order{order1(orderUndo, "", "")}, seedStep, 1, "p9", mustWait, "", "p9"},
		{"aborted does not wait for others", []store.Order{order1(orderAbort, "", "")}, seedStep, 1, "p9", mustEnd, "", ""},
	} {
		v := steeringOf(x.orders).judge(part, x.step, x.try, now, x.later)
		if v.may != x.may || v.note != x.note || !strings.Contains(v.text, x.text) {
			t.Errorf("%s: %+v", x.name, v)
		}
	}
	long := steeringOf([]store.Order{order1(orderSoak, "", "30m"), order1(orderSoaking, part, "retire")})
	if v := long.judge(part, retireStep, 1, now.Add(31*time.Minute), ""); v.may != mayBegin || v.note != orderSealed {
		t.Errorf("the soak is over: %+v", v)
	}
}

// Whatever is said, in whatever order: a step that may hold a gate closed is
// never kept waiting once it has begun, unless it is to be undone, and a part
// behind its point of no return always goes on.
func TestJudgeNeverStrandsAGate(t *testing.T) {
	verbs := []string{orderPause, orderResume, orderAskBefore, orderSoak, orderThrottle, orderApprove, orderAbort, orderUndo, orderAsked, orderSoaking, orderLost, orderFound, orderForward}
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var said []store.Order
		for range rng.IntN(8) {
			o := order1(verbs[rng.IntN(len(verbs))], []string{"", "p1/A", "p1/B"}[rng.IntN(3)], []string{"", "out", "retire", "30m", "5"}[rng.IntN(5)])
			said = append(said, o)
		}
		at := rng.IntN(len(said) + 1)
		begun := append(append(append([]store.Order{}, said[:at]...), order1(orderBegun, "p1/A", "out")), said[at:]...)
		if v := steeringOf(begun).judge("p1/A", outStep, 1, time.Unix(2000, 0), "p9"); v.may == mustWait {
			t.Fatalf("seed %d: a step that has begun waits: %+v\n%+v", seed, v, begun)
		}
		sealed := append(append(append([]store.Order{}, said[:at]...), order1(orderSealed, "p1/A", "retire")), said[at:]...)
		if v := steeringOf(sealed).judge("p1/A", retireStep, 1, time.Unix(2000, 0), "p9"); v.may != mayBegin {
			t.Fatalf("seed %d: behind the point of no return: %+v\n%+v", seed, v, sealed)
		}
	}
}
