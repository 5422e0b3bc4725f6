package digest

import (
	"encoding/hex"
	"math"
	"strings"
	"time"
)

// FormatVersion is the version of the JSON forms of Report and Comparison. Fields are added without a new version;
// a field that changes its meaning or goes away makes one.
const FormatVersion = 1

// Report is what a digest says, for programs and people. Times are in seconds, classes are ordered by total query time,
// largest first.
type Report struct {
	FormatVersion int     `json:"format_version"`
	RuleSet       RuleSet `json:"rule_set"`
	GroupBy       GroupBy `json:"group_by"`
	Inputs        []Input `json:"inputs"`

	Events        uint64     `json:"events"`
	QueryTimeSum  float64    `json:"query_time_sum"`
	QueryTime     Latency    `json:"query_time"`
	Quantiles     []Quantile `json:"quantiles"`
	FirstSeen     *time.Time `json:"first_seen"`
	LastSeen      *time.Time `json:"last_seen"`
	BlockSeconds  int64      `json:"block_seconds"`
	RelativeError float64    `json:"quantile_relative_error"`

	ClassCount    int     `json:"class_count"`
	FoldedClasses uint64  `json:"folded_classes"`
	Classes       []Class `json:"classes"`
}

// Input is one capture that was read.
type Input struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Dialect string   `json:"dialect"`
	Bytes   int64    `json:"bytes"`
	Events  uint64   `json:"events"`
	LeftOut uint64   `json:"left_out"` // by since, until or filter
	Skipped []Remark `json:"skipped"`
	Notes   []Remark `json:"notes"`
	Probe   *Probe   `json:"probe"` // null where nobody probed the host
}

// Remark counts something about an input: what was skipped and is in no event, or what is odd but counted.
type Remark struct {
	Reason      string `json:"reason"`
	Count       uint64 `json:"count"`
	Bytes       int64  `json:"bytes"`
	FirstOffset int64  `json:"first_offset"`
}

// Latency sums up query times, in seconds. Sum, Min, Max and Avg are exact, quantiles within Report.RelativeError. What is
// not known is not a number, and null in JSON.
type Latency struct {
	Sum float64 `json:"sum"`
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	Avg float64 `json:"avg"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	// Stddev is the standard deviation, from the histogram: within 1 %.
	Stddev float64 `json:"stddev"`
	// Summed is how many events came added up, as sums of performance_schema do: the quantiles rest on the others.
	Summed uint64 `json:"summed"`
}

// Quantile is a latency that a share of the events did not exceed.
type Quantile struct {
	Percent float64 `json:"percent"`
	Seconds float64 `json:"seconds"`
}

// Class is all events with one fingerprint, or one group.
type Class struct {
	Fingerprint string `json:"fingerprint"`
	ID32        string `json:"id32"`
	ID16        string `json:"id16"`

	Count     uint64     `json:"count"`
	Untimed   uint64     `json:"untimed"` // of Count: no latency known
	QueryTime Latency    `json:"query_time"`
	Quantiles []Quantile `json:"quantiles"` // those that were asked for, see Listing.Percentiles
	Share     float64    `json:"share"`     // of the query time of all classes, 0 to 1
	Spark     [32]uint64 `json:"histogram"`

	LockTimeSum     float64 `json:"lock_time_sum"`
	EngineTimeSum   float64 `json:"engine_time_sum"`
	RowsExaminedSum float64 `json:"rows_examined_sum"`
	RowsSentSum     float64 `json:"rows_sent_sum"`
	RowsAffectedSum float64 `json:"rows_affected_sum"`
	BytesSentSum    float64 `json:"bytes_sent_sum"`
	QueryBytesSum   float64 `json:"query_bytes_sum"`

	Sums      *SumCounts        `json:"sums"`  // what only sums of performance_schema tell
	Flags     map[string]uint64 `json:"flags"` // how many events were a full scan, and so on
	Users     []Named           `json:"users"`
	Hosts     []Named           `json:"hosts"`
	DBs       []Named           `json:"dbs"`
	Tables    []string          `json:"tables"`
	Truncated []string          `json:"truncated"` // which of these lists are not complete

	FirstSeen *time.Time `json:"first_seen"`
	LastSeen  *time.Time `json:"last_seen"`
	Example   Example    `json:"example"`
	Samples   []Sample   `json:"samples"` // others than the slowest
	Plan      *Plan      `json:"plan"`    // of the example, see Listing.Plans; null where nobody asked for it
}

// Named is a name and how many events had it.
type Named struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Example is the slowest event of a class.
type Example struct {
	Query     string     `json:"query"`
	Truncated bool       `json:"truncated"`
	QueryTime Seconds    `json:"query_time"`
	At        *time.Time `json:"at"`
	User      string     `json:"user"`
	Host      string     `json:"host"`
	DB        string     `json:"db"`
}

// relativeError is the most a quantile can be off, see histogram.go.
const relativeError = 1.0 / octave

// Report says what the digest holds. It can be called any number of times.
func (d *Digest) Report() Report { return d.Listing().Report() }

func (in *input) report() Input {
	out := Input{
		Name: in.name, Type: in.kind, Dialect: in.dialect, Bytes: in.bytes, Events: in.events, LeftOut: in.left,
		Skipped: remarks(in.skipped), Notes: remarks(in.notes),
	}
	if in.probes > 0 {
		out.Probe = &Probe{Count: in.probes, Median: float64(in.probe) / 1e9}
	}
	return out
}

func remarks(rs []remark) []Remark {
	out := []Remark{}
	for _, r := range rs {
		out = append(out, Remark{r.reason, r.count, r.bytes, r.offset})
	}
	return out
}

// mergeTimes takes over what the summary of all classes needs.
func (c *class) mergeTimes(from *class) {
	if from.count > from.untimed {
		if c.count == c.untimed {
			c.least, c.most = from.least, from.most
		}
		c.least, c.most = min(c.least, from.least), max(c.most, from.most)
	}
	c.count += from.count
	c.untimed += from.untimed
	c.queryTime.add(from.queryTime)
	from.times.addTo(&c.times.full().latency)
	if from.sums != nil {
		c.ownSums().merge(from.sums)
	}
	c.seen(from.first)
	c.seen(from.last)
}

func (c *class) report(total wide, percents []float64) Class {
	by := c.people.view()
	r := Class{
		Quantiles:   c.quantiles(percents),
		Fingerprint: valid(c.fingerprint), ID32: c.id32(), Count: c.count, Untimed: c.untimed - c.summed().n,
		QueryTime: c.latencies(), Share: c.share(total), Spark: c.spark(),
		LockTimeSum: c.lockTime.seconds(), EngineTimeSum: c.engineTime.seconds(),
		RowsExaminedSum: c.rowsExamined.float(), RowsSentSum: c.rowsSent.float(), RowsAffectedSum: c.rowsAffected.float(),
		BytesSentSum: c.bytesSent.float(), QueryBytesSum: c.queryBytes.float(),
		Users: by.users.report(), Hosts: by.hosts.report(), DBs: by.dbs.report(), Tables: []string{}, Flags: map[string]uint64{}, Truncated: []string{},
		FirstSeen: instant(c.first), LastSeen: instant(c.last),
		Example: c.example.report(), Samples: c.reportSamples(),
	}
	if c.sums != nil {
		r.Sums = c.sums.report()
	}
	if r.Untimed == r.Count {
		r.untimedExamples()
	}
	r.ID16 = r.ID32[16:]
	for _, t := range c.tableNames() {
		r.Tables = append(r.Tables, valid(t))
	}
	for i, n := range c.flagCounts() {
		if n > 0 {
			r.Flags[flagNames[i]] = n
		}
	}
	for _, l := range []struct {
		name string
		more bool
	}{{"users", by.users.more()}, {"hosts", by.hosts.more()}, {"dbs", by.dbs.more()}, {"tables", c.tables != nil && c.tables.more()}} {
		if l.more {
			r.Truncated = append(r.Truncated, l.name)
		}
	}
	return r
}

// untimedExamples says that nobody knows how long the examples took.
func (c *Class) untimedExamples() {
	c.Example.QueryTime = Seconds(math.NaN())
	for i := range c.Samples {
		c.Samples[i].QueryTime = Seconds(math.NaN())
	}
}

func (c *class) id32() string { return strings.ToUpper(hex.EncodeToString(c.id[:])) }

func (c *class) latencies() Latency {
	n := c.count - c.untimed
	if c.sums != nil && !c.sums.isZero() {
		return c.latenciesOfSums()
	}
	if n == 0 {
		return unknown()
	}
	latency := &c.times.view().latency
	q := func(q float64) float64 { return narrow(latency.quantile(q, n, c.least, c.most)).seconds() }
	return Latency{
		Sum: c.queryTime.seconds(), Min: narrow(c.least).seconds(), Max: narrow(c.most).seconds(),
		Avg: c.queryTime.seconds() / float64(n), P50: q(0.50), P95: q(0.95), P99: q(0.99),
		Stddev: latency.stddev() / 1e9,
	}
}

// quantiles are those at these percents; none where the class came added up.
func (c *class) quantiles(percents []float64) []Quantile {
	out := []Quantile{}
	n := c.count - c.untimed
	if n == 0 || c.sums != nil && !c.sums.isZero() {
		return out
	}
	latency := &c.times.view().latency
	for _, p := range percents {
		out = append(out, Quantile{p, narrow(latency.quantile(p/100, n, c.least, c.most)).seconds()})
	}
	return out
}

// sparkFloor is where the histogram of a report begins: 2^10 ns, 1 microsecond. Every column is one power of two, the
// last holds all from half an hour on.
const sparkFloor = 10

func (c *class) spark() (out [32]uint64) {
	c.times.view().latency.each(func(b int, n uint64) bool {
		column := 0
		for v := bucketLower(b) >> (sparkFloor + 1); v > 0 && column < len(out)-1; v >>= 1 {
			column++
		}
		out[column] += n
		return true
	})
	return out
}

func (t *tally) report() []Named {
	out := []Named{}
	for _, n := range t.ranked() {
		out = append(out, Named{valid(n.name.text), n.n})
	}
	return out
}

func (x *example) report() Example {
	w := x.ranBy()
	return Example{
		Query: valid(x.text), Truncated: x.cut, QueryTime: Seconds(narrow(x.ns).seconds()), At: instant(x.at),
		User: valid(w.user.String()), Host: valid(w.host.String()), DB: valid(w.db.String()),
	}
}

func instant(at int64) *time.Time {
	if at == 0 {
		return nil
	}
	t := time.UnixMicro(at).UTC()
	return &t
}

// valid is text as UTF-8: captures hold bytes of any character set, and blobs.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
