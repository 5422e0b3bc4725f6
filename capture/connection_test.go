package capture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

func TestLogins(t *testing.T) {
	// Rounds of authentication.
	k := newTalk(cl, sv).syn().s(greetingPacket(capsClassic)).wait(ms).c(loginPacketOf(capsClassic, "bob", "d")).wait(ms).
		s(bodyPacket(2, []byte("\xfecaching_sha2_password\x0012345678901234567890\x00"))).wait(ms).c(bodyPacket(3, []byte("scrambled"))).wait(ms).
		s(bodyPacket(4, []byte{1, 4})).wait(ms).c(bodyPacket(5, []byte{2})).wait(ms).s(bodyPacket(6, []byte("\x01---key"))).
		wait(ms).c(bodyPacket(7, []byte("secret"))).wait(ms).s(okPacket(8, 0, 2, 0)).wait(ms).c(queryPacket("SELECT 1")).wait(ms).s(okPacket(1, 0, 2, 0))
	list, _ := readAll(t, pcapOf(k.pieces...), Options{})
	if len(list) != 2 || list[0].Command != Connect || list[0].User != "bob" || list[0].Latency != ms || list[0].Total != 7*ms || list[1].User != "bob" {
		t.Errorf("%+v", list)
	}
	// Refused with a password, and before a word is said.
	k = newTalk(cl, sv).syn().s(greetingPacket(capsClassic)).wait(ms).c(loginPacketOf(capsClassic, "eve", "")).wait(ms).s(errorPacket(2, 1045, "Access denied")).fin()
	list, _ = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "refused", list, `connect "" error=1045 Access denied 1ms`)
	k = newTalk(cl, sv).syn().s(bodyPacket(0, []byte("\xff\x10\x04Too many connections"))).fin()
	list, sum := readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "too many", list, `connect "" error=1040 Too many connections`)
	if sum.Sessions != 1 {
		t.Errorf("%+v", sum)
	}
	// Greeted, and gone.
	if list, sum = readAll(t, pcapOf(newTalk(cl, sv).syn().s(greetingPacket(capsClassic)).wait(10*ms).fin().pieces...), Options{}); len(list) != 1 || remark(sum, noLogin) != 1 ||
		!list[0].Aborted || list[0].Command != Connect || list[0].DoneAt.Sub(list[0].Began) != 10*ms || list[0].Answered {
		t.Errorf("%+v %+v", list, sum)
	}
	// What the client says is no login, and the server tells it so.
	k = newTalk(cl, sv).syn().s(greetingPacket(capsClassic)).wait(ms).c([]byte("hello, world!\r\n")).wait(ms).s(errorPacket(1, 1156, "Got packets out of order")).fin()
	list, _ = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "no login", list, `connect "" error=1156 Got packets out of order`)
	// Another user on the same connection.
	body := slices.Concat([]byte("carol\x00\x14"), make([]byte, 20), []byte("later\x00"))
	k = newTalk(cl, sv).login(capsClassic).c(commandPacket(ChangeUser, body)).wait(ms).s(bodyPacket(1, []byte("\xfemysql_native_password\x00xx\x00"))).
		wait(ms).c(bodyPacket(2, []byte("again"))).wait(ms).s(okPacket(3, 0, 2, 0)).
		wait(ms).c(queryPacket("use `o``ne` ;")).wait(ms).s(okPacket(1, 0, 2, 0)).wait(ms).c(queryPacket("SELECT 1")).wait(ms).s(okPacket(1, 0, 2, 0))
	list, _ = readAll(t, pcapOf(k.pieces...), Options{})
	if len(list) != 4 || list[1].User != "alice" || list[2].User != "carol" || list[2].DB != "later" || list[3].DB != "o`ne" {
		t.Errorf("%+v", list)
	}
	// The server tells of a new database in the OK.
	ok := bodyPacket(1, []byte{0, 0, 0, 2, 0x40, 0, 0, 0, 6, 1, 4, 3, 'n', 'e', 'w'})
	k = newTalk(cl, sv).login(capsClassic).c(queryPacket("CALL p()")).wait(ms).s(ok).wait(ms).c(queryPacket("SELECT 1")).wait(ms).s(okPacket(1, 0, 2, 0))
	list, _ = readAll(t, pcapOf(k.pieces...), Options{})
	if len(list) != 3 || list[1].DB != "shop" || list[2].DB != "new" {
		t.Errorf("%+v", list)
	}
	// A proxy's line in front of everything.
	k = newTalk(cl, sv).syn().c([]byte("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"))
	k.s(greetingPacket(capsClassic)).wait(ms).c(loginPacketOf(capsClassic, "dan", "")).wait(ms).s(okPacket(2, 0, 2, 0)).wait(ms).
		c(queryPacket("SELECT 1")).wait(ms).s(okPacket(1, 0, 2, 0))
	if list, _ = readAll(t, pcapOf(k.pieces...), Options{}); len(list) != 2 || list[1].User != "dan" {
		t.Errorf("%+v", list)
	}
}

// zipPacket puts packets into one compressed packet.
func zipPacket(seq byte, d ...[]byte) []byte {
	raw := bytes.Join(d, nil)
	if len(raw) < 50 {
		return slices.Concat([]byte{byte(len(raw)), byte(len(raw) >> 8), 0, seq, 0, 0, 0}, raw)
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(raw)
	z.Close()
	n := b.Len()
	return slices.Concat([]byte{byte(n), byte(n >> 8), byte(n >> 16), seq, byte(len(raw)), byte(len(raw) >> 8), byte(len(raw) >> 16)}, b.Bytes())
}

func TestCompressed(t *testing.T) {
	long := "SELECT '" + strings.Repeat("abc", 1000) + "'"
	for _, mss := range []int{1448, 5} {
		for _, hasLogin := range []bool{true, false} {
			k := newTalk(cl, sv)
			if hasLogin {
				k.login(capsClassic | capCompress)
			}
			if !hasLogin && mss < 100 {
				continue // a connection joined late is known by a whole command in a segment
			}
			k.mss = mss
			k.c(zipPacket(0, queryPacket("SELECT 1"))).wait(ms).s(zipPacket(1, resultPackets(1, 5, false, 2)))
			k.wait(ms).c(zipPacket(0, queryPacket(long))).wait(ms)
			answer := resultPackets(500, 50, false, 2)
			k.s(zipPacket(1, answer[:9000]), zipPacket(2, answer[9000:])).wait(ms).c(zipPacket(0, commandPacket(Quit))).fin()
			list, sum := readAll(t, pcapOf(k.pieces...), Options{})
			if !hasLogin {
				list = append([]seen{{}}, list...)
			}
			if len(list) != 4 || list[1].Query != "SELECT 1" || list[1].RowsSent != 1 || list[2].Query != long || list[2].RowsSent != 500 ||
				list[2].BytesSent != uint64(len(answer)) || list[3].Command != Quit || sum.Compressed != 1 || len(sum.Skipped) > 0 {
				t.Errorf("segments of %d, login %v: %+v", mss, hasLogin, sum)
				check(t, "compressed", list)
			}
			if len(list) > 2 && mss > 100 && list[2].Latency != ms {
				t.Errorf("latency %v", list[2].Latency)
			}
		}
	}
	k := newTalk(cl, sv).login(capsClassic | capZstd).c(zipPacket(0, queryPacket("SELECT 1"))).wait(ms).s(zipPacket(1, okPacket(1, 0, 2, 0)))
	list, sum := readAll(t, pcapOf(k.pieces...), Options{})
	if len(list) != 1 || list[0].Command != Connect || sum.Compressed != 1 || remark(sum, zstdCompressed) != 1 {
		t.Errorf("%+v %+v", list, sum)
	}
	// What claims to be compressed and is not.
	k = newTalk(cl, sv).login(capsClassic|capCompress).c([]byte{20, 0, 0, 0, 200, 0, 0}, make([]byte, 20)).wait(ms).s(zipPacket(1, okPacket(1, 0, 2, 0))).
		wait(ms).c(zipPacket(0, queryPacket("SELECT 2"))).wait(ms).s(zipPacket(1, okPacket(1, 0, 2, 0)))
	list, sum = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "damaged", list, `query "SELECT 2" 1ms`)
	if remark(sum, inflateFailed) != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestUnreadableConnections(t *testing.T) {
	ssl := bodyPacket(1, binary.LittleEndian.AppendUint32(nil, capsClassic|capSSL), make([]byte, 28))
	k := newTalk(cl, sv).syn().s(greetingPacket(capsClassic | capSSL)).wait(ms).c(ssl).wait(ms).c([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}).
		wait(ms).s([]byte{0x16, 3, 3, 0, 1, 2}).wait(ms).c(queryPacket("SELECT 'looks like one'")).fin()
	list, sum := readAll(t, pcapOf(k.pieces...), Options{})
	if len(list) != 0 || sum.TLS != 1 || remark(sum, encrypted) != 1 || sum.Sessions != 1 {
		t.Errorf("%+v %+v", list, sum)
	}
	k = newTalk(cl, sv).c([]byte{0x17, 3, 3, 0, 40, 1, 2, 3}).s([]byte{0x17, 3, 3, 0, 40, 1, 2, 3}) // joined late
	if list, sum = readAll(t, pcapOf(k.pieces...), Options{}); len(list) != 0 || sum.TLS != 1 {
		t.Errorf("%+v %+v", list, sum)
	}
	k = newTalk(cl, sv).login(capsClassic).c(queryPacket("SET @a=1")).wait(ms).s(okPacket(1, 0, 2, 0)).wait(ms).
		c(commandPacket(BinlogDump, make([]byte, 20))).wait(ms)
	for range 100 {
		k.s(bodyPacket(1, []byte{0}, make([]byte, 500)))
	}
	list, sum = readAll(t, pcapOf(k.pieces...), Options{})
	check(t, "replication", list, `query "SET @a=1" 1ms`)
	if remark(sum, replication) != 1 {
		t.Errorf("%+v", sum)
	}
	// Other protocols, on the server's port and elsewhere, from the start and
	// joined late.
	for _, server := range []string{sv, "10.0.0.2:80"} {
		for _, hasSYN := range []bool{true, false} {
			k = newTalk(cl, server)
			if hasSYN {
				k.syn()
			}
			for range 30 {
				k.wait(ms).c([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")).wait(ms).s([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
			}
			if list, sum = readAll(t, pcapOf(k.fin().pieces...), Options{}); len(list) != 0 || sum.Sessions != 0 || len(sum.Skipped) == 0 {
				t.Errorf("%s %v: %+v %+v", server, hasSYN, list, sum)
			}
		}
	}
}

// A server on any port is found (B13): by its greeting, by commands, by having
// been found before; and named ports are obeyed.
func TestServersOnOtherPorts(t *testing.T) {
	const odd = "10.0.0.2:4999"
	body := func(k *talk) *talk {
		return k.wait(ms).c(queryPacket("SELECT 1")).wait(ms).s(okPacket(1, 1, 2, 0))
	}
	file := pcapOf(body(newTalk(cl, odd).login(capsClassic)).pieces...)
	list, _ := readAll(t, file, Options{})
	check(t, "greeting", list, `query "SELECT 1" affected=1 1ms`)
	list, sum := readAll(t, file, Options{Ports: []uint16{3306}})
	if len(list) != 0 || remark(sum, noPort) != sum.Packets {
		t.Errorf("%+v %+v", list, sum)
	}
	list, _ = readAll(t, file, Options{Ports: []uint16{3306, 4999}})
	check(t, "asked for", list, `query "SELECT 1" affected=1 1ms`)
	list, _ = readAll(t, pcapOf(body(newTalk(cl, odd)).pieces...), Options{})
	check(t, "joined late", list, `query "SELECT 1" affected=1 1ms`)
	// Its commands have nothing to be known by, but the server is known.
	first, second := newTalk(cl, odd).login(capsClassic), newTalk("10.0.0.3:50001", odd)
	second.wait(5 * ms).c(statementPacket(CloseStatement, 3)).wait(ms).c(commandPacket(Statistics)).wait(ms).s(bodyPacket(1, []byte("Uptime: 5")))
	list, _ = readAll(t, pcapOf(append(first.pieces, second.pieces...)...), Options{})
	check(t, "known server", list, `close ""`, `statistics "" 1ms`)
	// What looks like a command by chance, answered by something else.
	k := newTalk(cl, odd).c(queryPacket("SELECT 1")).wait(ms).s([]byte("welcome to the machine")).wait(ms)
	if list, sum = readAll(t, pcapOf(k.pieces...), Options{}); len(list) != 0 || sum.Sessions != 0 {
		t.Errorf("%+v %+v", list, sum)
	}
	// Both ends are ports of servers.
	list, _ = readAll(t, pcapOf(body(newTalk("10.0.0.1:3306", sv).login(capsClassic)).pieces...), Options{Ports: []uint16{3306}})
	check(t, "both", list, `query "SELECT 1" affected=1 1ms`)
}
