package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/bench/decide"
	"stowage/workspace"
)

func decideExample(t *testing.T, file string, extra ...string) (decide.Outcome, string) {
	t.Helper()
	path := filepath.Join("../../examples", file)
	var out, text, errs bytes.Buffer
	for _, x := range []struct {
		to    *bytes.Buffer
		extra []string
	}{{&out, []string{"--json"}}, {&text, extra}} {
		if code := run(t.Context(), append([]string{"bench", "decide", path}, x.extra...), x.to, &errs, nil); code != exitFine {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
	}
	var o decide.Outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	return o, text.String()
}

// commandsIn are the command lines of a README with what they print.
func commandsIn(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestXFSAgainstEXT4 holds the table of the README, which is as it was published, against the data, and what both say against the program.
func TestXFSAgainstEXT4(t *testing.T) {
	readme := commandsIn(t, "xfs-ext4-2016/README.md")
	rows := 0
	speed := map[string]float64{}
	for line := range strings.Lines(readme) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 || !strings.Contains(cells[3], "Mb/sec") {
			continue
		}
		rows++
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r, err := workspace.ReadEntered("../../examples/xfs-ext4-2016/published.yaml#" + cells[0])
		if err != nil {
			t.Fatal(err)
		}
		s := r.Steps[0]
		got := []string{r.Environment.Filesystem, fmt.Sprintf("%.3fMb/sec", s.MBps*1e6/(1<<20)), fmt.Sprintf("%.2f", s.IOPS), fmt.Sprintf("%.2fms", s.Lat.Mean/1000), fmt.Sprintf("%.2fms", s.Lat.P95/1000)}
		if want := []string{cells[1], cells[3], cells[4], cells[5], cells[6]}; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v in the data, %v in the table", cells[0], got, want)
		}
		if block := s.MBps * 1e6 / s.IOPS / 1024; math.Abs(block-16) > 0.01 {
			t.Errorf("%s: %v KiB a request", cells[0], block)
		}
		if inFlight := s.IOPS * s.Lat.Mean / 1e6; inFlight < 0.915 || inFlight > 0.965 {
			t.Errorf("%s: %v requests at a time", cells[0], inFlight)
		}
		speed[cells[0]] = s.IOPS
	}
	if rows != 5 {
		t.Fatalf("%d rows in the table of the README, want 5", rows)
	}
	for pair, want := range map[[2]string]float64{{"ext4", "xfs"}: 1.139, {"ext4-no-readahead", "xfs-no-readahead"}: 1.140, {"xfs-striped", "xfs"}: 0.92, {"xfs-no-readahead", "xfs"}: 1.004} {
		if got := speed[pair[0]] / speed[pair[1]]; math.Abs(got-want) > 0.0035 {
			t.Errorf("%v is %v, the README says %v", pair, got, want)
		}
	}
	o, text := decideExample(t, "xfs-ext4-2016/decision.yaml")
	if o.Verdict != decide.Inconclusive || o.Winner != "" || o.Ahead != "ext4-no-readahead" {
		t.Errorf("%s, winner %q, ahead %q: single runs name nobody", o.Verdict, o.Winner, o.Ahead)
	}
	for _, l := range o.Leads {
		if l.Over == "xfs-no-readahead" && (l.OffBy == nil || math.Abs(*l.OffBy-1.029) > 0.001) {
			t.Errorf("over %s may be off by %v, the README says 2.9 %%", l.Over, l.OffBy)
		}
	}
	if head := firstLines(text, 4); !strings.Contains(readme, head) {
		t.Errorf("the README does not show\n%s", head)
	}
	for _, want := range []string{"2,085 [entered]", "460 us [entered]", "1.89 ms [entered]", "34.2 MB/s [entered]"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %s", want)
		}
	}
}

// TestFusionIOAgainstX25E: what is not known stays unknown, claims stay marked, and what the answer hangs on is said.
func TestFusionIOAgainstX25E(t *testing.T) {
	readme := commandsIn(t, "stackexchange-2011/README.md")
	o, text := decideExample(t, "stackexchange-2011/decision.yaml")
	if o.Verdict != decide.Inconclusive || o.Ahead != "two-ioDrive-Duo" {
		t.Errorf("%s, ahead %s", o.Verdict, o.Ahead)
	}
	if head := firstLines(text, 6); !strings.Contains(readme, head) {
		t.Errorf("the README does not show\n%s", head)
	}
	by := map[string]decide.Standing{}
	for _, c := range o.Candidates {
		by[c.Name] = c
	}
	drives := by["x25-e"]
	for k, g := range o.Goals {
		f := drives.Figures[k]
		switch g.Figure {
		case "price", "price per GB", "iops per price", "endurance", "yearly loss":
			if f.Value != nil {
				t.Errorf("%s of the X25-E is %v: nobody knows it", g.Goal, *f.Value)
			}
		case "iops", "mbps":
			if f.Basis != decide.Sheet || len(f.Source) == 0 {
				t.Errorf("%s of the X25-E rests on %s %v", g.Goal, f.Basis, f.Source)
			}
		case "capacity": // 177 GB as they counted it, which are GiB
			if math.Abs(*f.Value/(1<<30)/177-1) > 0.02 {
				t.Errorf("capacity is %v", *f.Value)
			}
		}
	}
	if one := by["ioDrive-Duo"]; !one.Out || one.Failed[0].Goal != "survives" {
		t.Errorf("one card: %+v", one)
	}
	price := func(o decide.Outcome) float64 {
		for _, p := range o.Sensitive.Prices {
			if p.Candidate == "x25-e" && p.Value == nil && p.Winner == "x25-e" {
				return p.At
			}
		}
		return 0
	}
	if at := price(o); math.Abs(at-1130) > 1 || !strings.Contains(readme, "1,130 USD") {
		t.Errorf("without a limit to what speed is worth the X25-E would be ahead at %v", at)
	}
	// Enough: more speed than the six drives have is worth nothing. Then the price alone decides.
	o, text = decideExample(t, "stackexchange-2011/enough.yaml")
	if at := price(o); math.Abs(at-31000) > 1 {
		t.Errorf("with enough the X25-E would be ahead at %v", at)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "price of x25-e") && !strings.Contains(readme, line) {
			t.Errorf("the README does not show %s", line)
		}
	}
}

func firstLines(text string, n int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:n], "")
}
