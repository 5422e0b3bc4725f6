package sources

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stowage/inventory/claims"
)

// TestExamplePrograms runs the programs of examples/sources as the source exec does.
func TestExamplePrograms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED: the programs of examples/sources: there is no python3")
	}
	consul := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"Node": {"Address": "10.0.0.1"}, "Service": {"ID": "x1", "Address": "", "Port": 3307}, "Checks": [{"Status": "passing"}, {"Status": "critical"}]}]`)
	}))
	defer consul.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nodes/db1.json": `{"name": "db1", "default": {"cpu": {"total": 1}}, "automatic": {"ipaddress": "10.0.0.1", "cpu": {"total": 16}, "memory": {"total": "1024kB"}, "ohai_time": 1795424148.5}}`,
		"devices.json":   `{"results": [{"id": 7, "name": "db1", "status": {"value": "active"}, "primary_ip": {"address": "10.0.0.1/24"}, "memory": 96, "disk": 2}, {"name": "old", "status": {"value": "offline"}}]}`,
		"zone":           "$TTL 1h\n@ IN SOA a b 1 2 3 4 5\ndb1 IN A 10.0.0.1\n    A 10.0.0.2 ; a pool\n$ORIGIN eu.example.com.\ndb2 300 A 10.0.0.3\nwww CNAME db2\n",
	} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	programs, err := filepath.Abs("../../examples/sources")
	must(t, err)
	for _, test := range []struct {
		command []string
		want    string
	}{
		{[]string{"chef.py", "nodes"}, "host db1 address=10.0.0.1 nodes/db1.json\nhost db1 cores=16 nodes/db1.json\nhost db1 memory=1048576 nodes/db1.json"},
		{[]string{"consul.py", consul.URL, "mysql"}, "instance x1 address=10.0.0.1:3307 URL/v1/health/service/mysql\ninstance x1 alive=no URL/v1/health/service/mysql"},
		{[]string{"netbox.py", "devices.json"}, "host db1 address=10.0.0.1 devices.json: device 7\nhost db1 memory=96MB devices.json: device 7\nhost db1 disk=2GB devices.json: device 7"},
		{[]string{"zone.py", "zone", "example.com"}, "host db2.eu address=10.0.0.3 zone:6"},
	} {
		command := append([]string{filepath.Join(programs, test.command[0])}, test.command[1:]...)
		r := &reader{spec: claims.Spec{Name: "x", Kind: "exec", Command: command}, dir: dir}
		must(t, r.read(t.Context()))
		said, faults := lines(r)
		if got := strings.ReplaceAll(strings.Join(said, "\n"), consul.URL, "URL"); got != test.want || len(faults) > 0 {
			t.Errorf("%s: claims\n%s\nwant\n%s\nfaults %v", test.command[0], got, test.want, faults)
		}
	}
}
