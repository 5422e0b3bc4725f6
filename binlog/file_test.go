package binlog_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/binlog"
	"stowage/internal/mariadbtest"
)

var update = flag.Bool("update", false, "write the samples in testdata anew, with the servers that are here")

// samples are small files that servers wrote: MariaDB 10.11 with and without checksums, 11.8, MySQL 9.7.
var samples = []struct {
	name, line string
	options    []string
}{
	{"10.11", mariadbtest.MariaDB10, nil},
	{"10.11-compressed", mariadbtest.MariaDB10, []string{"--log-bin-compress=1", "--log-bin-compress-min-len=20"}},
	{"10.11-no-checksums", mariadbtest.MariaDB10, []string{"--binlog-checksum=NONE"}},
	{"11.8", mariadbtest.MariaDB11, nil},
	{"mysql-9.7", mariadbtest.MySQL9, nil},
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".binlog"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// list is what a file says, as text.
func list(raw []byte) string {
	var b strings.Builder
	h, err := binlog.ReadHead(bytes.NewReader(raw))
	if err != nil {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&b, "%s server %d, sums %t, in use %t, begins with %q, first event at %d\n", h.Version, h.ServerID, h.IsSummed, h.IsInUse, h.Start, h.End)
	s := h.Scan(bytes.NewReader(raw), h.End, h.Start)
	for s.Next() {
		x := s.Transaction()
		fmt.Fprintf(&b, "%6d %6d %s", x.Begin, x.End, x.GTID)
		if h.IsMySQL {
			fmt.Fprintf(&b, " at %s", x.At.Format(time.DateTime))
		}
		if x.Definition != (binlog.Part{}) {
			fmt.Fprintf(&b, " defines its table at %d to %d", x.Definition.Begin, x.Definition.End)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "up to %d: %s, %q, %v\n", s.Whole(), s.State(), s.Ending(), s.Err())
	return b.String()
}

// TestSamples: what is read of files that real servers wrote, looked at by people.
func TestSamples(t *testing.T) {
	for _, x := range samples {
		if *update {
			writeSample(t, x.name, mariadbtest.Named(t, x.line), x.options)
		}
		got := list(sample(t, x.name))
		golden := filepath.Join("testdata", x.name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", x.name, got, want)
		}
	}
}

func writeSample(t *testing.T, name string, l mariadbtest.Line, options []string) {
	s := l.Start(t, "s", options...)
	s.Exec(t, "FLUSH BINARY LOGS", "CREATE DATABASE d", "USE d", "CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(50))", "INSERT a VALUES (1, 'one')",
		"CREATE TABLE b (PRIMARY KEY (id)) AS SELECT * FROM a", "BEGIN", "UPDATE a SET v = 'COMMIT'", "INSERT a VALUES (2, 'ROLLBACK')", "COMMIT")
	if l.MySQL {
		s.Exec(t, "GRANT TRANSACTION_GTID_TAG ON *.* TO root@localhost", "USE d", "XA START 'x'", "INSERT a VALUES (5, 'xa')", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'",
			"SET gtid_next='AUTOMATIC:of_a_tag'", "INSERT a VALUES (6, 'tagged')", "SET gtid_next='AUTOMATIC'", "SET binlog_transaction_compression=ON", "INSERT a VALUES (7, 'compressed')")
	} else {
		s.Exec(t, "USE d", "SET binlog_format=STATEMENT", "INSERT a VALUES (3, 'a statement')", "SET gtid_domain_id=7", "INSERT a VALUES (4, 'another domain')",
			"XA START 'x'", "INSERT a VALUES (5, 'xa')", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
	}
	s.Exec(t, "FLUSH BINARY LOGS")
	raw, err := os.ReadFile(filepath.Join(s.Datadir, "bl.000002"))
	if err == nil {
		err = os.WriteFile(filepath.Join("testdata", name+".binlog"), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryCut: a file that ends anywhere has the transactions that are whole, and says that it is cut, or that nothing is missing.
func TestEveryCut(t *testing.T) {
	for _, x := range samples {
		raw := sample(t, x.name)
		h, ends := endsOf(t, raw)
		for n := range raw {
			short := bytes.NewReader(raw[:n])
			if _, err := binlog.ReadHead(short); int64(n) < h.End {
				if !binlog.IsCut(err) {
					t.Fatalf("%s, %d bytes: %v", x.name, n, err)
				}
				continue
			}
			s := h.Scan(short, h.End, h.Start)
			count := 0
			for s.Next() {
				count++
			}
			want := 0
			for _, end := range ends {
				if end <= int64(n) {
					want++
				}
			}
			if count != want || s.Whole() > int64(n) || s.Err() != nil && !binlog.IsCut(s.Err()) || s.Err() == nil && s.Whole() != int64(n) {
				t.Fatalf("%s, %d bytes: %d transactions up to %d, %v; want %d", x.name, n, count, s.Whole(), s.Err(), want)
			}
		}
	}
}

// TestEveryFlippedBit: no transaction is told that has a bit that is another, and the place is named, where a file has checksums.
func TestEveryFlippedBit(t *testing.T) {
	for _, x := range samples {
		if x.name == "10.11-no-checksums" {
			continue
		}
		raw := sample(t, x.name)
		h, ends := endsOf(t, raw)
		for n := int(h.End); n < len(raw); n++ {
			raw[n] ^= 1 << (n % 8)
			s := h.Scan(bytes.NewReader(raw), h.End, h.Start)
			count, before := 0, 0
			for s.Next() {
				count++
			}
			for _, end := range ends {
				if end <= int64(n) {
					before++
				}
			}
			var f *binlog.Fault
			if count > before || !errors.As(s.Err(), &f) || f.At > int64(n) || f.Whole > int64(n) {
				t.Fatalf("%s, byte %d: %d transactions, %v; %d end before it", x.name, n, count, s.Err(), before)
			}
			raw[n] ^= 1 << (n % 8)
		}
	}
}

func endsOf(t testing.TB, raw []byte) (h binlog.Head, ends []int64) {
	t.Helper()
	h, err := binlog.ReadHead(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	s := h.Scan(bytes.NewReader(raw), h.End, h.Start)
	for s.Next() {
		ends = append(ends, s.Transaction().End)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return h, ends
}

// TestGoingOn: a scan that begins behind any transaction finds the others, and the same state at the end.
func TestGoingOn(t *testing.T) {
	raw := sample(t, "10.11")
	h, ends := endsOf(t, raw)
	whole := h.Scan(bytes.NewReader(raw), h.End, h.Start)
	for n := 0; whole.Next(); n++ {
		state, err := binlog.ParseState(whole.State().String())
		if err != nil {
			t.Fatal(err)
		}
		rest := h.Scan(bytes.NewReader(raw), whole.Whole(), state)
		count := 0
		for rest.Next() {
			count++
		}
		if count != len(ends)-n-1 || rest.Err() != nil {
			t.Errorf("behind %d of %d: %d, %v", n+1, len(ends), count, rest.Err())
		}
	}
}

// FuzzFile: whatever a file holds, it is read to an end, and what is told of it holds together.
func FuzzFile(f *testing.F) {
	for _, x := range samples {
		f.Add(sample(f, x.name))
	}
	f.Add([]byte("\xfebin"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bytes.NewReader(raw)
		h, err := binlog.ReadHead(r)
		if err != nil {
			return
		}
		at := h.End
		s := h.Scan(r, h.End, h.Start)
		for s.Next() {
			x := s.Transaction()
			if x.Begin < at || x.End <= x.Begin || x.End > int64(len(raw)) || s.Whole() != x.End {
				t.Fatalf("%+v behind %d of %d bytes", x, at, len(raw))
			}
			if d := x.Definition; d != (binlog.Part{}) {
				if d.Begin <= x.Begin || d.End > x.End {
					t.Fatalf("%+v", x)
				}
				_, _ = h.DefineAlone(raw[d.Begin:d.End])
			}
			if err := h.Split(io.Discard, r, x.Begin, x.End, 1); err != nil {
				t.Fatalf("%+v: %v", x, err)
			}
			at = x.End
		}
		again, err := binlog.ParseState(s.State().String())
		if err != nil || again.Position() != s.Position() {
			t.Fatalf("%s: %v", s.State(), err)
		}
		if s.Whole() > int64(len(raw)) || s.Err() == nil && s.Whole() != int64(len(raw)) {
			t.Fatalf("read up to %d of %d: %v", s.Whole(), len(raw), s.Err())
		}
	})
}
