package digest

import "math"

// sums writes what came added up: on how many events the quantiles rest, and the counts that only sums tell.
func (p *page) sums(l Latency, c *SumCounts) {
	indent := "   sums      "
	if c == nil {
		indent = "         "
	}
	switch {
	case l.Summed == 0:
	case math.IsNaN(l.P50):
		p.line("%sno latencies of single statements: there are no quantiles", indent)
	default:
		p.line("%s%s events came added up: the quantiles rest on the others", indent, count(l.Summed))
	}
	if c != nil && c.Warnings+c.FullJoins+c.TmpTables > 0 {
		p.line("%swarnings %s, full joins %s, temporary tables %s (on disk %s)", indent, count(c.Warnings), count(c.FullJoins), count(c.TmpTables), count(c.TmpDiskTables))
	}
}
