package format

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// The columns in an order that is not that of their names.
var columns = []Column{
	{Name: "z", Kind: "bigint", Unsigned: true}, {Name: "i", Kind: "int"}, {Name: "u", Kind: "int", Unsigned: true}, {Name: "y", Kind: "year"},
	{Name: "d", Kind: "decimal", Digits: 10, Scale: 2}, {Name: "long", Kind: "decimal", Digits: 30, Scale: 5}, {Name: "f", Kind: "double"}, {Name: "b", Kind: "bit"},
	{Name: "t", Kind: "varchar"}, {Name: "o", Kind: "varbinary"}, {Name: "day", Kind: "date"}, {Name: "at", Kind: "datetime"}, {Name: "stamp", Kind: "timestamp"}, {Name: "span", Kind: "time"},
}

func row(values ...string) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		if v != "NULL" {
			out[i] = []byte(v)
		}
	}
	return out
}

var rows = [][][]byte{
	row("18446744073709551615", "-2147483648", "4294967295", "2026", "-12345678.90", "1234567890123456789012345.67890", "-1.5e-7", "\x01\xff",
		"a \"quote\", a comma,\r\na tab\t, \x01 and äöü 😀", "\x00\xff\"", "1969-12-31", "2026-02-28 23:59:59.000001", "1970-01-01 00:00:01", "-838:59:59.5"),
	row("0", "0", "0", "0", "0.00", "0.00000", "0", "\x00", "", "", "0001-01-01", "1500-03-01 00:00:00", "2038-01-19 03:14:07", "00:00:00"),
	row("NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"),
	row("1", "1", "1", "1901", "0.01", "1.00000", "1", "\x01", "NULL", "x", "0000-00-00", "2026-02-30 00:00:00", "1970-01-01 00:00:01", "1"),
}

func written(t *testing.T, name string) ([]byte, Writer) {
	t.Helper()
	var out bytes.Buffer
	w, err := New(name, &out, columns)
	for _, r := range rows {
		err = errors.Join(err, w.Row(r))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w
}

// Numbers, text and bytes come back through encoding/json as they were.
func TestJSONLines(t *testing.T) {
	out, _ := written(t, JSONLines)
	in := json.NewDecoder(bytes.NewReader(out))
	in.UseNumber()
	for n, want := range rows {
		var got map[string]any
		if err := in.Decode(&got); err != nil {
			t.Fatal(err)
		}
		for i, c := range columns {
			var is any
			switch {
			case want[i] == nil:
			case c.class() == octets:
				is = base64.StdEncoding.EncodeToString(want[i])
			case c.class() == bits:
				is = json.Number(fmt.Sprint(ofBits(want[i])))
			case c.class() == number:
				is = json.Number(want[i])
			default:
				is = string(want[i])
			}
			if got[c.Name] != is {
				t.Errorf("row %d, %s: %#v, want %#v", n, c.Name, got[c.Name], is)
			}
		}
	}
	if lines := bytes.Count(out, []byte("\n")); lines != len(rows) {
		t.Errorf("%d lines for %d rows", lines, len(rows))
	}
	if !strings.HasPrefix(string(out), `{"z":18446744073709551615,"i":`) {
		t.Errorf("members are not in the order of the columns: %.40s", out)
	}
}

// What is no UTF-8 is written as encoding/json writes it.
func TestJSONOfAnyBytes(t *testing.T) {
	for range 2000 {
		raw := make([]byte, rand.IntN(12))
		for i := range raw {
			raw[i] = byte(rand.Uint32())
		}
		var got string
		if err := json.Unmarshal(AppendJSON(nil, Column{Kind: "text"}, raw), &got); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		want, _ := json.Marshal(string(raw))
		var is string
		if err := json.Unmarshal(want, &is); err != nil || got != is {
			t.Fatalf("%q: %q, want %q", raw, got, is)
		}
	}
}

// encoding/csv reads the values; NULL and ” are distinguished by the quotes, which it does not show.
func TestCSV(t *testing.T) {
	out, _ := written(t, CSV)
	got, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(got) != len(rows)+1 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	for n, want := range rows {
		for i, c := range columns {
			is := string(want[i])
			switch c.class() {
			case octets:
				is = hex.EncodeToString(want[i])
			case bits:
				if is = ""; want[i] != nil {
					is = fmt.Sprint(ofBits(want[i]))
				}
			}
			is = strings.ReplaceAll(is, "\r\n", "\n") // as encoding/csv reads every line end
			if got[n+1][i] != is || got[0][i] != c.Name {
				t.Errorf("row %d, %s: %q, want %q", n, c.Name, got[n+1][i], is)
			}
		}
	}
	lines := strings.Split(string(out), "\r\n")
	if nulls := lines[4]; nulls != strings.Repeat(",", len(columns)-1) {
		t.Errorf("a row of NULL is %q", nulls)
	}
	if empty := lines[3]; !strings.Contains(empty, `,"","",`) {
		t.Errorf("empty text and empty bytes are not in quotes: %q", empty)
	}
}

// The library's reader gives the values by the types of its schema.
func TestParquet(t *testing.T) {
	out, w := written(t, Parquet)
	f, err := parquet.OpenFile(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Schema().Fields() {
		names = append(names, c.Name()+" "+c.Type().String())
	}
	want := "z INT(64,false); i INT(32,true); u INT(32,false); y INT(16,false); d DECIMAL(11,2); long STRING; f DOUBLE; b INT(64,false); t STRING; o BYTE_ARRAY; day DATE; " +
		"at TIMESTAMP(isAdjustedToUTC=false,unit=MICROS); stamp TIMESTAMP(isAdjustedToUTC=true,unit=MICROS); span STRING"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("schema:\n%s\nwant:\n%s", got, want)
	}
	got := readParquet(t, f)
	if len(got) != len(rows) {
		t.Fatalf("%d rows", len(got))
	}
	for n, r := range rows {
		for i, c := range columns {
			if text := shown(c, got[n][i]); text != expected(c, r[i]) {
				t.Errorf("row %d, %s: %s, want %s", n, c.Name, text, expected(c, r[i]))
			}
		}
	}
	if w.Lost() != 2 {
		t.Errorf("%d lost, want the two days that no calendar has", w.Lost())
	}
}

func readParquet(t *testing.T, f *parquet.File) (out []parquet.Row) {
	t.Helper()
	for _, g := range f.RowGroups() {
		in := g.Rows()
		batch := make([]parquet.Row, 10)
		for {
			n, err := in.ReadRows(batch)
			for _, r := range batch[:n] {
				out = append(out, r.Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		_ = in.Close()
	}
	return out
}

func shown(c Column, v parquet.Value) string {
	switch {
	case v.IsNull():
		return "NULL"
	case c.Kind == "date":
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
	case c.class() == moment:
		return time.UnixMicro(v.Int64()).UTC().Format("2006-01-02 15:04:05.999999")
	case c.Name == "d":
		return fmt.Sprintf("%.2f", float64(v.Int64())/100)
	case c.Name == "z" || c.Name == "b":
		return fmt.Sprint(uint64(v.Int64()))
	case c.Name == "u":
		return fmt.Sprint(uint32(v.Int32()))
	case c.Name == "f":
		return fmt.Sprint(v.Double())
	case c.class() == number:
		return fmt.Sprint(v.Int32())
	}
	return string(v.ByteArray())
}

func expected(c Column, v []byte) string {
	switch {
	case v == nil:
		return "NULL"
	case c.Name == "b":
		return fmt.Sprint(ofBits(v))
	case c.Name == "f":
		var f float64
		_, _ = fmt.Sscan(string(v), &f)
		return fmt.Sprint(f)
	case string(v) == "0000-00-00", strings.HasPrefix(string(v), "2026-02-30"):
		return "NULL"
	}
	return string(v)
}

// Days are those of package time, which counts in another way.
func TestDays(t *testing.T) {
	for at := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 9999; at = at.AddDate(0, 0, 1+rand.IntN(40)) {
		days, _, ok := readMoment([]byte(at.Format(time.DateOnly)))
		if !ok || days != at.Unix()/86400 && at.Unix() >= 0 || at.Unix() < 0 && days*86400 != at.Unix() {
			t.Fatalf("%s: %d, %v", at.Format(time.DateOnly), days, ok)
		}
	}
}

// What a writer holds does not grow with the rows: after ten times as many it holds as much.
func TestMemoryIsConstant(t *testing.T) {
	for _, name := range Names {
		w, err := New(name, io.Discard, columns[:10])
		if err != nil {
			t.Fatal(err)
		}
		held := func(n int) uint64 {
			for i := range n {
				r := row(fmt.Sprint(i), "1", "2", "2026", "1.00", "2.00000", "1", "\x01", strings.Repeat(fmt.Sprint(i), 20), "x")
				if err := w.Row(r); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		few := held(100_000)
		if many := held(600_000); many > few+(24<<20) {
			t.Errorf("%s: %d MB after 100,000 rows, %d MB after 700,000", name, few>>20, many>>20)
		}
		_ = w.Close()
	}
}

// Two columns of one name are refused.
func TestColumnsAreDistinct(t *testing.T) {
	_, err := New(JSONLines, io.Discard, []Column{{Name: "a"}, {Name: "b"}, {Name: "a"}})
	if err == nil || !strings.Contains(err.Error(), "two columns are called a") {
		t.Error(err)
	}
}

func BenchmarkRow(b *testing.B) {
	for _, name := range Names {
		b.Run(name, func(b *testing.B) {
			w, err := New(name, io.Discard, []Column{{Name: "path", Kind: "varchar"}, {Name: "name", Kind: "varchar"}, {Name: "file_id", Kind: "bigint"}, {Name: "size", Kind: "bigint"}, {Name: "hash", Kind: "binary"}})
			if err != nil {
				b.Fatal(err)
			}
			r := row("/some/path/of/a/folder/that/is/usual", "report of the year.pdf", "1234567", "98765432", strings.Repeat("\x9a", 32))
			for b.Loop() {
				if err := w.Row(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
