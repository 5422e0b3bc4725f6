package engine

import (
	"fmt"

	"stowage/bench/engine/sheet"
	"stowage/farm"
)

// point is one row to be measured, with what it takes.
type point struct {
	row    *sheet.Row
	cell   sheet.Cell
	load   sheet.Load
	stores []string // names of the servers' data directories
}

// points are the rows of an order, in the order of the table. Cells whose engine is missing have none.
func (o Order) points(missing func(sheet.Cell) string) (cells []*sheet.Cell, all []point) {
	data := sheet.DataBytes(o.Rows)
	add := func(c sheet.Cell, l sheet.Load, ratio float64, id string, stores ...string) *sheet.Row {
		cache := sheet.Cache(data, ratio)
		if len(o.Ratios) > 1 {
			id += fmt.Sprintf(" data/cache %g", ratio)
		}
		r := &sheet.Row{ID: id, Cell: c.ID, Load: l.ID, Durability: c.Durability, Ratio: float64(data) / float64(cache), Cache: cache, Clients: o.Clients, Instances: 1}
		all = append(all, point{row: r, cell: c, load: l, stores: stores})
		return r
	}
	base := ""
	for _, c := range o.Cells {
		c.Missing = missing(c)
		cells = append(cells, &c)
		if c.Missing != "" {
			continue
		}
		if base == "" {
			base = c.ID
		}
		for _, l := range o.Loads {
			if ok, why := c.Runs(l); !ok {
				c.Skipped = append(c.Skipped, l.ID+": "+why)
				continue
			}
			for _, ratio := range o.Ratios {
				switch o.Mode {
				case sheet.Engines:
					add(c, l, ratio, c.ID+"/"+l.ID, c.ID)
					if c.ID == base && !o.alone {
						add(c, l, ratio, c.ID+"/"+l.ID+" again", c.ID+"-again").Again = true
					}
				case sheet.Instances:
					for _, n := range o.Counts {
						var stores []string
						for k := range n {
							stores = append(stores, fmt.Sprintf("%s-%d", c.ID, k+1))
						}
						add(c, l, ratio, fmt.Sprintf("%d x %s/%s", n, c.ID, l.ID), stores...).Instances = n
					}
				case sheet.Apply:
					o.applyPoints(func(threads int, mode, id string) {
						r := add(c, l, ratio, c.ID+"/"+l.ID+" "+id, c.ID+"-primary", c.ID+"-replica")
						r.Threads, r.Parallel = threads, mode
					})
				}
			}
		}
	}
	return cells, all
}

// applyPoints are the combinations of threads and mode; without threads the mode says nothing.
func (o Order) applyPoints(add func(threads int, mode, id string)) {
	for _, n := range o.Threads {
		if n == 0 {
			add(0, "-", "one applier")
			continue
		}
		for _, m := range o.Modes {
			add(n, m, fmt.Sprintf("%s %s", farm.Counted(n, "thread"), m))
		}
	}
}
