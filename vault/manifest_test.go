package vault

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzManifest: whatever is there, reading it ends, and what is taken can be written and read again as the same.
func FuzzManifest(f *testing.F) {
	sum := strings.Repeat("a", 64)
	f.Add([]byte(`{"format_version":1,"set":"a/b","parts":[{"name":"base.xb","file":"base.xb.zst","raw_bytes":7,"bytes":5,"sha256":"` + sum + `"}],"about":{"x": [1, 2.50]}}`))
	f.Add([]byte(`{"format_version":1,"set":"a/b","parts":[{"name":"..","sha256":"` + sum + `"}]}`))
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeManifest(raw, "a/b")
		if err != nil {
			return
		}
		for _, p := range m.Parts {
			if !isWord(p.Name) || p.Raw < 0 || p.Bytes < 0 {
				t.Errorf("a part %+v was taken", p)
			}
		}
		again, err := m.encode()
		if err != nil {
			t.Fatalf("taken, and not written: %v", err)
		}
		back, err := decodeManifest(again, "a/b")
		if err != nil {
			t.Fatalf("written, and not read: %v", err)
		}
		if len(m.About) == 0 {
			m.About = []byte("null")
		}
		if !reflect.DeepEqual(m, back) {
			t.Errorf("%+v came back as %+v", m, back)
		}
	})
}

func TestNamesOfSets(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "shop1/20261126T051500Z-full": true, "a.b_c+d-e/1": true, "a.partial": false, "a/b.partial/c": false, "": false, "a/..": false, "-r": false, "a/-r": false} {
		if err := checkSet(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []struct {
		set, prefix string
		want        bool
	}{{"a/b", "", true}, {"a/b", "a", true}, {"a/b", "a/b", true}, {"ab/c", "a", false}, {"a", "a/b", false}} {
		if isBelow(c.set, c.prefix) != c.want {
			t.Errorf("%s below %s: not %v", c.set, c.prefix, c.want)
		}
	}
}
