package gen

import (
	"bytes"
	"testing"
)

func TestSlowLogIsReproducible(t *testing.T) {
	var a, b bytes.Buffer
	kinds, err := SlowLog{Seed: 1, Events: 4000}.Write(&a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (SlowLog{Seed: 1, Events: 4000}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("equal seeds gave different logs")
	}
	if n := bytes.Count(a.Bytes(), []byte("# Query_time: ")); n != 4000 {
		t.Errorf("%d events, want 4000", n)
	}
	if len(kinds) != 11 {
		t.Errorf("%d kinds of statements, want 11", len(kinds))
	}
	if size := a.Len() / 4000; size < 380 || size > 460 {
		t.Errorf("%d bytes an event, a real log has 417", size)
	}
}
