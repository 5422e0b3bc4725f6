package digest

import (
	"fmt"
	"math"
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

// orderValue is what classes are ordered by, largest first; what is not known comes last.
func orderValue(name string) (func(*Class) float64, error) {
	for _, o := range orders {
		if o.name == name {
			return func(c *Class) float64 {
				if v := o.value(c); !math.IsNaN(v) {
					return v
				}
				return -1
			}, nil
		}
	}
	return nil, fmt.Errorf("order classes: cannot order by %q (%s)", name, strings.Join(OrderNames(), ", "))
}

// OrderBy puts the classes into another order than that of total query time. Ties keep that order.
func (r *Report) OrderBy(name string) error {
	value, err := orderValue(name)
	if err != nil {
		return err
	}
	sort.SliceStable(r.Classes, func(i, j int) bool { return value(&r.Classes[i]) > value(&r.Classes[j]) })
	return nil
}

// Top keeps the first n classes; ClassCount goes on telling how many there were. It does nothing when n is not positive.
func (r *Report) Top(n int) {
	if n > 0 && n < len(r.Classes) {
		r.Classes = r.Classes[:n]
	}
}
