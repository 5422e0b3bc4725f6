package farm

import (
	"reflect"
	"testing"
)

// What is found of ten servers is one line with a count; what differs in a word, or has names of its own, stays apart.
func TestAlikeFindingsAreOneLine(t *testing.T) {
	var fs []Finding
	for _, s := range []string{"a", "b", "c", "d", "e"} {
		fs = append(fs, Finding{Check: "drift", Severity: Warning, Subject: s, Text: "has 3", Remedy: "set 4"})
	}
	fs = append(fs, Finding{Check: "drift", Severity: Note, Subject: "f", Text: "has 3", Remedy: "set 4"},
		Finding{Check: "drift", Severity: Warning, Subject: "g", Text: "has 3", Remedy: "set 4", Names: []string{"x"}},
		Finding{Check: "drift", Severity: Warning, Subject: "h", Text: "has 5", Remedy: "set 4"})
	var got []string
	for _, f := range Alike(fs) {
		got = append(got, string(f.Severity)+" "+f.Subject)
	}
	if want := []string{"warning a, b, c and 2 more", "note f", "warning g", "warning h"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if fs[0].Subject != "a" {
		t.Error("the findings that were given changed")
	}
}

// A farm of a pair with a replica and a single instance has four instances, not two for each pair.
func TestInstancesAreCountedBySides(t *testing.T) {
	f := &Farm{Pairs: []Pair{{Sides: map[SideName]Side{"A": {}, "B": {}, "C": {}}}, {Sides: map[SideName]Side{"A": {}}}}}
	if n := f.InstanceCount(); n != 4 {
		t.Errorf("%d instances", n)
	}
}
