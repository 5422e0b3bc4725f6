package digest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"stowage/capture"
)

// ErrUnknownInput says that a file is nothing this package reads.
var ErrUnknownInput = errors.New("not a slow log, general log, packet capture or stored digest")

const (
	sniffSize = 64 << 10
	maxNested = 3         // a capture compressed twice is odd but real; a bomb goes deeper
	maxWindow = 128 << 20 // of a zstd frame: what zstd --long writes
)

// Read counts the events of any capture. It looks at the content, never at the name: slow logs, general logs, packet
// captures (pcap, pcapng, and tcpdump's text), ProxySQL's log in JSON, logs that went through syslog, stored digests, each also compressed with gzip, zstd or bzip2, each text
// also in UTF-16. name is for reports only.
func (b *Builder) Read(name string, r io.Reader) error {
	if is, err := b.readSlowLogFile(name, r); is {
		return err
	}
	in := bufio.NewReaderSize(r, sniffSize)
	return b.read(name, in, 0)
}

func (b *Builder) read(name string, in *bufio.Reader, nested int) error {
	head, err := in.Peek(sniffSize)
	if err != nil && err != io.EOF && len(head) == 0 {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch kind := sniff(head); kind {
	case kindZeros:
		return b.readBehindZeros(name, in)
	case kindCapture:
		return b.ReadCapture(name, in)
	case kindEmpty:
		b.d.inputs = append(b.d.inputs, input{name: name, kind: "empty"})
		return nil
	case kindGzip, kindZstd, kindBzip2, kindUTF16LE, kindUTF16BE, kindUTF8, kindSyslog:
		u, err := unpackKind(kind, in)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return b.unpack(name, u, nested)
	case kindStored:
		return b.readStored(name, in)
	case kindGeneralLog:
		return b.ReadGeneralLog(name, in)
	case kindSlowLog:
		return b.ReadSlowLog(name, in)
	case kindProxySQL:
		return b.ReadProxySQL(name, in)
	}
	if is := foreign(head); is != "" {
		return fmt.Errorf("read %s: %s: %w", name, is, ErrUnknownInput)
	}
	n, _ := io.Copy(io.Discard, in)
	unknown := input{name: name, kind: "unknown", bytes: n}
	unknown.skip("not a capture", 0, n)
	b.d.inputs = append(b.d.inputs, unknown)
	return fmt.Errorf("read %s: %w", name, ErrUnknownInput)
}

// readBehindZeros reads a log behind a hole that is longer than what tells a file: one that was truncated while a server went
// on writing at its old place.
func (b *Builder) readBehindZeros(name string, in *bufio.Reader) error {
	zeros := int64(0)
	for {
		head, err := in.Peek(sniffSize)
		if err != nil && err != io.EOF && len(head) == 0 {
			return fmt.Errorf("read %s: %w", name, err)
		}
		n := len(head) - len(bytes.TrimLeft(head, "\x00"))
		zeros += int64(n)
		_, _ = in.Discard(n) // they are in its buffer
		if n == 0 || n < len(head) || err == io.EOF {
			break
		}
	}
	head, _ := in.Peek(sniffSize)
	if len(head) > 0 && sniff(head) != kindSlowLog {
		return fmt.Errorf("read %s: behind %d zero bytes: %w", name, zeros, ErrUnknownInput)
	}
	return b.ReadSlowLog(name, io.MultiReader(io.LimitReader(zeroReader{}, zeros), in))
}

// zeroReader gives zero bytes without end.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// readStored adds a stored digest.
func (b *Builder) readStored(name string, r io.Reader) error {
	if b.sink != nil {
		return fmt.Errorf("read %s: a stored digest has no single events: %w", name, ErrUnknownInput)
	}
	d, err := Decode(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := b.d.Merge(d); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// kind is what a file is.
type kind int

const (
	kindUnknown kind = iota
	kindEmpty
	kindZeros // mostly, in front of what can be seen
	kindGzip
	kindZstd
	kindBzip2
	kindUTF16LE
	kindUTF16BE
	kindUTF8 // text with a byte order mark
	kindSyslog
	kindProxySQL
	kindStored
	kindCapture
	kindSlowLog
	kindGeneralLog
)

// sniff tells what a file is from its beginning.
func sniff(head []byte) kind {
	if len(head) == 0 {
		return kindEmpty
	}
	if head[0] == 0 && len(bytes.TrimLeft(head, "\x00")) < len(head)/2 {
		return kindZeros
	}
	switch {
	case IsStored(head):
		return kindStored
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return kindGzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(head) > 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}):
		return kindZstd
	case bytes.HasPrefix(head, []byte("BZh")):
		return kindBzip2
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		return kindUTF8
	}
	if capture.IsCapture(head) {
		return kindCapture
	}
	if foreign(head) != "" {
		return kindUnknown
	}
	if k := sniffUTF16(head); k != kindUnknown {
		return k
	}
	return sniffText(head)
}

// otherPackers are those that are left to their own programs. What lz4 and lzop compress still holds lines of a log, which pass for one.
var otherPackers = []struct{ magic, name, unpack string }{
	{"\xfd7zXZ\x00", "xz", "xz -dc"},
	{"\x5d\x00\x00", "lzma", "xz -dc --format=lzma"},
	{"\x04\x22\x4d\x18", "lz4", "lz4 -dc"},
	{"\x02\x21\x4c\x18", "lz4", "lz4 -dc"},
	{"\x89LZO\x00", "lzop", "lzop -dc"},
	{"\x1f\x9d", "compress", "zcat"},
	{"\xff\x06\x00\x00sNaPpY", "snappy", "snzip -dc"},
	{"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x -so"},
}

// foreign names what is not a log of statements that can be read here, but is known well enough to say what to do.
func foreign(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xfebin")):
		return "a binary log of MySQL or MariaDB (read it with mysqlbinlog or mariadb-binlog; it holds changes only, without latencies)"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a zip file (unpack it first)"
	}
	for _, p := range otherPackers {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			return fmt.Sprintf("compressed with %s (%s FILE | stowage digest -)", p.name, p.unpack)
		}
	}
	postgres := 0
	for line := range bytes.Lines(head) {
		if isEventStart(line) || isGeneralLine(line) {
			return ""
		}
		if isPostgresLine(line) {
			postgres++
		}
	}
	if postgres > 0 {
		return "a PostgreSQL log (pgBadger reads those)"
	}
	return ""
}

// isPostgresLine knows "2026-01-02 03:04:05.678 UTC [99] user@db LOG:  duration: ..": a date first, and a level with two
// blanks behind its colon.
func isPostgresLine(line []byte) bool {
	if len(line) < 24 || line[4] != '-' || line[7] != '-' || line[10] != ' ' || line[13] != ':' {
		return false
	}
	for _, level := range []string{" LOG:  ", " ERROR:  ", " STATEMENT:  ", " FATAL:  ", " WARNING:  ", " DETAIL:  "} {
		if bytes.Contains(line[:min(len(line), 300)], []byte(level)) {
			return true
		}
	}
	return false
}

// surelyBare is how many lines of a log without prefixes are enough not to look for those.
const surelyBare = 8

// sniffText counts lines that only one kind of log has.
func sniffText(head []byte) kind {
	slow, general, syslog, proxy := 0, 0, 0, 0
	for line := range bytes.Lines(bytes.TrimLeft(head, "\x00")) {
		line = trimCR(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case isEventStart(line):
			slow++
		case isGeneralLine(line):
			general++
		case isProxyLine(line):
			proxy++
		case slow+general < surelyBare && wrappingOf(line) != nil:
			syslog++
		}
	}
	switch {
	case proxy > slow+general+syslog:
		return kindProxySQL
	case syslog > slow+general:
		return kindSyslog
	case general > slow:
		return kindGeneralLog
	case slow > 0 || isProbablyText(head):
		return kindSlowLog
	}
	return kindUnknown
}

// isProbablyText says whether bytes are text: hardly any control characters.
func isProbablyText(head []byte) bool {
	odd := 0
	for _, c := range head {
		if c < ' ' && !isBlank(c) {
			odd++
		}
	}
	return odd*20 <= len(head)
}

// sniffUTF16 knows a byte order mark, or text in which every other byte is zero.
func sniffUTF16(head []byte) kind {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return kindUTF16LE
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return kindUTF16BE
	}
	n := min(len(head), 512) &^ 1
	if n < 16 {
		return kindUnknown
	}
	even, odd := 0, 0
	for i := 0; i < n; i += 2 {
		if head[i] == 0 {
			even++
		}
		if head[i+1] == 0 {
			odd++
		}
	}
	switch {
	case odd > n/2*9/10 && even == 0:
		return kindUTF16LE
	case even > n/2*9/10 && odd == 0:
		return kindUTF16BE
	}
	return kindUnknown
}
