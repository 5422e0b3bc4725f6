package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/bench/stat"
)

// As fio 3.33 prints it, with what is not read left out; a note stands before the object, as fio puts it.
const recordedFio = `fio: this platform does not support process shared mutexes, forcing use of threads.
{"fio version":"fio-3.33","jobs":[{"jobname":"LOG4K-FDS-Q1T1","error":0,
"read":{"io_bytes":0,"total_ios":0,"iops":0.0,"runtime":0,"lat_ns":{"min":0,"max":0,"mean":0.0}},
"write":{"io_bytes":16384,"total_ios":4,"iops":4.0,"runtime":1000,"lat_ns":{"min":10000,"max":41000,"mean":20000.0,"N":4,"bins":{"40192":1,"10048":3}}},
"sync":{"total_ios":0,"lat_ns":{"min":200000,"max":900500,"mean":400000.0,"N":4,"bins":{"200704":2,"905216":1,"300032":1}}},
"job_runtime":1000,"usr_cpu":1.0,"sys_cpu":2.0,"iodepth_level":{"1":200.0,"2":0.0}}]}`

func TestReadFio(t *testing.T) {
	o, err := parseFio([]byte(recordedFio))
	if err != nil {
		t.Fatal(err)
	}
	dir, id := t.TempDir(), "LOG4K-FDS-Q1T1"
	if err := os.WriteFile(filepath.Join(dir, seriesName(id)+"_iops.log"), []byte("251, 4, 1, 0, 0\n500, 6, 1, 0, 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := read(mustLoad(id), o.Jobs[0], dir, id, 250*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	s := m.sample
	if s.IOPS != 4 || s.MBps != 0.016384 || s.Check.Syncs != 4 || s.Check.FioWritten != 16384 {
		t.Errorf("%+v", s)
	}
	// The wait is that of the fdatasync; no percentile is beyond the longest.
	if s.Lat.P50 != 200.7 || s.Lat.P99 != 900.5 || s.Lat.Max != 900.5 || s.WriteLat.P50 != 10.05 || s.WriteLat.Mean != 20 {
		t.Errorf("%+v %+v", s.Lat, s.WriteLat)
	}
	if !slices.Equal(m.latency, stat.Histogram{{200704, 2}, {300032, 1}, {905216, 1}}) {
		t.Errorf("%v", m.latency)
	}
	if !slices.Equal(s.Series, []float64{4, 6, 0}) {
		t.Errorf("%v", s.Series)
	}
}

// TestNoSyncEnded: on a storage that hangs a run of a fraction of a second may write and not get one fdatasync done. That is not fio's fault.
func TestNoSyncEnded(t *testing.T) {
	out := strings.Replace(recordedFio, `"N":4,"bins":{"200704":2,"905216":1,"300032":1}`, `"N":0,"bins":{}`, 1)
	o, err := parseFio([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(mustLoad("LOG4K-FDS-Q1T1"), o.Jobs[0], t.TempDir(), "LOG4K-FDS-Q1T1", time.Second); err == nil || !strings.Contains(err.Error(), "too short for this storage") {
		t.Errorf("%v", err)
	}
}

func TestFioOutputThatCannotBeUsed(t *testing.T) {
	for out, want := range map[string]string{
		"":                                      "no JSON",
		"fio: nothing":                          "no JSON",
		recordedFio[:300]:                       "no JSON of fio's",
		`{"jobs":[]}`:                           "no job",
		`{"jobs":[{"jobname":"x","error":28}]}`: "no space left on device",
	} {
		if _, err := parseFio([]byte(out)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", out, err)
		}
	}
	if got := fioError(os.ErrInvalid, "x\nfio: io_u error on file data: No space left on device: write"); !strings.Contains(got.Error(), "No space left on device") {
		t.Error(got)
	}
}

func TestReadSeries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series")
	for text, want := range map[string][]float64{
		// Two threads, one after the other; the last window is not written.
		"250, 10, 0, 0, 0\n501, 20, 0, 0, 0\n750, 30, 0, 0, 0\n251, 1, 0, 0, 0\n500, 2, 0, 0, 0\n750, 3, 0, 0, 0\n": {11, 22, 33},
		// Reads and writes of one thread in turns.
		"250, 7, 0, 0, 0\n250, 3, 1, 0, 0\n500, 7, 0, 0, 0\n500, 4, 1, 0, 0\n750, 7, 0, 0, 0\n750, 5, 1, 0, 0\n": {10, 11, 12},
		// A request took longer than a window: what is written later counts for both.
		"500, 2, 0, 0, 0\n750, 8, 0, 0, 0\n": {2, 2, 8},
		"":                                   {0, 0, 0},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readSeries(path, 250*time.Millisecond, 1.001); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file stays")
		}
	}
}
