package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// RollFacts are what is known of one roll: a plan of hosts, and every run that has carried it out or continued it.
type RollFacts struct {
	Plan, Run      string // Run is the newest
	State          string // of that: running, interrupted, done, failed
	Runs           int
	Work           []string // what is done to each host, a line a step
	Started, Ended time.Time
	Takes          time.Duration // one host, as the plan thinks
	Now            time.Time
	Program        string     // how Stowage is called in commands that are shown: stowage, or stowage -C DIR
	Hosts          []RollHost // all of the farm, in its order
	Pauses         []RollPause
	Minutes        []FirstMinute // of the sides that came back, in all runs
	Failed         []RollFailed
}

// RollStand is where a host stands. Package roll has the same words, and serve and report know no act.
type RollStand string

// The stands of a host.
const (
	RollNone      RollStand = "not in this roll"
	RollWaiting   RollStand = "waiting"
	RollLeaving   RollStand = "leaving"
	RollAtWork    RollStand = "at work"
	RollReturning RollStand = "returning"
	RollDone      RollStand = "done"
	RollStuck     RollStand = "stuck"
	RollUndone    RollStand = "undone"
)

// rollStands are all, in the order of a host's way, with the sign that is beside the colour, and words for people.
var rollStands = []struct {
	Stand RollStand
	Sign  string
	Words string
}{
	{RollWaiting, "\u25cb", "it has not begun"},
	{RollLeaving, "\u2193", "its clients are being sent to the twins"},
	{RollAtWork, "\u25b6", "out of rotation, the steps of the work run"},
	{RollReturning, "\u2191", "catching up, checked, warmed, taking its clients back"},
	{RollDone, "\u2713", "it serves again"},
	{RollStuck, "\u2715", "it stays out until a person has looked"},
	{RollUndone, "\u21a9", "it failed before the work, and serves as before"},
	{RollNone, "\u2013", "the plan does not have it"},
}

// RollHost is one host of the farm.
type RollHost struct {
	Name  farm.HostName
	Rack  string // "" for one without the label
	Stand RollStand
	Step  string // of the run, that it is at, or has failed at
	Text  string // what is going on, why it waits, or what is wrong
	Doing string // the step of the work that it is at
	Holds bool   // Text is the reason for which nothing moves
	Since time.Time
	Sides []RollSide // of the pairs that it carries
	// Planned is when the plan wants it to leave; zero: not known.
	Planned   time.Time
	Out, Back time.Time // when the last of its sides had left, and when the last served again
	Did       []RollDid
	Fresh     []string // findings of tune that it did not have before
	Gone      []string // and that it had
}

// RollSide is a side of a pair that lives on a host.
type RollSide struct {
	Pair farm.PairName
	Side farm.SideName
	Role string        // "", primary, replica or single
	Twin farm.HostName // who serves meanwhile; "" for nobody
}

// RollDid is one step of the work on one host.
type RollDid struct {
	What   string
	Code   *int   // the exit code of a command
	Runs   int    // how often it was begun
	Failed string // why it failed
	// Noted: it failed, and the host has gone on. Remedied: a person has seen to it.
	Noted, Remedied bool
}

// RollPause is one time that clients of a pair were held back.
type RollPause struct {
	At     time.Time // when they could go on
	Host   farm.HostName
	Pair   farm.PairName
	Side   farm.SideName
	Step   string // out or in
	Millis float64
}

// RollFailed is how many queries failed in that time, by who counts them.
type RollFailed struct {
	By     string
	Failed int64
	Again  string
}

// IsOut reports whether the host is out of rotation.
func (h RollHost) IsOut() bool { return !h.Out.IsZero() && h.Back.IsZero() }

// out is how long the host was out, or is by now.
func (h RollHost) out(now time.Time) time.Duration {
	switch {
	case h.Out.IsZero():
		return 0
	case h.Back.IsZero():
		return now.Sub(h.Out)
	}
	return h.Back.Sub(h.Out)
}

// sides are the pairs of a host, as p1/A, p2/B.
func (h RollHost) sides() string {
	out := make([]string, len(h.Sides))
	for n, s := range h.Sides {
		out[n] = string(s.Pair) + "/" + string(s.Side)
	}
	return strings.Join(out, ", ")
}

// isIn reports whether the plan has the host.
func (h RollHost) isIn() bool { return h.Stand != RollNone }

// count is how many hosts stand so.
func (f RollFacts) count(stands ...RollStand) (n int) {
	for _, h := range f.Hosts {
		if slices.Contains(stands, h.Stand) {
			n++
		}
	}
	return n
}

// of are the hosts that the plan has.
func (f RollFacts) of() int { return len(f.Hosts) - f.count(RollNone) }

// Spoken is a roll in a sentence that changes seldom enough to be read out.
func (f RollFacts) Spoken() string {
	out := fmt.Sprintf("roll %s %s: %d of %s done", f.Plan, f.State, f.count(RollDone), count(f.of(), "host"))
	for _, h := range f.Hosts {
		if h.Stand == RollStuck {
			out += fmt.Sprintf("; %s stays out", h.Name)
		}
	}
	return out
}

// rollRack is one row of the grid: hosts with one value of the label rack.
type rollRack struct {
	Name  string
	Words string // how many of its hosts stand where
	Hosts []rollCell
	Dense bool
}

// rollCell is one host in the grid.
type rollCell struct {
	Name, Short string
	Class       string // of its stand
	Sign, State string
	Title       string
}

// mostWords is how many hosts have their state as a word in the grid. With more a sign and a short name stay, and a screen holds them.
const mostWords = 300

// denseLetters is how long a name may be to stand whole in the smallest cell of a grid.
const denseLetters = 7

// racks are the rows of the grid, in the order of their labels; hosts without one are the last row.
func (f RollFacts) racks() (out []rollRack) {
	at := map[string]int{}
	var names []string
	for _, h := range f.Hosts {
		names = append(names, string(h.Name))
	}
	short := labels(names, denseLetters)
	count := map[string]map[RollStand]int{}
	for _, h := range f.Hosts {
		n, known := at[h.Rack]
		if !known {
			n = len(out)
			at[h.Rack], count[h.Rack] = n, map[RollStand]int{}
			out = append(out, rollRack{Name: h.Rack, Dense: len(f.Hosts) > mostWords})
		}
		out[n].Hosts = append(out[n].Hosts, f.cell(h, short))
		count[h.Rack][h.Stand]++
	}
	for n := range out {
		var words []string
		for _, s := range rollStands {
			if k := count[out[n].Name][s.Stand]; k > 0 {
				words = append(words, fmt.Sprintf("%d %s", k, s.Stand))
			}
		}
		out[n].Words = strings.Join(words, ", ")
	}
	slices.SortStableFunc(out, func(a, b rollRack) int {
		if (a.Name == "") != (b.Name == "") {
			return cmp.Compare(len(b.Name), len(a.Name)) // those without a label last
		}
		return farm.Natural(a.Name, b.Name)
	})
	return out
}

func (f RollFacts) cell(h RollHost, short func(string) string) rollCell {
	c := rollCell{Name: string(h.Name), Short: short(string(h.Name)), Class: strings.Fields(string(h.Stand))[0], State: string(h.Stand)}
	for _, s := range rollStands {
		if s.Stand == h.Stand {
			c.Sign = s.Sign
		}
	}
	switch h.Stand {
	case RollAtWork, RollReturning, RollStuck:
		c.State = fmt.Sprintf("%s: %s", h.Stand, h.doing())
	case RollWaiting:
		if h.Holds {
			c.State = "waiting, held"
		}
	}
	title := []string{c.Name + ": " + c.State}
	if s := h.sides(); s != "" {
		title = append(title, s)
	}
	switch {
	case h.IsOut():
		title = append(title, "out since "+moment(h.Out)) // and not for how long: it would change every second
	case !h.Out.IsZero():
		title = append(title, "was out for "+span(h.out(f.Now)))
	}
	c.Title = strings.Join(title, "; ")
	return c
}

// doing is what happens on the host, in a word or two: the step of the work that it is at, or the step of the run.
func (h RollHost) doing() string {
	if h.Stand == RollAtWork && h.Doing != "" {
		return clipText(h.Doing, 60)
	}
	return h.Step
}

// clipText is a text that is cut where it is too long to be read at a glance.
func clipText(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "\u2026"
	}
	return text
}

// moment is a date and a time in UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
