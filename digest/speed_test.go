package digest

import (
	"bytes"
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
