package digest

import (
	"fmt"
	"math"
)

// A slow log holds what took longer than long_query_time, and does not say how long that is. Where two logs were made with
// different thresholds, the times of a class are cut off at different places: nothing of what is left can be called faster or slower.
// With a threshold several classes begin at the same time, and that time is a round number. A slower server has neither effect.

const (
	leastCut = 1e-3 // seconds: a threshold below it leaves out hardly anything
	cutApart = 1.5  // by so much differ thresholds that count

	// A threshold cuts where statements are many: the shortest twentieth of them lies close together. The shortest of all statements are
	// few, and lie apart: of log-normal times with sigma 0.5, by a third among 50 of them, twofold among 1,000.
	crowdShare = 0.05
	crowdWidth = 1.2
	crowdFew   = 20 // statements of a class that say where it begins

	roundWidth = 1.03 // the shortest of many lies this close behind the number that people wrote
)

// isRound says whether a time is one digit and zeros, or hardly more.
func isRound(seconds float64) bool {
	unit := math.Pow(10, math.Floor(math.Log10(seconds)+1e-9))
	return seconds <= roundWidth*unit*math.Floor(seconds/unit+1e-9)
}

// crowdsAt says whether the shortest times of a class lie as close together as behind a threshold of so much. Sums do not tell.
func (c *class) crowdsAt(least uint64) bool {
	n := c.count - c.untimed
	if n < crowdFew || c.sums != nil && !c.sums.isZero() {
		return false
	}
	latency := &c.times.view().latency
	return float64(latency.quantile(crowdShare, n, c.least, c.most)) <= crowdWidth*float64(least)
}

// cuts are the shortest times of the classes that both sides have, where thresholds made them differ; 0 where there are no two thresholds.
func (p *pairing) cuts() (low, high float64) {
	var before, after class
	for i := range p.before {
		if p.before[i] != nil && p.after[i] != nil {
			before.mergeTimes(p.before[i])
			after.mergeTimes(p.after[i])
		}
	}
	late := p.after
	if before.least > after.least {
		before, after, late = after, before, p.before
	}
	low, high = narrow(before.least).seconds(), narrow(after.least).seconds()
	if before.count-before.untimed < wantEvents || after.count-after.untimed < wantEvents || high < leastCut || high <= cutApart*low || !isRound(high) {
		return 0, 0
	}
	crowding := 0
	for i, c := range late {
		if p.before[i] != nil && p.after[i] != nil && c.crowdsAt(after.least) {
			crowding++
		}
	}
	if crowding < 2 { // one class may always take as long
		return 0, 0
	}
	return low, high
}

// heed takes back what was judged of times that two thresholds cut.
func (t *trial) heed(out *Comparison, low, high float64) {
	if high == 0 {
		return
	}
	t.shared, t.cut = shared{}, "BEFORE and AFTER have different thresholds (long_query_time)"
	out.Notes = append(out.Notes, fmt.Sprintf("the shortest statement of one side took %s, of the other %s: the logs were made with different thresholds (long_query_time), and no time is judged; digest both logs with --filter 'query_time >= %s' --save NAME, and compare these",
		duration(low), duration(high), duration(high)))
}
