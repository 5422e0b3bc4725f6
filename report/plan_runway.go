package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"stowage/farm"
)

// diskCourse is how the disk of a host fills: used bytes today, and growth.
type diskCourse struct {
	used, grows  float64 // bytes, bytes a day
	limit, whole float64 // what the goals let be used, and all there is
}

// course is what the shards on a host need of its disk from today on.
func (c *census) course(h farm.Host, kind farm.HostType, held []carried) diskCourse {
	g := c.plan.Goals
	factor := 1.0
	if g.Growth > 0 {
		factor = g.Growth
	}
	d := diskCourse{used: h.Reserved[farm.Disk], whole: kind.Capacity[farm.Disk]}
	d.limit = d.whole * c.limit(farm.Disk)
	for _, x := range held {
		d.used += g.Overhead[farm.Disk]
		for _, s := range x.shards {
			d.used += s.Needs[farm.Disk] * factor
			d.grows += max(0, s.Growth) * factor
		}
	}
	return d
}

// days until so many bytes are used: 0 when they are already, +Inf when they
// never will be.
func (d diskCourse) days(until float64) float64 {
	switch {
	case d.whole <= 0:
		return math.Inf(1) // not limited
	case d.used >= until:
		return 0
	case d.grows <= 0:
		return math.Inf(1)
	}
	return (until - d.used) / d.grows
}

// soonest is the host whose disk breaks its headroom first; false when none does.
func soonest(hosts []carrier) (carrier, bool) {
	sorted := byRunway(hosts)
	if len(sorted) == 0 || math.IsInf(sorted[0].runway, 1) {
		return carrier{}, false
	}
	return sorted[0], true
}

func byRunway(hosts []carrier) []carrier {
	out := slices.Clone(hosts)
	slices.SortStableFunc(out, func(a, b carrier) int {
		switch {
		case a.runway < b.runway:
			return -1
		case a.runway > b.runway:
			return 1
		}
		return 0
	})
	return out
}

// dayText is the whole days for which all is well.
func dayText(days float64) string {
	if math.IsInf(days, 1) || days > 36500 {
		return "more than 100 years"
	}
	return count(int(days), "day")
}

// date is the day on which so many days have passed after the plan was made; empty when that is
// not known, or too far away to mean anything.
func (c *census) date(days float64) string {
	made, err := time.Parse(time.RFC3339, c.plan.Made)
	if err != nil || days > 36500 {
		return ""
	}
	return made.UTC().Add(time.Duration(days * float64(24*time.Hour))).Format(time.DateOnly)
}

// mostSoon is how many hosts the table of runways shows.
const mostSoon = 10

func (c *census) runwaySection() planSection {
	s := planSection{ID: "runway", Name: "Disk runway"}
	if c.disk(c.before) <= 0 && c.disk(c.after) <= 0 {
		s.Text = []string{"Not known: no host type says how much disk it has."}
		return s
	}
	s.Text = append(s.Text, c.firstToBreak("As the farm stands, ", c.before), c.firstToBreak("After the plan, ", c.after))
	if days := c.plan.Goals.RunwayDays; days > 0 {
		late := 0
		for _, h := range c.after {
			if h.runway < math.Floor(days) {
				late++
			}
		}
		text := fmt.Sprintf("The goals ask for %s; %s", dayText(days), "every host holds that long.")
		if late > 0 {
			text = fmt.Sprintf("The goals ask for %s; %s does not hold that long.", dayText(days), count(late, "host"))
		}
		s.Text = append(s.Text, text)
	}
	s.Chart = c.runwayChart()
	s.Tables = append(s.Tables, c.soonTable("After the plan", c.after), c.soonTable("As the farm stands", c.before))
	s.Notes = []string{"Day 0 is the day on which the plan was made, with all moves taken as done. Used is what shards need today; growth is as farm.yaml has it."}
	if g := c.plan.Goals.Growth; g > 0 && g != 1 {
		s.Notes[0] += fmt.Sprintf(" Both times %s, as the goals ask.", digits(g))
	}
	return s
}

func (c *census) firstToBreak(when string, hosts []carrier) string {
	first, ok := soonest(hosts)
	if !ok {
		return when + "no disk ever breaks its headroom: nothing is known to grow."
	}
	over := 0
	for _, h := range hosts {
		if h.runway == 0 {
			over++
		}
	}
	if over > 0 {
		return when + fmt.Sprintf("%s above the limit already; the fullest disk is that of %s, %s used of %s.", isAre(over, "disk"), fullest(hosts).host.Name,
			amount(fullest(hosts).disk.used, farm.KindBytes), amount(fullest(hosts).disk.whole, farm.KindBytes))
	}
	text := when + fmt.Sprintf("%s is the first host to break its headroom, after %s", first.host.Name, dayText(first.runway))
	if date := c.date(first.runway); date != "" {
		text += " (" + date + ")"
	}
	return text + "."
}

// fullest is the host with the largest share of its disk in use today.
func fullest(hosts []carrier) carrier {
	return slices.MaxFunc(hosts, func(a, b carrier) int {
		x, y := a.disk.used*max(1, b.disk.whole), b.disk.used*max(1, a.disk.whole)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// isAre counts things that are: 1 disk is, 2 disks are.
func isAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return count(n, noun) + " are"
}

func (c *census) soonTable(caption string, hosts []carrier) planTable {
	t := planTable{
		Caption: fmt.Sprintf("%s: the %s that break their headroom soonest", caption, count(min(mostSoon, len(hosts)), "host")),
		Head:    columns("host", "type", "#disk", "used today", "#may be used", "#growth a day", "#headroom broken after", "on", "#disk full after"),
	}
	for _, h := range byRunway(hosts)[:min(mostSoon, len(hosts))] {
		d := h.disk
		row := cells(string(h.host.Name), string(h.host.Type), amount(d.whole, farm.KindBytes), "", amount(d.limit, farm.KindBytes),
			amount(d.grows, farm.KindBytes), dayText(h.runway), c.date(h.runway), dayText(d.days(d.whole)))
		row[3] = planCell{Text: amount(d.used, farm.KindBytes) + ", " + percent(d.used/max(1, d.whole)), Share: d.used / max(1, d.whole), Limit: d.limit / max(1, d.whole), HasBar: true}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// disk is the disk of hosts together.
func (c *census) disk(hosts []carrier) float64 { return c.total(hosts, farm.Disk) }
