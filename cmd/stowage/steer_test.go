package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/store"
	"stowage/workspace"
)

// What status prints for a part that waits for a person is run as it stands, also where several runs have not ended.
func TestStatusPrintsTheApprovalThatWorks(t *testing.T) {
	for _, several := range []bool{false, true} {
		dir, kept := watched(t)
		if several {
			if err := kept.PutRun(store.Run{ID: "move-second-1", Kind: "move", Subject: "second", State: store.Running, Started: time.Now().Add(-time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		said := saidBy(t, "status", "-C", dir)
		_, command, _ := strings.Cut(said, "A PERSON DECIDES: dbshard001/A before out, for ")
		_, command, _ = strings.Cut(command, ": stowage ")
		command, _, _ = strings.Cut(command, "\n")
		words := strings.Fields(command)
		if slices.Contains(words, "--run") != several {
			t.Errorf("several runs: %v; the command: %q", several, command)
		}
		if said := saidBy(t, words...); !strings.Contains(said, "approved: dbshard001/A before out") {
			t.Errorf("%q says\n%s", command, said)
		}
	}
}

// Another unit, a decimal comma and what is no number are refused: they would be another limit than the one that was meant.
func TestThrottleReadsTheWholeWord(t *testing.T) {
	for word, want := range map[string]int64{"off": -1, "0": 0, "40": 40e6, "0.5": 5e5, "40MB/s": 40e6, "1e3": 1e9, "1000000": 1e12} {
		if got, err := throttleOf(word); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", word, got, err, want)
		}
	}
	for _, word := range []string{"", "MB/s", "500kB/s", "500KB/s", "0,5", "40 50", "40M", "-1", "nan", "NaN", "inf", "+Inf", "1000001", "OFF"} {
		if got, err := throttleOf(word); err == nil {
			t.Errorf("%q is read as %d", word, got)
		}
	}
	dir, _ := watched(t)
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"throttle", "500kB/s", "-C", dir}, &out, &errOut, nil); code != exitUsage {
		t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
	}
}

// After a kill another process may have got the number of the one that carried the run out: the run is interrupted all the same.
func TestStateGoesByTheClaim(t *testing.T) {
	dir, kept := watched(t)
	const killed = "move-second-1"
	if err := kept.PutRun(store.Run{ID: killed, Kind: "move", Subject: "second", State: store.Running, Started: time.Now(), PID: 1}); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := ws.Take(workspace.Claim{Run: killed})
	if err != nil {
		t.Fatal(err)
	}
	taken.Leave() // as a kill does
	if said := saidBy(t, "status", "--run", killed, "-C", dir); !strings.Contains(said, killed+" of plan second: interrupted") {
		t.Errorf("killed:\n%s", said)
	}
	if said := saidBy(t, "pause", "--run", killed, "-C", dir); !strings.Contains(said, "no program carries it out") {
		t.Errorf("pause of one that was killed:\n%s", said)
	}
	if said := saidBy(t, "status", "--run", toldRun, "-C", dir); !strings.Contains(said, toldRun+" of plan first: running") {
		t.Errorf("one that holds its claim:\n%s", said)
	}
}

// saidBy is what a command prints that ends well.
func saidBy(t *testing.T, words ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), words, &out, &errOut, nil); code != exitFine {
		t.Fatalf("%q: exit code %d\n%s%s", words, code, &out, &errOut)
	}
	return out.String()
}
