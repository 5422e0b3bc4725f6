package capture

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// sysbenchCapture is like a capture of sysbench's read/write mix on the
// loopback: per transaction ten point selects, four ranges of 100 rows, four
// writes, begin and commit; replies of up to 12 KB in one packet.
func sysbenchCapture(transactions, connections int) []byte {
	var talks []*talk
	for c := range connections {
		k := newTalk(fmt.Sprintf("127.0.0.1:%d", 40000+c), "127.0.0.1:3306").login(capsClassic)
		k.mss = 60_000
		talks = append(talks, k)
	}
	row, hundred := resultPackets(1, 119, false, 2), resultPackets(100, 119, false, 2)
	ok := okPacket(1, 1, 2, 0)
	ask := func(k *talk, text string, answer []byte) {
		k.wait(80 * time.Microsecond).c(queryPacket(text)).wait(120 * time.Microsecond).s(answer)
	}
	for n := range transactions {
		k := talks[n%connections]
		ask(k, "BEGIN", ok)
		for p := range 10 {
			ask(k, fmt.Sprintf("SELECT c FROM sbtest1 WHERE id=%d", n*10+p), row)
		}
		for _, f := range []string{"SELECT c", "SELECT SUM(k)", "SELECT c", "SELECT DISTINCT c"} {
			ask(k, fmt.Sprintf("%s FROM sbtest1 WHERE id BETWEEN %d AND %d", f, n, n+99), hundred)
		}
		for _, f := range []string{"UPDATE sbtest1 SET k=k+1 WHERE id=%d", "UPDATE sbtest1 SET c='a' WHERE id=%d", "DELETE FROM sbtest1 WHERE id=%d", "INSERT INTO sbtest1 VALUES (%d,1,'a','b')"} {
			ask(k, fmt.Sprintf(f, n), ok)
		}
		ask(k, "COMMIT", ok)
	}
	var all []piece
	for k := 0; ; k++ {
		any := false
		for _, c := range talks {
			if k < len(c.pieces) {
				all, any = append(all, c.pieces[k]), true
			}
		}
		if !any {
			return pcapOf(all...)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	file := sysbenchCapture(1500, 4)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		events = 0
		if _, err := Read("bench", bytes.NewReader(file), Options{}, func(e *Event) { events++ }); err != nil {
			b.Fatal(err)
		}
	}
	if events != 4+1500*20 {
		b.Fatalf("%d events", events)
	}
}
