package capture

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"
)

// sane compares any event with what is true of all.
func sane(t *testing.T, e *Event) {
	if e.Latency < 0 || e.Total < e.Latency || !e.Answered && e.Latency != 0 || len(e.Query) > 1<<16 {
		t.Fatalf("%+v", e)
	}
	if e.Session == 0 || e.Client == "" || e.Server == "" {
		t.Fatalf("an event of nobody: %+v", e)
	}
	for k := range e.Args {
		_ = e.Args[k].AppendSQL(nil)
	}
	_ = e.Command.String()
	_ = e.AppendQuery(nil)
	if e.Answered && e.AnswerAt.IsZero() {
		t.Fatalf("answered at no time: %+v", e)
	}
}

// fuzzOptions are small, so that limits are met.
var fuzzOptions = Options{MaxQuery: 1 << 16, MaxSessions: 8}

func readFuzz(t *testing.T, file []byte) {
	for _, o := range []Options{fuzzOptions, {MaxQuery: 40, MaxSessions: 1, Ports: []uint16{3306, 50000}}} {
		sum, err := Read("fuzz", bytes.NewReader(file), o, func(e *Event) { sane(t, e) })
		if err == nil && sum.Bytes != uint64(len(file)) {
			t.Fatalf("%d bytes read of %d: %+v", sum.Bytes, len(file), sum)
		}
	}
}

// seedTalks are conversations of every kind.
func seedTalks() (all []*talk) {
	add := func(k *talk) *talk { all = append(all, k); return k }
	add(shortTalk(cl, sv))
	add(shortTalk("[fd00::1]:50000", "[fd00::2]:4999"))
	k := add(newTalk(cl, sv).login(capsClassic | capDeprecateEOF | capQueryAttrs))
	k.c(commandPacket(Query, []byte{1, 1, 0, 1, 3, 0, 1, 'n', 5, 0, 0, 0}, []byte("SELECT 1; SELECT 2"))).
		s(resultPackets(2, 9, true, 2|statusMoreResults), okPacket(9, 1, 2, 0))
	k.c(commandPacket(Prepare, []byte("SELECT ?"))).s(prepareOK(1, 1, 1, false)).
		c(executePacket(1, 0, 1, 12, 0, 7, 0xe8, 7, 1, 2, 3, 4, 5)).s(resultPackets(1, 1, true, 2)).
		c(statementPacket(LongData, 1, 0, 0, 'x')).c(statementPacket(Fetch, 1, 1, 0, 0, 0)).s(eofPacket(1, 2, 0)).
		c(queryPacket("LOAD DATA LOCAL INFILE 'x'")).s(bodyPacket(1, []byte("\xfbx"))).c(bodyPacket(2, []byte("a")), bodyPacket(3)).s(okPacket(4, 1, 2, 0)).
		c(commandPacket(ChangeUser, []byte("u\x00\x00d\x00"))).s(okPacket(1, 0, 2, 0)).c(commandPacket(Statistics)).s(bodyPacket(1, []byte("Up")))
	add(newTalk(cl, sv).login(capsClassic | capCompress)).c(zipPacket(0, queryPacket("SELECT 1"))).s(zipPacket(1, resultPackets(9, 9, false, 2)))
	add(newTalk(cl, sv)).c(queryPacket("SELECT 1")).s(errorPacket(1, 1064, "no")).c(commandPacket(BinlogDump, make([]byte, 20)))
	// Nothing shows yet that it is MySQL; and a server that refuses what came instead of a login, without its greeting.
	add(newTalk(cl, "10.0.0.2:4999")).c(zipPacket(0, statementPacket(LongData, 1, 0, 0, 'x'))).c(zipPacket(0, queryPacket("SELECT 1"))).s(zipPacket(1, okPacket(1, 0, 2, 0)))
	k = add(newTalk(cl, sv).syn().s(greetingPacket(capsClassic)).c([]byte("hello\n")).s(errorPacket(1, 4144, "no")).c(statementPacket(LongData, 1, 0, 0, 'x')))
	k.pieces = append(k.pieces[:3:3], k.pieces[4:]...)
	return all
}

func FuzzRead(f *testing.F) {
	for _, k := range seedTalks() {
		list := frames(k.pieces)
		f.Add(pcapFile(binary.LittleEndian, magicMicro, linkEthernet, list))
		f.Add(pcapFile(binary.BigEndian, magicNano, linkEthernet, list))
	}
	f.Fuzz(func(t *testing.T, file []byte) { readFuzz(t, file) })
}

func FuzzPcapng(f *testing.F) {
	for n, k := range seedTalks() {
		var order binary.AppendByteOrder = binary.LittleEndian
		if n%2 == 1 {
			order = binary.BigEndian
		}
		file := append(ngSection(order), ngInterface(order, linkEthernet, ngOption(order, optionResol, []byte{9}))...)
		for _, fr := range frames(k.pieces) {
			file = append(file, ngPacketBlock(order, 0, uint64(fr.at.UnixNano()), fr)...)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 4 {
			copy(file, []byte{0x0a, 0x0d, 0x0d, 0x0a})
		}
		readFuzz(t, file)
	})
}

func FuzzText(f *testing.F) {
	for _, k := range seedTalks() {
		f.Add(textOf(plainForm(), k.pieces))
		other := plainForm()
		other.link, other.more, other.eol = ethernet, printable, "\r\n"
		f.Add(textOf(other, k.pieces))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		readFuzz(t, append([]byte("2024-03-01 12:00:00.000000 IP 1.2.3.4.5 > 1.2.3.4.6: tcp 0\n"), file...))
	})
}

// script writes a conversation as FuzzSession reads it: a byte of what happens
// to the segment, one of time, two of length, and the data.
func script(k *talk) (out []byte) {
	for _, p := range k.pieces {
		what := byte(0)
		if p.src == k.server {
			what |= 1
		}
		if p.flags&flagSYN != 0 {
			what |= 2
		}
		if p.flags&flagFIN != 0 {
			what |= 4
		}
		out = append(out, what, 9, byte(len(p.data)), byte(len(p.data)>>8))
		out = append(out, p.data...)
	}
	return out
}

// FuzzSession speaks any bytes over a connection, with loss, copies, disorder
// and cut segments.
func FuzzSession(f *testing.F) {
	for _, k := range seedTalks() {
		f.Add(script(k))
	}
	f.Fuzz(func(t *testing.T, d []byte) {
		tap := newTap(fuzzOptions, func(e *Event) { sane(t, e) })
		k := newTalk(cl, sv)
		for len(d) >= 4 {
			what, size := d[0], min(int(binary.LittleEndian.Uint16(d[2:])), len(d)-4)
			k.wait(time.Duration(d[1]) * time.Millisecond)
			data := d[4 : 4+size]
			d = d[4+size:]
			flags := byte(flagACK)
			if what&2 != 0 {
				flags = flagSYN | flagACK&-(what&1)
			}
			if what&4 != 0 {
				flags |= flagFIN
			}
			k.pieces = k.pieces[:0]
			k.piece(int(what&1), flags, data)
			p := &k.pieces[0]
			switch what >> 3 & 7 {
			case 1:
				continue // lost
			case 2:
				p.seq -= uint32(size / 2)
			case 3:
				p.seq += uint32(what>>6) * 700
			case 4:
				p.flags |= flagRST
			case 5:
				p.ack += uint32(size)
			case 6:
				if size > 4 {
					p.data = p.data[:size/2]
				}
			case 7:
				p.seq += 1 << 30
			}
			ip := p.ipOf()
			if what>>3&7 == 6 {
				binary.BigEndian.PutUint16(ip[2:], uint16(min(52+size, 65535)))
			}
			tap.packet(linkRaw, p.at.UnixNano(), ip, len(ip))
			if what>>6 == 2 {
				tap.packet(linkRaw, p.at.UnixNano(), ip, len(ip))
			}
		}
		tap.finish()
		if tap.mem != 0 || len(tap.table.sessions) != 0 {
			t.Fatalf("%d bytes and %d connections are left", tap.mem, len(tap.table.sessions))
		}
	})
}
