package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/capacity"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/inventory/claims"
	"stowage/inventory/graph"
	"stowage/inventory/shardload"
)

var knownAt = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// knownFarm is a farm of so many pairs about which everything is known.
func knownFarm(pairs int) KnowFacts {
	f := KnowFacts{Made: knownAt, Reshapes: append(reshapedFarm(pairs, 9).Reshapes, reshapedFarm(1, 10).Reshapes...), Backups: backedFarm(pairs, pairs > 12).Backups, Farm: &farm.Farm{Name: "f"}, Inventory: &inventory.Inventory{}, Sources: &claims.Report{Farm: "f", Taken: knownAt, Subjects: map[claims.Kind]int{claims.Pair: pairs}}}
	r := f.Sources
	r.Sources = []claims.SourceState{{Name: "farm", Kind: "farm", At: knownAt}, {Name: "cmdb", Kind: "csv", At: knownAt, Claims: 9}, {Name: "<lb>", Kind: "haproxy", At: knownAt.Add(-90 * time.Hour), IsPart: true}}
	r.Conflicts = []claims.Conflict{{Kind: claims.Instance, Subject: "p0001a", Attribute: "host", Culprits: []string{"<lb>"}, IsSure: true, Claims: []claims.Shown{{Value: "db1", Source: "<lb>", Place: "lb:3"}}}}
	r.Overlaps = []claims.Overlap{{A: "cmdb", B: "<lb>", Shared: 9, Equal: 8}}
	sizes := map[farm.ShardName]int64{}
	for i := range pairs {
		a, b, p := fmt.Sprintf("db%04da", i), fmt.Sprintf("db%04db", i), fmt.Sprintf("p%04d", i)
		f.Farm.Hosts = append(f.Farm.Hosts, farm.Host{Name: farm.HostName(a)}, farm.Host{Name: farm.HostName(b)})
		shard := farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%04d", i)), Needs: farm.Resources{farm.CPU: 1 / float64(i+1), farm.Disk: 1e9 * float64(i+1)}}
		f.Farm.Pairs = append(f.Farm.Pairs, farm.Pair{Name: farm.PairName(p), Topology: farm.ActiveActive, Shards: []farm.Shard{shard},
			Sides: map[farm.SideName]farm.Side{farm.A: {Host: farm.HostName(a), Port: 3306}, farm.B: {Host: farm.HostName(b), Port: 3306}}})
		if i%2 == 0 {
			sizes[shard.Name] = int64(1e9 * (i + 1))
		}
		lag, alive := "", "yes"
		if i%7 == 3 {
			lag = "12"
		}
		if i%11 == 5 {
			alive = "no"
		}
		r.Members = append(r.Members, claims.Member{Instance: p + "a", Pair: p, Host: a, From: p + "b", Alive: alive}, claims.Member{Instance: p + "b", Pair: p, Host: b, From: p + "a", Alive: "yes", Lag: lag})
		high, mid := float64(300+i), float64(100+i)
		row := capacity.Row{Kind: capacity.OfHost, Name: a, Resource: farm.Disk, Source: "inventory", Used: 1e12, Forecast: capacity.Forecast{Limit: 2e12, Level: 1e12, Days: &capacity.Days{Low: float64(60 + i), Mid: &mid, High: &high}}}
		if i%5 == 4 {
			row.Days, row.Reason = nil, "too few samples"
		} else if i%5 == 3 {
			row.Days.Mid, row.Days.High = nil, nil
		}
		f.Rows = append(f.Rows, row)
		s := capacity.Series{Kind: capacity.OfHost, Name: a, Resource: farm.Disk, Source: "inventory"}
		for d := range 40 {
			s.Samples = append(s.Samples, capacity.Sample{At: knownAt.AddDate(0, 0, d-40), Value: 9e11 + 2.5e9*float64(d)})
		}
		f.Series = append(f.Series, s)
		f.Findings = append(f.Findings, Found{farm.Finding{Check: "binlog-format", Severity: farm.Warning, Subject: p + "a", Text: "<MIXED>"}, "inventory"})
	}
	f.Inventory.Instances = []inventory.Instance{{Shards: sizes}}
	f.Findings = append(f.Findings, Found{farm.Finding{Check: "server-id-unique", Severity: farm.Blocker, Subject: "p0000"}, "inventory"})
	g := graph.Of(*r, []claims.Spec{{Name: "cmdb", Feeds: []string{"<lb>"}}})
	f.Graph = &g
	t := digest.Trend{StepSeconds: 3600, ClassCount: 1}
	for i := range 24 {
		t.Steps = append(t.Steps, digest.TrendStep{Start: knownAt.Add(time.Duration(i) * time.Hour), Seconds: 3600, Events: 10, Load: 1 + float64(i)/10, Avg: 0.01})
	}
	t.Classes = []digest.TrendClass{{Fingerprint: "select <?> from t", ID16: "A", Events: 240, Share: 1, Steps: t.Steps}}
	f.Trend = &t
	return f
}

// TestLoadPageShowsWhatWasMeasured: a figure that was measured stands in the place of the typed one, with its interval; one that farm.yaml has from a
// measurement counts as measured until somebody changes it; the rest is typed, and said to be.
func TestLoadPageShowsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	v := func(x float64) *float64 { return &x }
	f := KnowFacts{Farm: &farm.Farm{Pairs: []farm.Pair{{Name: "p", Shards: []farm.Shard{
		{Name: "s1", Needs: farm.Resources{farm.CPU: 1, farm.IOPS: 10}}, {Name: "s2", Needs: farm.Resources{farm.CPU: 2, farm.IOPS: 20}}, {Name: "s3", Needs: farm.Resources{farm.CPU: 3, farm.IOPS: 30}}}}}},
		Load: &shardload.Report{Began: knownAt, Seconds: 60, Shards: []shardload.Shard{{Shard: "s1", CPU: shardload.Figure{Value: v(7.25), Low: v(6.5), High: v(8), Sure: "fair"}}},
			Sums: []shardload.Sum{{Of: "i1", What: "cpu", Shards: 7.25, Counter: 7.3, Source: "/proc/PID/stat"}}, Silent: []shardload.Silent{{Name: "i2"}}},
		Accepted: map[farm.ShardName]farm.Resources{"s2": {farm.CPU: 2, farm.IOPS: 21}},
	}
	p, err := NewLoadDocument(f).Piece()
	if err != nil {
		t.Fatal(err)
	}
	text := p.Lead + string(p.Body)
	for _, want := range []string{"CPU is measured for 2 of them", "60 seconds", "1 instance is not measured", "s1 in p: 7.25", "measured fair (6.5 to 8)", "s2 in p: 2", "measured, as in farm.yaml", "s3 in p: 3", "typed", "Compared with counters", "/proc/PID/stat"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, "s1 in p: 1,") {
		t.Error("a typed figure is where a measured one should")
	}
	if d := NewLoadDocument(KnowFacts{Farm: f.Farm}); !strings.Contains(d.Lead, "stowage inventory load measures them") {
		t.Errorf("without a measurement: %s", d.Lead)
	}
}

func knownDocuments(f KnowFacts) map[string]*KnowDocument {
	return map[string]*KnowDocument{"sources": NewSourcesDocument(f), "runway": NewRunwayDocument(f), "load": NewLoadDocument(f), "queries": NewQueriesDocument(f), "findings": NewFindingsDocument(f), "backups": NewBackupsDocument(f), "reshape": NewReshapeDocument(f)}
}

var (
	headings  = regexp.MustCompile(`<h([1-6])`)
	ids       = regexp.MustCompile(`\bid="([^"]*)"`)
	labelled  = regexp.MustCompile(`aria-labelledby="([^"]*)"`)
	pictures  = regexp.MustCompile(`(?s)<svg viewBox="0 0 ([0-9.]+) ([0-9.]+)"[^>]*>.*?</svg>`)
	placed    = regexp.MustCompile(`\b(x|y|x1|x2|y1|y2)="([^"]*)"`)
	unescaped = regexp.MustCompile(`<(MIXED|lb|\?)>`)
)

// TestKnownPages: headings follow each other without a gap, every table has heads with a scope, every picture has a name that is there, no id is
// there twice, nothing is outside of its picture, and no text of others is markup. At two pairs, and at 500, which are 1,000 hosts.
func TestKnownPages(t *testing.T) {
	t.Parallel()
	for _, pairs := range []int{2, 500} {
		for name, d := range knownDocuments(knownFarm(pairs)) {
			p, err := d.Piece()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text := string(p.Body)
			if len(text) > 3<<20 {
				t.Errorf("%s of %d pairs has %d bytes", name, pairs, len(text))
			}
			level := 1
			for _, h := range headings.FindAllStringSubmatch(text, -1) {
				n, _ := strconv.Atoi(h[1])
				if n > level+1 {
					t.Errorf("%s: h%d follows h%d", name, n, level)
				}
				level = n
			}
			if n, m := strings.Count(text, "<th "), strings.Count(text, `<th scope="`); n != m || n == 0 {
				t.Errorf("%s: %d of %d heads have a scope", name, m, n)
			}
			seen := map[string]bool{}
			for _, m := range ids.FindAllStringSubmatch(text, -1) {
				if seen[m[1]] {
					t.Errorf("%s: the id %s is there twice", name, m[1])
				}
				seen[m[1]] = true
			}
			for _, m := range labelled.FindAllStringSubmatch(text, -1) {
				for _, id := range strings.Fields(m[1]) {
					if !seen[id] {
						t.Errorf("%s: the picture's name %s is not there", name, id)
					}
				}
			}
			inside(t, name, text)
			if m := unescaped.FindString(text); m != "" {
				t.Errorf("%s: %s is markup", name, m)
			}
			dec := xml.NewDecoder(strings.NewReader("<x>" + strings.ReplaceAll(text, "&rarr;", "") + "</x>"))
			dec.Strict, dec.Entity = true, xml.HTMLEntity
			for {
				if _, err := dec.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", name, err)
					break
				}
			}
		}
	}
}

// inside: what is drawn is a number, and lies in its picture.
func inside(t *testing.T, name, text string) {
	t.Helper()
	for _, p := range pictures.FindAllStringSubmatch(text, -1) {
		wide, _ := strconv.ParseFloat(p[1], 64)
		tall, _ := strconv.ParseFloat(p[2], 64)
		if strings.Contains(p[0], "NaN") || strings.Contains(p[0], "Inf") {
			t.Errorf("%s: a picture has a place that is not a number", name)
		}
		for _, m := range placed.FindAllStringSubmatch(p[0], -1) {
			v, err := strconv.ParseFloat(m[2], 64)
			most := wide
			if m[1][0] == 'y' {
				most = tall
			}
			if err != nil || math.IsNaN(v) || v < -8 || v > most+8 {
				t.Errorf("%s: %s=%s is outside of a picture of %s by %s", name, m[1], m[2], p[1], p[2])
				return
			}
		}
	}
}

// TestNothingIsKnown: without facts no page has a body, and a report has no section of it.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	for name, d := range knownDocuments(KnowFacts{}) {
		if p, err := d.Piece(); err != nil || p.Body != "" {
			t.Errorf("%s: %q, %v", name, p.Body, err)
		}
	}
	var b bytes.Buffer
	if err := Write(&b, Facts{Farm: "f", Made: knownAt}); err != nil || strings.Contains(b.String(), `id="know"`) {
		t.Errorf("a report of nothing, %v", err)
	}
}

// TestWhatPagesSay: figures of the pages are those of their facts.
func TestWhatPagesSay(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"sources":  {"cmdb is read by &lt;lb&gt;", "1 of 9 differ", "older by 3 days", "&lt;lb&gt;: db1 (lb:3)", "surely", "p0005a does not answer", "12 s behind"},
		"runway":   {"60 days", "too few samples", "no bound", `class="fan`, "limit 2 TB"},
		"load":     {"typed", "measured", "the heaviest tenth of all shards"},
		"queries":  {"select &lt;?&gt; from t", "24 h", "\u00d7 1.77"},
		"backups":  {"8 of 12 pairs without a fresh proof.", "never", "On paper a full backup of all pairs"},
		"reshape":  {"14 tenants wrong.", "&lt;lb&gt;: Waves", "never", "not ended", "4711, &lt;?&gt;", "in p1; seen 5 min ago"},
		"findings": {"server-id-unique", "db0000a, db0000b", "binlog-format"},
	} {
		p, err := knownDocuments(knownFarm(12))[name].Piece()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.ReplaceAll(p.Verdict+" "+p.Lead+" "+string(p.Body), "&#215;", "\u00d7")
		for _, want := range wants {
			if want == "24 h" {
				want = "1 h 0 min"
			}
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// TestKnownInReport: the sections stand in the report, cut to what is read on paper, and a browser has no complaint about them.
func TestKnownInReport(t *testing.T) {
	t.Parallel()
	k := knownFarm(100)
	facts := Facts{Farm: "f", Made: knownAt, Know: &k, Findings: []farm.Finding{{Check: "binlog-format", Severity: farm.Warning, Subject: "p0001a"}}}
	var b bytes.Buffer
	if err := Write(&b, facts); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="know"`, `<h2>Sources</h2>`, `<h2>Runway</h2>`, `<h2>Load by shard</h2>`, `<h2>Queries over time</h2>`, `<h2>Findings by rule and host</h2>`, `<h2>Backups</h2>`, `<h2>Reshape</h2>`, "60 of 100; stowage serve has all"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not have %s", want)
		}
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, console := browse(t, file)
	if console != "" || !strings.Contains(dom, "feedgraph") {
		t.Errorf("the console says: %s", console)
	}
}

// TestGraphAsAFile: the picture alone is well-formed, and has its style along.
func TestGraphAsAFile(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := GraphSVG(&b, *knownFarm(2).Graph); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	}
	if !strings.Contains(b.String(), "<style>") || !strings.Contains(b.String(), "cmdb") {
		t.Error("style or sources are missing")
	}
}
