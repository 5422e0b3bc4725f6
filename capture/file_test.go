package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// shortTalk is a login, two statements and a goodbye.
func shortTalk(client, server string) *talk {
	return newTalk(client, server).login(capsClassic).
		c(queryPacket("SELECT a FROM t")).wait(2 * time.Millisecond).s(resultPackets(3, 10, false, 2)).
		wait(time.Millisecond).c(queryPacket("DELETE FROM t")).wait(5 * time.Millisecond).s(okPacket(1, 7, 2, 1)).
		wait(time.Millisecond).c(commandPacket(Quit)).fin()
}

// checkShort compares the events with what shortTalk said.
func checkShort(t *testing.T, list []seen) {
	t.Helper()
	if len(list) != 4 || list[0].Command != Connect || list[3].Command != Quit {
		t.Fatalf("got %+v", list)
	}
	for _, e := range list {
		if e.User != "alice" || e.DB != "shop" || e.Session != 1 || e.Incomplete || e.Truncated {
			t.Errorf("%+v", e)
		}
	}
	if e := list[1]; e.Query != "SELECT a FROM t" || e.RowsSent != 3 || !e.Answered || e.BytesSent != uint64(len(resultPackets(3, 10, false, 2))) {
		t.Errorf("%+v", e)
	}
	if e := list[2]; e.Query != "DELETE FROM t" || e.RowsAffected != 7 || e.Warnings != 1 || e.RowsSent != 0 || e.BytesSent != 11 {
		t.Errorf("%+v", e)
	}
}

func checkShortTimes(t *testing.T, list []seen) {
	t.Helper()
	if e := list[1]; !e.At.Equal(epoch.Add(3*time.Millisecond)) || e.Latency != 2*time.Millisecond || e.Total != 2*time.Millisecond {
		t.Errorf("%v %v %v", e.At, e.Latency, e.Total)
	}
	if e := list[2]; e.Latency != 5*time.Millisecond {
		t.Errorf("%v", e.Latency)
	}
}

func TestPcapFormats(t *testing.T) {
	list := frames(shortTalk("10.0.0.1:50000", "10.0.0.2:3306").pieces)
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, magic := range []uint32{magicMicro, magicNano, magicModified} {
			file := pcapFile(order, magic, linkEthernet, list)
			if !IsCapture(file) || !IsCapture(file[:4]) {
				t.Errorf("%v %x is not taken for a capture", order, magic)
			}
			events, sum := readAll(t, file, Options{})
			checkShort(t, events)
			checkShortTimes(t, events)
			if sum.Format != "pcap" || sum.Packets != uint64(len(list)) || sum.Sessions != 1 || len(sum.Skipped) != 0 ||
				!sum.First.Equal(epoch) || !slices.Equal(sum.LinkTypes, []string{"ethernet"}) {
				t.Errorf("%+v", sum)
			}
			if e := events[1]; e.Client != "10.0.0.1:50000" || e.Server != "10.0.0.2:3306" {
				t.Errorf("%s to %s", e.Client, e.Server)
			}
		}
	}
}

// ngBlock is one pcapng block.
func ngBlock(order binary.AppendByteOrder, kind uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b := order.AppendUint32(nil, kind)
	b = order.AppendUint32(b, uint32(len(body)+12))
	return order.AppendUint32(append(b, body...), uint32(len(body)+12))
}

func ngSection(order binary.AppendByteOrder) []byte {
	b := order.AppendUint32(nil, magicSection)
	b = order.AppendUint16(b, 1)
	b = order.AppendUint16(b, 0)
	b = order.AppendUint64(b, 1<<64-1)
	return ngBlock(order, blockSection, b)
}

func ngInterface(order binary.AppendByteOrder, link uint16, options ...[]byte) []byte {
	b := order.AppendUint16(nil, link)
	b = order.AppendUint16(b, 0)
	b = order.AppendUint32(b, 0)
	return ngBlock(order, blockInterface, append(b, bytes.Join(options, nil)...))
}

func ngOption(order binary.AppendByteOrder, code uint16, value []byte) []byte {
	b := order.AppendUint16(nil, code)
	b = order.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func ngPacketBlock(order binary.AppendByteOrder, nic uint32, ticks uint64, f frame) []byte {
	b := order.AppendUint32(nil, nic)
	b = order.AppendUint32(b, uint32(ticks>>32))
	b = order.AppendUint32(b, uint32(ticks))
	b = order.AppendUint32(b, uint32(len(f.data)))
	b = order.AppendUint32(b, uint32(f.wire))
	return ngBlock(order, blockPacket, append(b, f.data...))
}

func TestPcapngFormats(t *testing.T) {
	list := frames(shortTalk("10.0.0.1:50000", "10.0.0.2:3306").pieces)
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for name, x := range map[string]struct {
			options []byte
			ticks   func(time.Time) uint64
			exact   bool
		}{
			"microseconds": {nil, func(t time.Time) uint64 { return uint64(t.UnixMicro()) }, true},
			"nanoseconds": {ngOption(order, optionResol, []byte{9}),
				func(t time.Time) uint64 { return uint64(t.UnixNano()) }, true},
			"hundreds of picoseconds": {ngOption(order, optionResol, []byte{10}),
				func(t time.Time) uint64 { return uint64(t.UnixNano()) * 10 }, true},
			"binary": {ngOption(order, optionResol, []byte{0x80 | 30}),
				func(t time.Time) uint64 {
					return uint64(t.Unix())<<30 | uint64(t.Nanosecond())<<30/1e9
				}, false},
			"offset": {slices.Concat(ngOption(order, 2, []byte("eth0")), ngOption(order, optionTimeZero, order.AppendUint64(nil, uint64(epoch.Unix()-5))), ngOption(order, optionEnd, nil)),
				func(t time.Time) uint64 { return uint64(t.Sub(epoch).Microseconds() + 5e6) }, true},
		} {
			file := slices.Concat(ngSection(order), ngBlock(order, 0xbad, []byte("whatever")), ngInterface(order, 276), ngInterface(order, linkEthernet, x.options))
			for _, f := range list {
				file = append(file, ngPacketBlock(order, 1, x.ticks(f.at), f)...)
				file = append(file, ngBlock(order, 5, make([]byte, 12))...)
			}
			if !IsCapture(file) {
				t.Errorf("%s: not taken for a capture", name)
			}
			events, sum := readAll(t, file, Options{})
			checkShort(t, events)
			if x.exact {
				checkShortTimes(t, events)
			} else if d := events[1].Latency - 2*time.Millisecond; d < -2 || d > 2 {
				t.Errorf("%s: latency %v", name, events[1].Latency)
			}
			if sum.Format != "pcapng" || len(sum.Skipped) != 0 {
				t.Errorf("%s: %+v", name, sum)
			}
		}
	}
}

// Interfaces of several link types, sections of both byte orders one behind
// the other, and old packet blocks.
func TestPcapngSeveralInterfaces(t *testing.T) {
	pieces := shortTalk("10.0.0.1:50000", "10.0.0.2:3306").pieces
	var file []byte
	for k := range pieces {
		var order binary.AppendByteOrder = binary.LittleEndian
		if k%2 == 0 {
			order = binary.BigEndian
		}
		file = slices.Concat(file, ngSection(order), ngInterface(order, linkEthernet), ngInterface(order, linkRaw))
		p := &pieces[k]
		f := frame{data: ethernet(p.ipOf())}
		nic := uint32(k % 2)
		if nic == 1 {
			f.data = p.ipOf()
		}
		f.wire = len(f.data)
		block := ngPacketBlock(order, nic, uint64(p.at.UnixMicro()), f)
		if k%3 == 0 { // as the old kind of block, which counts drops in the upper half of the interface
			copy(block, order.AppendUint32(nil, blockOldPacket))
			copy(block[8:], order.AppendUint16(nil, uint16(nic)))
			copy(block[10:], order.AppendUint16(nil, 77))
		}
		file = append(file, block...)
	}
	events, sum := readAll(t, file, Options{})
	checkShort(t, events)
	checkShortTimes(t, events)
	if !slices.Equal(sum.LinkTypes, []string{"ethernet", "raw ip"}) {
		t.Errorf("%v", sum.LinkTypes)
	}
}

// Simple packets have no time, so nothing is said about times.
func TestPcapngWithoutTimes(t *testing.T) {
	order := binary.LittleEndian
	file := slices.Concat(ngSection(order), ngInterface(order, linkEthernet))
	for _, f := range frames(shortTalk("10.0.0.1:50000", "10.0.0.2:3306").pieces) {
		file = append(file, ngBlock(order, blockSimple, append(order.AppendUint32(nil, uint32(f.wire)), f.data...))...)
	}
	events, sum := readAll(t, file, Options{})
	for k := range events {
		if e := &events[k]; e.Answered || e.Latency != 0 || !e.At.IsZero() {
			t.Errorf("time out of nothing: %+v", e)
		}
	}
	if got := queries(events); !slices.Equal(got, []string{"SELECT a FROM t", "DELETE FROM t"}) {
		t.Errorf("%v", got)
	}
	if remark(sum, noTime) != sum.Packets || !sum.First.IsZero() {
		t.Errorf("%+v", sum)
	}
}

// What is not for us is counted, with the place of the first of its kind.
func TestOtherPacketsAreCounted(t *testing.T) {
	good := frames(shortTalk("10.0.0.1:50000", "10.0.0.2:3306").pieces)
	udp := slices.Clone(good[0].data)
	udp[23] = 17
	arp := slices.Clone(good[0].data)
	arp[12], arp[13] = 8, 6
	short := slices.Clone(good[0].data[:20])
	list := slices.Concat([]frame{{epoch, arp, len(arp)}, {epoch, udp, len(udp)}, {epoch, udp, len(udp)}, {epoch, short, 400}}, good)
	file := pcapFile(binary.LittleEndian, magicMicro, linkEthernet, list)
	file = append(file, 1, 2, 3, 4, 5)
	events, sum := readAll(t, file, Options{})
	checkShort(t, events)
	at := int64(24 + 16 + len(arp))
	for _, want := range []Remark{
		{reasonText[fileCut], 5, int64(len(file) - 5), true}, {reasonText[noIP], 1, 24, false}, {reasonText[noTCP], 2, at, false},
		{reasonText[badHead], 1, at + 2*int64(16+len(udp)), true},
	} {
		if !slices.Contains(sum.Skipped, want) {
			t.Errorf("no %+v in %+v", want, sum.Skipped)
		}
	}
	_, sum = readAll(t, pcapFile(binary.LittleEndian, magicMicro, 147, good), Options{})
	if remark(sum, noLink) != uint64(len(good)) || !slices.Equal(sum.LinkTypes, []string{"type 147"}) {
		t.Errorf("%+v", sum)
	}
}

func TestDamagedFiles(t *testing.T) {
	file := pcapOf(shortTalk("10.0.0.1:50000", "10.0.0.2:3306").pieces...)
	for n := 24; n < len(file); n += 7 { // cut off anywhere
		readAll(t, file[:n], Options{})
	}
	broken := slices.Clone(file)
	binary.LittleEndian.PutUint32(broken[24+8:], 1<<30)
	if list, sum := readAll(t, broken, Options{}); len(list) != 0 || remark(sum, fileDamaged) != 1 {
		t.Errorf("%v %+v", list, sum)
	}
	for _, text := range []string{"", "GET", "# Time: 240301 12:00:00\n", "\x1f\x8b\x08\x00\x00\x00\x00\x00"} {
		if IsCapture([]byte(text)) {
			t.Errorf("%q is taken for a capture", text)
		}
		if _, err := Read("x", strings.NewReader(text), Options{}, nil); !errors.Is(err, ErrNotCapture) {
			t.Errorf("%q: %v", text, err)
		}
	}
	failure := errors.New("disk on fire")
	r := &failing{bytes.NewReader(file[:200]), failure}
	if _, err := Read("x", r, Options{}, nil); !errors.Is(err, failure) {
		t.Errorf("the reader's error is lost: %v", err)
	}
}

type failing struct {
	r   *bytes.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.r.Len() == 0 {
		return 0, f.err
	}
	return f.r.Read(p)
}

// A record longer than the reader's memory (a segment of many, joined by the
// network card) is read all the same.
func TestHugeRecord(t *testing.T) {
	k := newTalk("10.0.0.1:50000", "10.0.0.2:3306").login(capsClassic)
	k.mss = 1 << 20
	text := "INSERT INTO t VALUES ('" + strings.Repeat("x", 600_000) + "')"
	k.c(queryPacket(text)).wait(time.Millisecond).s(okPacket(1, 1, 2, 0))
	list := frames(k.pieces)
	for n := range list {
		if len(list[n].data) > 65535 {
			list[n].data[16], list[n].data[17] = 0, 0
		}
	}
	file := pcapFile(binary.LittleEndian, magicMicro, linkEthernet, list)
	events, _ := readAll(t, file, Options{})
	if len(events) != 2 || events[1].Query != text || events[1].RowsAffected != 1 {
		t.Errorf("%d events", len(events))
	}
	cut := file[:len(file)-300_000]
	_, sum := readAll(t, cut, Options{})
	if remark(sum, fileCut) == 0 {
		t.Errorf("%+v", sum)
	}
}
