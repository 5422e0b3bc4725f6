package roll

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"stowage/engine"
	"stowage/farm"
	"stowage/roll/agenda"
	"stowage/store"
)

// Announcement is what people are told of a roll before it happens, and afterwards.
type Announcement struct {
	Plan  agenda.Plan
	Turns []agenda.Turn // as expected
	// Happened are the hosts that were out, or are; none before the roll has begun.
	Happened []HostEnd
}

// Announce says when a plan is expected to be carried out, if it may begin at some moment, and what has happened of it.
func Announce(s *store.Store, p agenda.Plan, from time.Time) (Announcement, error) {
	a := Announcement{Plan: p, Turns: p.Schedule(from)}
	runs, err := s.Runs(Roll)
	if err != nil {
		return a, err
	}
	at := map[farm.HostName]int{}
	for _, run := range slices.Backward(runs) { // a later run has continued with what an earlier one has left
		orders, err := ordersOf(s, run.ID)
		if err != nil {
			return a, err
		}
		if len(orders) == 0 || orders[0].Plan != p.Name || orders[0].Made != p.Made {
			continue
		}
		ends, err := Ends(s, run, time.Now())
		if err != nil {
			return a, err
		}
		for _, e := range ends {
			if e.Out.IsZero() {
				continue
			}
			if n, twice := at[e.Host]; twice {
				a.Happened[n] = e
				continue
			}
			at[e.Host] = len(a.Happened)
			a.Happened = append(a.Happened, e)
		}
	}
	return a, nil
}

// Begin and End are when it was, or when it is expected to be.
func (a Announcement) Begin() time.Time {
	if len(a.Happened) > 0 {
		return slices.MinFunc(a.Happened, func(x, y HostEnd) int { return x.Out.Compare(y.Out) }).Out
	}
	if len(a.Turns) == 0 {
		return time.Time{}
	}
	return a.Turns[0].Begin
}

// End: see Begin. While hosts are out or are still to come, it is the expected one.
func (a Announcement) End() time.Time {
	if a.IsOver() {
		return slices.MaxFunc(a.Happened, func(x, y HostEnd) int { return x.Back.Compare(y.Back) }).Back
	}
	if len(a.Turns) == 0 {
		return time.Time{}
	}
	return a.Turns[len(a.Turns)-1].End
}

// IsOver reports whether every host of the plan is back.
func (a Announcement) IsOver() bool {
	back := 0
	for _, e := range a.Happened {
		if !e.Back.IsZero() {
			back++
		}
	}
	return len(a.Plan.Hosts) > 0 && back == len(a.Plan.Hosts)
}

// title is one line: what, and on how many hosts.
func (a Announcement) title() string {
	done := ""
	if a.IsOver() {
		done = " (done)"
	}
	return fmt.Sprintf("Maintenance of %s: %s%s", farm.Counted(len(a.Plan.Hosts), "database host"), a.Plan.Name, done)
}

// effect is what clients and operators should expect.
func (a Announcement) effect() string {
	of := map[agenda.Role]map[farm.PairName]bool{agenda.Serves: {}, agenda.Primary: {}, agenda.Replica: {}, agenda.Single: {}}
	for _, h := range a.Plan.Hosts {
		for _, i := range h.Instances {
			of[i.Role][i.Pair] = true
		}
	}
	out := "No query is expected to fail."
	say := func(role agenda.Role, format, noun string) {
		if n := len(of[role]); n > 0 {
			out += " " + fmt.Sprintf(format, farm.Counted(n, noun))
		}
	}
	say(agenda.Serves, "The clients of %s go to the other side for a while and come back; at each change they wait for some milliseconds.", "pair")
	say(agenda.Primary, "The writes of %s go to a replica for a while and come back; at each change clients wait for a moment.", "pair")
	say(agenda.Replica, "Reads from the replicas of %s go elsewhere for a while.", "pair")
	if n := len(of[agenda.Single]); n > 0 {
		out += fmt.Sprintf(" The clients of %s wait for about %v.", farm.Counted(n, "single instance"), a.Plan.HostTakes().Round(time.Second))
	}
	return out + " Meanwhile what serves has no twin: please plan no other work on these hosts."
}

// clockOf is a moment for readers in many places.
func clockOf(t time.Time) string { return t.UTC().Format("Mon 2 Jan 2006 15:04 UTC") }

// WriteMarkdown is the announcement for a wiki, a ticket or a mail.
func (a Announcement) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", a.title())
	fmt.Fprintf(&b, "**When:** %s to %s, about %v in all.\n\n", clockOf(a.Begin()), clockOf(a.End()), a.End().Sub(a.Begin()).Round(time.Second))
	b.WriteString("**What** is done to each host, while all its database servers are out of rotation:\n\n")
	for n, s := range a.Plan.Work.Steps {
		fmt.Fprintf(&b, "%d. %s\n", n+1, markdown(s.String()))
	}
	if all := a.Plan.Work.Announced(); len(all) > 0 {
		fmt.Fprintf(&b, "\nMay differ afterwards: %s.\n", markdown(strings.Join(all, ", ")))
	}
	fmt.Fprintf(&b, "\n**Effect:** %s\n", a.effect())
	for _, win := range a.Plan.Windows {
		fmt.Fprintf(&b, "\nA host begins only in this window, and only when it would be done in time: %s.\n", win)
	}
	b.WriteString("\n## Expected\n\n| from | to | hosts | pairs served by one side |\n|---|---|---|---|\n")
	for _, t := range a.Turns {
		var pairs []string
		for _, l := range t.OneLeg {
			if l.Role == agenda.Single {
				pairs = append(pairs, string(l.Pair)+" (its clients wait)")
				continue
			}
			pairs = append(pairs, fmt.Sprintf("%s (on %s)", l.Pair, l.On))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", clockOf(t.Begin), clockOf(t.End), markdown(strings.Join(names(t.Hosts), ", ")), markdown(strings.Join(pairs, ", ")))
	}
	a.writeHappened(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (a Announcement) writeHappened(b *strings.Builder) {
	if len(a.Happened) == 0 {
		return
	}
	b.WriteString("\n## What happened\n\n| host | out | back | seconds out | how it ended |\n|---|---|---|---|---|\n")
	for _, e := range a.Happened {
		back, end := "still out", string(e.End)
		if !e.Back.IsZero() {
			back = clockOf(e.Back)
		}
		switch {
		case e.Unknown:
			end = "the end of its command is unknown"
		case e.End == engine.EndDone && e.CommandRC != nil:
			end = fmt.Sprintf("done, the command ended with %d", *e.CommandRC)
		case end == "":
			end = "under way"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.1f | %s |\n", markdown(string(e.Host)), clockOf(e.Out), back, e.SecondsOut, markdown(end))
	}
	if left := len(a.Plan.Hosts) - len(a.Happened); left > 0 {
		fmt.Fprintf(b, "\n%s not begun.\n", map[bool]string{true: "1 host has", false: fmt.Sprintf("%d hosts have", left)}[left == 1])
	}
}

// markdown is text in a table or a list, without what would end a cell or begin markup.
func markdown(text string) string {
	return strings.NewReplacer("\\", `\\`, "|", `\|`, "\n", " ", "\r", " ", "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(text)
}

// WriteCalendar is the announcement as an iCalendar file (RFC 5545) with one event. Whoever imports a later edition has the same event with new times:
// its identity is the plan's, and edition counts up from 0.
func (a Announcement) WriteCalendar(w io.Writer, edition int, now time.Time) error {
	sum := sha256.Sum256([]byte(a.Plan.Name + " " + a.Plan.Made))
	cal := ics.NewCalendarFor("Stowage")
	cal.SetMethod(ics.MethodPublish)
	e := cal.AddEvent("roll-" + hex.EncodeToString(sum[:8]) + "@stowage")
	e.SetDtStampTime(now.UTC())
	e.SetStartAt(a.Begin().UTC())
	e.SetEndAt(a.End().UTC())
	e.SetSummary(a.title())
	e.SetSequence(edition)
	e.SetStatus(ics.ObjectStatusConfirmed)
	e.SetTimeTransparency(ics.TransparencyTransparent)
	var text strings.Builder
	for _, s := range a.Plan.Work.Steps {
		fmt.Fprintf(&text, "%s\n", s)
	}
	fmt.Fprintf(&text, "%s\n", a.effect())
	for _, t := range a.Turns {
		fmt.Fprintf(&text, "%s: %s\n", clockOf(t.Begin), strings.Join(names(t.Hosts), ", "))
	}
	e.SetDescription(text.String())
	return cal.SerializeTo(w, ics.WithNewLineWindows)
}

func names(hosts []farm.HostName) (out []string) {
	for _, h := range hosts {
		out = append(out, string(h))
	}
	return out
}
