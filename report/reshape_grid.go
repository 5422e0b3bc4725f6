package report

import (
	"fmt"
	"strings"
	"time"
)

// mostTenantCells is how many tenants are cells with a sign and a name. More of them are a picture, a lane for each shard.
const mostTenantCells = 1000

// classOf is a stand's place in reshapeStands.
func (t ReshapeTenant) stand() int {
	for n, s := range reshapeStands {
		if s.Stand == t.Stand {
			return n
		}
	}
	return 0
}

// about is what a cell says of a tenant when it is pointed at.
func (t ReshapeTenant) about(now time.Time) string {
	text := []string{string(t.Stand)}
	if t.VerifiedAt != nil {
		text = append(text, count(int(t.Rows), "row")+" compared "+ago(now, *t.VerifiedAt))
	} else {
		text = append(text, "never compared")
	}
	if t.Wrong != "" {
		text = append(text, t.Wrong)
	}
	if t.Denormalised > 0 {
		text = append(text, fmt.Sprintf("snapshot in %s instead of %s", millis(t.Denormalised), millis(t.Normalised)))
	}
	return strings.Join(text, "; ")
}

// tenantGrid is a cell for each tenant, a row for each shard.
func (f ReshapeFacts) tenantGrid(now time.Time, all reshapeCount) *pairGrid {
	g := &pairGrid{}
	var names []string
	for _, s := range f.Shards {
		for _, t := range s.Tenants {
			names = append(names, t.ID)
		}
	}
	short := labels(names, denseLetters)
	for _, s := range f.Shards {
		by := map[ReshapeStand]int{}
		r := rollRack{Name: string(s.Shard), Dense: all.tenants > mostWords}
		for _, t := range s.Tenants {
			by[t.Stand]++
			x := reshapeStands[t.stand()]
			r.Hosts = append(r.Hosts, rollCell{Name: t.ID, Short: short(t.ID), Class: x.class, Sign: x.sign, State: string(t.Stand), Title: string(s.Shard) + "/" + t.ID + ": " + t.about(now)})
		}
		r.Words = fmt.Sprintf("%s in %s; seen %s", standsOf(by), s.Pair, ago(now, s.SeenAt))
		g.Rows = append(g.Rows, r)
	}
	for _, s := range reshapeStands {
		if n := all.by[s.Stand]; n > 0 {
			g.Keys = append(g.Keys, rollKey{s.class, s.sign, string(s.Stand), s.words, n})
		}
	}
	return g
}

// mostMapLines is how many lines of cells the picture has.
const mostMapLines = 1200

// tenantMap is thousands of tenants in a picture: lanes of small cells, one lane for each shard. Neighbours that stand alike are one bar; a bar is as high as its tenants have come.
func (f ReshapeFacts) tenantMap(id string, all reshapeCount) *planChart {
	c := newChart(id, "Tenants by flag, a lane for each shard", 130, 14)
	wide, tall := 9.0, 12.0
	if all.tenants > 20*mostTenantCells {
		wide, tall = 4, 7
	}
	perLine := int((c.X1 - c.X0) / wide)
	y, lines := c.Y0, 0
	var lanes []int // the number of bars behind each shard
	for _, s := range f.Shards {
		need := (len(s.Tenants) + perLine - 1) / perLine
		if lines > 0 && lines+need > mostMapLines {
			break
		}
		lines += need
		c.YTicks = append(c.YTicks, tick{round1(y + tall/2), shortened(string(s.Shard), 18)})
		for from := 0; from < len(s.Tenants); {
			to := from + 1
			for to < len(s.Tenants) && to%perLine != 0 && s.Tenants[to].Stand == s.Tenants[from].Stand && s.Tenants[from].Stand != ReshapeWrong {
				to++
			}
			c.Bars = append(c.Bars, s.mapBar(c.X0, y, wide, tall, from, to, perLine))
			from = to
		}
		lanes = append(lanes, len(c.Bars))
		y += float64(need)*tall + 6
	}
	if len(c.Bars) > mostMapBars {
		c.joinBars(f.Shards, lanes)
	}
	c.Y1 = round1(y)
	c.Height = c.Y1 + 10
	for _, s := range reshapeStands {
		if n := all.by[s.Stand]; n > 0 {
			c.Keys = append(c.Keys, planKey{s.class, fmt.Sprintf("%s %s: %s", whole(float64(n)), s.Stand, s.words)})
		}
	}
	c.Caption = "A lane for each shard, in the order of farm.yaml; a tenant is a cell, in the order of their keys. Low: not migrated; half as high: migrated; full: active, or wrong in red"
	if drawn := len(lanes); drawn < len(f.Shards) {
		c.Caption += fmt.Sprintf("; the first %s of %s", whole(float64(drawn)), count(len(f.Shards), "shard"))
	}
	c.Desc = standsOf(all.by) + " in " + count(len(f.Shards), "shard") + ". The tables below name those that are wrong."
	return c
}

// mostMapBars is how many bars can be pointed at one by one. A browser is slow with tens of thousands.
const mostMapBars = 4000

// joinBars makes one area of all tenants of a shard that stand alike.
func (c *planChart) joinBars(shards []ReshapeShard, lanes []int) {
	from := 0
	for n, to := range lanes {
		by := map[ReshapeStand]int{}
		for _, t := range shards[n].Tenants {
			by[t.Stand]++
		}
		for _, s := range reshapeStands {
			var path strings.Builder
			for _, b := range c.Bars[from:to] {
				if b.Class == s.class {
					fmt.Fprintf(&path, "M%g %gh%gv%gh-%gz", b.X, b.Y, b.W, b.H, b.W)
				}
			}
			if path.Len() > 0 {
				c.Bands = append(c.Bands, planBand{path.String(), s.class, fmt.Sprintf("%s: %s %s", shards[n].Shard, whole(float64(by[s.Stand])), s.Stand)})
			}
		}
		from = to
	}
	c.Bars = nil
}

// mapBar is the tenants from one to before another, which stand alike and on one line.
func (s ReshapeShard) mapBar(x0, y, wide, tall float64, from, to, perLine int) planBar {
	first, last := s.Tenants[from], s.Tenants[to-1]
	x := reshapeStands[first.stand()]
	b := planBar{X: round1(x0 + float64(from%perLine)*wide), Y: round1(y + float64(from/perLine)*tall), W: round1(float64(to-from)*wide - 1), Class: x.class}
	b.H = round1((tall - 1) * x.high)
	b.Y = round1(b.Y + tall - 1 - b.H)
	if to-from == 1 {
		b.Title = fmt.Sprintf("%s/%s: %s", s.Shard, first.ID, first.Stand)
		if first.Wrong != "" {
			b.Title += "; " + first.Wrong
		}
		return b
	}
	b.Title = fmt.Sprintf("%s/%s to %s, %s: %s", s.Shard, first.ID, last.ID, count(to-from, "tenant"), first.Stand)
	return b
}
