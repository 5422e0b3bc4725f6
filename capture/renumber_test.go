package capture

import (
	"slices"
	"testing"
	"time"
)

// Captures that were put together or rewritten: what the segments hold is believed, not their numbers.
func TestContradictingNumbers(t *testing.T) {
	k := newTalk(cl, sv).login(capsClassic)
	for range 4 { // the same again and again, one byte further each time
		k.c(queryPacket("SELECT 'one'")).wait(ms).s(resultPackets(1, 5, false, 2)).wait(ms)
	}
	pieces := k.pieces
	first := len(pieces) - 8
	for n := range 4 {
		for end := range 2 {
			p := &pieces[first+2*n+end]
			p.seq, p.ack = pieces[first+end].seq+uint32(n), pieces[first+end].ack
		}
	}
	list, sum := readAll(t, pcapOf(pieces...), Options{})
	check(t, "copied with other numbers", list, `query "SELECT 'one'" rows=1 1ms`, `query "SELECT 'one'" rows=1 1ms`, `query "SELECT 'one'" rows=1 1ms`, `query "SELECT 'one'" rows=1 1ms`)
	if remark(sum, renumbered) != 6 || list[4].User != "alice" || sum.Sessions != 1 {
		t.Errorf("%+v", sum)
	}
	// The pieces of one statement, far from each other.
	k = newTalk(cl, sv).login(capsClassic)
	n := len(k.pieces)
	k.mss = 10
	k.c(queryPacket("UPDATE t SET a=1, b=2")).wait(3 * ms).s(okPacket(1, 1, 2, 0))
	k.pieces[n+1].seq += 2885
	k.pieces[n+2].seq += 68421
	list, sum = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "pieces far apart", list, `query "UPDATE t SET a=1, b=2" affected=1 3ms..3.001ms`)
	if remark(sum, renumbered) != 2 {
		t.Errorf("%+v", sum)
	}
	// The same conversation again an hour later, numbers and all, though its goodbye is lost behind a hole.
	k = newTalk(cl, sv).login(capsClassic)
	k.c(queryPacket("SELECT 1")).wait(ms).s(okPacket(1, 0, 2, 0)).wait(ms).c(queryPacket("SELECT 2")).wait(ms).s(okPacket(1, 0, 2, 0)).
		wait(ms).c(commandPacket(Quit)).fin()
	pieces = slices.Delete(slices.Clone(k.pieces), 6, 8)
	again := slices.Clone(pieces)
	for i := range again {
		again[i].at = again[i].at.Add(time.Hour)
	}
	list, sum = readAll(t, pcapOf(slices.Concat(pieces, again)...), Options{})
	if got := queries(list); !slices.Equal(got, []string{"SELECT 2", "SELECT 2"}) || sum.Sessions != 2 || len(list) != 6 {
		t.Errorf("%q %+v", got, sum)
	}
	if len(sum.Losses) != 2 || sum.Lossy != 2 || sum.Losses[0].Client != cl || sum.Losses[0].FromClient != 13 || sum.Losses[0].FromServer != 11 ||
		sum.Losses[0].FirstOffset >= sum.Losses[1].FirstOffset {
		t.Errorf("%+v", sum.Losses)
	}
}
