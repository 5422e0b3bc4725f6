package digest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// logOf is a log of so many statements a second; each takes so long.
func logOf(start int64, seconds, each int, took float64, statement string) string {
	var log strings.Builder
	for s := range seconds {
		for i := range each {
			fmt.Fprintf(&log, "# User@Host: app[app] @ host []\n# Query_time: %.6f  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\n%s %d;\n", took, start+int64(s), statement, i)
		}
	}
	return log.String()
}

func digestOfLog(t *testing.T, log string) *Digest {
	t.Helper()
	b := New(Options{})
	if err := b.Read("log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	return b.Digest()
}

// Two windows of ten minutes, an hour apart: load is by the time that was seen, not by the hour, and a class that is new says
// when it came.
func TestTrendOfTwoWindows(t *testing.T) {
	const noon = 1795003200
	d := digestOfLog(t, logOf(noon, 600, 4, 0.01, "SELECT a FROM t WHERE id ="))
	if err := d.Merge(digestOfLog(t, logOf(noon+3600, 600, 4, 0.02, "SELECT a FROM t WHERE id =")+logOf(noon+3600, 600, 1, 0.1, "SELECT b FROM t WHERE id ="))); err != nil {
		t.Fatal(err)
	}
	tr := d.Trend(TrendOptions{Step: time.Hour})
	if len(tr.Steps) != 2 || len(tr.Classes) != 2 || tr.ClassCount != 2 {
		t.Fatalf("%+v", tr)
	}
	first, second := tr.Steps[0], tr.Steps[1]
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.06*want } // blocks keep coarse buckets
	if !near(first.Load, 0.04) || !near(second.Load, 0.18) || !near(first.Calls, 4) || !near(second.Calls, 5) || first.New != 1 || second.New != 1 || !near(first.P95, 0.01) {
		t.Errorf("%+v\n%+v", first, second)
	}
	for _, c := range tr.Classes {
		if len(c.Steps) != 2 || c.FirstSeen == nil {
			t.Errorf("%+v", c)
		}
	}
	id := tr.Classes[0].ID16
	if tr = d.Trend(TrendOptions{Step: time.Hour, Class: strings.ToLower(id[:6])}); len(tr.Classes) != 1 || tr.Classes[0].ID16 != id {
		t.Errorf("class %s: %+v", id, tr.Classes)
	}
	if tr = d.Trend(TrendOptions{Since: time.Unix(noon+1800, 0)}); len(tr.Steps) == 0 || tr.Steps[0].Start.Unix() < noon+3000 {
		t.Errorf("since: %+v", tr.Steps)
	}
}

// The deviation of equal values is none, that of two values half their distance.
func TestStandardDeviation(t *testing.T) {
	same := digestOfLog(t, logOf(1795003200, 100, 10, 0.2, "SELECT a FROM t WHERE id =")).Report()
	if s := same.Classes[0].QueryTime.Stddev; s != 0 {
		t.Errorf("of equal values: %v", s)
	}
	two := digestOfLog(t, logOf(1795003200, 100, 10, 0.2, "SELECT a FROM t WHERE id =")+logOf(1795003200, 100, 10, 0.4, "SELECT a FROM t WHERE id =")).Listing()
	two.Percentiles([]float64{25, 99.9})
	c := two.Report().Classes[0]
	if math.Abs(c.QueryTime.Stddev-0.1) > 0.002 || len(c.Quantiles) != 2 || math.Abs(c.Quantiles[0].Seconds-0.2) > 0.002 || math.Abs(c.Quantiles[1].Seconds-0.4) > 0.004 {
		t.Errorf("%+v %+v", c.QueryTime, c.Quantiles)
	}
}

// A history table that pt-query-digest filled becomes windows, and remarks of people stay with their class.
func TestReadReview(t *testing.T) {
	history := "checksum\tsample\tts_min\tts_max\tts_cnt\tQuery_time_sum\tQuery_time_min\tQuery_time_max\n" +
		"A8097746426FE6BD\tselect name from users where id = 5\t2026-11-20 10:00:00\t2026-11-20 10:59:59\t3600\t36\t0.001\t0.2\n" +
		"A8097746426FE6BD\tselect name from users where id = 6\t2026-11-20 11:00:00\t2026-11-20 11:59:59\t7200\t144\t0.001\t0.5\n" +
		"0000000000000001\tNULL\t2026-11-20 11:00:00\t2026-11-20 11:59:59\t7200\t144\t0.001\t0.5\n"
	review := "checksum\tfingerprint\treviewed_by\tcomments\n12108340216808335037\tselect name from users where id = ?\tanna\tone\\ntwo\n"
	r, err := ReadReview(strings.NewReader(review), strings.NewReader(history))
	if err != nil {
		t.Fatal(err)
	}
	tr := r.Digest.Trend(TrendOptions{Step: time.Hour})
	tr.Remember(r.Reviewed)
	if r.Windows != 3 || r.Unknown != 1 || len(tr.Classes) != 1 || tr.Classes[0].ID16 != "A8097746426FE6BD" || tr.Classes[0].Events != 10800 || math.Abs(tr.Classes[0].QueryTime-180) > 1e-6 {
		t.Fatalf("%+v %+v", r, tr.Classes)
	}
	if x := tr.Classes[0].Reviewed; x == nil || x.By != "anna" || x.Comments != "one\ntwo" {
		t.Errorf("%+v", x)
	}
	if _, err := ReadReview(nil, strings.NewReader("a\tb\n1\t2\n")); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a table without a checksum: %v", err)
	}
}
