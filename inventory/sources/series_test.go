package sources

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/capacity"
	"stowage/farm"
	"stowage/internal/promtest"
	"stowage/inventory/claims"
)

// seriesFarm has a host with two data directories on one file system, and one that is known by its address.
func seriesFarm() *farm.Farm {
	return &farm.Farm{HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.IOPS: 1000}}},
		Hosts: []farm.Host{{Name: "db1", Type: "t", Address: "10.0.0.1"}, {Name: "db2", Type: "t", Address: "10.0.0.2"}},
		Pairs: []farm.Pair{{Name: "p", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Datadir: "/srv/mysql/a"}, farm.B: {Host: "db2", Datadir: "/srv/mysql/b"}}}}}
}

// TestSeriesOfARealPrometheus: sixty days of what node_exporter tells are put into a Prometheus, Debian's, and read back: the file system with the
// data and no other, disks of which none counts twice, and limits. The forecast is that of the growth that was put in.
func TestSeriesOfARealPrometheus(t *testing.T) {
	t.Parallel()
	end := time.Now().Truncate(time.Hour)
	const days, grows, total = 60, 1e9, 1e12
	f, spec := seriesFarm(), claims.Spec{Name: "prom", Kind: "prometheus", URL: promtest.With(t, promtest.Node(end, days, grows, total))}
	all, unknown, err := Series(t.Context(), f, spec, end)
	must(t, err)
	if !slices.Equal(unknown, []string{"elsewhere:9100"}) {
		t.Errorf("unknown: %q", unknown)
	}
	var got []string
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %s of %s", s.Name, s.Resource, s.Source))
	}
	if want := "db1 disk of prom /srv|db1 memory of prom|db1 cpu of prom|db1 iops of prom"; strings.Join(got, "|") != want {
		t.Fatalf("%s, not %s", strings.Join(got, "|"), want)
	}
	for _, r := range capacity.Assess(f, all) {
		if r.Name != "db1" {
			continue
		}
		switch r.Resource {
		case farm.Disk:
			if r.Limit != total || r.Days == nil || r.Days.Mid == nil || *r.Days.Mid < 0.9*(total-r.Level)/grows || *r.Days.Mid > 1.1*(total-r.Level)/grows {
				t.Errorf("disk: %+v", r)
			}
		case farm.CPU: // two cores; one second of each is used in four
			if r.Limit != 2 || r.Used < 0.45 || r.Used > 0.55 {
				t.Errorf("cpu: %+v", r)
			}
		case farm.IOPS: // 100 reads and 50 writes a second of sda; as many again of the md device above it
			if r.Limit != 1000 || r.Used < 140 || r.Used > 160 {
				t.Errorf("iops: %+v", r)
			}
		}
	}
}

// TestRangesThatAreNone: what is not a matrix is refused with the query; a value that is not a number is left out.
func TestRangesThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<html>`: "the answer is not Prometheus'",
		`{"status":"success","data":{"resultType":"vector","result":[]}}`: "the answer is a vector, and a matrix is wanted",
	} {
		if _, err := matrix([]byte(text), "up"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "query up") {
			t.Errorf("%s: %v", text, err)
		}
	}
	got, err := matrix([]byte(`{"data":{"resultType":"matrix","result":[{"metric":{"instance":"a"},"values":[[1,"NaN"],[2,"7"],["3","8"],[4,9],[5,"+Inf"]]},{"metric":{},"values":[]}]}}`), "up")
	if err != nil || len(got) != 1 || len(got[0].samples) != 1 || got[0].samples[0].Value != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer down.Close()
	if _, _, err := Series(t.Context(), seriesFarm(), claims.Spec{Name: "p", URL: down.URL, Series: map[string]string{"cpu": "x"}}, time.Now()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("one that is down: %v", err)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add([]byte(`{"data":{"resultType":"matrix","result":[{"metric":{"instance":"a"},"values":[[1,"7"]]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := matrix(raw, "up")
		for _, x := range got {
			if err != nil || len(x.samples) == 0 {
				t.Fatalf("%v, %v", got, err)
			}
		}
	})
}
