package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/inventory/shardload"
)

// shardLoad is what one shard needs, and how that is known.
type shardLoad struct {
	name, pair string
	group      string // of the pair
	needs      farm.Resources
	growth     float64
	measured   map[farm.ResourceName]string // how; what is not in it is typed in farm.yaml
}

// typed says that a figure is farm.yaml's, and that nobody measured it.
const typed = "typed"

func (x shardLoad) how(r farm.ResourceName) string { return cmp.Or(x.measured[r], typed) }

// take puts measured figures in the place of typed ones. Those that farm.yaml has from an earlier measurement count as measured, too.
func (x *shardLoad) take(s *shardload.Shard, accepted farm.Resources) {
	for r, v := range accepted {
		if x.needs[r] == v {
			x.measured[r] = "measured, as in farm.yaml"
		}
	}
	if s == nil {
		return
	}
	for r, f := range map[farm.ResourceName]shardload.Figure{farm.CPU: s.CPU, farm.IOPS: s.IOPS, farm.Memory: s.Memory, farm.Disk: s.Disk} {
		if f.Measured() {
			x.needs[r], x.measured[r] = *f.Value, strings.TrimSpace("measured "+string(f.Sure))
			if f.Low != nil && f.High != nil && *f.Low < *f.High {
				x.measured[r] += fmt.Sprintf(" (%s to %s)", amountOf(*f.Low, r), amountOf(*f.High, r))
			}
		}
	}
}

// NewLoadDocument is what each shard needs: as the newest measurement of load found it, else as farm.yaml has it, with sizes as the newest inventory measured them.
func NewLoadDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Load by shard"}
	if f.Farm == nil {
		return d
	}
	by := newGrouping(f.Farm)
	var all []shardLoad
	sizes := map[farm.ShardName]int64{}
	if f.Inventory != nil {
		sizes = f.Inventory.ShardBytes()
	}
	sizesOf, measured := 0, 0
	load := map[farm.ShardName]*shardload.Shard{}
	if f.Load != nil {
		for i := range f.Load.Shards {
			load[f.Load.Shards[i].Shard] = &f.Load.Shards[i]
		}
	}
	for _, p := range f.Farm.Pairs {
		group := by.of(p)
		if f.Group != "" && f.Group != group {
			continue
		}
		for _, s := range p.Shards {
			x := shardLoad{name: string(s.Name), pair: string(p.Name), group: group, needs: farm.Resources{}, growth: s.Growth, measured: map[farm.ResourceName]string{}}
			x.needs.Add(s.Needs)
			if bytes, ok := sizes[s.Name]; ok && bytes > 0 {
				x.needs[farm.Disk], x.measured[farm.Disk] = float64(bytes), "measured by the inventory"
				sizesOf++
			}
			x.take(load[s.Name], f.Accepted[s.Name])
			if x.how(farm.CPU) != typed {
				measured++
			}
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		d.Verdict = "There is no shard in farm.yaml."
		if f.Group != "" {
			d.Verdict = fmt.Sprintf("There is no shard in %s %s.", by.label, f.Group)
		}
		return d
	}
	d.Verdict = fmt.Sprintf("%s.", count(len(all), "shard"))
	if f.Group != "" {
		d.Verdict = fmt.Sprintf("%s in %s %s.", count(len(all), "shard"), by.label, f.Group)
	}
	d.Lead = fmt.Sprintf("CPU, IOPS and memory are typed in farm.yaml: stowage inventory load measures them. Disk is measured for %s of them, and typed for the others.", whole(float64(sizesOf)))
	if measured > 0 {
		d.Lead = fmt.Sprintf("CPU is measured for %s of them, and typed in farm.yaml for the others.", whole(float64(measured)))
	}
	if f.Load != nil {
		d.Lead += fmt.Sprintf(" The newest measurement began on %s UTC and took %s.", f.Load.Began.UTC().Format("2006-01-02 15:04"), count(int(f.Load.Seconds+0.5), "second"))
		if n := len(f.Load.Silent); n > 0 {
			d.Lead += fmt.Sprintf(" %s not measured.", isAre(n, "instance"))
		}
	}
	var resources []farm.ResourceName
	for _, x := range all {
		for r := range x.needs {
			if !slices.Contains(resources, r) {
				resources = append(resources, r)
			}
		}
	}
	order := []farm.ResourceName{farm.CPU, farm.IOPS, farm.Memory, farm.Disk}
	slices.SortFunc(resources, func(a, b farm.ResourceName) int {
		x, y := slices.Index(order, a), slices.Index(order, b)
		if x < 0 || y < 0 {
			return cmp.Or(cmp.Compare(y, x), cmp.Compare(a, b))
		}
		return x - y
	})
	for _, r := range resources {
		d.Sections = append(d.Sections, loadSection(r, all))
	}
	if f.Load != nil && len(f.Load.Sums) > 0 && f.Group == "" {
		d.Sections = append(d.Sections, sumsSection(f.Load.Sums))
	}
	if len(all) > mostRows && f.Group == "" {
		d.Sections = append(d.Sections, loadGroups(all, resources, by.label, f.Page))
	} else {
		d.Sections = append(d.Sections, loadTable(all, resources))
	}
	return d
}

// mostShardBars is how many shards a picture has. The rest is one bar.
const mostShardBars = 60

func loadSection(r farm.ResourceName, all []shardLoad) planSection {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b shardLoad) int {
		return cmp.Or(cmp.Compare(b.needs[r], a.needs[r]), cmp.Compare(a.name, b.name))
	})
	total, guessed := 0.0, 0
	for _, x := range sorted {
		total += x.needs[r]
		if x.how(r) == typed {
			guessed++
		}
	}
	s := planSection{ID: "load-" + string(r), Name: string(r)}
	shown := sorted[:min(len(sorted), mostShardBars)]
	top := shown[0].needs[r]
	if top <= 0 || total <= 0 {
		s.Text = []string{"No shard needs any."}
		return s
	}
	heavy := 0.0
	tenth := max(1, len(sorted)/10)
	for _, x := range sorted[:tenth] {
		heavy += x.needs[r]
	}
	s.Text = []string{fmt.Sprintf("%s together; the heaviest tenth of all shards has %s of it. %s typed, %s measured.", amountOf(total, r), percent(heavy/total), whole(float64(guessed)), whole(float64(len(all)-guessed)))}
	c := newChart("chart-load-"+string(r), "The shards that need most "+string(r), 76, 12)
	c.Desc = fmt.Sprintf("A bar for each of the %s that need most %s. A table is below.", count(len(shown), "shard"), r)
	c.Caption = fmt.Sprintf("%s of the %s that need most", r, count(len(shown), "shard"))
	c.Keys = []planKey{{"measured", "measured"}, {"typed", "typed in farm.yaml"}}
	mark := step(top, 4)
	most := mark
	for most < top {
		most += mark
	}
	for v := 0.0; v <= most*1.0001; v += mark {
		c.YTicks = append(c.YTicks, tick{c.y(v / most), amountOf(v, r)})
	}
	wide := (c.X1 - c.X0) / float64(len(shown))
	wide = min(wide, 60)
	var names []string
	for _, x := range shown {
		names = append(names, x.name)
	}
	every := max(1, (len(shown)+19)/20)
	short := labels(names, int(wide*float64(every)/tickLetter))
	for i, x := range shown {
		class := typed
		if x.how(r) != typed {
			class = "measured"
		}
		y := c.y(x.needs[r] / most)
		c.Bars = append(c.Bars, planBar{X: round1(c.X0 + wide*float64(i) + 1), Y: y, W: round1(max(1, wide-2)), H: round1(c.Y1 - y), Class: class,
			Title: fmt.Sprintf("%s in %s: %s, %s, %s", x.name, x.pair, amountOf(x.needs[r], r), percent(x.needs[r]/total), x.how(r))})
		if i%every == 0 {
			c.XTicks = append(c.XTicks, tick{round1(c.X0 + wide*(float64(i)+0.5)), shortened(short(x.name), max(12, int(wide*float64(every)/tickLetter)))})
		}
	}
	s.Chart = c
	return s
}

func loadTable(all []shardLoad, resources []farm.ResourceName) planSection {
	head := []string{"shard", "pair"}
	for _, r := range resources {
		head = append(head, "#"+string(r))
	}
	t := planTable{Caption: "All shards", Head: columns(append(head, "#growth", "measured")...)}
	for _, x := range all {
		row := []string{x.name, x.pair}
		for _, r := range resources {
			row = append(row, amountOf(x.needs[r], r))
		}
		how := []string{}
		for _, r := range resources {
			if x.how(r) != typed {
				how = append(how, string(r))
			}
		}
		t.Rows = append(t.Rows, cells(append(row, amount(x.growth, farm.KindBytesPerDay), cmp.Or(strings.Join(how, ", "), "nothing"))...))
	}
	s := planSection{ID: "all", Name: "Every shard"}
	if n := len(t.Rows); n > mostRows {
		t.Rows = t.Rows[:mostRows]
		s.Notes = []string{fmt.Sprintf("%s of %s: farm.yaml has the rest.", whole(mostRows), whole(float64(n)))}
	}
	s.Tables = []planTable{t.fold()}
	return s
}

// mostRows is how many shards, or findings, a table has: a row has a dozen elements, and what makes a browser wait is their number.
const mostRows = 1000

// loadGroups is a large farm by its groups, a row each. A group leads to its shards.
func loadGroups(all []shardLoad, resources []farm.ResourceName, label, page string) planSection {
	type group struct {
		name             string
		needs            farm.Resources
		growth           float64
		shards, measured int
	}
	var groups []*group
	at := map[string]*group{}
	for _, x := range all {
		g := at[x.group]
		if g == nil {
			g = &group{name: x.group, needs: farm.Resources{}}
			at[x.group], groups = g, append(groups, g)
		}
		g.needs.Add(x.needs)
		g.growth += x.growth
		g.shards++
		if len(x.measured) > 0 {
			g.measured++
		}
	}
	slices.SortFunc(groups, func(a, b *group) int { return farm.Natural(a.name, b.name) })
	head := []string{label, "#shards"}
	for _, r := range resources {
		head = append(head, "#"+string(r))
	}
	t := planTable{Caption: fmt.Sprintf("By %s: %s", label, whole(float64(len(groups)))), Head: columns(append(head, "#growth", "#shards with a measured figure")...)}
	for _, g := range groups[:min(len(groups), mostRacks)] {
		row := []string{g.name, whole(float64(g.shards))}
		for _, r := range resources {
			row = append(row, amountOf(g.needs[r], r))
		}
		line := cells(append(row, amount(g.growth, farm.KindBytesPerDay), whole(float64(g.measured)))...)
		if page != "" {
			line[0].Link = groupPage(page, g.name)
		}
		t.Rows = append(t.Rows, line)
	}
	s := planSection{ID: "all", Name: "Every " + label, Tables: []planTable{t.fold()}}
	if n := len(groups) - len(t.Rows); n > 0 {
		s.Notes = []string{fmt.Sprintf("%s of %s: farm.yaml has the rest.", whole(float64(len(t.Rows))), whole(float64(len(groups))))}
	}
	return s
}

// sumsSection compares the shards with the counters of processes, disks and machines.
func sumsSection(sums []shardload.Sum) planSection {
	t := planTable{Caption: "Shards together, and the counter of the machine", Head: columns("of", "what", "#shards", "#others", "#counter", "#of the counter", "counter from", "remark")}
	for _, s := range sums {
		r := map[string]farm.ResourceName{"cpu": farm.CPU, "iops": farm.IOPS, "bytes": farm.Disk}[s.What]
		ratio := "\u2013"
		if s.Counter > 0 {
			ratio = percent(s.Ratio())
		}
		t.Rows = append(t.Rows, cells(s.Of, s.What, amountOf(s.Shards, r), amountOf(s.Others, r), amountOf(s.Counter, r), ratio, s.Source, s.Note))
	}
	return planSection{ID: "sums", Name: "Compared with counters", Tables: []planTable{t.fold()}}
}
