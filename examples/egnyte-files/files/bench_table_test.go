package files

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	egnyte "stowage/examples/egnyte-files"
	"stowage/report"
)

// snapshotRow is what was measured of tenants of one size, from an empty pool: medians by form.
type snapshotRow struct {
	versions, files int
	seconds         map[string]float64
	ended           map[string]bool // at the limit: seconds are at least so many
	reads, pages    map[string]float64
}

// tabulated reads the lines of TestBenchSnapshots.
func tabulated(log string) []snapshotRow {
	all := map[int]snapshotRow{}
	values := map[string][]float64{}
	for _, line := range strings.Split(log, "\n") {
		words, is := strings.CutPrefix(line, "snapshot ")
		if !is || !strings.Contains(words, "pool=cold") {
			continue
		}
		x := map[string]string{}
		for _, w := range strings.Fields(words) {
			name, value, _ := strings.Cut(w, "=")
			x[name] = value
		}
		whole := func(name string) int { n, _ := strconv.Atoi(x[name]); return n } // our own lines
		r, is := all[whole("versions")]
		if !is {
			r = snapshotRow{whole("versions"), whole("files"), map[string]float64{}, map[string]bool{}, map[string]float64{}, map[string]float64{}}
			all[r.versions] = r
		}
		form := x["form"]
		seconds, ended := strings.CutPrefix(x["seconds"], ">")
		took, _ := strconv.ParseFloat(seconds, 64)
		r.ended[form] = r.ended[form] || ended
		for name, v := range map[string]float64{"seconds": took, "reads": float64(whole("reads")), "pages": float64(whole("pages"))} {
			key := fmt.Sprint(r.versions, form, name)
			values[key] = append(values[key], v)
			into := map[string]map[string]float64{"seconds": r.seconds, "reads": r.reads, "pages": r.pages}[name]
			into[form] = middle(values[key])
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b snapshotRow) int { return cmp.Compare(a.versions, b.versions) })
}

func middle(all []float64) float64 {
	s := slices.Sorted(slices.Values(all))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// of is how many times as long the better and the worse normalised form took, and how many times as many rows and pages the better
// one read.
func (r snapshotRow) of() (better, worse, reads, pages float64, isLeast bool, best string) {
	d := r.seconds["denormalised"]
	for _, form := range egnyte.Forms {
		took, is := r.seconds[form]
		if form == "denormalised" || !is {
			continue
		}
		if ratio := took / d; best == "" || ratio < better {
			better, best, isLeast = ratio, form, r.ended[form]
		}
		worse = max(worse, took/d)
	}
	return better, worse, r.reads[best] / r.reads["denormalised"], r.pages[best] / r.pages["denormalised"], isLeast, best
}

func (r snapshotRow) time(form string) string {
	if _, is := r.seconds[form]; !is {
		return "-"
	}
	s := fmt.Sprintf("%.3g", r.seconds[form])
	if r.ended[form] {
		s = "> " + s
	}
	return s
}

// markdown is the row as docs/measuring/benchmarks.md has it, without date and noise.
func (r snapshotRow) markdown() string {
	better, worse, reads, pages, _, best := r.of()
	least := map[bool]string{true: "> "}
	return fmt.Sprintf("%d | %d | %s | %s | %s | %s | %s%.3g (%s) | %s%.3g | %.3g | %.3g", r.versions, r.files, r.time("correlated"), r.time("grouped"), r.time("sorted"), r.time("denormalised"),
		least[r.ended[best]], better, best, least[r.ended["grouped"] || r.ended["sorted"]], worse, reads, pages)
}

// TestBenchTable prints the table of a measurement and draws it: BENCH_LOG is what TestBenchSnapshots printed, BENCH_SVG the
// picture to write.
func TestBenchTable(t *testing.T) {
	path := os.Getenv("BENCH_LOG")
	if path == "" {
		t.Skip("BENCH_LOG is not set: this shows a measurement, and is no test")
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := tabulated(string(log))
	if len(rows) == 0 {
		t.Fatalf("%s has no snapshot", path)
	}
	var lines []report.SizeLine
	for _, form := range egnyte.Forms {
		l := report.SizeLine{Name: form}
		for _, r := range rows {
			if took, is := r.seconds[form]; is && form != "denormalised" {
				l.Points = append(l.Points, report.SizePoint{Size: float64(r.versions), Ratio: took / r.seconds["denormalised"], IsLeast: r.ended[form]})
			}
		}
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	for _, r := range rows {
		fmt.Println("row | " + r.markdown())
	}
	svg, err := os.Create(os.Getenv("BENCH_SVG"))
	if err != nil {
		t.Fatal(err)
	}
	defer svg.Close()
	if err := report.SizesSVG(svg, "Snapshots: how many times as long as the denormalised query", "versions of the tenant", lines, 3, "goal for the best of them: 3×"); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotsAreTabulated(t *testing.T) {
	rows := tabulated(`size after files_mb=1
snapshot round=1 versions=200 files=20 form=grouped pool=cold seconds=>60 rows=0 reads=0 pages=0
snapshot round=1 versions=200 files=20 form=correlated pool=cold seconds=8.0 rows=20 reads=100 pages=50
snapshot round=1 versions=200 files=20 form=correlated pool=warm seconds=1.0 rows=20 reads=100 pages=0
snapshot round=2 versions=200 files=20 form=correlated pool=cold seconds=12.0 rows=20 reads=100 pages=70
snapshot round=1 versions=200 files=20 form=denormalised pool=cold seconds=2.0 rows=20 reads=40 pages=20
snapshot round=1 versions=100 files=10 form=denormalised pool=cold seconds=1.0 rows=10 reads=20 pages=10
`)
	if len(rows) != 2 || rows[0].versions != 100 {
		t.Fatalf("%+v", rows)
	}
	if got, want := rows[1].markdown(), "200 | 20 | 10 | > 60 | - | 2 | 5 (correlated) | > 30 | 2.5 | 3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
