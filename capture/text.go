package capture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// The text of tcpdump -x: for each packet a line that begins with its time and
// ends in what tcpdump makes of it, then lines of hexadecimal bytes:
//
//	2009-04-12 09:50:16.804849 IP 127.0.0.1.42167 > 127.0.0.1.3306: tcp 37
//		0x0000:  4508 0059 6eb2 4000 4006 cde2 7f00 0001
//
// Read are times of -tttt, which have no zone and are taken as UTC, and of -tt
// (seconds since the epoch); bytes of -x, -xx, -X and -XX. Addresses and ports
// are those of the bytes, as names stand in the line unless -n was given.
// Source: tcpdump(1), print.c of tcpdump 4.99.

// textNeeds is how much of a file it takes to know tcpdump's text.
const textNeeds = 2 << 10

// isText knows tcpdump's text by its first line, behind what tcpdump itself has
// to say ("reading from file .."), which a shell's 2>&1 puts there.
func isText(head []byte) bool {
	for range 8 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if _, ok := textTime(line); ok {
			return true
		}
		if len(line) > 0 && !isRemarkOfTcpdump(line) || len(rest) == 0 {
			return false
		}
		head = rest
	}
	return false
}

func isRemarkOfTcpdump(line []byte) bool {
	return bytes.HasPrefix(line, []byte("tcpdump: ")) || bytes.HasPrefix(line, []byte("reading from file ")) ||
		bytes.HasPrefix(line, []byte("listening on ")) || bytes.HasPrefix(line, []byte("dropped privs to ")) || bytes.HasPrefix(line, []byte("Warning: "))
}

// textFrame is the packet that is being put together from its lines.
type textFrame struct {
	isOpen bool
	at     int64
	offset int64 // of its first line
	data   []byte
}

// readText reads tcpdump's text.
func (t *tap) readText(r *bufio.Reader) error {
	var p textFrame
	for isWhole := true; ; {
		line, err := r.ReadSlice('\n')
		size := len(line)
		line = bytes.TrimRight(line, "\r\n")
		switch at, isHead := textTime(line); {
		case !isWhole: // of a line that is longer than the reader's memory
		case isHead:
			t.closeText(&p)
			p = textFrame{isOpen: true, at: at, offset: t.offset, data: p.data[:0]}
		case isHexLine(line):
			if p.isOpen && len(p.data) < maxTextPacket {
				p.data = appendHex(p.data, line)
			}
		case len(bytes.TrimSpace(line)) == 0, p.isOpen && isBlank(line[0]), isRemarkOfTcpdump(line): // -v goes on in a second line
		default:
			t.note(noPacket, 1)
		}
		isWhole = !errors.Is(err, bufio.ErrBufferFull)
		t.offset += int64(size)
		t.sum.Bytes = uint64(t.offset)
		if err != nil && isWhole {
			t.closeText(&p)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// maxTextPacket is the longest packet that is believed: TCP over IPv4 cannot be longer.
const maxTextPacket = 64<<10 + 64

// closeText passes a packet on whose lines are complete.
func (t *tap) closeText(p *textFrame) {
	if !p.isOpen {
		return
	}
	end := t.offset
	t.offset = p.offset
	t.arrived(p.at)
	if len(p.data) == 0 {
		t.note(noBytes, 1)
	} else {
		d := withoutLink(p.data)
		t.ip(d, len(d))
	}
	t.offset = end
}

// textTime reads the time at which a packet's first line begins, in nanoseconds
// since the epoch.
func textTime(line []byte) (at int64, ok bool) {
	if len(line) < 20 || line[0] < '0' || line[0] > '9' {
		return 0, false
	}
	if line[4] == '-' {
		if len(line) < 27 || line[7] != '-' || line[10] != ' ' || line[13] != ':' || line[16] != ':' || line[19] != '.' {
			return 0, false
		}
		day, err := time.Parse("2006-01-02 15:04:05", string(line[:19]))
		part, rest, isPart := textFraction(line[20:])
		if err != nil || !isPart || !isPacketText(rest) {
			return 0, false
		}
		return day.UnixNano() + part, true
	}
	seconds := int64(0)
	for k, c := range line {
		switch {
		case c >= '0' && c <= '9' && k < 10:
			seconds = seconds*10 + int64(c-'0')
		case c == '.' && k > 0:
			part, rest, isPart := textFraction(line[k+1:])
			return seconds*1e9 + part, isPart && seconds < 9_000_000_000 && isPacketText(rest)
		default:
			return 0, false
		}
	}
	return 0, false
}

// textFraction reads the six or nine digits behind the point, in nanoseconds.
func textFraction(d []byte) (ns int64, rest []byte, ok bool) {
	n := 0
	for ; n < len(d) && d[n] >= '0' && d[n] <= '9' && n <= 9; n++ {
		ns = ns*10 + int64(d[n]-'0')
	}
	if n == 6 {
		ns *= 1000
	}
	return ns, d[n:], n == 6 || n == 9
}

// isPacketText says whether what is behind a time is tcpdump's: " IP ",
// perhaps behind an interface and a direction (tcpdump 4.99 with -i any) or link
// addresses (-e); any other protocol at least right behind the time.
func isPacketText(d []byte) bool {
	if len(d) < 4 || d[0] != ' ' {
		return false
	}
	near := d[:min(len(d), 120)]
	return bytes.Contains(near, []byte(" IP ")) || bytes.Contains(near, []byte(" IP6 ")) || bytes.Contains(near, []byte("ethertype ")) ||
		bytes.HasPrefix(d, []byte(" ARP")) || bytes.HasPrefix(d, []byte(" IP")) || bytes.HasPrefix(d, []byte(" LLDP")) || bytes.HasPrefix(d, []byte(" STP"))
}

func isHexLine(line []byte) bool {
	d := bytes.TrimLeft(line, " \t")
	return len(d) >= 7 && d[0] == '0' && d[1] == 'x' && bytes.IndexByte(d[:min(len(d), 12)], ':') >= 3
}

// appendHex reads "0x0010:  7f00 0001 a4b7 ..", up to the printable form that -X
// puts behind two blanks.
func appendHex(to, line []byte) []byte {
	line = line[bytes.IndexByte(line, ':')+1:]
	for len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	for len(line) >= 2 {
		high, low := hexDigit(line[0]), hexDigit(line[1])
		if high|low > 15 {
			break
		}
		to = append(to, high<<4|low)
		if line = line[2:]; len(line) > 0 && line[0] == ' ' {
			line = line[1:]
		}
	}
	return to
}

// hexDigit is what a digit stands for, or 255.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// withoutLink drops the header of the link layer, which -xx and -XX print in
// front of that of IP. Nobody says of which kind it is, so the length that an IP
// header tells decides: a link address may begin as an IP header does.
func withoutLink(d []byte) []byte {
	sizes := [...]int{0, 14, 16, 18, 4, 20}
	for _, n := range sizes {
		if size := ipSize(d, n); size > 0 && size == len(d)-n {
			return d[n:]
		}
	}
	for _, n := range sizes { // cut off by the capture, or padded
		if ipSize(d, n) > 0 {
			return d[n:]
		}
	}
	return d
}

// ipSize is the length that the IP header at a place tells, 0 if there is none.
func ipSize(d []byte, at int) int {
	switch {
	case len(d) < at+20:
		return 0
	case d[at]>>4 == 4 && d[at]&15 >= 5:
		return max(int(be.Uint16(d[at+2:])), 20)
	case d[at]>>4 == 6 && len(d) >= at+40:
		return 40 + int(be.Uint16(d[at+4:]))
	}
	return 0
}
