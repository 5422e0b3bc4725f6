package transcript

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/bench/result"
	"stowage/farm"
)

func sample(t *testing.T, name string) File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return File{name, text}
}

// figures are those of a step that a table has.
type figures struct {
	iops, mbps          float64
	mean, p50, p95, p99 float64 // us
	runs                int
	durable             bool
}

// TestReadsWhatOthersPrinted: each figure was worked out by hand from the file.
func TestReadsWhatOthersPrinted(t *testing.T) {
	for name, want := range map[string]map[string]figures{
		"fio-2.json": {"RND16K-R-Q8T4": {20000, 327.68, 1600, 1496, 2192, 2800, 1, false}},
		"fio-3.json": {
			"LOG4K-FDS-Q1T1":   {1000, 4.096, 980, 900, 1500, 4000, 1, true},
			"RND16K-RW70-Q4T4": {10158.7, 166.44, 1300.2, 1500, 1500, 1500, 2, false},
		},
		"diskspd.xml": {"RND64K-R-Q8T2": {22786.93, 1493.36, 700, 640, 1210, 2020, 1, false}},
		"sqlio.txt": {
			"RND64K-R-Q8T2": {17023.4, 1115.64, 0, 1000, 3000, 0, 1, false},
			"RND64K-W-Q1T2": {9337.1, 611.91, 0, 1000, 1000, 0, 1, false},
		},
	} {
		r, err := Read([]File{sample(t, name)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Kind != result.Imported || !strings.Contains(r.Source, name) || len(r.Steps) != len(want) {
			t.Errorf("%s: %s, %q, %d steps", name, r.Kind, r.Source, len(r.Steps))
		}
		for _, s := range r.Steps {
			w, ok := want[s.ID]
			if !ok {
				t.Errorf("%s: step %s", name, s.ID)
				continue
			}
			for what, v := range map[string][2]float64{"iops": {s.IOPS, w.iops}, "MB/s": {s.MBps, w.mbps}, "mean": {s.Lat.Mean, w.mean}, "p50": {s.Lat.P50, w.p50}, "p95": {s.Lat.P95, w.p95}, "p99": {s.Lat.P99, w.p99}} {
				if math.Abs(v[0]-v[1]) > 0.001*math.Max(v[1], 0.1) {
					t.Errorf("%s %s: %s is %v, want %v", name, s.ID, what, v[0], v[1])
				}
			}
			if s.Runs != w.runs || s.Durable != w.durable || (s.CI != nil) != (w.runs > 1) {
				t.Errorf("%s %s: %d runs, durable %v, interval %v", name, s.ID, s.Runs, s.Durable, s.CI)
			}
		}
	}
}

// TestFilesOfOneLoadAreItsRuns: three outputs of one job are three runs, which have an interval and can be compared.
func TestFilesOfOneLoadAreItsRuns(t *testing.T) {
	f := sample(t, "fio-2.json")
	again := File{"b.json", bytes.ReplaceAll(f.Text, []byte("20000.00"), []byte("20100.00"))}
	r, err := Read([]File{f, again, {"c.json", f.Text}})
	if err != nil || len(r.Steps) != 1 || r.Steps[0].Runs != 3 || r.Steps[0].CI == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if c := result.Compare("a", r, "b", r); c.Steps[0].CI == nil {
		t.Errorf("%+v", c.Steps[0])
	}
}

func TestSaysWhatIsWrongAndWhere(t *testing.T) {
	cut := func(name string, at string) []byte {
		text := sample(t, name).Text
		return text[:bytes.Index(text, []byte(at))]
	}
	change := func(name, from, to string) []byte {
		return bytes.Replace(sample(t, name).Text, []byte(from), []byte(to), 1)
	}
	for _, c := range []struct {
		name string
		text []byte
		want string
	}{
		{"empty", nil, "x:1: unusable input: it is empty"},
		{"other", []byte("hello\n"), "x:1: unusable input: it is not output of fio"},
		{"cut JSON", cut("fio-3.json", `"jobname" : "mix"`), "x:17: unusable input: it is not JSON"},
		{"a word for a number", change("fio-3.json", `"iops" : 1000`, `"iops" : "many"`), "x:12: unusable input: jobs.write.iops is string"},
		{"no jobs", []byte(`{"fio version": "fio-3.1"}`), "x:1: unusable input: it has no jobs"},
		{"failed job", change("fio-2.json", `"error" : 0`, `"error" : 5`), "x:6: unusable input: job pages: it ended with error 5"},
		{"nothing done", change("fio-2.json", "20000.00", "0"), "did no I/O"},
		{"cut XML", cut("diskspd.xml", "</Latency>"), "unusable input: it is not XML of DiskSpd's"},
		{"a profile", cut("diskspd.xml", "<TimeSpan>\n    <TestTime"), "x:"},
		{"another XML", []byte("\n<html></html>"), "x:2: unusable input: it begins with <html>"},
		{"no time", change("diskspd.xml", "30.00", "0"), "x:30: unusable input: time span 1 lasted 0 seconds"},
		{"cut text", cut("sqlio.txt", "IOs/sec"), "x:6: unusable input: the run that begins here has no IOs/sec"},
		{"no number", change("sqlio.txt", "17023.40", "1.702,3"), `x:14: unusable input: IOs/sec wants a number, not "1.702,3"`},
		{"no head", []byte("sqlio v1.5.SG\nIOs/sec: 5\n"), "x:2: unusable input: figures without a line"},
		{"histogram", change("sqlio.txt", "%: 71 18", "%: 71"), "x:22: unusable input: the histogram has 25 bounds and 24 shares"},
	} {
		_, err := Read([]File{{"x", c.text}})
		if err == nil || !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), c.want) || farm.Hint(err) == "" {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestNamesWhatContradictsItself: figures of one run that cannot all be true, with the line they are in.
func TestNamesWhatContradictsItself(t *testing.T) {
	f := sample(t, "sqlio.txt")
	f.Text = bytes.Replace(f.Text, []byte("1063.96"), []byte("9999.00"), 1)
	r, err := Read([]File{f})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Labels, "\n"); !strings.Contains(got, "sqlio.txt, line 6: RND64K-R-Q8T2: 10485 MB/s at 17023 requests a second would be 601 KiB a request, and a request has 64.0 KiB: one of these figures is wrong") {
		t.Error(got)
	}
}

// TestTraps are settings that make figures of something else, or that cannot be added up.
func TestTraps(t *testing.T) {
	job := func(options, more string) string {
		return `{"fio version":"fio-3.33","jobs":[{"jobname":"j","job options":{` + options + `},"read":{"iops":100,"bw_bytes":1638400,"runtime":1000,"total_ios":100,"lat_ns":{"min":1,"max":3,"mean":2,"percentile":{"99.000000":3}}}` + more + `}]}`
	}
	for name, c := range map[string]struct{ text, id, label string }{
		"depth of one":   {job(`"rw":"randread","bs":"16k","iodepth":"32","ioengine":"psync","direct":"1"`, ""), "RND16K-R-Q1T1", "which does one request at a time"},
		"page cache":     {job(`"rw":"randread","bs":"16k"`, ""), "RND16K-R-Q1T1", "direct=1 was not given"},
		"old, no option": {`{"fio version":"fio-2.0","jobs":[{"jobname":"j","read":{"iops":100,"bw":1600,"runtime":1000}}]}`, "j", ""},
		"a rate":         {job(`"rw":"randread","bs":"16k","rate_iops":"100","direct":"1"`, ""), "j", ""},
		"two directions": {job(`"rw":"randrw","bs":"16k","direct":"1","ioengine":"libaio"`, `,"write":{"iops":100,"bw_bytes":1638400,"runtime":1000,"total_ios":100,"lat_ns":{"min":1,"max":3,"mean":2,"percentile":{"99.000000":3}}}`), "RND16K-RW50-Q1T1", "cannot be added up"},
	} {
		r, err := Read([]File{{"x", []byte(c.text)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.Join(r.Labels, "; ")
		if r.Steps[0].ID != c.id || (c.label == "") != (got == "") || !strings.Contains(got, c.label) {
			t.Errorf("%s: %s, %q", name, r.Steps[0].ID, got)
		}
		if name == "two directions" && r.Steps[0].Lat.P99 != 0 {
			t.Errorf("%s: p99 %v was made up", name, r.Steps[0].Lat.P99)
		}
	}
}

func fuzz(f *testing.F, names ...string) {
	for _, n := range names {
		text, err := os.ReadFile(filepath.Join("testdata", n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read([]File{{"x", text}})
		if err != nil {
			if !errors.Is(err, farm.ErrInput) {
				t.Fatalf("%v is no error of input", err)
			}
			return
		}
		for _, s := range r.Steps {
			if s.ID == "" || !(s.IOPS > 0) || math.IsInf(s.IOPS, 0) || math.IsNaN(s.Lat.Mean) {
				t.Fatalf("%+v", s)
			}
		}
		var b bytes.Buffer
		if err := result.WriteText(&b, r); err != nil {
			t.Fatal(err)
		}
		_ = result.Compare("a", r, "b", r)
	})
}

func FuzzFio(f *testing.F)     { fuzz(f, "fio-2.json", "fio-3.json") }
func FuzzDiskSpd(f *testing.F) { fuzz(f, "diskspd.xml") }
func FuzzSQLIO(f *testing.F)   { fuzz(f, "sqlio.txt") }
