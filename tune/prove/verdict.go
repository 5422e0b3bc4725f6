package prove

import (
	"fmt"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
)

// looks is how verdicts went while runs were added. Who looks at noise often
// enough sees a difference once; so a verdict counts when the next look has
// it as well. TestLooks has the figures.
type looks struct {
	last stat.Verdict
	held int // looks in a row that said so
}

// enough takes in one more verdict, and says whether runs can end.
func (l *looks) enough(v stat.Verdict) bool {
	if v != l.last {
		l.last, l.held = v, 0
	}
	l.held++
	return v != stat.Inconclusive && l.held >= 2
}

// decide says whether what was tried stays, and why. after is the step with the
// setting tried, c what it is to the step without.
func (l looks) decide(c result.Compared, after *result.Step) (keep bool, why string) {
	switch {
	case after != nil && after.Undurable:
		return false, "with it, fdatasync no longer flushes the device (no flush was counted): it is faster because the data is not on the disk"
	case c.Verdict == stat.Better && l.held < 2:
		return false, "only the last look of all found it better, which chance does as well"
	case c.Verdict == stat.Better && c.P99 != nil && c.P99.Verdict == stat.Worse:
		return false, fmt.Sprintf("more requests a second, and its slowest hundredth takes %.2f times as long: for you to weigh", c.P99.Ratio)
	case c.Verdict == stat.Better:
		return true, "it helped"
	case c.Verdict == stat.Same:
		return false, fmt.Sprintf("it makes no difference of more than %.0f %% here", 100*result.Tolerance)
	case c.Verdict == stat.Worse:
		return false, "it does harm here"
	}
	return false, "cannot be said: " + unsure(c)
}

// unsure says why a comparison is inconclusive.
func unsure(c result.Compared) string {
	switch {
	case c.Note != "":
		return c.Note
	case c.MoreRuns == nil:
		return "others disturb the storage by more than the two differ; no number of runs helps, a quiet hour does"
	}
	return fmt.Sprintf("about %s more of each side would do (--max-runs), if the storage stays as even as it was", farm.Counted(*c.MoreRuns, "run"))
}
