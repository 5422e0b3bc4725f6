package capture

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/internal/turns"
)

// longTalk is a login and n statements of all sizes whose answers fit them: the
// number in the text is the number of rows.
func longTalk(client string, n int, caps uint32, r *rand.Rand) *talk {
	k := newTalk(client, sv)
	k.mss = 200 + r.IntN(1200)
	k.seq = [2]uint32{r.Uint32(), 0xffffffff - uint32(r.IntN(20_000))} // wraps around
	k.login(caps)
	wrap := func(seq byte, d []byte) []byte {
		if caps&capCompress != 0 {
			return zipPacket(seq, d)
		}
		return d
	}
	for i := range n {
		rows := r.IntN(40)
		text := fmt.Sprintf("SELECT %d /* %d */ '%s'", rows, i, strings.Repeat("y", r.IntN(4000)))
		k.wait(time.Duration(1+r.IntN(20)) * ms).c(wrap(0, queryPacket(text))).wait(time.Duration(1+r.IntN(9)) * ms)
		answer := resultPackets(rows, 1+r.IntN(300), caps&capDeprecateEOF != 0, 2)
		half := r.IntN(len(answer))
		k.s(wrap(1, answer[:half])).wait(time.Duration(r.IntN(3)) * ms).s(wrap(2, answer[half:]))
	}
	return k.wait(ms).c(wrap(0, commandPacket(Quit))).fin()
}

// exact is everything about events, times included.
func exact(list []seen) (out []string) {
	for _, e := range list {
		out = append(out, fmt.Sprintf("at=%d rows=%d bytes=%d %v %v incomplete=%v %s", e.At.UnixMicro(), e.RowsSent, e.BytesSent, e.Latency, e.Total, e.Incomplete, e.Query))
	}
	return out
}

// A capture that has packets twice, in pieces or a little out of order tells
// the same.
func TestDisorderChangesNothing(t *testing.T) {
	turns.One(t, 6)
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		caps := uint32(capsClassic)
		if seed%2 == 0 {
			caps |= capDeprecateEOF
		}
		if seed%3 == 0 {
			caps |= capCompress
		}
		k := longTalk(cl, 30, caps, r)
		want, _ := readAll(t, pcapOf(k.pieces...), Options{})
		if len(want) != 32 {
			t.Fatalf("seed %d: %d events", seed, len(want))
		}
		pieces := slices.Clone(k.pieces)
		for range len(pieces) / 4 { // copies, behind the original
			i := r.IntN(len(pieces) - 4)
			pieces = slices.Insert(pieces, i+3, pieces[i])
		}
		for range len(pieces) / 4 { // a copy that begins earlier or ends elsewhere: the window moved
			i := r.IntN(len(pieces))
			if p := pieces[i]; len(p.data) > 10 {
				cut := 1 + r.IntN(len(p.data)-2)
				tail := p
				tail.seq, tail.data = p.seq+uint32(cut), p.data[cut:]
				head := p
				head.data = p.data[:cut+1]
				pieces[i] = head
				pieces = slices.Insert(pieces, i+1, tail)
			}
		}
		for i := 3; i+3 < len(pieces); i += 2 + r.IntN(4) { // neighbours change places
			j := i + 1 + r.IntN(2)
			if pieces[i].flags|pieces[j].flags == flagACK {
				pieces[i], pieces[j] = pieces[j], pieces[i]
			}
		}
		got, sum := readAll(t, pcapOf(pieces...), Options{})
		if a, b := exact(got), exact(want); !slices.Equal(a, b) {
			t.Fatalf("seed %d:\n%s", seed, difference(a, b))
		}
		if len(sum.Skipped) > 0 {
			t.Errorf("seed %d: %+v", seed, sum.Skipped)
		}
	}
}

func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		a, b := "", ""
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Sprintf("event %d of %d, %d\n got %.300s\nwant %.300s", i, len(got), len(want), a, b)
		}
	}
	return "none"
}

// Lost packets (B16): no statement that was not sent, no time longer than the
// true one, no more lost than what the packets held, and all is well again
// afterwards.
func TestLossMakesNothingUp(t *testing.T) {
	turns.One(t, 6)
	whole, timed := 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		k := longTalk(cl, 40, capsClassic|capDeprecateEOF*uint32(seed&1)|capCompress*uint32(seed>>1&1), r)
		list, _ := readAll(t, pcapOf(k.pieces...), Options{})
		truth := map[string]seen{}
		for _, e := range list {
			truth[e.Query] = e
		}
		var pieces []piece
		dropped := 0
		for i, p := range k.pieces {
			if len(p.data) > 0 && i < len(k.pieces)/2 && r.IntN(100) < 1+int(seed%20) {
				dropped++
				continue
			}
			pieces = append(pieces, p)
		}
		got, sum := readAll(t, pcapOf(pieces...), Options{})
		if dropped > 0 && remark(sum, lostFromClient)+remark(sum, lostFromServer)+remark(sum, noRequest)+remark(sum, noAnswer) == 0 {
			t.Errorf("seed %d: %d packets are missing and nobody says so", seed, dropped)
		}
		n := 0
		for _, e := range got {
			if e.Command != Query {
				continue
			}
			n++
			real, ok := truth[e.Query]
			if !ok {
				for text, x := range truth {
					if e.Truncated && e.Query != "" && strings.HasPrefix(text, e.Query) {
						real, ok = x, true
					}
				}
			}
			if !ok {
				t.Fatalf("seed %d: a statement that nobody sent: %.80q", seed, e.Query)
			}
			if e.Answered && (e.Latency > real.Latency || e.Total > real.Total) {
				t.Fatalf("seed %d: %.60q took %v %v, not %v %v", seed, e.Query, e.Latency, e.Total, real.Latency, real.Total)
			}
			if !e.Incomplete && (e.RowsSent != real.RowsSent || e.BytesSent != real.BytesSent || e.Total != real.Total && e.Answered) {
				t.Fatalf("seed %d: not incomplete, but\n %.200s and not\n %.200s", seed, exact([]seen{e}), exact([]seen{real}))
			}
			if e.Incomplete {
				continue
			}
			whole++
			if e.Answered {
				timed++
			}
		}
		if n > 40 || 40-n > dropped {
			t.Errorf("seed %d: %d statements of 40 with %d packets lost", seed, n, dropped)
		}
		if len(got) < 8 {
			t.Fatalf("seed %d: %d events are all: %+v", seed, len(got), sum)
		}
		tail := got[len(got)-8:]
		for i, e := range tail {
			if want := list[len(list)-8+i]; exact([]seen{e})[0] != exact([]seen{want})[0] || e.Incomplete {
				t.Fatalf("seed %d: not well again after the loss: %.100s", seed, exact([]seen{e})[0])
			}
		}
	}
	if timed < 100*20 || whole < timed {
		t.Errorf("only %d statements with a time, %d whole", timed, whole)
	}
}

// What a short snap length leaves is kept, and marked.
func TestSnapped(t *testing.T) {
	k := newTalk(cl, sv).login(capsClassic)
	n := len(k.pieces)
	k.wait(ms).c(queryPacket("SELECT " + strings.Repeat("a", 100))).wait(2 * ms).s(resultPackets(50, 100, false, 2)).
		wait(ms).c(queryPacket("SELECT short")).wait(3 * ms).s(okPacket(1, 4, 2, 0)).
		wait(ms).c(queryPacket("SELECT " + strings.Repeat("b", 3000))).wait(ms).s(okPacket(1, 5, 2, 0)).wait(ms).c(commandPacket(Quit))
	pieces := k.pieces
	for i := n; i < len(pieces); i++ {
		pieces[i].snap = 30
	}
	list, sum := readAll(t, pcapOf(pieces...), Options{})
	check(t, "snapped", list,
		`query "SELECT aaaaaaaaaaaaaaaaaa" 2ms..2.003ms incomplete truncated`,
		`query "SELECT short" affected=4 3ms`,
		`query "SELECT bbbbbbbbbbbbbbbbbb" affected=5 1ms truncated`, `quit ""`)
	if e := list[1]; e.QueryBytes != 107 || remark(sum, snapped) == 0 || remark(sum, lostFromClient)+remark(sum, lostFromServer) > 0 {
		t.Errorf("%+v %+v", e, sum)
	}
	for i := n; i < len(pieces); i++ { // not even the payload's first byte
		pieces[i].snap = 0
	}
	if list, _ = readAll(t, pcapOf(pieces...), Options{}); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

// Only the clients' side is captured: the statements are known, no times.
func TestOneDirection(t *testing.T) {
	for _, hasLogin := range []bool{true, false} {
		k := newTalk(cl, sv)
		if hasLogin {
			k.login(capsClassic)
		}
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprintf("SELECT %d", i))
			k.wait(ms).c(queryPacket(want[i])).wait(ms).s(resultPackets(3, 5, false, 2))
		}
		only := func(end int) (some []piece) {
			for _, p := range k.pieces {
				if p.src == [2]any{k.client, k.server}[end] {
					some = append(some, p)
				}
			}
			return some
		}
		list, _ := readAll(t, pcapOf(only(0)...), Options{})
		if got := queries(list); !slices.Equal(got, want) {
			t.Errorf("login %v: %q", hasLogin, got)
		}
		for _, e := range list {
			if e.Answered || !e.Incomplete || hasLogin && e.User != "alice" {
				t.Errorf("login %v: %+v", hasLogin, e)
			}
		}
		list, _ = readAll(t, pcapOf(only(1)...), Options{})
		if len(queries(list)) > 0 {
			t.Errorf("statements out of answers: %+v", list)
		}
	}
}

// The same ports are used by one connection after the other.
func TestPortReuse(t *testing.T) {
	one := func(k *talk, text string) *talk {
		return k.wait(ms).c(queryPacket(text)).wait(ms).s(okPacket(1, 0, 2, 0))
	}
	first := one(newTalk(cl, sv).login(capsClassic), "SELECT 1").fin()
	late := first.pieces[len(first.pieces)-5] // a segment comes again after the end
	late.at = late.at.Add(time.Second)
	second := newTalk(cl, sv)
	second.seq = [2]uint32{2_000_000_000, 77}
	second.wait(2 * time.Second).login(capsClassic)
	one(second, "SELECT 2")
	third := newTalk(cl, sv) // after a reset that nobody saw
	third.seq = [2]uint32{3_500_000_000, 1_000_000_077}
	third.wait(4 * time.Second).login(capsClassic)
	one(third, "SELECT 3").piece(0, flagRST, nil)
	fourth := newTalk(cl, sv) // and without a SYN
	fourth.seq = [2]uint32{1_000_000_000, 3_000_000_000}
	one(one(fourth.wait(6*time.Second), "SELECT 4"), "SELECT 5")
	fifth := newTalk(cl, sv) // and without an end to the one before
	fifth.seq = [2]uint32{2_500_000_000, 1_000_000_000}
	one(one(fifth.wait(8*time.Second), "SELECT 6"), "SELECT 7")
	list, sum := readAll(t, pcapOf(slices.Concat(first.pieces, []piece{late}, second.pieces, third.pieces, fourth.pieces, fifth.pieces)...), Options{})
	got := queries(list)
	if !slices.Equal(got, []string{"SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4", "SELECT 5", "SELECT 6", "SELECT 7"}) || sum.Sessions != 5 {
		t.Errorf("%q, %d sessions", got, sum.Sessions)
	}
	for i, e := range of(list, Query) {
		if want := []uint64{1, 2, 3, 4, 4, 5, 5}[i]; e.Session != want || (e.User == "alice") != (i < 3) {
			t.Errorf("%+v", e)
		}
	}
}

// What is open at the end, or when the server dies, is told.
func TestUnfinished(t *testing.T) {
	k := newTalk(cl, sv).login(capsClassic).wait(ms).c(queryPacket("SELECT SLEEP(9)"))
	list, sum := readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "end of capture", list, `query "SELECT SLEEP(9)" incomplete`)
	if remark(sum, noAnswer) != 1 {
		t.Errorf("%+v", sum)
	}
	k.wait(time.Second).piece(1, flagRST, nil)
	list, _ = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "reset", list, `query "SELECT SLEEP(9)" incomplete`)
	k = newTalk(cl, sv).login(capsClassic).wait(ms)
	k.c(queryPacket(strings.Repeat("a", 5000))[:3000])
	list, sum = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "half a request", list)
	if remark(sum, requestUnfinished) != 1 {
		t.Errorf("%+v", sum)
	}
}

// Many connections, many statements, much that waits: memory stays bounded.
func TestMemoryIsBounded(t *testing.T) {
	turns.One(t, 8)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tap := newTap(Options{MaxSessions: 20_000}, nil)
	feed := func(k *talk) {
		for i := range k.pieces {
			p := &k.pieces[i]
			tap.packet(linkRaw, p.at.UnixNano(), p.ipOf(), 0)
		}
		k.pieces = k.pieces[:0]
	}
	for i := range 60_000 {
		k := newTalk(fmt.Sprintf("10.1.%d.%d:%d", i>>8&255, i&255, 1024+i), sv).login(capsClassic)
		k.c(commandPacket(Prepare, []byte("SELECT "+strings.Repeat("?", 300)))).s(prepareOK(1, 0, 0, true))
		k.c(queryPacket(strings.Repeat("z", 3000))[:1500]) // half a request
		feed(k)
		if i%3 == 0 {
			k.piece(1, flagACK, make([]byte, 1000)) // waits for a segment that never comes
			k.pieces[0].seq += 5000
			feed(k)
		}
	}
	k := newTalk(cl, sv).login(capsClassic)
	for i := range 100_000 { // statements that are never closed
		k.c(commandPacket(Prepare, []byte(fmt.Sprintf("SELECT %d, %s", i, strings.Repeat("a", 2000))))).s(prepareOK(uint32(i+1), 0, 0, true))
		feed(k)
	}
	k = newTalk("10.0.0.9:9", sv).login(capsClassic)
	for range 5000 { // requests that nobody answers
		k.c(queryPacket("SELECT without waiting " + strings.Repeat("b", 10_000)))
		feed(k)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if live := int64(after.HeapAlloc) - int64(before.HeapAlloc); live > 32<<20 {
		t.Errorf("%d MiB are held", live>>20)
	}
	if n := len(tap.table.sessions); n > 20_000 {
		t.Errorf("%d sessions", n)
	}
	sum := tap.summary()
	if remark(sum, evicted) == 0 || remark(sum, statementDropped) == 0 {
		t.Errorf("%+v", sum)
	}
	tap.finish()
	if tap.mem != 0 {
		t.Errorf("%d bytes are not accounted for", tap.mem)
	}
}
