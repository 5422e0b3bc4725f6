package capture

import "testing"

// Every event says whose it is, also where the connection was joined late or
// its greeting was lost; of what is only guessed to be MySQL there is none.
func TestAnEventIsOfSomebody(t *testing.T) {
	const odd = "10.0.0.2:4999"
	long := statementPacket(LongData, 0x454c4553, 0, 0, 'x')
	// Joined late, compressed, at a port of nobody: the first command has no
	// answer, so nothing shows yet that it is one.
	k := newTalk(cl, odd).c(zipPacket(0, long)).wait(ms)
	if list, sum := readAll(t, pcapOf(k.pieces...), Options{}); len(list) != 0 || sum.Sessions != 0 {
		t.Errorf("a guess is told of: %+v %+v", list, sum)
	}
	k.c(zipPacket(0, queryPacket("SELECT 1"))).wait(ms).s(zipPacket(1, okPacket(1, 0, 2, 0))).wait(ms).c(zipPacket(0, long)).wait(ms)
	list, _ := readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "confirmed", list, `query "SELECT 1" 1ms`, `long_data ""`)
	areSomebodys(t, list)
	// More commands in a row than are kept, none of which fits the protocol.
	k = newTalk(cl, odd).c(queryPacket("SELECT 1"))
	for range maxPending + 1 {
		k.c(commandPacket(Statistics, []byte("odd")))
	}
	if list, sum := readAll(t, pcapOf(k.pieces...), Options{}); len(list) != 0 || sum.Sessions != 0 {
		t.Errorf("a guess is told of: %+v %+v", list, sum)
	}
	// The greeting is not in the capture. The server refuses what came instead
	// of a login; a refused client goes on nonetheless.
	k = newTalk(cl, sv).syn().s(greetingPacket(capsClassic)).wait(ms).c([]byte("hello, world!\r\n")).wait(ms).
		s(errorPacket(1, 4144, "no")).wait(ms).c(long).wait(ms)
	lost := append(k.pieces[:3:3], k.pieces[4:]...)
	list, sum := readAll(t, pcapOf(lost...), Options{})
	check(t, "greeting lost", list, `connect "" error=4144 no`, `long_data ""`)
	if areSomebodys(t, list); sum.Sessions != 1 {
		t.Errorf("%+v", sum)
	}
}

func areSomebodys(t *testing.T, list []seen) {
	t.Helper()
	for k := range list {
		sane(t, &list[k].Event)
	}
}
