package report

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"stowage/digest"
	"stowage/farm"
)

//go:embed digestpage/digest.html digestpage/digest.css
var digestPages embed.FS

// DigestDocument is what a digest says, or two of them beside each other, on a page of its own. Its exported fields are for
// the templates.
type DigestDocument struct {
	Kicker, Title, Verdict, Lead string
	IsBad                        bool
	Tiles                        []tile
	Cautions                     []string // what was skipped, cut or is odd
	Load                         *loadPicture
	Inputs                       *planTable
	Ranking                      []digestRow
	LeftOut                      int
	Classes                      []digestClass
	Traffic                      *traffic // of a comparison
	Users, Tables                *planTable

	Policy string
	Style  template.CSS
	Code   template.JS
	Data   template.JS
}

// digestRow is one class in the ranking.
type digestRow struct {
	Number                   int
	ID, Fingerprint          string
	Share                    float64
	ShareText, Calls, Avg    string
	P50, P95, P99, Max, Load string
	Spark                    *spark
}

// digestClass is one class in detail.
type digestClass struct {
	digestRow
	Facts  []Fact
	Over   *loadPicture
	Sample string
	About  string // when and by whom the sample ran
	Others []digestSample
	Wider  *spark
	Edges  string
}

// digestSample is another statement of a class.
type digestSample struct{ Title, Text, About string }

func otherSamples(ss []digest.Sample) (out []digestSample) {
	for _, s := range ss {
		title := map[string]string{"fastest": "The fastest", "random": "One taken at random", "plan": "The slowest that ran in another way"}[s.Why]
		if len(s.Flags) > 0 {
			title += " (" + strings.ReplaceAll(strings.Join(s.Flags, ", "), "_", " ") + ")"
		}
		out = append(out, digestSample{title, s.Query, sampleAbout(s.Example)})
	}
	return out
}

// NewDigestDocument lays out a digest: everything together, its load over time (t), and the classes of r in detail.
func NewDigestDocument(r digest.Report, t digest.Trend) *DigestDocument {
	d := &DigestDocument{Kicker: "Stowage digest", Title: "What the databases were asked", Inputs: inputTable(r.Inputs), LeftOut: r.ClassCount - len(r.Classes)}
	q := r.QueryTime
	d.Lead = fmt.Sprintf("%s in %s, %s of query time.", count(int(r.Events), "event"), classCount(r.ClassCount), latency(r.QueryTimeSum))
	if r.FirstSeen != nil {
		d.Lead += fmt.Sprintf(" Seen from %s to %s UTC.", r.FirstSeen.Format(time.DateTime), r.LastSeen.Format(time.DateTime))
	}
	d.Tiles = []tile{
		{Name: "Events", Link: "#classes", After: whole(float64(r.Events)), Note: classCount(r.ClassCount)},
		{Name: "Average", Link: "#classes", After: cmp.Or(latency(q.Avg), "not known"), Note: "median " + cmp.Or(latency(q.P50), "not known")},
		{Name: "p95", Link: "#classes", After: cmp.Or(latency(q.P95), "not known"), Note: "p99 " + cmp.Or(latency(q.P99), "not known")},
		{Name: "Longest", Link: "#classes", After: cmp.Or(latency(q.Max), "not known"), Note: "one statement"},
	}
	if len(r.Classes) > 0 {
		c := r.Classes[0]
		d.Tiles = append(d.Tiles, tile{Name: "Heaviest class", Link: "#c-" + c.ID16, After: percent(c.Share), Note: "of the query time"})
	}
	d.cautions(r.Inputs)
	d.Load = newLoadPicture("load", t.Steps, t.StepSeconds, 1100, 150)
	over := map[string][]digest.TrendStep{}
	for _, c := range t.Classes {
		over[c.ID32] = c.Steps
	}
	from, to := sparkColumns(r.Classes)
	for i, c := range r.Classes {
		row := newDigestRow(i+1, c, from, to)
		d.Ranking = append(d.Ranking, row)
		d.Classes = append(d.Classes, digestClass{
			digestRow: row, Facts: digestFacts(c), Sample: c.Example.Query, About: sampleAbout(c.Example), Others: otherSamples(c.Samples),
			Over: newLoadPicture("load-"+c.ID16, over[c.ID32], t.StepSeconds, 520, 90), Wider: bars(c.Spark, from, to, 420, 90), Edges: columnEdge(from) + " to " + columnEdge(to+1),
		})
	}
	d.Users, d.Tables = usersTable(r.Classes), tablesTable(r.Classes)
	return d
}

// NewComparisonDocument lays out a comparison: the section on traffic of the report, on a page of its own.
func NewComparisonDocument(c *digest.Comparison) *DigestDocument {
	d := &DigestDocument{Kicker: "Stowage digest compare", Title: "What got faster, what got slower", Traffic: newTraffic(c)}
	o := c.Overall
	d.IsBad = c.GotSlower()
	d.Verdict = fmt.Sprintf("%d slower, %d faster.", o.SlowerCount, o.FasterCount)
	d.Lead = d.Traffic.Sentence
	d.Tiles = []tile{
		{Name: "Slower", Link: "#traffic", After: whole(float64(o.SlowerCount)), Note: "of " + classCount(len(c.Classes)), IsBad: o.SlowerCount > 0},
		{Name: "Faster", Link: "#traffic", After: whole(float64(o.FasterCount)), Note: classCount(o.SameCount) + " unchanged"},
		{Name: "p95 of all", Link: "#traffic", Before: latency(c.Before.QueryTime.P95), After: cmp.Or(latency(c.After.QueryTime.P95), "not known"), Note: "whatever the classes"},
		{Name: "Load", Link: "#traffic", Before: digits(o.LoadBefore), After: digits(o.LoadAfter), Note: "seconds of query time a second"},
		{Name: "New classes", Link: "#traffic", After: whole(float64(o.NewCount)), Note: percent(o.NewShare) + " of the query time", IsBad: o.Heavier},
	}
	d.cautions(append(append([]digest.Input{}, c.Before.Inputs...), c.After.Inputs...))
	d.IsBad = d.IsBad || digest.IsIncomplete(c.Before.Inputs) || digest.IsIncomplete(c.After.Inputs)
	return d
}

func (d *DigestDocument) cautions(inputs []digest.Input) {
	d.IsBad = d.IsBad || digest.IsIncomplete(inputs)
	for _, in := range inputs {
		for _, r := range in.Skipped {
			d.Cautions = append(d.Cautions, fmt.Sprintf("%s: skipped, %s: %s times", in.Name, r.Reason, whole(float64(r.Count))))
		}
		for _, r := range in.Notes {
			d.Cautions = append(d.Cautions, fmt.Sprintf("%s: %s: %s times", in.Name, r.Reason, whole(float64(r.Count))))
		}
	}
}

func newDigestRow(n int, c digest.Class, from, to int) digestRow {
	q := c.QueryTime
	known := func(s float64) string { return cmp.Or(latency(s), "\u2013") }
	return digestRow{
		Number: n, ID: c.ID16, Fingerprint: c.Fingerprint, Share: c.Share, ShareText: percent(c.Share), Calls: whole(float64(c.Count)),
		Avg: known(q.Avg), P50: known(q.P50), P95: known(q.P95), P99: known(q.P99), Max: known(q.Max), Spark: bars(c.Spark, from, to, sparkWidth, sparkHeight),
	}
}

func digestFacts(c digest.Class) []Fact {
	n := float64(max(c.Count, 1))
	each := func(sum float64) string { return fmt.Sprintf("%s, %s a call", whole(math.Round(sum)), digits(sum/n)) }
	out := []Fact{
		{"query time", latency(c.QueryTime.Sum) + " in all"}, {"deviation", latency(c.QueryTime.Stddev)}, {"lock time", latency(c.LockTimeSum)},
		{"rows examined", each(c.RowsExaminedSum)}, {"rows sent", each(c.RowsSentSum)}, {"rows affected", each(c.RowsAffectedSum)},
	}
	for _, q := range c.Quantiles {
		out = append(out, Fact{fmt.Sprintf("p%g", q.Percent), latency(q.Seconds)})
	}
	out = append(out, Fact{"tables", strings.Join(c.Tables, ", ")}, Fact{"users", named(c.Users)}, Fact{"hosts", named(c.Hosts)}, Fact{"databases", named(c.DBs)})
	for name, k := range c.Flags {
		out = append(out, Fact{strings.ReplaceAll(name, "_", " "), percent(float64(k)/n) + " of the calls"})
	}
	if c.FirstSeen != nil {
		out = append(out, Fact{"seen", c.FirstSeen.Format(time.DateTime) + " to " + c.LastSeen.Format(time.DateTime)})
	}
	if c.Plan != nil {
		for _, s := range c.Plan.Steps {
			out = append(out, Fact{"plan of " + s.Table, strings.TrimSpace(s.Type + " " + cmp.Or(s.Key, "no index") + ", about " + s.Rows + " rows " + s.Extra)})
		}
	}
	kept := out[:0]
	for _, f := range out {
		if f.Value != "" && !strings.HasPrefix(f.Value, "0, 0.00 ") {
			kept = append(kept, f)
		}
	}
	sortFlags(kept)
	return kept
}

func classCount(n int) string {
	if n == 1 {
		return "1 class"
	}
	return whole(float64(n)) + " classes"
}

func named(ns []digest.Named) string {
	var out []string
	for _, n := range ns {
		out = append(out, fmt.Sprintf("%s (%s)", n.Name, whole(float64(n.Count))))
	}
	return strings.Join(out, ", ")
}

func sampleAbout(x digest.Example) string {
	about := latency(float64(x.QueryTime))
	if x.At != nil {
		about += " at " + x.At.Format(time.DateTime)
	}
	if x.User != "" {
		about += " by " + x.User
	}
	if x.Truncated {
		about += "; only its beginning was kept"
	}
	return about
}

// WriteHTML writes the document as one HTML file that loads nothing from anywhere and holds pictures as SVG.
func (d *DigestDocument) WriteHTML(w io.Writer) error {
	fail := func(err error) error { return &farm.Error{Op: "write document of digest", Err: err} }
	var err error
	if d.Data, err = d.Traffic.data(); err != nil {
		return fail(err)
	}
	d.Code = template.JS(Script())
	d.Style = template.CSS(Style()) + template.CSS(own(digestPages, "digestpage/digest.css"))
	d.Policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(string(d.Code)), hash(string(d.Style)))
	t, err := template.New("digest").Funcs(functions()).ParseFS(pages, "page/shares.html", "page/strip.html", "page/table.html", "page/traffic.html")
	if err == nil {
		t, err = t.ParseFS(digestPages, "digestpage/digest.html")
	}
	if err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "digest.html", d); err != nil {
		return fail(err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fail(err)
	}
	return nil
}
