package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
)

// recorded reads inputs and gives copies of all statements.
func recorded(t *testing.T, inputs ...Input) ([]*Statement, Reading) {
	t.Helper()
	var out []*Statement
	r, err := Recordings(t.Context(), inputs, digest.Options{}, func(s *Statement) error {
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, r
}

// happened is a statement as it really was.
type happened struct {
	start  time.Time
	took   time.Duration
	thread int
	text   string
}

// traffic makes sessions that ask one thing after the other, some of which
// take many seconds.
func sample(r *rand.Rand, sessions, each int) []happened {
	var out []happened
	for thread := range sessions {
		at := noon.Add(time.Duration(r.IntN(1e9)))
		for i := range each {
			took := time.Duration(r.ExpFloat64() * 2e6)
			if r.IntN(30) == 0 {
				took = time.Duration(r.IntN(8e9))
			}
			took = took.Truncate(time.Microsecond)
			out = append(out, happened{at, took, thread, fmt.Sprintf("SELECT %d, %d", thread, i)})
			at = at.Add(took + time.Duration(r.ExpFloat64()*100e6))
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].start.Add(out[i].took).Before(out[j].start.Add(out[j].took)) })
	return out
}

// TestMomentsAreFound: whatever a server stamps, statements come out in the
// order of their beginnings, sessions in their own, and the beginnings found
// are as near as the stamps allow.
func TestMomentsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(happened) string
		near  time.Duration // all of them
		usual time.Duration // half of them
	}{
		{"microseconds", func(h happened) string { return event(h.start.Add(h.took), h.thread, h.took, h.text) }, time.Microsecond, time.Microsecond},
		{"mariadb", func(h happened) string { return mariaEvent(h.start, h.thread, h.took, h.text) }, 1500 * time.Millisecond, 150 * time.Millisecond},
		{"seconds of the end", func(h happened) string {
			end := h.start.Add(h.took)
			return strings.Replace(event(end, h.thread, h.took, h.text), end.UTC().Format("2006-01-02T15:04:05.000000Z"), end.UTC().Format("060102 15:04:05"), 1)
		}, 1500 * time.Millisecond, 150 * time.Millisecond},
		{"general log", func(h happened) string {
			return fmt.Sprintf("%s\t%6d Query\t%s\n", h.start.UTC().Format("060102 15:04:05"), h.thread, h.text)
		}, 1500 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := sample(rand.New(rand.NewPCG(1, 2)), 8, 200)
			if tt.name == "general log" {
				sort.SliceStable(all, func(i, j int) bool { return all[i].start.Before(all[j].start) })
			}
			truth := map[string]happened{}
			var log strings.Builder
			for _, h := range all {
				truth[h.text] = h
				log.WriteString(tt.write(h))
			}
			got, reading := recorded(t, text("x.log", log.String()))
			if len(got) != len(all) || reading.Moved != 0 || reading.Backs != 0 {
				t.Fatalf("%d statements of %d, %+v", len(got), len(all), reading)
			}
			var off []time.Duration
			last, ends, next := time.Time{}, map[int]time.Time{}, map[int]int{}
			for _, s := range got {
				h := truth[string(s.Query)]
				off = append(off, s.Start.Sub(h.start).Abs())
				if s.Start.Before(last) {
					t.Fatalf("%s begins before the one in front of it", s.Query)
				}
				if s.Start.Before(ends[h.thread]) {
					t.Fatalf("%s begins before the end of the one before it in its session", s.Query)
				}
				if want := fmt.Sprintf("SELECT %d, %d", h.thread, next[h.thread]); string(s.Query) != want {
					t.Fatalf("%s, want %s", s.Query, want)
				}
				last, ends[h.thread] = s.Start, s.end()
				next[h.thread]++
			}
			slices.Sort(off)
			if off[len(off)-1] > tt.near || off[len(off)/2] > tt.usual {
				t.Errorf("off by %v at most, %v usually; want %v and %v", off[len(off)-1], off[len(off)/2], tt.near, tt.usual)
			}
		})
	}
}

// TestSecondsAreSpread: a hundred statements of one second are not sent at once.
func TestSecondsAreSpread(t *testing.T) {
	var log strings.Builder
	for i := range 100 {
		log.WriteString(mariaEvent(noon, i, time.Millisecond, fmt.Sprint("SELECT ", i)))
	}
	got, _ := recorded(t, text("slow.log", log.String()))
	for i, s := range got {
		if want := noon.Add(time.Duration(i) * 10 * time.Millisecond); s.Start.Sub(want).Abs() > 10*time.Millisecond {
			t.Fatalf("%s began at %v, want about %v", s.Query, s.Start, want)
		}
	}
}

// TestLongStatements: one that began before the window comes late and is
// counted, not lost.
func TestLongStatements(t *testing.T) {
	var log strings.Builder
	for i := range 200 {
		log.WriteString(event(noon.Add(time.Duration(i)*time.Second), 1, time.Millisecond, fmt.Sprint("SELECT ", i)))
	}
	log.WriteString(event(noon.Add(200*time.Second), 2, 150*time.Second, "SELECT 'long'"))
	log.WriteString(event(noon.Add(201*time.Second), 3, 20*time.Second, "SELECT 'held'"))
	got, reading := recorded(t, text("slow.log", log.String()))
	if len(got) != 202 || reading.Moved != 1 {
		t.Fatalf("%d statements, %+v", len(got), reading)
	}
	at := slices.IndexFunc(got, func(s *Statement) bool { return string(s.Query) == "SELECT 'held'" })
	if string(got[at-1].Query) != "SELECT 180" && string(got[at-1].Query) != "SELECT 181" && string(got[at-1].Query) != "SELECT 'long'" {
		t.Errorf("the one of 20 s comes behind %s", got[at-1].Query)
	}
}

func TestClockSetBack(t *testing.T) {
	at := noon.Add(time.Millisecond)
	log := event(at.Add(time.Hour), 1, 0, "SELECT 1") + event(at, 1, 0, "SELECT 2") + event(at.Add(time.Second), 1, 0, "SELECT 3")
	got, reading := recorded(t, text("slow.log", log))
	if len(got) != 3 || reading.Backs != 1 || got[2].Start.Sub(got[0].Start) != time.Second || string(got[2].Query) != "SELECT 3" {
		t.Errorf("%+v, %v", reading, got[2].Start.Sub(got[0].Start))
	}
}

// TestFilesOfOneServer are read in the order of time, those of two at once.
func TestFilesOfOneServer(t *testing.T) {
	var old bytes.Buffer
	z := gzip.NewWriter(&old)
	fmt.Fprint(z, event(noon, 1, 0, "SELECT 1"), event(noon.Add(2*time.Second), 1, 0, "SELECT 2"))
	z.Close()
	got, reading := recorded(t,
		text("logs/slow.log", event(noon.Add(4*time.Second), 1, 0, "SELECT 3")),
		text("logs/slow.log.1.gz", old.String()),
		text("other/slow.log", event(noon.Add(time.Second), 1, 0, "SELECT 'a'")+event(noon.Add(5*time.Second), 1, 0, "SELECT 'b'")),
	)
	var texts []string
	threads := map[SessionID]bool{}
	for _, s := range got {
		texts = append(texts, strings.TrimPrefix(string(s.Query), "SELECT "))
		threads[s.Session] = true
	}
	if want := []string{"1", "'a'", "2", "3", "'b'"}; !slices.Equal(texts, want) || len(threads) != 2 || len(reading.Inputs) != 3 {
		t.Errorf("%q of %d sessions, want %q of 2", texts, len(threads), want)
	}
	for _, x := range [][2]string{{"slow.log", "slow.log.1"}, {"slow.log-20261121.gz", "slow.log"}, {"tap.pcap1", "tap.pcap"}} {
		if rotationName(x[0]) != rotationName(x[1]) {
			t.Errorf("%q are two servers", x)
		}
	}
	for _, x := range [][2]string{{"a/slow.log", "b/slow.log"}, {"db1", "db2"}, {"db1.log", "db2.log"}} {
		if rotationName(x[0]) == rotationName(x[1]) {
			t.Errorf("%q are one server", x)
		}
	}
}

// A compressed log that was cut ended as a whole one does: half of the statements were replayed, and nothing was said.
func TestReplayOfACutFileIsAFinding(t *testing.T) {
	var all bytes.Buffer
	z := gzip.NewWriter(&all)
	for i := range 5000 {
		fmt.Fprint(z, event(noon.Add(time.Duration(i)*time.Second), 1, 0, fmt.Sprintf("SELECT %d", i*i)))
	}
	z.Close()
	got, reading := recorded(t, text("slow.log.gz", all.String()[:all.Len()/2]))
	if out := (&Outcome{Reading: reading}); len(got) == 0 || len(got) > 4000 || !reading.Inputs[0].Incomplete || !out.HasFindings() || !strings.Contains(strings.Join(reading.Inputs[0].Notes, " "), digest.ReasonCut) {
		t.Errorf("%d statements, %+v", len(got), reading)
	}
	if _, reading := recorded(t, text("slow.log.gz", all.String())); reading.IsIncomplete() {
		t.Errorf("whole: %+v", reading)
	}
}

// TestCutStatements are not taken for whole ones.
func TestCutStatements(t *testing.T) {
	log := event(noon, 1, 0, "SELECT 1") + event(noon.Add(time.Second), 1, 0, "SELECT * FROM t WHERE id = 12")
	got, _ := recorded(t, text("slow.log", strings.TrimSuffix(log, "2;\n")))
	if len(got) != 2 || got[0].IsCut || !got[1].IsCut {
		t.Fatalf("%+v", got)
	}
	m := memory{}
	if _, ok, reason := m.judge(got[1], Allowance{}); ok {
		t.Errorf("half a statement would be sent: %s", reason)
	}
}

func TestWhatIsNoRecording(t *testing.T) {
	for name, in := range map[string]Input{
		"binary": text("x", strings.Repeat("\x01\x02\x03\x04", 100)),
		"stored": text("x.digest", "STOWDIG1 and so on"),
		"gone":   {Name: "gone", Open: func() (io.ReadCloser, error) { return nil, errors.New("no such file") }},
	} {
		_, err := Recordings(t.Context(), []Input{in}, digest.Options{}, func(*Statement) error { return nil })
		if name != "stored" && !errors.Is(err, farm.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDryRun says by class and reason what would be sent.
func TestDryRun(t *testing.T) {
	log := event(noon, 1, 0, "SELECT 1") + event(noon.Add(time.Second), 1, 0, "UPDATE t SET a = 1") +
		event(noon.Add(2*time.Second), 1, 0, "CREATE TEMPORARY TABLE x AS SELECT 1") + event(noon.Add(3*time.Second), 1, 0, "SELECT * FROM x") +
		event(noon.Add(4*time.Second), 2, 0, "SELECT * FROM x") + event(noon.Add(5*time.Second), 2, 0, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'") +
		event(noon.Add(6*time.Second), 2, 0, `SELECT '\'`) + event(noon.Add(6*time.Second), 3, 0, `SELECT '\'`)
	out, err := DryRun(t.Context(), Options{Inputs: []Input{text("slow.log", log)}})
	if err != nil || out.Statements != 8 || out.Sent.Read != 3 || out.Sent.Session != 1 || out.Sessions.Recorded != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	reasons := map[string]uint64{}
	for _, s := range out.Skipped {
		reasons[s.Kind.String()+" "+s.Reason] = s.Count
	}
	for _, want := range []string{"write changes rows: update", "define makes a temporary table", "read reads a temporary table that was not made", "truncated is cut: a literal that does not end"} {
		if reasons[want] != 1 {
			t.Errorf("%q is not among %v", want, reasons)
		}
	}
	var page strings.Builder
	if err := WriteText(&page, out, 10); err != nil || !strings.Contains(page.String(), "would send 4 of 8 statements (3 read, 1 session) of 3 sessions") {
		t.Errorf("%v\n%s", err, page.String())
	}
}
