package report

import (
	"cmp"
	"fmt"
	"slices"

	"stowage/farm"
)

// shardLoad is what one shard needs, and how that is known.
type shardLoad struct {
	name, pair string
	needs      farm.Resources
	growth     float64
	isMeasured bool // its disk, by an inventory
}

// NewLoadDocument is what each shard needs, as farm.yaml has it, with sizes as the newest inventory measured them.
func NewLoadDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Load by shard"}
	if f.Farm == nil {
		return d
	}
	var all []shardLoad
	sizes := map[farm.ShardName]int64{}
	if f.Inventory != nil {
		sizes = f.Inventory.ShardBytes()
	}
	measured := 0
	for _, p := range f.Farm.Pairs {
		for _, s := range p.Shards {
			x := shardLoad{name: string(s.Name), pair: string(p.Name), needs: farm.Resources{}, growth: s.Growth}
			x.needs.Add(s.Needs)
			if bytes, ok := sizes[s.Name]; ok && bytes > 0 {
				x.needs[farm.Disk], x.isMeasured = float64(bytes), true
				measured++
			}
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		d.Verdict = "There is no shard in farm.yaml."
		return d
	}
	d.Verdict = fmt.Sprintf("%s.", count(len(all), "shard"))
	d.Lead = fmt.Sprintf("CPU, IOPS and memory are typed in farm.yaml. Disk is measured for %s of them, and typed for the others.", whole(float64(measured)))
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
	d.Sections = append(d.Sections, loadTable(all, resources))
	return d
}

// mostShardBars is how many shards a picture has. The rest is one bar.
const mostShardBars = 60

func loadSection(r farm.ResourceName, all []shardLoad) planSection {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b shardLoad) int {
		return cmp.Or(cmp.Compare(b.needs[r], a.needs[r]), cmp.Compare(a.name, b.name))
	})
	total, typed := 0.0, 0
	for _, x := range sorted {
		total += x.needs[r]
		if r != farm.Disk || !x.isMeasured {
			typed++
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
	s.Text = []string{fmt.Sprintf("%s together; the heaviest tenth of all shards has %s of it. %s typed, %s measured.", amountOf(total, r), percent(heavy/total), whole(float64(typed)), whole(float64(len(all)-typed)))}
	c := newChart("chart-load-"+string(r), "The shards that need most "+string(r), 76, 12)
	c.Desc = fmt.Sprintf("A bar for each of the %s that need most %s. The table below has all.", count(len(shown), "shard"), r)
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
	short := brief(names)
	for i, x := range shown {
		class := "typed"
		if r == farm.Disk && x.isMeasured {
			class = "measured"
		}
		y := c.y(x.needs[r] / most)
		c.Bars = append(c.Bars, planBar{X: round1(c.X0 + wide*float64(i) + 1), Y: y, W: round1(max(1, wide-2)), H: round1(c.Y1 - y), Class: class,
			Title: fmt.Sprintf("%s in %s: %s, %s, %s", x.name, x.pair, amountOf(x.needs[r], r), percent(x.needs[r]/total), class)})
		if every := max(1, (len(shown)+19)/20); i%every == 0 {
			c.XTicks = append(c.XTicks, tick{round1(c.X0 + wide*(float64(i)+0.5)), shortened(short(x.name), 12)})
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
	t := planTable{Caption: "All shards", Head: columns(append(head, "#growth", "disk is")...)}
	for _, x := range all {
		row := []string{x.name, x.pair}
		for _, r := range resources {
			row = append(row, amountOf(x.needs[r], r))
		}
		how := "typed"
		if x.isMeasured {
			how = "measured"
		}
		t.Rows = append(t.Rows, cells(append(row, amount(x.growth, farm.KindBytesPerDay), how)...))
	}
	s := planSection{ID: "all", Name: "Every shard"}
	if n := len(t.Rows); n > mostRows {
		t.Rows = t.Rows[:mostRows]
		s.Notes = []string{fmt.Sprintf("%s of %s: farm.yaml has the rest.", whole(mostRows), whole(float64(n)))}
	}
	s.Tables = []planTable{t.fold()}
	return s
}

// mostRows is as many as a browser shows at once without effort.
const mostRows = 5000
