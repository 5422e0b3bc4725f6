package digest

import (
	"bytes"
	"fmt"
	"testing"

	"stowage/digest/internal/gen"
)

// BenchmarkSlowLog reads 100,000 events of a MariaDB log. Its figure to compare is bytes a second.
func BenchmarkSlowLog(b *testing.B) { benchmarkSlowLog(b, Options{}, gen.SlowLog{Seed: 1}) }

// BenchmarkSlowLogLexer is the same under the other rule set.
func BenchmarkSlowLogLexer(b *testing.B) {
	benchmarkSlowLog(b, Options{Rules: RulesLexer}, gen.SlowLog{Seed: 1})
}

// BenchmarkSlowLogManyTables is a log under the rule set for which every table makes shapes of its own.
func BenchmarkSlowLogManyTables(b *testing.B) {
	benchmarkSlowLog(b, Options{Rules: RulesLexer}, gen.SlowLog{Seed: 1, Tables: 1000, Threads: 60})
}

func benchmarkSlowLog(b *testing.B, o Options, g gen.SlowLog) {
	g.Events = 100_000
	var log bytes.Buffer
	if _, err := g.Write(&log); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		d := New(o)
		if err := d.ReadSlowLog("log", bytes.NewReader(log.Bytes())); err != nil {
			b.Fatal(err)
		}
		if d.Digest().Events() != 100_000 {
			b.Fatal("events lost")
		}
	}
}

func BenchmarkPtqdFast(b *testing.B) {
	q := []byte("SELECT DISTINCT c FROM sbtest12 WHERE id BETWEEN 1211 AND 1310 ORDER BY c")
	b.SetBytes(int64(len(q)))
	buf := make([]byte, 1024)
	for b.Loop() {
		out, _ := ptqdFast(buf, q)
		buf = out[:0]
	}
}

// BenchmarkSlowLogMillionClasses is a log in which every statement is a class of its own: names made by a program.
func BenchmarkSlowLogMillionClasses(b *testing.B) {
	var log bytes.Buffer
	name := make([]byte, 5)
	const events = 1_000_000
	for i := range events {
		for k, n := 0, i; k < len(name); k, n = k+1, n/26 {
			name[k] = byte('a' + n%26)
		}
		fmt.Fprintf(&log, "# User@Host: app[app] @ host []\n# Query_time: 0.000%03d  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\nSELECT v_%s FROM orders_%s WHERE id = %d;\n", i%1000, 1795300000+i/5000, name, name, i)
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		d := New(Options{Workers: 2})
		if err := d.ReadSlowLog("log", bytes.NewReader(log.Bytes())); err != nil {
			b.Fatal(err)
		}
		if d.Digest().Events() != events {
			b.Fatal("events lost")
		}
	}
}
