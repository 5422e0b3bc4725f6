package digest

import (
	"fmt"
	"strings"
	"testing"
)

func TestGroupBy(t *testing.T) {
	log := logged(30, "SELECT a FROM orders JOIN users USING (id)") + logged(20, "SELECT a FROM money_07.orders") +
		strings.ReplaceAll(strings.ReplaceAll(logged(10, "COMMIT"), "app[app] @ web1", "root[root] @ db1"), "Schema: shop", "Schema: ")
	for by, want := range map[GroupBy]string{
		ByFingerprint: "select a from orders join users using (id):1 select a from money_?orders:1 commit:1",
		ByTable:       "shop.orders:1 shop.users:1 money_07.orders:1 (none):1",
		ByUser:        "app:2 root:1",
		ByHost:        "web1:2 db1:1",
		ByDB:          "shop:2 (none):1",
		ByShard:       "shop:1 money_07:1 (none):1",
	} {
		t.Run(string(by), func(t *testing.T) {
			b := New(Options{GroupBy: by})
			if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
				t.Fatal(err)
			}
			r := b.Digest().Report()
			var got []string
			for _, c := range r.Classes {
				got = append(got, fmt.Sprintf("%s:%d", c.Fingerprint, c.Count))
			}
			if g := strings.Join(got, " "); g != want {
				t.Errorf("got %s\nwant %s", g, want)
			}
			if r.Events != 3 || r.QueryTimeSum != 0.00006 {
				t.Errorf("%d events, %v s: the whole must not depend on the groups", r.Events, r.QueryTimeSum)
			}
		})
	}
}

func TestLexerRulesInAReport(t *testing.T) {
	b := New(Options{Rules: RulesLexer})
	if err := b.ReadSlowLog("log", strings.NewReader(logged(30, "SELECT a FROM t_1 WHERE b = 'x'")+logged(20, "select a from t_2 where b='y'"))); err != nil {
		t.Fatal(err)
	}
	r := b.Digest().Report()
	want(t, r, "2 select a from t_? where b = ?")
	if r.RuleSet != RulesLexer || fmt.Sprint(r.Classes[0].Tables) != "[t_1 t_2]" {
		t.Errorf("rules %s, tables %v", r.RuleSet, r.Classes[0].Tables)
	}
}

func TestSinceAndUntil(t *testing.T) {
	log := extra(10) + extra(20) + extra(30)
	all := readLog(t, log)
	for _, c := range []struct {
		o    Options
		want uint64
	}{
		{Options{Since: all.FirstSeen.Add(1000)}, 2},
		{Options{Since: *all.FirstSeen}, 3},
		{Options{Until: *all.LastSeen}, 2},
		{Options{Since: all.FirstSeen.Add(1e9), Until: all.LastSeen.Add(-1000)}, 1},
	} {
		b := New(c.o)
		if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		r := b.Digest().Report()
		if r.Events != c.want || r.Inputs[0].LeftOut != 3-c.want {
			t.Errorf("since %v until %v: %d events, %d left out", c.o.Since, c.o.Until, r.Events, r.Inputs[0].LeftOut)
		}
	}
}

func TestTooManyClassesAreFolded(t *testing.T) {
	var log strings.Builder
	for i := range 3000 {
		log.WriteString(logged(10, fmt.Sprintf("SELECT %s FROM rare", strings.Repeat("x", 1+i))))
		log.WriteString(logged(1000, "SELECT a FROM busy"))
	}
	b := New(Options{MaxClasses: 100})
	if err := b.ReadSlowLog("log", strings.NewReader(log.String())); err != nil {
		t.Fatal(err)
	}
	r := b.Digest().Report()
	var calls uint64
	for _, c := range r.Classes {
		calls += c.Count
	}
	if r.Events != 6000 || calls != 6000 || len(r.Classes) > 100 || r.Classes[0].Count != 3000 || r.FoldedClasses < 2900 {
		t.Errorf("%d events, %d in %d classes, %d folded, the busiest has %d", r.Events, calls, len(r.Classes), r.FoldedClasses, r.Classes[0].Count)
	}
}
