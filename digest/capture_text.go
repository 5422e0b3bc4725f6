package digest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// isTcpdumpLine knows the first line of a packet in the text of tcpdump -tttt: "2009-04-12 09:50:16.804849 IP a.b > c.d: ..".
func isTcpdumpLine(line []byte) bool {
	return len(line) > 30 && line[4] == '-' && line[7] == '-' && line[10] == ' ' && line[13] == ':' && isDigit(line[0]) &&
		(bytes.Contains(line[:min(len(line), 60)], []byte(" IP ")) || bytes.Contains(line[:min(len(line), 60)], []byte(" IP6 ")))
}

// readTcpdump reads the text of tcpdump -x -tttt: a line with the time, then lines of hexadecimal bytes from the IP header
// on. Its times have no zone and are taken as UTC.
func (c *capture) readTcpdump(r *bufio.Reader) error {
	var p packet
	have := false
	begins := c.offset
	emit := func() {
		if have && len(p.data) > 0 {
			end := c.offset
			c.offset = begins
			c.ip(packet{at: p.at, data: withoutLink(p.data)})
			c.offset = end
		}
	}
	for {
		line, err := r.ReadSlice('\n')
		n := int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case isTcpdumpLine(line):
			emit()
			begins = c.offset
			t, bad := time.Parse("2006-01-02 15:04:05.999999999", string(line[:bytes.IndexByte(line[11:], ' ')+11]))
			p, have = packet{at: t.UnixNano(), data: p.data[:0]}, bad == nil
			if bad != nil {
				c.in.skip("packet whose time cannot be read", c.offset, n)
			}
		case isHexLine(line):
			p.data = appendHex(p.data, line)
		case !isBlankLine(line):
			c.in.skip("text outside of any packet", c.offset, n)
		}
		c.offset += n
		c.in.bytes = c.offset
		if err != nil {
			emit()
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

func isHexLine(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	return len(t) > 8 && t[0] == '0' && t[1] == 'x' && bytes.IndexByte(t[:min(len(t), 12)], ':') > 0
}

// appendHex reads "0x0010:  7f00 0001 a4b7 ..", up to the printable form that -X adds behind two blanks.
func appendHex(dst, line []byte) []byte {
	i := bytes.IndexByte(line, ':') + 1
	for i < len(line) && line[i] == ' ' {
		i++
	}
	high, half := byte(0), false
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c == ' ' && i+1 < len(line) && line[i+1] != ' ':
			continue
		default:
			return dst
		}
		if half {
			dst = append(dst, high<<4|c)
		} else {
			high = c
		}
		half = !half
	}
	return dst
}

// withoutLink drops a link header that -xx printed in front of the IP header.
func withoutLink(data []byte) []byte {
	for _, head := range []int{0, 14, 16, 4, 20} {
		if len(data) > head+20 && (data[head]>>4 == 4 && data[head]&15 >= 5 || data[head]>>4 == 6) {
			return data[head:]
		}
	}
	return data
}
