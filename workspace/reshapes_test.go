package workspace

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/reshape/spec"
)

const goodSpec = `shards: ["fs*"]
tenant: {table: tenants, key: tenant_id, active: on_now, routed_by: "{shard}/{tenant}"}
parent: {table: files, tenant: tenant_id, key: [file_id]}
child:
  table: versions
  parent: file_id
  key: version_id
  counts: "deleted_at IS NULL"
  latest: [version_no DESC, version_id]
carry:
  latest_id: version_id
  latest_hash: {from: hash, type: "BINARY(32)"}
indexes:
  latest: [tenant_id, latest_id]
keep: application
snapshot:
  join: {folders: {folder_id: folder_id}}
  columns: [folders.path, versions.hash]
`

func TestSpecIsRead(t *testing.T) {
	got, err := parseSpec("latest", "reshape/latest.yaml", []byte(goodSpec))
	lines := got.Lines
	got.Lines = nil
	want := spec.Spec{
		Name: "latest", File: "reshape/latest.yaml", Shards: []string{"fs*"},
		Tenant:   spec.Tenant{Table: "tenants", Key: "tenant_id", Migrated: "latest_entry_migrated", Active: "on_now", RoutedBy: "{shard}/{tenant}"},
		Parent:   spec.Parent{Table: "files", Tenant: "tenant_id", Key: []string{"file_id"}},
		Child:    spec.Child{Table: "versions", Parent: []string{"file_id"}, Key: "version_id", Counts: "deleted_at IS NULL", Latest: []spec.Order{{Column: "version_no", Desc: true}, {Column: "version_id"}}},
		Carry:    []spec.Carry{{Column: "latest_id", From: "version_id"}, {Column: "latest_hash", From: "hash", Type: "BINARY(32)"}},
		Indexes:  []spec.Index{{Name: "latest", Columns: []string{"tenant_id", "latest_id"}}},
		Keep:     spec.Application,
		Snapshot: spec.Snapshot{Join: []spec.Join{{Table: "folders", On: map[string]string{"folder_id": "folder_id"}}}, Columns: []string{"folders.path", "versions.hash"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	got.Lines = lines
	if got.Line("child.latest") != 9 || got.Line("carry.latest_hash") != 12 || got.Line("parent.key") != 3 || got.Line("nothing.of.it") != 1 {
		t.Errorf("lines %v", lines)
	}
	if key := got.Tenant.ClientKey("fs7", "42"); key != "fs7/42" || !got.Takes("fs12") || got.Takes("gs1") {
		t.Errorf("client key %q", key)
	}
}

func TestFaultsOfSpecsSayTheirLine(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"keep: application", "kept: triggers"}:               `k.yaml:15: unknown key "kept" in the spec`,
		{"keep: application", "keep: cron"}:                   `k.yaml:15: keep is "cron": it is triggers, application or applier`,
		{"keep: application", "keep: applier"}:                "k.yaml:15: keep is applier and max_lag is missing",
		{"keep: application", "keep: applier\nmax_lag: soon"}: `k.yaml:16: max_lag is "soon": it is a time from 500ms to 1h`,
		{"keep: application", "keep: applier\nmax_lag: 10ms"}: `k.yaml:16: max_lag is "10ms"`,
		{"keep: application", "keep: triggers\nmax_lag: 5s"}:  "k.yaml:16: max_lag is only for keep: applier",
		{"  parent: file_id\n", ""}:                           "child has no parent",
		{"key: tenant_id, active", "active"}:                  "tenant has no key",
		{"version_no DESC", "version_no DESC NULLS"}:          "an order is a column, and DESC where the largest comes first",
		{"key: version_id", "key: [a, b]"}:                    "key of child is one column, not 2",
		{"{from: hash, type", "{type"}:                        "carry latest_hash does not say from which column",
		{"columns: [folders.path", "colums: [folders.path"}:   `did you mean "columns"?`,
		{"carry:\n", "carri:\n"}:                              `unknown key "carri" in the spec; did you mean "carry"?`,
	} {
		text := strings.Replace(goodSpec, change[0], change[1], 1)
		if text == goodSpec {
			t.Fatalf("%q is not there", change[0])
		}
		_, err := parseSpec("k", "k.yaml", []byte(text))
		if err == nil || !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", change[1], err, want)
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add([]byte(goodSpec))
	f.Add([]byte("child: [1]\ncarry: {a: {b: c}}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := parseSpec("k", "k.yaml", src)
		if err == nil && (s.Tenant.Table == "" || s.Parent.Table == "" || s.Child.Table == "" || len(s.Child.Latest) == 0) {
			t.Errorf("%q is taken for whole: %+v", src, s)
		}
	})
}
