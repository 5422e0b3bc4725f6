package workspace_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"stowage/farm"
	"stowage/workspace"
)

// Every kind reads as it is written, and writes as it is read.
func TestRoutingReadsBack(t *testing.T) {
	for text, want := range map[string]farm.Routing{
		"":                      {},
		"routing: {kind: file}": {Kind: farm.RoutingFile},
		"routing:\n  kind: haproxy\n  sockets:\n    - /run/haproxy/master.sock\n    - 10.0.0.7:9999\n  cut_after: 500ms": {Kind: farm.RoutingHAProxy,
			Sockets: []string{"/run/haproxy/master.sock", "10.0.0.7:9999"}, CutAfter: 500 * time.Millisecond},
		"routing: {kind: etcd, endpoints: ['https://[::1]:2379'], prefix: /a/b/, account: etcd, ca: ca.pem, cert: c.pem, key: k.pem, good_for: 100ms}": {
			Kind: farm.RoutingEtcd, Endpoints: []string{"https://[::1]:2379"}, Prefix: "/a/b/", Account: "etcd", CA: "ca.pem", Cert: "c.pem", Key: "k.pem",
			GoodFor: 100 * time.Millisecond},
		"routing: {kind: sql, address: '10.0.0.5:3306', database: routing}": {Kind: farm.RoutingSQL, Address: "10.0.0.5:3306", Database: "routing"},
		"routing: {kind: exec, program: [bin/route, --zone, b], timeout: 20s, gated: true, whole: true, settle: 1s500ms}": {Kind: farm.RoutingExec,
			Program: []string{"bin/route", "--zone", "b"}, Timeout: 20 * time.Second, Gated: true, Whole: true, Settle: 1500 * time.Millisecond},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte("farm: f\nnext_server_id: 7\n"+text+"\nhost_types:\n  t: {cores: 1}\nhosts:\n  - {name: h, type: t, address: 10.0.0.1}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.Farm()
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(f.Routing, want) {
			t.Errorf("%s: %+v, want %+v", text, f.Routing, want)
		}
		if err := workspace.WriteFarm(w.Path("farm.yaml"), f); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		again, err := w.Farm()
		if err != nil || !reflect.DeepEqual(again.Routing, want) {
			t.Errorf("%s: written and read again it is %+v %v", text, again, err)
		}
	}
}
