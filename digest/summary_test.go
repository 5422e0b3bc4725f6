package digest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sumOf is a summary of n statements that took so many milliseconds each.
func sumOf(text string, n, ms uint64) Summary {
	return Summary{DB: "shop", ID: text, Text: text, Counters: Counters{Count: n, Time: n * ms * 1e9, RowsSent: n, Errors: n / 10, FullScans: n / 2, TmpTables: 3 * n}}
}

func sumsDigest(t *testing.T, o Options, sums ...Summary) *Digest {
	t.Helper()
	b := New(o)
	in := b.Live("db1", "performance_schema", "MariaDB 10.11")
	for _, s := range sums {
		in.Sum(s, time.Time{}, time.Time{})
	}
	in.Close()
	return b.Digest()
}

func TestSumsHaveNoQuantiles(t *testing.T) {
	known := sumOf("SELECT * FROM `t` WHERE `id` = ?", 10, 5)
	known.HasExtremes, known.Shortest, known.Longest = true, 1e9, 20e9
	d := sumsDigest(t, Options{}, known, sumOf("UPDATE `u` SET `a` = ?", 4, 2))
	r := d.Report()
	if r.Events != 14 || len(r.Classes) != 2 {
		t.Fatalf("%d events in %d classes", r.Events, len(r.Classes))
	}
	sel, upd := r.Classes[0], r.Classes[1]
	if q := sel.QueryTime; math.Abs(q.Sum-0.05) > 1e-12 || q.Avg != 0.005 || q.Min != 0.001 || q.Max != 0.02 || q.Summed != 10 || !math.IsNaN(q.P50) {
		t.Errorf("%+v", q)
	}
	if q := upd.QueryTime; !math.IsNaN(q.Min) || !math.IsNaN(q.Max) || q.Avg != 0.002 {
		t.Errorf("extremes that nobody told: %+v", q)
	}
	if sel.Flags["error"] != 1 || sel.Flags["full_scan"] != 5 || sel.Sums.TmpTables != 30 || sel.Untimed != 0 || !slices.Equal(sel.Tables, []string{"t"}) {
		t.Errorf("%+v", sel)
	}

	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"min":0.001,"max":0.02,"avg":0.005,"p50":null,"p95":null,"p99":null,"stddev":null,"summed":10}`) {
		t.Errorf("json: %s", raw)
	}
	var back Report
	if err := json.Unmarshal(raw, &back); err != nil || !math.IsNaN(back.Classes[0].QueryTime.P95) || back.Classes[0].QueryTime.Max != 0.02 {
		t.Errorf("read back: %v, %+v", err, back.Classes[0].QueryTime)
	}
	var text, table bytes.Buffer
	if err := WriteText(&text, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"min 1.00ms  avg 5.00ms  p50 -  p95 -  p99 -  max 20.0ms", "there are no quantiles", "temporary tables 30 (on disk 0)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if err := WriteCSV(&table, r); err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(table.String(), "\n")[1]; !strings.Contains(line, ",0.001,0.005,,,,0.02,") {
		t.Errorf("csv: %s", line)
	}
	if err := r.OrderBy("p95"); err != nil || r.Classes[0].ID32 != sel.ID32 {
		t.Errorf("ordered by what is not known: %v", err)
	}
}

// Quantiles of a class from both kinds of sources are those of the single statements, and the report says how many.
func TestMixedClassRestsOnItsSingleStatements(t *testing.T) {
	b := New(Options{})
	in := b.Live("db1", "performance_schema", "")
	for range 9 {
		in.Statement(&Statement{Query: []byte("select 1 from t"), Timed: true, Time: 3 * time.Millisecond, At: time.Unix(1000, 0)})
	}
	in.Sum(sumOf("select 1 from t", 100, 50), time.Time{}, time.Time{})
	in.Close()
	r := b.Digest().Report()
	q := r.Classes[0].QueryTime
	if len(r.Classes) != 1 || r.Classes[0].Count != 109 || q.P95 != 0.003 || q.Summed != 100 || math.Abs(q.Avg-5.027/109) > 1e-12 || !math.IsNaN(q.Max) {
		t.Errorf("%+v", r.Classes[0])
	}
	var text bytes.Buffer
	if err := WriteText(&text, r, TextOptions{}); err != nil || !strings.Contains(text.String(), "100 events came added up") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// Version 1 had no sums, version 2 no samples, version 3 no probes, version 4 not when an input
// began and ended: what is missing is missing, all else is as it was.
func TestOlderStoredFormsAreRead(t *testing.T) {
	log, err := os.ReadFile("testdata/stored-v1.log")
	if err != nil {
		t.Fatal(err)
	}
	for version := byte(1); version < storedMagic[7]; version++ {
		raw, err := os.ReadFile(fmt.Sprintf("testdata/stored-v%d.digest", version))
		if err != nil {
			t.Fatal(err)
		}
		if raw[7] != version {
			t.Fatalf("version %d, want %d", raw[7], version)
		}
		old, err := Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		b := New(Options{})
		if err := b.Read("slow.log", bytes.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		d := b.Digest()
		if version < 5 {
			d.inputs[0].from, d.inputs[0].to = 0, 0
		}
		for _, c := range d.byHash {
			if version < 3 {
				c.more, c.example.plan = nil, 0
			}
		}
		same(t, fmt.Sprintf("version %d and the log it was made from", version), encoded(t, old), encoded(t, d))
	}
}

func encoded(t *testing.T, d *Digest) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := d.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func same(t *testing.T, what string, a, b []byte) {
	t.Helper()
	if !bytes.Equal(a, b) {
		t.Errorf("%s differ", what)
	}
}

// Parts with sums, single statements and server histograms give the same bytes in whatever order they are merged, and
// what is stored comes back.
func TestSumsMergeInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	part := func(i int) *Digest {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		b := New(Options{})
		in := b.Live(fmt.Sprintf("db%d", i), "performance_schema", "")
		in.Every(time.Duration(1+i%3*3) * time.Second)
		for range 50 {
			s := sumOf(fmt.Sprintf("select %c from t", 'a'+rune(r.IntN(4))), 1+r.Uint64N(50), 1+r.Uint64N(9))
			if s.HasExtremes = r.IntN(2) == 0; s.HasExtremes {
				s.Shortest, s.Longest = 1e6*(1+r.Uint64N(5)), 1e10*(1+r.Uint64N(5))
			}
			if r.IntN(4) == 0 {
				s.Bins = []Bin{{1e9, 2e9, s.Count / 2}, {2e9, 4e9, s.Count / 3}}
			}
			from := time.Unix(1000+r.Int64N(100), 0)
			in.Sum(s, from, from.Add(time.Duration(r.Int64N(9))*time.Second))
			in.Statement(&Statement{Query: []byte(s.Text), Timed: true, Time: time.Duration(r.IntN(1e9)), At: from})
		}
		in.Close()
		return b.Digest()
	}
	var want []byte
	for try := range 4 {
		order := []int{0, 1, 2, 3, 4}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		whole := part(order[0])
		for _, i := range order[1:] {
			d, err := Decode(bytes.NewReader(encoded(t, part(i))))
			if err != nil {
				t.Fatal(err)
			}
			if err := whole.Merge(d); err != nil {
				t.Fatal(err)
			}
		}
		if whole.Events() < 1000 || whole.BlockSeconds() != 8 {
			t.Fatalf("%d events, blocks of %d s", whole.Events(), whole.BlockSeconds())
		}
		if try == 0 {
			want = encoded(t, whole)
		}
		same(t, fmt.Sprintf("orders %d and 0", try), encoded(t, whole), want)
	}
}

func TestWindowIsTheDifferenceOfReadings(t *testing.T) {
	at := time.Unix(500, 0)
	read := func(count, ns uint64) Summary {
		s := sumOf("q", 0, 0)
		s.Counters, s.First, s.HasExtremes = Counters{Count: count, Time: ns}, at, true
		return s
	}
	var w Window
	if grown, truncated := w.Next([]Summary{read(5, math.MaxUint64-10)}); len(grown) != 0 || truncated {
		t.Errorf("the first reading: %v %v", grown, truncated)
	}
	grown, truncated := w.Next([]Summary{read(7, 9)})
	if len(grown) != 1 || grown[0].Count != 2 || grown[0].Time != 20 || grown[0].HasExtremes || truncated {
		t.Errorf("over the end of 64 bits: %+v %v", grown, truncated)
	}
	if grown, truncated = w.Next([]Summary{read(7, 9)}); len(grown) != 0 || truncated {
		t.Errorf("nothing happened: %+v %v", grown, truncated)
	}
	if grown, truncated = w.Next([]Summary{read(3, 4)}); len(grown) != 1 || grown[0].Count != 3 || !truncated {
		t.Errorf("truncated: %+v %v", grown, truncated)
	}
	at = at.Add(time.Second)
	if grown, truncated = w.Next([]Summary{read(30, 40)}); len(grown) != 1 || grown[0].Count != 30 || !truncated {
		t.Errorf("truncated, and grown beyond: %+v %v", grown, truncated)
	}
	if grown, truncated = w.Next(nil); len(grown) != 0 || !truncated {
		t.Errorf("truncated, and not seen since: %+v %v", grown, truncated)
	}
}

// Between two readings of a farm's servers only counters are held. Not parallel: it weighs the heap.
func TestWindowHoldsNoStatements(t *testing.T) {
	weigh := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := weigh()
	var w Window
	func() {
		reading := make([]Summary, 1000)
		for i := range reading {
			reading[i] = Summary{DB: "d", ID: strconv.Itoa(i), Text: strings.Repeat("x", 20_000), Counters: Counters{Count: 1}}
		}
		w.Next(reading)
	}()
	if held := int64(weigh() - before); held > 2<<20 {
		t.Errorf("%d bytes are held of 20 MB of statements", held)
	}
	runtime.KeepAlive(&w)
}

// mysqlBins are the bounds of MySQL's 450 buckets, in picoseconds: from 10 microseconds on, fifty for a power of ten.
func mysqlBins(times []uint64) []Bin {
	bins := make([]Bin, 450)
	for i := range bins {
		bins[i].High = uint64(1e7 * math.Pow(10, float64(i)/50))
		if i > 0 {
			bins[i].Low = bins[i-1].High
		}
	}
	for _, ps := range times {
		i, _ := slices.BinarySearchFunc(bins, ps, func(b Bin, ps uint64) int {
			if b.High <= ps {
				return -1
			}
			return 1
		})
		bins[i].Count++
	}
	return slices.DeleteFunc(bins, func(b Bin) bool { return b.Count == 0 })
}

// The server's histogram gives quantiles within what the report says of them; as one reading, as the difference of two,
// and when it is read a moment after the sums.
func TestBinsGiveQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	times := make([]uint64, 20000)
	var sum uint64
	for i := range times {
		times[i] = uint64(1e7 + r.ExpFloat64()*1e10)
		sum += times[i]
	}
	half := times[:5000]
	early := Summary{ID: "x", Text: "select 1", Counters: Counters{Count: 5000}, Bins: mysqlBins(half)}
	late := Summary{ID: "x", Text: "select 1", Counters: Counters{Count: 20000, Time: sum}, Bins: mysqlBins(times)}
	var w Window
	w.Next([]Summary{early})
	grown, _ := w.Next([]Summary{late})
	for name, c := range map[string]struct {
		s     Summary
		times []uint64
	}{"one reading": {late, times}, "two": {grown[0], times[5000:]}} {
		for _, afterwards := range []bool{false, true} {
			b := New(Options{})
			in := b.Live("db1", "performance_schema", "")
			s := c.s
			if afterwards {
				s.Bins = nil
			}
			in.Sum(s, time.Unix(1000, 0), time.Unix(1001, 0))
			if afterwards {
				in.Spread(c.s)
			}
			in.Close()
			r := b.Digest().Report()
			q := r.Classes[0].QueryTime
			sorted := slices.Sorted(slices.Values(c.times))
			for share, got := range map[float64]float64{0.5: q.P50, 0.95: q.P95, 0.99: q.P99} {
				exact := float64(sorted[int(share*float64(len(sorted)))]) / 1e12
				if math.Abs(got/exact-1) > r.RelativeError+0.005 { // and half a per cent for the rank
					t.Errorf("%s: quantile %v is %v, exact %v", name, share, got, exact)
				}
			}
			if r.RelativeError != relativeErrorOfBins || q.Summed != 0 || !math.IsNaN(q.Max) || r.Classes[0].Count != uint64(len(c.times)) {
				t.Errorf("%s: %+v, error %v", name, q, r.RelativeError)
			}
		}
	}
	short := late
	short.Count = 100
	if c := sumsDigest(t, Options{}, short).Report().Classes[0]; c.Count != 100 || c.Untimed != 0 || c.QueryTime.Summed != 0 {
		t.Errorf("bins read after the sums: %+v", c)
	}
}

func TestSumsRefuseWhatTheyDoNotKnow(t *testing.T) {
	for expr, ok := range map[string]bool{"db = shop": true, "table = t and not verb = delete": true, "user = app": false, "query_time > 1s": false, "full_scan": false} {
		f, err := ParseFilter(expr)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Options{Filter: f}).CheckSums(); (err == nil) != ok {
			t.Errorf("%s: %v", expr, err)
		}
	}
	for _, o := range []Options{{GroupBy: ByUser}, {GroupBy: ByHost}, {Since: time.Unix(5, 0)}, {Until: time.Unix(5, 0)}} {
		if o.CheckSums() == nil {
			t.Errorf("%+v passes", o)
		}
	}
	f, _ := ParseFilter("db = else*")
	if d := sumsDigest(t, Options{Filter: f}, sumOf("select 1", 10, 1)); d.Events() != 0 || d.Report().Inputs[0].LeftOut != 10 {
		t.Errorf("%+v", d.Report().Inputs)
	}
	for group, want := range map[GroupBy]string{ByTable: "shop.t", ByDB: "shop", ByShard: "shop"} {
		if c := sumsDigest(t, Options{GroupBy: group}, sumOf("select a from t", 10, 1)).Report().Classes[0]; c.Fingerprint != want || c.Count != 10 {
			t.Errorf("by %s: %+v", group, c)
		}
	}
}

// windowDigest is 30 readings, four seconds apart, of three classes; slow multiplies the times of class b, calls its number.
func windowDigest(seed uint64, slow, calls float64) *Digest {
	r := rand.New(rand.NewPCG(seed, seed))
	b := New(Options{})
	in := b.Live("db1", "performance_schema", "")
	every := in.Every(4 * time.Second)
	at := time.Unix(1_000_000, 0)
	for range 30 {
		for _, c := range []string{"a", "b", "c"} {
			n, ns := 200+r.Float64()*20, 1e6*(1+r.Float64()*0.05)
			if c == "b" {
				n, ns = n*calls, ns*slow
			}
			s := sumOf("select "+c+" from t", 0, 0)
			s.Counters = Counters{Count: uint64(n), Time: uint64(float64(uint64(n)) * ns * 1000)}
			in.Sum(s, at, at.Add(every))
		}
		at = at.Add(every)
	}
	in.Close()
	return b.Digest()
}

func TestCompareSumsByTheirAverages(t *testing.T) {
	verdicts := func(before, after *Digest) map[string]Change {
		out := map[string]Change{}
		c := Compare(before, after, CompareOptions{})
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		if c.BlocksBefore != 30 || c.Before.Seconds != 120 {
			t.Fatalf("%d blocks, %v s", c.BlocksBefore, c.Before.Seconds)
		}
		if c.Overall.Verdict != VerdictInconclusive || len(c.CommonFactorCI) != 0 || !strings.Contains(c.Overall.Reason, reasonSums) {
			t.Errorf("overall %+v", c.Overall)
		}
		var text bytes.Buffer
		if err := WriteCompareText(&text, c, TextOptions{}); err != nil || strings.Contains(text.String(), "NaN") || !strings.Contains(text.String(), "avg 1.") {
			t.Errorf("%v\n%s", err, text.String())
		}
		for _, ch := range c.Classes {
			out[ch.Fingerprint] = ch
		}
		return out
	}
	got := verdicts(windowDigest(1, 1, 1), windowDigest(2, 1.6, 3))
	if b := got["select b from t"]; b.Verdict != VerdictSlower || b.Reason != "by avg" || b.AvgRatio < 1.5 || b.AvgRatio > 1.7 || b.P95Ratio != 0 ||
		len(b.CallsCI) != 2 || b.CallsCI[0] < 2.5 || b.CallsCI[1] > 3.5 {
		t.Errorf("%+v", b)
	}
	if a := got["select a from t"]; a.Verdict != VerdictInconclusive || a.Reason != reasonSums {
		t.Errorf("%+v", a)
	}
	if b := verdicts(windowDigest(1, 1, 1), windowDigest(2, 1, 1))["select b from t"]; b.Verdict != VerdictInconclusive || b.Reason != reasonSums {
		t.Errorf("nothing has changed: %+v", b)
	}
	loose := sumsDigest(t, Options{}, sumOf("select a from t", 1000, 1))
	if c := Compare(loose, loose, CompareOptions{}); len(c.Notes) < 2 || !strings.Contains(strings.Join(c.Notes, "\n"), "does not say when") {
		t.Errorf("notes %q", c.Notes)
	}
}

// A reading that came late is shared out between the blocks it covers, and nothing is lost in the sharing.
func TestLateReadingCoversSeveralBlocks(t *testing.T) {
	b := New(Options{})
	in := b.Live("db1", "performance_schema", "")
	if every := in.Every(3 * time.Second); every != 4*time.Second {
		t.Fatalf("blocks of %s", every)
	}
	s := sumOf("select a from t", 10, 7)
	in.Sum(s, time.Unix(4000, 0), time.Unix(4012, 0))
	in.Close()
	d := b.Digest()
	for _, c := range d.byHash {
		blocks := c.times.blocks()
		var n, ns uint64
		for _, x := range blocks {
			n, ns = n+x.count(), ns+x.sum
		}
		if len(blocks) != 3 || n != 10 || ns != 70e6 {
			t.Errorf("%+v", blocks)
		}
	}
}
