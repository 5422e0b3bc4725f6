package digest

import (
	"fmt"
	"sort"
	"strings"
)

// orders are what classes can be ordered by, largest first.
var orders = []struct {
	name  string
	value func(*Class) float64
}{
	{"query_time", func(c *Class) float64 { return c.QueryTime.Sum }},
	{"count", func(c *Class) float64 { return float64(c.Count) }},
	{"avg", func(c *Class) float64 { return c.QueryTime.Avg }},
	{"p50", func(c *Class) float64 { return c.QueryTime.P50 }},
	{"p95", func(c *Class) float64 { return c.QueryTime.P95 }},
	{"p99", func(c *Class) float64 { return c.QueryTime.P99 }},
	{"max", func(c *Class) float64 { return c.QueryTime.Max }},
	{"lock_time", func(c *Class) float64 { return c.LockTimeSum }},
	{"rows_examined", func(c *Class) float64 { return c.RowsExaminedSum }},
	{"rows_sent", func(c *Class) float64 { return c.RowsSentSum }},
	{"rows_affected", func(c *Class) float64 { return c.RowsAffectedSum }},
	{"bytes_sent", func(c *Class) float64 { return c.BytesSentSum }},
}

// OrderNames are the names Report.OrderBy takes, the default first.
func OrderNames() []string {
	var out []string
	for _, o := range orders {
		out = append(out, o.name)
	}
	return out
}

// OrderBy puts the classes into another order than that of total query time. Ties keep that order.
func (r *Report) OrderBy(name string) error {
	for _, o := range orders {
		if o.name == name {
			sort.SliceStable(r.Classes, func(i, j int) bool { return o.value(&r.Classes[i]) > o.value(&r.Classes[j]) })
			return nil
		}
	}
	return fmt.Errorf("order classes: cannot order by %q (%s)", name, strings.Join(OrderNames(), ", "))
}

// Top keeps the first n classes; ClassCount goes on telling how many there were. It does nothing when n is not positive.
func (r *Report) Top(n int) {
	if n > 0 && n < len(r.Classes) {
		r.Classes = r.Classes[:n]
	}
}
