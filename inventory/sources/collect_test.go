package sources

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/inventory/claims"
	"stowage/mysql"
)

func writeInput(r *reader, src []byte) {
	path := filepath.Join(r.dir, "hosts", "db1", "my.cnf")
	if os.MkdirAll(filepath.Dir(path), 0o755) == nil && os.WriteFile(path, src, 0o644) == nil {
		r.options(r.shown(path), path)
	}
}

func oneFarm() *farm.Farm {
	return &farm.Farm{Name: "f", Hosts: []farm.Host{{Name: "db1", Address: "10.0.0.1"}}, Pairs: []farm.Pair{{Name: "p", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Port: 3306}}}}}
}

func collect(t *testing.T, dir string, specs ...claims.Spec) (claims.Report, []claims.Fault) {
	t.Helper()
	set, faults, err := Collect(t.Context(), World{Dir: dir, State: filepath.Join(dir, ".stowage"), Farm: oneFarm(), Line: func(string) int { return 1 }}, specs)
	if err != nil {
		t.Fatal(err)
	}
	return claims.Reconcile(set, claims.Rules{}, time.Now()), faults
}

// TestASourceThatIsDown stands there with its last claims, and has no vote.
func TestASourceThatIsDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.csv")
	spec := claims.Spec{Name: "cmdb", Kind: "csv", Path: "x.csv", Called: "name", Attributes: map[string]string{"host": "host"}}
	good := "name,host\npa,db1\n\"x\ty\",db1\n"
	must(t, os.WriteFile(file, []byte(good), 0o644))
	r, faults := collect(t, dir, spec)
	if len(faults) > 0 || len(r.Stale) > 0 || r.Sources[1].Claims != 4 {
		t.Fatalf("report %+v, faults %v", r, faults)
	}
	must(t, os.Remove(file))
	r, _ = collect(t, dir, spec)
	if len(r.Stale) != 1 || r.Stale[0] != "cmdb" || r.Sources[1].Claims != 4 || r.Sources[1].Why != "no such file or directory" || r.Sources[1].At.IsZero() {
		t.Errorf("a source that is down: %+v", r.Sources[1])
	}
	must(t, os.WriteFile(file, []byte("name\tno\n"), 0o644))
	r, faults = collect(t, dir, spec)
	if len(r.Stale) != 1 || r.Sources[1].Claims != 4 || len(faults) != 2 || faults[0].Place != "x.csv:1" {
		t.Errorf("a source of which nothing can be read: %+v %v", r.Sources[1], faults)
	}
	must(t, os.WriteFile(file, []byte(good+"z\n"), 0o644))
	r, faults = collect(t, dir, spec)
	if len(r.Stale) != 0 || !r.Sources[1].IsPart || r.Sources[1].Claims != 4 || len(faults) != 1 || faults[0].Place != "x.csv:4" {
		t.Errorf("a source that is read in part: %+v %v", r.Sources[1], faults)
	}
	must(t, os.WriteFile(file, []byte(good), 0o644))
	if r, _ = collect(t, dir, spec); len(r.Stale) != 0 || r.Sources[1].IsPart {
		t.Errorf("a source that is back: %+v", r.Sources[1])
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAProgramThatHangs is ended after its time.
func TestAProgramThatHangs(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r, _ := collect(t, t.TempDir(), claims.Spec{Name: "slow", Kind: "exec", Command: []string{"/bin/sleep", "60"}, Timeout: 200 * time.Millisecond},
		claims.Spec{Name: "bad", Kind: "exec", Command: []string{"/bin/sh", "-c", "echo no such node >&2; exit 3"}})
	if len(r.Stale) != 2 || !strings.Contains(r.Sources[1].Why+r.Sources[2].Why, "did not end within 200ms") || !strings.Contains(r.Sources[1].Why+r.Sources[2].Why, "exit status 3 no such node") {
		t.Errorf("sources %+v", r.Sources)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestServersThatHang cost their own time, all of them together.
func TestServersThatHang(t *testing.T) {
	t.Parallel()
	var addresses []string
	for range 8 {
		l, err := net.Listen("tcp", "127.0.0.1:0") // it is connected to, and says nothing
		must(t, err)
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	began := time.Now()
	r := &reader{spec: claims.Spec{Name: "live", Kind: "live", Timeout: 300 * time.Millisecond}}
	err := r.crawl(t.Context(), addresses, func(n farm.InstanceName, address string) *mysql.Server {
		return mysql.Open(n, address, mysql.Account{User: "u"}, slog.New(slog.DiscardHandler))
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("eight servers that hang took %s", took)
	}
	if err == nil || len(r.claims) != 8 || r.claims[0].Attribute != "alive" || r.claims[0].Value != "no" {
		t.Errorf("error %v, claims %+v", err, r.claims)
	}
}

func TestPrometheusAnswers(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"mysql_up":    `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"instance":"10.0.0.1:9104"},"value":[1795424148.5,"1"]},{"metric":{},"value":[1,"1"]},{"metric":{"instance":"10.0.0.2:3307"},"value":[1,"NaN"]}]}}`,
		"mysql_info":  `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"instance":"10.0.0.1:9104","version":"10.11.6"},"value":[1795424148,"1"]}]}}`,
		"vector(1, ":  "bad",
		"scalar(one)": `{"status":"success","data":{"resultType":"scalar","result":[]}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text := answers[req.PostFormValue("query")]
		if text == "bad" {
			w.WriteHeader(http.StatusBadRequest)
			text = `{"status":"error","error":"parse error"}`
		}
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	ask := func(queries map[string]string) ([]string, []string, error) {
		r := &reader{spec: claims.Spec{Name: "p", Kind: "prometheus", URL: server.URL, Attributes: queries}}
		err := r.read(t.Context())
		said, faults := lines(r)
		return said, faults, err
	}
	said, faults, err := ask(map[string]string{"alive": "mysql_up", "version": "mysql_info -> version"})
	want := "instance 10.0.0.1:3306 alive=1 " + server.URL + " mysql_up\ninstance 10.0.0.1:3306 version=10.11.6 " + server.URL + " mysql_info"
	if err != nil || strings.Join(said, "\n") != want || len(faults) != 1 {
		t.Errorf("said %q, faults %q, %v", said, faults, err)
	}
	for query, want := range map[string]string{"vector(1, ": "400 Bad Request parse error", "scalar(one)": "the answer is a scalar"} {
		if _, _, err := ask(map[string]string{"alive": query}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// TestRealPrometheus asks one about itself.
func TestRealPrometheus(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("NOT TESTED: a real Prometheus: install Debian's package prometheus")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	dir := t.TempDir()
	exporters := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, map[string]string{"/mysql": mysqldMetrics, "/node": nodeMetrics}[req.URL.Path])
	}))
	defer exporters.Close()
	target := strings.TrimPrefix(exporters.URL, "http://")
	must(t, os.WriteFile(filepath.Join(dir, "p.yml"), fmt.Appendf(nil, `global: {scrape_interval: 1s}
scrape_configs:
- {job_name: self, static_configs: [{targets: ['%s'], labels: {server: '10.0.0.1:3306'}}]}
- {job_name: mysql, metrics_path: /mysql, static_configs: [{targets: ['%s'], labels: {instance: '10.0.0.1:9104'}}]}
- {job_name: node, metrics_path: /node, static_configs: [{targets: ['%s'], labels: {instance: '10.0.0.1:9100'}}]}
`, address, target, target), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var log bytes.Buffer
	c.Stderr = &log
	must(t, c.Start())
	defer func() {
		cancel()
		_ = c.Wait() // it was killed
	}()
	spec := claims.Spec{Name: "p", Kind: "prometheus", URL: "http://" + address, Called: "server", Attributes: map[string]string{"alive": `up{job="self"}`, "version": "prometheus_build_info -> version"}}
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		r := &reader{spec: spec}
		err := r.read(ctx)
		if said, _ := lines(r); err == nil && len(said) == 2 && strings.Contains(said[0], "alive=1") && strings.Contains(said[1], "version=2.") {
			break
		} else if time.Now().After(until) {
			t.Fatalf("said %q, %v\n%s", said, err, log.String())
		}
	}
	// What the exporters say, by the queries that nobody has to write.
	for kind, want := range map[claims.Kind]string{
		claims.Instance: "instance 10.0.0.1:3306 alive=1|instance 10.0.0.1:3306 memory=134217728|instance 10.0.0.1:3306 read_only=0|instance 10.0.0.1:3306 server_id=7",
		claims.Host:     "host 10.0.0.1:9100 cores=2|host 10.0.0.1:9100 memory=8589934592",
	} {
		for until := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
			r := &reader{spec: claims.Spec{Name: "p", Kind: "prometheus", URL: "http://" + address, Subject: kind}}
			err := r.read(ctx)
			said, _ := lines(r)
			for i := range said {
				said[i], _, _ = strings.Cut(said[i], " http://")
			}
			if got := strings.Join(said, "|"); err == nil && got == want {
				break
			} else if time.Now().After(until) {
				t.Fatalf("%s: said %q, %v", kind, got, err)
			}
		}
	}
}

// As mysqld_exporter 0.14 and node_exporter 1.5 print them.
const (
	mysqldMetrics = `# TYPE mysql_up gauge
mysql_up 1
# TYPE mysql_global_variables_server_id gauge
mysql_global_variables_server_id 7
# TYPE mysql_global_variables_read_only gauge
mysql_global_variables_read_only 0
# TYPE mysql_global_variables_innodb_buffer_pool_size gauge
mysql_global_variables_innodb_buffer_pool_size 1.34217728e+08
`
	nodeMetrics = `# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 8.589934592e+09
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 11.5
node_cpu_seconds_total{cpu="0",mode="user"} 1.5
node_cpu_seconds_total{cpu="1",mode="idle"} 12.5
node_cpu_seconds_total{cpu="1",mode="user"} 2.5
`
)
