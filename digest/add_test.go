package digest

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAddedIsRead: what is added statement by statement makes the digest that reading the log makes.
func TestAddedIsRead(t *testing.T) {
	log := twoStatements + strings.ReplaceAll(twoStatements, "id = 5", "id = 6")
	read := New(Options{})
	if err := read.Read("slow.log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	added := New(Options{})
	if _, err := Statements("slow.log", strings.NewReader(log), Options{}, func(s *Statement) error {
		added.Add("slow.log", s)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(read.Digest().Report().Classes)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(added.Digest().Report().Classes)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) || len(added.Digest().Report().Classes) != 2 {
		t.Errorf("added:\n%s\nread:\n%s", got, want)
	}
	if in := added.Digest().Report().Inputs; len(in) != 1 || in[0].Events != 4 {
		t.Errorf("inputs %+v", in)
	}
}

func TestMatchesAndFingerprint(t *testing.T) {
	f, err := ParseFilter("user = app and rows_sent > 2")
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Filter: f})
	s := Statement{Query: []byte("SELECT * FROM t WHERE id=7"), User: "app", RowsSent: 3}
	if !b.Matches(&s) {
		t.Error("the filter takes out what it names")
	}
	if s.RowsSent = 2; b.Matches(&s) {
		t.Error("the filter lets through what it does not name")
	}
	if got := string(b.Fingerprint(&s)); got != "select * from t where id=?" {
		t.Errorf("fingerprint %q", got)
	}
}
