package dump

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func made(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	d := Database{Name: "a/b", Dir: Word("a/b")}
	w, err := NewWriter(&out, Head{Databases: []Database{d}, File: "bin.1", Offset: 7, GTID: "0-1-2"})
	for _, f := range []struct {
		name string
		rows int64
	}{{TablesOf(d), 0}, {RowsOf(d, "t.u", 1), 3}, {RowsOf(d, "t.u", 2), 4}, {ObjectsOf(d), 0}, {AccountsFile(), 0}} {
		err = errors.Join(err, w.Add(f.name, []byte("SELECT 1;\n"), f.rows))
	}
	if w.Add(TablesOf(d), nil, 0) == nil {
		t.Error("tables behind rows are taken")
	}
	end, ended := w.Close()
	if err = errors.Join(err, ended); err != nil || end.Rows != 7 || end.Files != 5 {
		t.Fatalf("%+v %v", end, err)
	}
	return out.Bytes()
}

func read(raw []byte) (names []string, h Head, err error) {
	h, _, err = Read(bytes.NewReader(raw), func(_ Head, f File, text io.Reader) error {
		names = append(names, f.Database.Name+":"+f.Name)
		_, err := io.Copy(io.Discard, text)
		return err
	})
	return names, h, err
}

// A stream says what is in it; cut anywhere it is not whole.
func TestStreamIsWholeOrNot(t *testing.T) {
	raw := made(t)
	names, head, err := read(raw)
	if err != nil || head.GTID != "0-1-2" || strings.Join(names, " ") != "a/b:a%2Fb/1-tables.sql a/b:a%2Fb/2-rows/t.u.000001.sql a/b:a%2Fb/2-rows/t.u.000002.sql a/b:a%2Fb/3-objects.sql :accounts.sql" {
		t.Errorf("%q %+v %v", names, head, err)
	}
	whole := bytes.Index(raw, []byte(endFile))
	for n := 0; n < whole; n += 100 {
		if _, _, err := read(raw[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d of %d: %v", n, len(raw), err)
		}
	}
	if _, _, err := read(bytes.Replace(raw, []byte(`"files":5`), []byte(`"files":6`), 1)); err == nil || !strings.Contains(err.Error(), "5 files, but had 6") {
		t.Errorf("a file is missing: %v", err)
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{"etsy_shard-1": "etsy_shard-1", ".": "%2E", "a.b": "a.b", "-r": "%2Dr", "ü*": "%C3%BC%2A"} {
		if got := Word(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("ü", 64)
	if a, b := Word(long), Word(long[:126]+"ö"); len(a) != longestWord || a == b {
		t.Errorf("%d bytes, %q and %q", len(a), a, b)
	}
}
