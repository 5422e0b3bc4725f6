package bench

import (
	"fmt"
	"time"

	"stowage/farm"
)

// sayHowLong says before anything is done what is going to be.
func (r *runner) sayHowLong() {
	p := r.order.Profile
	runs, least, most := p.Estimate()
	text := fmt.Sprintf("%s: %s, at least %s, about %v of measuring", p.Name, farm.Counted(len(p.Steps), "step"), farm.Counted(runs, "run"), least.Round(time.Second))
	switch {
	case p.Budget > 0:
		text += fmt.Sprintf(", no new round after %v", p.Budget)
	case most > least:
		text += fmt.Sprintf(" and up to %v where intervals stay wide", most.Round(time.Second))
	}
	if limit := p.settleLimit(); limit > 0 {
		text += fmt.Sprintf("; before that everything is written %d times, and overwritten until the speed is steady, up to %v", p.Passes, limit)
	}
	r.say("%s", text)
}

// ahead is how many runs there will be yet at least, behind one of a round that still has the steps after it, and about how long they take: as long as
// runs are meant to, stretched by how much longer those of this session took. The A/A runs at the end take time and are not counted.
func (r *runner) ahead(round int, after []Step) (runs int, left time.Duration) {
	p := r.order.Profile
	add := func(s Step, round int) {
		if !r.has(s, round) {
			runs, left = runs+1, left+p.timeOf(s)
		}
	}
	for _, s := range after {
		add(s, round)
	}
	if r.order.Round == 0 {
		for later := round + 1; later <= p.MinRuns; later++ {
			for _, s := range p.Steps {
				if s.Long == 0 {
					add(s, later)
				}
			}
		}
		left += aaRuns * p.timeOf(Step{})
	}
	if r.meant > 0 {
		left = time.Duration(float64(left) * float64(r.taken) / float64(r.meant))
	}
	return runs, left
}
