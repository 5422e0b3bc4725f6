package digest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func sampleReport(t *testing.T) Report {
	t.Helper()
	return readLog(t, "garbage\n"+banner+"# Time: 261121 21:45:44\n"+logged(30, "SELECT a FROM t_1 WHERE b='x\x1b[31m'")+logged(31, "SELECT a FROM t_2 WHERE b='y'")+
		logged(900, "=cmd()")+logged(20, "COMMIT"))
}

// What outside programs rely on: these names, these units, this order.
func TestReportJSON(t *testing.T) {
	text, err := json.Marshal(sampleReport(t))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		FormatVersion int `json:"format_version"`
		Inputs        []struct {
			Name, Type, Dialect string
			Bytes, Events       int
			Skipped             []struct {
				Reason      string
				Count       int
				FirstOffset *int64 `json:"first_offset"`
			}
		}
		Events       int
		QueryTimeSum float64 `json:"query_time_sum"`
		Classes      []struct {
			Fingerprint, ID32, ID16 string
			Count                   int
			QueryTime               map[string]float64 `json:"query_time"`
			RowsExamined            *float64           `json:"rows_examined_sum"`
			RowsSent                *float64           `json:"rows_sent_sum"`
			LockTime                *float64           `json:"lock_time_sum"`
			Tables                  []string
			Example                 struct{ Query string }
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.FormatVersion != 1 || r.Events != 4 || r.QueryTimeSum != 0.000981 || len(r.Inputs) != 1 || len(r.Classes) != 3 {
		t.Fatalf("report %+v", r)
	}
	in := r.Inputs[0]
	if in.Type != "slowlog" || in.Events != 4 || len(in.Skipped) != 1 || in.Skipped[0].FirstOffset == nil || !strings.HasPrefix(in.Dialect, "mariadb 10.11") {
		t.Errorf("input %+v", in)
	}
	c := r.Classes[1]
	if c.Fingerprint != "select a from t_? where b=?" || c.Count != 2 || len(c.ID32) != 32 || c.ID32[16:] != c.ID16 || strings.Join(c.Tables, " ") != "t_1 t_2" {
		t.Errorf("class %+v", c)
	}
	for _, k := range []string{"sum", "min", "max", "avg", "p50", "p95", "p99"} {
		if v, ok := c.QueryTime[k]; !ok || v < 0.00003 || v > 0.000062 {
			t.Errorf("query_time.%s is %v", k, v)
		}
	}
	if *c.RowsExamined != 4 || *c.RowsSent != 2 || *c.LockTime != 0.000014 || !strings.Contains(c.Example.Query, "t_2") {
		t.Errorf("class %+v", c)
	}
}

func TestWriteText(t *testing.T) {
	var b bytes.Buffer
	if err := WriteText(&b, sampleReport(t), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"4 events in 3 classes", "981µs of query time", "91.7%", "select a from t_? where b=?", "examined 4", "app (2)", "t_1, t_2",
		"skipped    text outside of any event: once, 8 B", "2026-11-21 21:45:44"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("an escape sequence of the capture reaches the terminal")
	}
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	var empty bytes.Buffer
	if err := WriteText(&empty, readLog(t, ""), TextOptions{}); err != nil || !strings.Contains(empty.String(), "No events.") {
		t.Errorf("nothing read: %v\n%s", err, empty.String())
	}
	var coloured bytes.Buffer
	if err := WriteText(&coloured, sampleReport(t), TextOptions{Color: true}); err != nil || !strings.Contains(coloured.String(), "\x1b[1m") {
		t.Errorf("asked for colour: %v", err)
	}
	if err := WriteText(fullDisk{}, sampleReport(t), TextOptions{}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestWriteCompareText(t *testing.T) {
	a := traffic{seed: 1, seconds: 60, perSec: 500}.digest(nil)
	c := traffic{seed: 2, seconds: 60, perSec: 500, start: 5000, slow: map[int]float64{3: 3}, classes: 12}.digest(nil)
	var b bytes.Buffer
	if err := WriteCompareText(&b, Compare(a, c, CompareOptions{}), TextOptions{Top: -1, Width: 80}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"BEFORE", "AFTER", "common", "slower", "new", "select d", "blocks of 1 s", "halves of each side"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCSV(&b, sampleReport(t)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || rows[0][3] != "count" || rows[2][3] != "2" || rows[2][5] != "0.000061" {
		t.Errorf("rows %q", rows)
	}
	if rows[1][2] != "'=cmd()" {
		t.Errorf("a formula reaches the spreadsheet: %q", rows[1][2])
	}
	if err := WriteCSV(fullDisk{}, sampleReport(t)); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestOrderAndTop(t *testing.T) {
	r := sampleReport(t)
	if err := r.OrderBy("count"); err != nil || r.Classes[0].Count != 2 {
		t.Errorf("by count: %v, %+v", err, r.Classes[0])
	}
	if err := r.OrderBy("colour"); err == nil || !strings.Contains(err.Error(), "rows_examined") {
		t.Errorf("by colour: %v", err)
	}
	r.Top(1)
	if len(r.Classes) != 1 || r.ClassCount != 3 {
		t.Errorf("top 1: %d classes of %d", len(r.Classes), r.ClassCount)
	}
}

// A general log does not tell how long statements took: "avg 0, p95 0" was said of them, and of rows that nobody had counted.
func TestWhatASourceDoesNotTellIsNotZero(t *testing.T) {
	g := New(Options{})
	if err := g.Read("log", strings.NewReader("/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian). started with:\nTcp port: 3306  Unix socket: /run/s\nTime\t\t    Id Command\tArgument\n"+
		"251124 16:00:00\t    30 Query\tselect * from t where id=1\n\t\t    30 Query\tselect * from t where id=2\n")); err != nil {
		t.Fatal(err)
	}
	r := g.Digest().Report()
	if r.Events != 2 || r.Inputs[0].Type != "genlog" {
		t.Fatalf("%+v", r.Inputs)
	}
	var text, js, table bytes.Buffer
	if err := errors.Join(WriteText(&text, r, TextOptions{}), WriteCSV(&table, r), json.NewEncoder(&js).Encode(r)); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"p95 0", "max 0", "query time", "load 0", "rows  ", "lock  ", "example   0"} {
		if strings.Contains(text.String(), no) {
			t.Errorf("%q in\n%s", no, text.String())
		}
	}
	if !strings.Contains(text.String(), "does not tell how long") || !strings.Contains(text.String(), "example   at 2025-11-24 16:00:00") {
		t.Errorf("\n%s", text.String())
	}
	var out map[string]any
	if err := json.Unmarshal(js.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	class := out["classes"].([]any)[0].(map[string]any)
	for of, times := range map[string]any{"all": out["query_time"], "class": class["query_time"], "example": class["example"]} {
		for _, key := range []string{"min", "max", "avg", "p50", "p95", "p99", "stddev", "query_time"} {
			if v, is := times.(map[string]any)[key]; is && v != nil {
				t.Errorf("%s: %s is %v", of, key, v)
			}
		}
	}
	for _, list := range []string{"users", "hosts", "dbs", "tables", "truncated", "samples"} {
		if _, is := class[list].([]any); !is {
			t.Errorf("%s is %v", list, class[list])
		}
	}
	if _, is := class["flags"].(map[string]any); !is {
		t.Errorf("flags is %v", class["flags"])
	}
	var back Class
	if raw, err := json.Marshal(class); err != nil || json.Unmarshal(raw, &back) != nil || !math.IsNaN(float64(back.Example.QueryTime)) || !math.IsNaN(back.QueryTime.Avg) {
		t.Errorf("read back: %+v", back)
	}
}

func TestRemarksSayOnceAndLeaveOutWhatIsNothing(t *testing.T) {
	for want, r := range map[string]Remark{
		"cut: once, at byte 7":                    {"cut", 1, 0, 7},
		"odd: 1,200 times, 30 B, first at byte 9": {"odd", 1200, 30, 9},
		"sent by Stowage: 5 times":                {"sent by Stowage", 5, 0, 0},
	} {
		if got := r.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := aCall(1_200_000, 60); got != "1,200,000 (20,000 a call)" {
		t.Errorf("%q", got)
	}
}
