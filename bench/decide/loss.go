package decide

import (
	"math"
	"slices"
)

// loss is what one lost device costs a candidate; nil where nobody described its devices.
func (t *table) loss(i int) *Loss {
	c := t.d.Candidates[i].doubted(t.d.Doubt)
	a := c.Array
	if !a.IsKnown() {
		return nil
	}
	left := a.degraded()
	l := &Loss{Level: a.Level, Devices: a.Devices, Survives: a.survives(), Data: left.Data, Reads: left.Reads, Writes: left.Writes, Formula: a.formula()}
	of := func(figure string) *float64 {
		v, w := reckon(&c, t.d.Workload, Goal{Figure: figure}, asGiven)
		if math.IsNaN(v) {
			if !slices.Contains(l.Unknown, w.why) {
				l.Unknown = append(l.Unknown, w.why)
			}
			return nil
		}
		return &v
	}
	l.Usable = of("capacity")
	if a.survives() > 0 {
		l.Exposure = of("exposure")
		if size, speed := c.Figures[Key{What: "capacity"}], c.Figures[Key{What: "rebuild_rate"}]; size.Known() && speed.Known() {
			l.Rebuild = known(size.Value / speed.Value / 3600)
		}
	}
	l.Second, l.Yearly = of("second loss"), of("yearly loss")
	if f := c.Figures[Key{What: "afr"}]; f.Known() {
		l.AFR, l.Basis = known(f.Value), f.Basis
	}
	return l
}
