package digest

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// capturedLogs are slow logs of real servers under equal load, for `make bench`: made up traffic, however well made up,
// is not the judge of a comparison. Each is read once and given to the tests below.
func capturedLogs(t *testing.T) []string {
	dir := os.Getenv("STOWAGE_CAPTURED_LOGS")
	if dir == "" {
		t.Skip("STOWAGE_CAPTURED_LOGS names no directory with slow logs of equal runs; make bench makes them")
	}
	logs, err := filepath.Glob(filepath.Join(dir, "A*.log"))
	if err != nil || len(logs) < 2 {
		t.Fatalf("found %d logs named A*.log in %s, %v", len(logs), dir, err)
	}
	return logs
}

// captured reads a log; change may alter each event before it counts.
func captured(t *testing.T, path string, change func(e *event)) *Digest {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := New(Options{})
	if change == nil {
		if err := out.Read(path, f); err != nil {
			t.Fatal(err)
		}
		return out.Digest()
	}
	in := input{name: path}
	reader := New(Options{})
	reader.sink = func(e *event) {
		change(e)
		out.add(&in, e)
	}
	if err := reader.Read(path, bufio.NewReader(f)); err != nil {
		t.Fatal(err)
	}
	return out.Digest()
}

// Interleaved halves of real captures, a thousand splits: at most 6 % false alarms at a nominal 5 %.
func TestCapturedHalvesRaiseNoFalseAlarms(t *testing.T) {
	logs := capturedLogs(t)
	const splits = 1000
	r := rand.New(rand.NewPCG(7, 7))
	judged, alarms := 0, 0
	for _, path := range logs {
		d := captured(t, path, nil)
		p := pairUp(d, d)
		e := gather(p.before, d.level)
		take, rest := make([]bool, len(e.numbers)), make([]bool, len(e.numbers))
		for range splits / len(logs) {
			for i := range take {
				take[i] = r.IntN(2) == 0
				rest[i] = !take[i]
			}
			tr := trial{o: CompareOptions{}.withDefaults(), before: picked(e, take), after: picked(e, rest)}
			tr.judge(p)
			for i := range tr.tests {
				if tr.judged[i] {
					judged++
				}
				if tr.tests[i].flagged {
					alarms++
				}
			}
		}
	}
	share := float64(alarms) / float64(judged)
	t.Logf("FIGURE false alarms on interleaved halves: %d of %d judgements, %.2f %%", alarms, judged, 100*share)
	if judged < splits || share > 0.06 {
		t.Errorf("false alarms %.2f %% of %d judgements, allowed 6 %%", 100*share, judged)
	}
}

// One class of one real run is made two times slower, each class in turn, against each other run.
func TestCapturedSlowClassIsFound(t *testing.T) {
	logs := capturedLogs(t)
	found, looked, blamed, innocent := 0, 0, 0, 0
	for i, before := range logs {
		after := logs[(i+1)%len(logs)]
		base := captured(t, before, nil)
		for _, c := range base.sorted() {
			if c.count < 100 {
				continue
			}
			made := captured(t, after, func(e *event) {
				b := Builder{options: Options{}.withDefaults()}
				if bytes.Equal(b.fingerprint(e), []byte(c.fingerprint)) {
					e.queryTime = narrow(2 * e.queryTime.saturated())
				}
			})
			looked++
			for _, ch := range Compare(base, made, CompareOptions{SelfCheck: -1}).Classes {
				switch {
				case ch.Fingerprint == c.fingerprint:
					if ch.Verdict == VerdictSlower {
						found++
					}
				default:
					innocent++
					if ch.Verdict == VerdictSlower {
						blamed++
					}
				}
			}
		}
	}
	t.Logf("FIGURE class made two times slower found: %d of %d; others blamed: %d of %d", found, looked, blamed, innocent)
	if looked == 0 || found*10 < looked*9 {
		t.Errorf("found %d of %d, wanted nine of ten", found, looked)
	}
}
