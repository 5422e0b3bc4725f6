package faults

import (
	"testing"

	"stowage/e2e/farmtest"
)

func TestRoundKeepsWhatNoFaultExplains(t *testing.T) {
	said := "something first\nstowage: move first: interrupted: start engine: no\n  -> then: stowage resume\n"
	if got, want := farmtest.LastWords(said), "stowage: move first: interrupted: start engine: no -> then: stowage resume"; got != want {
		t.Errorf("last words %q, want %q", got, want)
	}
	if got := farmtest.LastWords("stowage: x\n"); got != "stowage: x" || farmtest.LastWords("nothing\n") != "" {
		t.Errorf("last words %q", got)
	}
	long := []farmtest.Fault{{What: "long"}, {What: "interrupt"}}
	if farmtest.Explains(long[:1], farmtest.ExitInterrupted) || !farmtest.Explains(long, farmtest.ExitInterrupted) || !farmtest.Explains(nil, farmtest.ExitFine) || farmtest.Explains(long, farmtest.ExitFailed) {
		t.Error("a long transaction explains no interrupt, an interrupt does; nothing explains that a side was undone")
	}
}
