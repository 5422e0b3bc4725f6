package mysql_test

import (
	"log/slog"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// All or nothing: what was looked at has to be as it was, also what is not
// written itself.
func TestRoutingTable(t *testing.T) {
	t.Parallel() // it mostly waits
	i := mariadbtest.Start(t, "routing")
	i.Exec(t, "CREATE DATABASE `odd ``name`")
	s := mysql.Open("routing", i.Address, mysql.Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { s.Close() })
	table := s.RoutingTable("odd `name")
	if texts, _, err := table.Load(t.Context()); err != nil || len(texts) != 0 {
		t.Errorf("before it is made: %v %v", texts, err)
	}
	for range 2 { // again is harmless
		if err := table.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	type m = map[string]string
	type v = map[string]int64
	for _, x := range []struct {
		name     string
		texts    m
		versions v
		want     bool
	}{
		{"two new ones", m{"a": "1", "b": "1"}, v{"a": 0, "b": 0}, true},
		{"one is there already", m{"c": "1", "a": "2"}, v{"c": 0, "a": 0}, false},
		{"one has changed", m{"a": "2", "b": "2"}, v{"a": 1, "b": 7}, false},
		{"both as they were", m{"a": "2", "b": "2"}, v{"a": 1, "b": 1}, true},
		{"one only looked at, and changed", m{"a": "3"}, v{"a": 2, "b": 1}, false},
		{"one only looked at", m{"a": "3"}, v{"a": 2, "b": 2}, true},
		{"one only looked at, not there", m{"a": "4"}, v{"a": 3, "c": 0}, true},
		{"removed", m{"b": ""}, v{"b": 2}, true},
		{"removed again", m{"b": ""}, v{"b": 2}, false},
		{"capitals are another name", m{"A": "1"}, v{"A": 0}, true},
	} {
		got, err := table.Swap(t.Context(), x.texts, x.versions)
		if err != nil || got != x.want {
			t.Errorf("%s: swapped %v %v, want %v", x.name, got, err, x.want)
		}
	}
	texts, versions, err := table.Load(t.Context())
	if err != nil || len(texts) != 2 || texts["a"] != "4" || versions["a"] != 4 || texts["A"] != "1" {
		t.Errorf("%v %v %v", texts, versions, err)
	}
	if texts, _, err = table.Load(t.Context(), "a", "b"); err != nil || len(texts) != 1 || texts["a"] != "4" {
		t.Errorf("by name: %v %v", texts, err)
	}
}
