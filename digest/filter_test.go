package digest

import (
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	e := event{
		queryTime: narrow(12_000_000), timed: true, lockTime: 5000, rowsSent: 1500, thread: 9, flags: 1 << flagFullScan,
		user: named1([]byte("App")), host: named1([]byte("web1")), db: named1([]byte("shop_07")),
		text: []byte("SELECT a FROM orders JOIN users USING (id) WHERE name='it'"),
	}
	b := New(Options{})
	for expr, want := range map[string]bool{
		"query_time > 10ms":                           true,
		"query_time>10ms":                             true,
		"query_time > 0.012":                          false,
		"query_time >= 12ms and query_time<=12000us":  true,
		"query_time = 12ms":                           true,
		"rows_sent > 1k":                              true,
		"rows_sent >= 1.5k and rows_sent < 2k":        true,
		"lock_time < 1us":                             false,
		"db = shop_*":                                 true,
		"db != shop_*":                                false,
		"user = app":                                  true,
		"user = ap":                                   false,
		"user ~ '^a.p$'":                              true,
		"user !~ ^a":                                  false,
		"query ~ \"from +orders\"":                    true,
		"query = '*users*'":                           true,
		"table = users":                               true,
		"table = user":                                false,
		"verb = select":                               true,
		"fingerprint = 'select a from orders *'":      true,
		"full_scan":                                   true,
		"not full_scan":                               false,
		"not full_scan or host = web1":                true,
		"error or killed":                             false,
		"not (user = app and (db = x or thread = 9))": false,
		"user = x or user = app and db = shop_07":     true,
		"(user = x or user = app) and db = nowhere":   false,
		"NOT error AND Full_Scan":                     true,
	} {
		f, err := ParseFilter(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if got := f.root(&candidate{&e, b}); got != want {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}

func TestFilterErrorsSayWhere(t *testing.T) {
	for expr, want := range map[string]string{
		"":                        "column 1: a field expected, but it ends there",
		"query_time >":            "column 13: a value expected, but it ends there",
		"query_time > fast":       `column 14: a number, such as 10, 2.5ms or 1k expected, found "fast"`,
		"qtime > 1":               `column 1: no field "qtime"; there are admin, bytes_sent`,
		"user = a user = b":       `column 10: and, or, or the end expected, found "user"`,
		"(user = a":               "column 10: ) expected, but it ends there",
		"user ~ '('":              "column 8: error parsing regexp",
		"user < a":                "column 8: < does not go with a text",
		"query_time ~ 1":          "column 14: ~ does not go with a number",
		"user":                    "column 5: an operator",
		"= 1":                     "column 1: a field expected",
		strings.Repeat("(", 1000): "nested too deeply",
	} {
		if _, err := ParseFilter(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", expr, err, want)
		}
	}
}

func TestFilterLeavesOut(t *testing.T) {
	f, err := ParseFilter("query_time > 25us")
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Filter: f})
	if err := b.ReadSlowLog("log", strings.NewReader(logged(30, "SELECT 1")+logged(20, "COMMIT"))); err != nil {
		t.Fatal(err)
	}
	r := b.Digest().Report()
	want(t, r, "1 select ?")
	if r.Inputs[0].LeftOut != 1 {
		t.Errorf("left out %d", r.Inputs[0].LeftOut)
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("query_time > 10ms and not (user ~ 'a|b' or full_scan)")
	b := New(Options{})
	e := event{text: []byte("select a from t"), queryTime: narrow(1), timed: true}
	f.Fuzz(func(t *testing.T, s string) {
		if filter, err := ParseFilter(s); err == nil {
			filter.root(&candidate{&e, b})
		}
	})
}
