package digest

import "fmt"

// A slow log holds what took longer than long_query_time, and does not say how long that is. Where two logs were made with
// different thresholds, the times of a class are cut off at different places: nothing of what is left can be called faster or slower.

const (
	leastCut = 1e-3 // seconds: a threshold below it leaves out hardly anything
	cutApart = 1.5  // by so much differ thresholds that count

	// A threshold cuts where statements are many: the shortest twentieth of them lies close together. The shortest of all statements are
	// few, and lie apart: of log-normal times with sigma 0.5, by a third among 50 of them, twofold among 1,000.
	crowdShare = 0.05
	crowdWidth = 1.2
)

// isCrowded says whether the shortest times lie as close together as behind a threshold. Sums do not tell.
func (c *class) isCrowded() bool {
	n := c.count - c.untimed
	if n < wantEvents || c.sums != nil && !c.sums.isZero() {
		return false
	}
	latency := &c.times.view().latency
	return float64(latency.quantile(crowdShare, n, c.least, c.most)) <= crowdWidth*float64(c.least)
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
	if before.least > after.least {
		before, after = after, before
	}
	low, high = narrow(before.least).seconds(), narrow(after.least).seconds()
	if before.count-before.untimed < wantEvents || !after.isCrowded() || high < leastCut || high <= cutApart*low {
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
