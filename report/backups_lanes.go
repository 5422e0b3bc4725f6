package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/window"
	"stowage/farm"
)

// mostLaneHosts is how many hosts the picture of a window has, those that end last. The table beside it has all.
const mostLaneHosts = 40

// laneSection is the window as lanes: as the newest run has had it, or on paper where none has made a backup.
func (b BackupFacts) laneSection() planSection {
	s := planSection{ID: "window", Name: "The window"}
	paper := b.paperText("On paper", b.Paper)
	if len(b.Made) == 0 {
		s.Text = []string{"No run has made a backup yet. " + paper}
		s.Chart = newLaneChart("chart-window", "A full backup of all pairs, on paper", b.Paper, b.Paper.Seconds, planWidth, nil)
		s.Tables = []planTable{laneTable("Hosts, on paper", b.Paper)}
		return s
	}
	real, kinds, began := madeWindow(b.Made)
	s.Text = []string{
		fmt.Sprintf("Run %s has made %s, %s, in %s, from %s on.", b.Run, count(len(b.Made), "backup"), amount(real.Bytes, farm.KindBytes), span(seconds(real.Seconds)), moment(began)),
		paper,
	}
	s.Chart = newLaneChart("chart-window", "The backups of run "+b.Run+", by host", real, real.Seconds, planWidth, kinds)
	s.Tables = []planTable{laneTable("Hosts of run "+b.Run, real)}
	return s
}

// planSection is the window on both sides of a plan, on paper.
func (b BackupFacts) planSection() planSection {
	s := planSection{ID: "after", Name: "The window before and after plan " + b.Plan,
		Text: []string{b.paperText("Before", *b.Before), b.paperText("After", *b.After)}}
	if b.Before.Seconds > 0 && b.Before.Seconds != b.After.Seconds {
		s.Text = append(s.Text, "After the plan it takes "+fewer(b.Before.Seconds, b.After.Seconds, "less", "more")+" time.")
	}
	const half = planWidth/2 - 20                 // they stand side by side
	end := max(b.Before.Seconds, b.After.Seconds) // on one scale
	s.Charts = []*planChart{newLaneChart("chart-window-before", "A full backup of all pairs before the plan, on paper", *b.Before, end, half, nil), newLaneChart("chart-window-after", "A full backup of all pairs after the plan, on paper", *b.After, end, half, nil)}
	s.Tables = []planTable{laneTable("Hosts before", *b.Before), laneTable("Hosts after", *b.After)}
	return s
}

// paperText is a window in a sentence or two.
func (b BackupFacts) paperText(when string, w window.Window) string {
	text := fmt.Sprintf("%s a full backup of all pairs, %s, takes %s, at %s for one backup (%s).", when, amount(w.Bytes, farm.KindBytes), span(seconds(w.Seconds)), amount(b.Rate.PerSecond, farm.KindByteRate), b.Rate.Source)
	if w.Bound > 0 {
		text += fmt.Sprintf(" No order takes less than %s: that is set by %s, %s at %s.", span(seconds(w.Bound)), farm.Some(w.Binding.Names), amount(w.Binding.Bytes, farm.KindBytes), amount(w.Binding.Rate, farm.KindByteRate))
	}
	return text
}

// madeWindow are backups that were made, as a window that begins with the first of them.
func madeWindow(made []catalogue.Backup) (w window.Window, kinds map[farm.PairName]catalogue.Kind, began time.Time) {
	kinds = map[farm.PairName]catalogue.Kind{}
	began = made[0].Began
	for _, b := range made {
		if b.Began.Before(began) {
			began = b.Began
		}
	}
	for _, b := range made {
		x := window.Backup{Pair: b.Pair, Side: b.Side, Instance: b.Instance, Host: b.On, Bytes: float64(b.Raw), Begin: b.Began.Sub(began).Seconds(), Seconds: b.Seconds}
		w.Backups = append(w.Backups, x)
		w.Bytes, w.Seconds = w.Bytes+x.Bytes, max(w.Seconds, x.End())
		kinds[b.Pair] = b.Kind
	}
	slices.SortStableFunc(w.Backups, func(a, b window.Backup) int { return int(min(max(a.Begin-b.Begin, -1), 1)) })
	return w, kinds, began
}

func laneTable(caption string, w window.Window) planTable {
	t := planTable{Caption: caption, Head: columns("host", "#ends after", "#reads", "#backups", "of pairs")}
	for _, l := range w.Lanes() {
		var pairs []string
		for _, b := range l.Backups {
			pairs = append(pairs, string(b.Pair))
		}
		t.Rows = append(t.Rows, cells(string(l.Host), span(seconds(l.End)), amount(l.Bytes, farm.KindBytes), whole(float64(len(l.Backups))), strings.Join(pairs, ", ")))
	}
	return t.fold()
}

// newLaneChart draws a window, up to a second of it: a row for each host, a bar for each backup; those that run at once are below each other.
func newLaneChart(id, title string, w window.Window, end, wide float64, kinds map[farm.PairName]catalogue.Kind) *planChart {
	const bar, between = 14.0, 8.0
	c := newChart(id, title, 120, 34)
	c.Width = wide
	c.X1 = wide - 34
	lanes := w.Lanes()
	all := len(lanes)
	lanes = lanes[:min(all, mostLaneHosts)]
	end = max(end, 1e-3)
	y := c.Y0
	for _, l := range lanes {
		free := []float64{} // when each row of the lane is free
		for _, b := range l.Backups {
			row := slices.IndexFunc(free, func(at float64) bool { return at <= b.Begin+end*1e-9 })
			if row < 0 {
				row, free = len(free), append(free, 0)
			}
			free[row] = b.End()
			x := c.x(b.Begin / end)
			p := planBar{X: x, Y: round1(y + float64(row)*bar), W: max(round1(c.x(b.End()/end)-x-1), 1), H: bar - 1, Class: "measured"}
			p.Title = fmt.Sprintf("%s, side %s on %s: %s in %s, from %s on", b.Pair, b.Side, b.Host, amount(b.Bytes, farm.KindBytes), span(seconds(b.Seconds)), span(seconds(b.Begin)))
			if k := kinds[b.Pair]; k != "" {
				p.Title += ", " + string(k)
				if k == catalogue.Incremental {
					p.Class = "typed"
				}
			}
			if name := string(b.Pair); float64(len(name))*6.5 < p.W {
				p.Label, p.TX, p.TY = name, round1(p.X+p.W/2), round1(p.Y+bar-4)
			}
			c.Bars = append(c.Bars, p)
		}
		tall := float64(max(len(free), 1)) * bar
		c.YTicks = append(c.YTicks, tick{round1(y + tall/2), shortened(string(l.Host), 18)})
		y += tall + between
	}
	c.Y1 = round1(y)
	c.Height = c.Y1 + 26
	for v, by := 0.0, clockStep(end, int(wide/140)); v <= end; v += by {
		c.XTicks = append(c.XTicks, tick{c.x(v / end), span(seconds(v))})
	}
	c.Caption = "A row for each host whose disks are read, a bar for each backup, by the time since the first one began"
	if all > len(lanes) {
		c.Caption += fmt.Sprintf("; the %s of %s that end last", farm.Counted(len(lanes), "host"), whole(float64(all)))
	}
	c.Desc = fmt.Sprintf("%s on %s, done after %s. The table below has each host.", count(len(w.Backups), "backup"), count(all, "host"), span(seconds(w.Seconds)))
	for _, k := range []struct {
		kind        catalogue.Kind
		class, text string
	}{{catalogue.Full, "measured", "a full backup"}, {catalogue.Incremental, "typed", "an incremental one"}, {catalogue.Logical, "measured", "a logical one"}} {
		for _, is := range kinds {
			if is == k.kind {
				c.Keys = append(c.Keys, planKey{k.class, k.text})
				break
			}
		}
	}
	return c
}
