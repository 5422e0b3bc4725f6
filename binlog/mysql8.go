package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// isMySQL8 reports whether a version is one of MySQL whose transactions say how long they are.
func isMySQL8(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 8
}

// groupMySQL reads on to the end of a transaction. Its first event says how many bytes it has.
func (s *Scanner) groupMySQL(first event) error {
	read := readGTID
	if first.kind == kindMySQLTagged {
		read = readTagged
	}
	g, err := read(first.front)
	if err == nil && (g.length < first.end-first.at || g.length > longest) {
		err = fmt.Errorf("a transaction of %d bytes", g.length)
	}
	if err != nil {
		return s.feed.fault(first.at, "%v", err)
	}
	t := Transaction{GTID: g.gtid, Begin: first.at, End: first.at + g.length, At: time.UnixMicro(g.micros).UTC().Truncate(time.Second)}
	if g.micros == 0 {
		t.At = time.Unix(int64(first.when), 0).UTC()
	}
	for s.feed.at < t.End {
		e, err := s.feed.next()
		switch {
		case errors.Is(err, io.EOF):
			return s.feed.cut(t.Begin, "transaction "+t.GTID.String()+" without its end")
		case err != nil:
			return err
		case outside(e.kind), e.end > t.End:
			return s.feed.fault(t.Begin, "transaction %s of %d bytes, and an event of kind %d from %d to %d,", t.GTID, g.length, e.kind, e.at, e.end)
		}
	}
	s.now = t
	return nil
}

// longest is more than any transaction has, in bytes.
const longest = 1 << 50

// begun is what the first event of a transaction says.
type begun struct {
	gtid   GTID
	micros int64 // since 1970, when the server that wrote the file committed it; 0: it does not say
	length int64 // of all its events, in bytes
}

var errShortGTID = errors.New("a GTID that is not whole")

// readGTID reads a Gtid_event: flags, uuid, number, a byte, two clocks for parallel appliers, the time with a mark that another follows, the length.
func readGTID(p []byte) (g begun, err error) {
	const fixed, again = 1 + 16 + 8 + 1 + 16 + 7, 1 << 55
	if len(p) < fixed+1 {
		return g, errShortGTID
	}
	g.gtid = GTID{Source: uuid(p[1:17]), Seq: binary.LittleEndian.Uint64(p[17:])}
	at := binary.LittleEndian.Uint64(append(append([]byte{}, p[fixed-7:fixed]...), 0))
	if p = p[fixed:]; at&again != 0 {
		p = p[min(7, len(p)):]
	}
	g.micros = int64(at &^ again)
	g.length, err = packed(p)
	return g, err
}

// packed is a number of the client's protocol.
func packed(p []byte) (int64, error) {
	var whole [8]byte
	n := map[byte]int{252: 2, 253: 3, 254: 8}
	switch {
	case len(p) > 0 && p[0] < 251:
		return int64(p[0]), nil
	case len(p) == 0 || n[p[0]] == 0 || len(p) < 1+n[p[0]]:
		return 0, errShortGTID
	}
	copy(whole[:], p[1:1+n[p[0]]])
	return int64(binary.LittleEndian.Uint64(whole[:])), nil
}

func uuid(p []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", p[:4], p[4:6], p[6:8], p[8:10], p[10:16])
}

// The fields of a Gtid_tagged_event that are read, by number.
const (
	fieldUUID   = 1
	fieldNumber = 2
	fieldTag    = 3
	fieldAt     = 6
	fieldLength = 8
	tagLimit    = 32
)

// readTagged reads a Gtid_tagged_event, which is in the form of MySQL's library mysql_serialization: a version, the length, the last field that
// a reader must know, and fields with their numbers.
func readTagged(p []byte) (g begun, err error) {
	f := fields{p: p}
	f.number()
	f.p = f.p[:min(len(f.p), max(0, int(f.number())-(len(p)-len(f.p))))]
	f.number()
	tag := ""
	for len(f.p) > 0 && !f.short {
		switch id := f.number(); id {
		case fieldUUID:
			var u [16]byte
			for n := range u {
				u[n] = byte(f.number())
			}
			g.gtid.Source = uuid(u[:])
		case fieldNumber:
			g.gtid.Seq = f.number() >> 1 // the lowest bit is the sign
		case fieldTag:
			tag = f.text(f.number())
		case fieldAt:
			g.micros = int64(f.number())
		case fieldLength:
			g.length = int64(f.number())
		default:
			f.number()
		}
	}
	if f.short || g.gtid.Source == "" || g.gtid.Seq == 0 || g.length <= 0 {
		return g, errShortGTID
	}
	if tag != "" {
		g.gtid.Source += ":" + tag
	}
	return g, nil
}

// fields are numbers of one to nine bytes: as many lowest bits of the first are 1 as bytes follow.
type fields struct {
	p     []byte
	short bool
}

func (f *fields) number() uint64 {
	if len(f.p) == 0 {
		f.short = true
		return 0
	}
	more := bits.TrailingZeros8(^f.p[0])
	if len(f.p) < 1+more {
		f.short, f.p = true, nil
		return 0
	}
	var whole [8]byte
	if more == 8 {
		copy(whole[:], f.p[1:9])
		f.p = f.p[9:]
		return binary.LittleEndian.Uint64(whole[:])
	}
	copy(whole[:], f.p[:1+more])
	f.p = f.p[1+more:]
	return binary.LittleEndian.Uint64(whole[:]) >> (more + 1)
}

func (f *fields) text(n uint64) string {
	if n > tagLimit || uint64(len(f.p)) < n {
		f.short, f.p = true, nil
		return ""
	}
	out := string(f.p[:n])
	f.p = f.p[n:]
	return out
}

// previous reads the set at the head of a file: how many sources, each with its uuid and its spans. Since 8.3 the first and the last byte of that
// number say whether tags follow the uuids.
func previous(f *feed, e event) (State, error) {
	s := State{set: set{}}
	l := listed{p: e.list}
	count := l.eight()
	tagged := byte(count) == 1 && count>>56 == 1
	if tagged {
		count = count << 8 >> 16
	}
	for range min(count, uint64(len(e.list))) {
		source := ""
		if u := l.bytes(16); u != nil {
			source = uuid(u)
		}
		if tagged {
			if tag := l.tag(); tag != "" {
				source += ":" + tag
			}
		}
		for range min(l.eight(), uint64(len(e.list))) {
			from, behind := l.eight(), l.eight()
			if l.short || from == 0 || behind <= from {
				return s, f.fault(e.at, "a set of GTIDs with numbers from %d to before %d", from, behind)
			}
			s.add(source, span{from, behind - 1})
		}
	}
	if l.short || len(l.p) > 0 {
		return s, f.fault(e.at, "a set of %d sources in %d bytes", count, len(e.list))
	}
	return s, nil
}

// listed are the bytes of a set that are left.
type listed struct {
	p     []byte
	short bool
}

func (l *listed) bytes(n int) []byte {
	if len(l.p) < n {
		l.short, l.p = true, nil
		return nil
	}
	out := l.p[:n]
	l.p = l.p[n:]
	return out
}

func (l *listed) eight() uint64 {
	if p := l.bytes(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// tag is a length of one byte, with a 0 as its lowest bit, and the letters.
func (l *listed) tag() string {
	n := l.bytes(1)
	if n == nil || n[0]&1 != 0 || n[0]>>1 > tagLimit {
		l.short = true
		return ""
	}
	return string(l.bytes(int(n[0] >> 1)))
}
