package digest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// ranAs is an event with the flags of its plan, as MariaDB writes it.
func ranAs(second, micros int, user, query string, scan, sort bool) string {
	yes := map[bool]string{true: "Yes", false: "No"}
	return fmt.Sprintf("# User@Host: %s[%s] @ web1 [10.0.0.7]\n# Query_time: %d.%06d  Lock_time: 0.000007  Rows_sent: 1  Rows_examined: 2\n"+
		"# Full_scan: %s  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n# Filesort: %s  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n"+
		"SET timestamp=%d;\n%s;\n", user, user, micros/1000000, micros%1000000, yes[scan], yes[sort], 1795297544+second, query)
}

func TestSamplesOfAClass(t *testing.T) {
	var log strings.Builder
	log.WriteString(banner)
	for i := range 200 {
		log.WriteString(ranAs(i, 1000+7*i, "app", fmt.Sprintf("SELECT a FROM t WHERE id = %d", i), false, false))
	}
	log.WriteString(ranAs(300, 900_000, "app", "SELECT a FROM t WHERE id = 5000", false, false))
	log.WriteString(ranAs(301, 50_000, "batch", "SELECT a FROM t WHERE id = 6000", true, false))
	log.WriteString(ranAs(302, 40_000, "batch", "SELECT a FROM t WHERE id = 6001", true, false))
	log.WriteString(ranAs(303, 30_000, "batch", "SELECT a FROM t WHERE id = 7000", true, true))
	log.WriteString(ranAs(304, 10_000, "app", "COMMIT", false, false))
	r := readLog(t, log.String())
	c := r.Classes[0]
	got := map[string]string{"slowest": c.Example.Query}
	for _, s := range c.Samples {
		got[strings.TrimSpace(s.Why+" "+strings.Join(s.Flags, " "))] = s.Query
	}
	for why, query := range map[string]string{
		"slowest": "SELECT a FROM t WHERE id = 5000", "fastest": "SELECT a FROM t WHERE id = 0",
		"plan full_scan": "SELECT a FROM t WHERE id = 6000", "plan full_scan filesort": "SELECT a FROM t WHERE id = 7000",
	} {
		if got[why] != query {
			t.Errorf("%s: %q, want %q", why, got[why], query)
		}
	}
	if got["random"] == "" || len(c.Samples) != 4 {
		t.Errorf("%+v", c.Samples)
	}
	if len(r.Classes[1].Samples) != 0 {
		t.Errorf("a class of one statement has others: %+v", r.Classes[1].Samples)
	}
	var text bytes.Buffer
	if err := WriteText(&text, r, TextOptions{Width: 80}); err != nil || !strings.Contains(text.String(), "other run 30.0ms at 2026-11-21 21:50:47, full scan, filesort") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// What is left out of a page with --anonymize is left out of its samples.
func TestSamplesAreAnonymized(t *testing.T) {
	b := New(Options{})
	for i, mail := range []string{"anna", "berta", "clara"} {
		in := ranAs(i, 1000*(i+1), "u"+mail, "SELECT a FROM t WHERE mail = '"+mail+"@example.com'", i == 1, false)
		if err := b.ReadSlowLog("log", strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
	}
	l := b.Digest().Listing()
	var plain bytes.Buffer
	if err := l.WriteJSON(&plain); err != nil || strings.Count(plain.String(), "@example.com") != 3 {
		t.Fatalf("%v: samples are missing\n%s", err, plain.String())
	}
	l.Anonymize()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"JSON": func(w *bytes.Buffer) error { return l.WriteJSON(w) }, "text": func(w *bytes.Buffer) error { return l.WriteText(w, TextOptions{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"anna", "berta", "clara"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s tells %s:\n%s", name, secret, out.String())
			}
		}
	}
}

// Samples come out the same in whatever order digests are merged, and whether they were stored between.
func TestSamplesMergeInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var pieces [][]byte
	var whole bytes.Buffer
	for i := range 40 {
		var log bytes.Buffer
		for k := range 1 + r.IntN(20) {
			// few times, so that many tie
			log.WriteString(ranAs(r.IntN(5), 1000*(1+r.IntN(9)), "app", fmt.Sprintf("SELECT a FROM t%d WHERE id = %d", k%3, i*100+k), r.IntN(3) == 0, r.IntN(9) == 0))
		}
		pieces = append(pieces, log.Bytes())
		whole.Write(log.Bytes())
	}
	b := New(Options{})
	if err := b.ReadSlowLog("log", bytes.NewReader(whole.Bytes())); err != nil {
		t.Fatal(err)
	}
	want := samplesOf(b.Digest())
	if strings.Count(want, "plan") < 3 {
		t.Fatalf("too little to look at:\n%s", want)
	}
	for round := range 20 {
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		all := New(Options{}).Digest()
		for _, p := range pieces {
			b := New(Options{})
			if err := b.ReadSlowLog("log", bytes.NewReader(p)); err != nil {
				t.Fatal(err)
			}
			d := b.Digest()
			if round%2 == 1 {
				d, _ = Decode(bytes.NewReader(encoded(t, d)))
			}
			if err := all.Merge(d); err != nil {
				t.Fatal(err)
			}
		}
		if got := samplesOf(all); got != want {
			t.Fatalf("in another order:\n%s\nwant:\n%s", got, want)
		}
	}
}

func samplesOf(d *Digest) string {
	var out strings.Builder
	for _, c := range d.Report().Classes {
		fmt.Fprintln(&out, c.Fingerprint, c.Example.Query)
		for _, s := range c.Samples {
			fmt.Fprintln(&out, s.Why, s.Flags, s.QueryTime, s.At, s.Query)
		}
	}
	return out.String()
}

// By user and by host the classes are what is left out of an anonymous page, and an ID is the MD5 of its class.
func TestGroupsAreAnonymized(t *testing.T) {
	for _, by := range []GroupBy{ByUser, ByHost} {
		b := New(Options{GroupBy: by})
		log := banner + ranAs(1, 1000, "anna", "SELECT 1", false, false) + ranAs(2, 2000, "berta", "SELECT 2", false, false)
		if err := b.ReadSlowLog("log", strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		d := b.Digest()
		plain := d.Report()
		c := Compare(d, d, CompareOptions{})
		c.Anonymize()
		l := d.Listing()
		l.Anonymize()
		var out, compared bytes.Buffer
		if err := l.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if err := WriteCompareText(&compared, c, TextOptions{Top: -1}); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"anna", "berta", "web1", plain.Classes[0].ID16} {
			if strings.Contains(out.String(), secret) || strings.Contains(compared.String(), secret) {
				t.Errorf("by %s: %s is told:\n%s\n%s", by, secret, out.String(), compared.String())
			}
		}
	}
}
