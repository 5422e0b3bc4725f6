package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// timeline is the move, or another act, as a picture: one row a side, one bar a step.
type timeline struct {
	Run             string
	Title, State    string // of an act that is not a move
	Mark            string // behind names in the page that are to be unique; empty: the move
	Started, Ended  string
	Took            string
	Sides, Done     int
	AloneMedian     string
	AloneMax        string
	Failures        int
	Width, Height   float64
	PlotX, PlotBase float64 // left end and lower edge of the rows
	RowHeight       float64
	LabelSize       float64
	Dot             float64 // radius of a gate
	Ticks           []tick
	Rows            []timelineRow
	Steps           []stepRow
	Table           []laneRow
	Forward         []string // what settled without a way back, by whom
	Minutes         *firstMinutes
	Keys            []planKey
	Cut             string // which lanes are drawn; empty: all
}

// timelineRow is one side.
type timelineRow struct {
	Label string
	Y, TY float64
	Bars  []bar
	Gates []mark
}

type bar struct {
	X, W  float64
	Tone  tone
	Title string
	Bad   bool
}

type mark struct {
	X     float64
	Title string
}

// stepRow sums one step up over all sides.
type stepRow struct {
	Step, Words  string
	Clients      string // who serves them meanwhile
	Sides        int
	Median, Most string
	Failed       int
}

// laneRow is one side in the table beside the picture.
type laneRow struct {
	Pair              farm.PairName
	Side              farm.SideName
	Started, Took     string
	Alone             string
	Gates             int
	Longest           string
	Failures          int
	State             string
	StartedUTC, Ended string
}

const (
	timelineWidth = 1140.0
	timelineRight = 8.0
	timelineTop   = 26.0
)

// newActs are the timelines of acts that are not moves.
func newActs(f Facts, zone clock) (out []*timeline) {
	for _, a := range f.Acts {
		t := newTimeline(Facts{Run: a.Run, Events: a.Events, Forward: a.Forward, Minutes: a.Minutes, Now: f.Now}, zone)
		if t == nil {
			t = &timeline{Run: a.Run, Took: span(0), Forward: a.Forward}
		}
		for n, s := range t.Steps {
			t.Steps[n].Words = cmp.Or(kindWords[a.Kind+" "+s.Step], s.Words)
		}
		t.Title, t.State, t.Mark = strings.ToUpper(a.Kind[:1])+a.Kind[1:]+" "+a.Subject, a.State, "-"+a.Run
		out = append(out, t)
	}
	return out
}

func newTimeline(f Facts, zone clock) *timeline {
	lanes := readLanes(f.Events)
	if len(lanes) == 0 {
		return nil
	}
	first, last := lanes[0].start(), time.Time{}
	of := f.topologies()
	for _, l := range lanes {
		l.Topology = of[l.Key.Pair]
		if l.end().After(last) {
			last = l.end()
		}
	}
	t := &timeline{Run: f.Run, Started: zone.stamp(first), Ended: zone.stamp(last), Took: span(last.Sub(first)), Sides: len(lanes), Width: timelineWidth, Forward: f.Forward, Minutes: newFirstMinutes(f.Minutes)}
	moves := f.Moves
	if f.Plan != nil {
		moves = len(f.Plan.Moves)
	}
	t.Sides = max(t.Sides, moves) // those that have not begun have no event
	t.measure(lanes)
	t.RowHeight, t.LabelSize, t.Dot = 17, 11, 2.6
	if len(lanes) > 48 {
		t.RowHeight, t.LabelSize, t.Dot = 9.5, 8, 1.6
	}
	shown := drawnLanes(lanes)
	if len(shown) < len(lanes) {
		t.Cut = fmt.Sprintf("Of %s sides %d are drawn: those that failed or have not ended, and others evenly over the time of the run. ", whole(float64(len(lanes))), len(shown))
	}
	t.draw(shown, first, last.Sub(first))
	t.Steps, t.Keys = stepRows(lanes), toneKeys(lanes)
	for _, l := range lanes[:min(len(lanes), mostLaneRows)] {
		t.Table = append(t.Table, newLaneRow(l, first))
	}
	return t
}

// How many lanes of a run are drawn, and how many are listed: of the move of a large farm there are a hundred thousand.
const (
	mostDrawnLanes = 400
	mostLaneRows   = 2000
)

// drawnLanes are the lanes that are drawn, in their order: half of them may be those that there is something to say about.
func drawnLanes(lanes []*lane) []*lane {
	if len(lanes) <= mostDrawnLanes {
		return lanes
	}
	kept := map[*lane]bool{}
	for _, l := range lanes {
		if len(kept) < mostDrawnLanes/2 && (l.failures() > 0 || !l.isDone()) {
			kept[l] = true
		}
	}
	for i, n := 0, mostDrawnLanes-len(kept); i < n; i++ {
		kept[lanes[i*(len(lanes)-1)/(n-1)]] = true
	}
	var out []*lane
	for _, l := range lanes {
		if kept[l] {
			out = append(out, l)
		}
	}
	return out
}

func (t *timeline) measure(lanes []*lane) {
	var aside []time.Duration
	for _, l := range lanes {
		if l.isDone() {
			t.Done++
		}
		t.Failures += l.failures()
		if d := l.aloneFor(); d > 0 {
			aside = append(aside, d)
		}
	}
	if len(aside) > 0 {
		slices.Sort(aside)
		t.AloneMedian, t.AloneMax = span(aside[len(aside)/2]), span(aside[len(aside)-1])
	}
}

func (t *timeline) draw(lanes []*lane, first time.Time, took time.Duration) {
	longest := 0
	for _, l := range lanes {
		longest = max(longest, len(l.label()))
	}
	t.PlotX = round1(min(220, float64(longest)*t.LabelSize*0.62+10))
	width := timelineWidth - timelineRight - t.PlotX
	scale := width / max(took.Seconds(), 0.001)
	x := func(at time.Time) float64 { return round1(t.PlotX + at.Sub(first).Seconds()*scale) }
	for i, l := range lanes {
		row := timelineRow{Label: clip(l.label(), t.PlotX, t.LabelSize), Y: round1(timelineTop + float64(i)*t.RowHeight)}
		row.TY = round1(row.Y + t.RowHeight/2 + t.LabelSize*0.34)
		for _, s := range l.Segments {
			row.Bars = append(row.Bars, bar{
				X: x(s.Start), W: max(0.8, round1(s.took().Seconds()*scale-0.6)), Tone: s.Tone, Bad: s.Failed != "", Title: s.title(l),
			})
		}
		for _, g := range l.Gates {
			row.Gates = append(row.Gates, mark{x(g.Opened), fmt.Sprintf("%s: gate open again at %s UTC after %s", l.label(), instant(g.Opened), millis(g.Millis))})
		}
		t.Rows = append(t.Rows, row)
	}
	t.PlotBase = round1(timelineTop + float64(len(lanes))*t.RowHeight)
	t.Height = t.PlotBase + 6
	every := clockStep(took.Seconds(), 10)
	for s := 0.0; s <= took.Seconds(); s += every {
		t.Ticks = append(t.Ticks, tick{round1(t.PlotX + s*scale), tickTime(s, every)})
	}
}

func (l *lane) label() string { return fmt.Sprintf("%s %s", l.Key.Pair, l.Key.Side) }

// tickTime is the time since the start: 45 s, 2:30, 1:05 h.
func tickTime(s, every float64) string {
	switch n := int(s); {
	case every >= 60 && every >= 3600:
		return fmt.Sprintf("%d h", n/3600)
	case n < 60:
		return fmt.Sprintf("%d s", n)
	case n < 3600:
		return fmt.Sprintf("%d:%02d min", n/60, n%60)
	default:
		return fmt.Sprintf("%d:%02d h", n/3600, n/60%60)
	}
}

func (s segment) title(l *lane) string {
	text := fmt.Sprintf("%s, %s: %s from %s UTC", l.label(), s.Step, span(s.took()), instant(s.Start))
	switch {
	case s.Failed != "":
		text += "; failed: " + s.Failed
	case s.Open:
		text += "; cut short or still running"
	}
	return text
}

// stepWords say what a step means to a reader who has never seen one. A step
// that is not here has no words, and that is all.
var stepWords = map[string]string{
	"preflight": "is it safe to begin?",
	"seed":      "copy the twin's data to the new host",
	"start":     "start the new instance, read-only",
	"attach":    "let it replicate from the twin",
	"follow":    "let it catch up",
	"compare":   "checksums of all rows, both ends at one GTID position",
	"preload":   "read the twin's hot pages into memory",
	"out":       "the side's clients go to the twin; the old side takes no writes",
	"rewire":    "the twin replicates from the new instance",
	"catch-up":  "both directions at a fresh barrier",
	"check":     "replication, identity and variables as planned",
	"warm":      "buffer pool filled; reads take no longer than on the twin",
	"in":        "clients come back in steps, each one watched",
	"gather":    "what followed the old instance follows the new one",
	"cutover":   "clients are held for a moment; the new place takes their writes, the old one follows it",
	"swap":      "readers of the old replica are sent to the new one",
	"soak":      "watched, with the way back open",
	"retire":    "farm.yaml names the new place; the old instance stops, its files stay",
	"prepare":   "an empty database with the shard's tables on the target",
	"copy":      "the shard's rows and changes go to the target, beside its clients",
	"finish":    "indexes, views, routines, triggers; events, disabled",
	"settle":    "farm.yaml names the new pair; the old tables are removed",
	"found":     "empty instances for a new pair, with accounts and options",
	"wire":      "the new pair's sides replicate from each other",
	"open":      "the new pair takes writes",
	"list":      "farm.yaml and routing have the new pair",
	"unlist":    "routing gives up the emptied pair",
}

// kindWords are stepWords of kinds in which a step of that name is another one than in a move, under "KIND STEP".
var kindWords = map[string]string{
	"backup copy":     "the instance's data go into the vault while it serves",
	"backup clone":    "a throw-away server on the host of the vault clones the instance (MySQL)",
	"backup clear":    "that server is taken away",
	"backup position": "the instance turns its place in the binary log into GTIDs",
	"backup seal":     "the manifest makes the backup whole; then the catalogue has it",
	"restore out":     "the lost side's clients go to its twin, which has applied all that it received",
	"restore adopt":   "farm.yaml names the new place; the catalogue says that the backup is proven",
	"restore fetch":   "the full copy, and what is based on it, become a data directory",
	"restore start":   "the restored instance runs, read-only",
	"restore stand":   "its position is that of the backup",
	"restore replay":  "archived binary logs are applied, up to the moment that was asked for",
	"restore check":   "it is the right instance, takes no writes, and its largest tables are sound",
	"restore compare": "checksums of all rows, here and on the live server, at one GTID position",
	"restore copy":    "the shard, or its tables, are copied into the pair under another name",
	"restore keep":    "the database stays, the restored instance is taken away",
	"restore record":  "the catalogue says that the backup is proven; the instance is taken away",
}

func stepRows(lanes []*lane) []stepRow {
	type sum struct {
		tone   tone
		lanes  []*lane
		took   map[key]time.Duration
		failed int
	}
	sums, order := map[string]*sum{}, []string{}
	for _, l := range lanes {
		for _, s := range l.Segments {
			x := sums[s.Step]
			if x == nil {
				x = &sum{tone: s.Tone, took: map[key]time.Duration{}}
				sums[s.Step] = x
				order = append(order, s.Step)
			}
			if _, known := x.took[l.Key]; !known {
				x.lanes = append(x.lanes, l)
			}
			x.took[l.Key] += s.took()
			if s.Failed != "" {
				x.failed++
			}
		}
	}
	var out []stepRow
	for _, name := range order {
		x := sums[name]
		var all []time.Duration
		for _, d := range x.took {
			all = append(all, d)
		}
		slices.Sort(all)
		out = append(out, stepRow{
			Step: name, Words: stepWords[name], Clients: servedBy(x.lanes, x.tone), Sides: len(all),
			Median: span(all[len(all)/2]), Most: span(all[len(all)-1]), Failed: x.failed,
		})
	}
	return out
}

func newLaneRow(l *lane, first time.Time) laneRow {
	r := laneRow{
		Pair: l.Key.Pair, Side: l.Key.Side, Started: "+" + span(l.start().Sub(first)), StartedUTC: instant(l.start()), Ended: instant(l.end()),
		Took: span(l.end().Sub(l.start())), Gates: len(l.Gates), Failures: l.failures(), State: l.state(),
	}
	if d := l.aloneFor(); d > 0 {
		r.Alone = span(d)
	}
	longest := 0.0
	for _, g := range l.Gates {
		longest = max(longest, g.Millis)
	}
	if len(l.Gates) > 0 {
		r.Longest = millis(longest)
	}
	return r
}
