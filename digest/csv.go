package digest

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// csvColumns are the columns of WriteCSV, in order. New ones are added at the end only.
var csvColumns = []struct {
	name  string
	value func(*Class) string
}{
	{"id32", func(c *Class) string { return c.ID32 }},
	{"id16", func(c *Class) string { return c.ID16 }},
	{"fingerprint", func(c *Class) string { return c.Fingerprint }},
	{"count", func(c *Class) string { return strconv.FormatUint(c.Count, 10) }},
	{"share", func(c *Class) string { return csvNumber(c.Share) }},
	{"query_time_sum", func(c *Class) string { return csvNumber(c.QueryTime.Sum) }},
	{"query_time_min", func(c *Class) string { return csvNumber(c.QueryTime.Min) }},
	{"query_time_avg", func(c *Class) string { return csvNumber(c.QueryTime.Avg) }},
	{"query_time_p50", func(c *Class) string { return csvNumber(c.QueryTime.P50) }},
	{"query_time_p95", func(c *Class) string { return csvNumber(c.QueryTime.P95) }},
	{"query_time_p99", func(c *Class) string { return csvNumber(c.QueryTime.P99) }},
	{"query_time_max", func(c *Class) string { return csvNumber(c.QueryTime.Max) }},
	{"lock_time_sum", func(c *Class) string { return csvNumber(c.LockTimeSum) }},
	{"rows_examined_sum", func(c *Class) string { return csvNumber(c.RowsExaminedSum) }},
	{"rows_sent_sum", func(c *Class) string { return csvNumber(c.RowsSentSum) }},
	{"rows_affected_sum", func(c *Class) string { return csvNumber(c.RowsAffectedSum) }},
	{"bytes_sent_sum", func(c *Class) string { return csvNumber(c.BytesSentSum) }},
	{"tables", func(c *Class) string { return strings.Join(c.Tables, " ") }},
	{"users", func(c *Class) string { return csvNames(c.Users) }},
	{"hosts", func(c *Class) string { return csvNames(c.Hosts) }},
	{"dbs", func(c *Class) string { return csvNames(c.DBs) }},
	{"first_seen", func(c *Class) string { return csvTime(c.FirstSeen) }},
	{"last_seen", func(c *Class) string { return csvTime(c.LastSeen) }},
	{"example", func(c *Class) string { return c.Example.Query }},
	{"query_time_stddev", func(c *Class) string { return csvNumber(c.QueryTime.Stddev) }},
}

// WriteCSV writes one line per class below a line of column names (RFC 4180, times in seconds). A text that a spreadsheet
// would run as a formula gets a single quote in front.
func WriteCSV(w io.Writer, r Report) error { return writeCSV(w, slices.Values(r.Classes)) }

func writeCSV(w io.Writer, classes iter.Seq[Class]) error {
	out := csv.NewWriter(w)
	row := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		row[i] = c.name
	}
	if err := out.Write(row); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	for class := range classes {
		for i, c := range csvColumns {
			row[i] = csvText(c.value(&class))
		}
		if err := out.Write(row); err != nil {
			return fmt.Errorf("write csv: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// csvText disarms formulas: captures hold text that strangers chose.
func csvText(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

func csvNumber(v float64) string {
	if math.IsNaN(v) {
		return "" // not known
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func csvNames(ns []Named) string {
	var out []string
	for _, n := range ns {
		out = append(out, n.Name)
	}
	return strings.Join(out, " ")
}

func csvTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
