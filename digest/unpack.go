package digest

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ReasonCut and ReasonDamaged are the Remarks on compressed input of which only a beginning could be unpacked. What is in
// front of it is counted like any other.
const (
	ReasonCut     = "the compressed file is cut short: the rest is missing"
	ReasonDamaged = "the compressed file is damaged: what follows cannot be unpacked"
)

// noteTrailing is the Remark on bytes behind a gzip file that are no gzip.
const noteTrailing = "bytes after the compressed data: not read"

// Unpacked is what a compressed or otherwise encoded file holds, up to where that ends, well or not. It must be closed.
type Unpacked struct {
	r       io.Reader
	n       int64
	reason  string // why it ended too early
	members *members
	zstd    *zstd.Decoder
	syslog  *syslogReader
}

// Unpack opens what is compressed with gzip, zstd or bzip2, text in UTF-16 or with a byte order mark, and logs in a syslog. It returns nil for
// everything else. What it gives may be packed again.
func Unpack(in *bufio.Reader) (*Unpacked, error) {
	head, _ := in.Peek(sniffSize) // whoever reads on meets the error
	return unpackKind(sniff(head), in)
}

func unpackKind(k kind, in *bufio.Reader) (*Unpacked, error) {
	switch k {
	case kindGzip:
		z, err := newMembers(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return &Unpacked{r: failing{io.ErrUnexpectedEOF}}, nil
		}
		return &Unpacked{r: z, members: z}, err
	case kindZstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		return &Unpacked{r: z, zstd: z}, err
	case kindBzip2:
		return &Unpacked{r: bzip2.NewReader(in)}, nil
	case kindUTF16LE, kindUTF16BE:
		return &Unpacked{r: &utf16Reader{r: in, big: k == kindUTF16BE}}, nil
	case kindSyslog:
		z := &syslogReader{in: in}
		return &Unpacked{r: z, syslog: z}, nil
	case kindUTF8:
		_, err := in.Discard(3)
		return &Unpacked{r: in}, err
	}
	return nil, nil
}

func (u *Unpacked) Read(p []byte) (int, error) {
	if u.reason != "" {
		return 0, io.EOF
	}
	n, err := u.r.Read(p)
	u.n += int64(n)
	var file *fs.PathError
	switch {
	case err == nil || err == io.EOF || errors.As(err, &file):
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		u.reason = ReasonCut
	default:
		u.reason = ReasonDamaged
	}
	if n > 0 {
		return n, nil
	}
	return 0, io.EOF
}

// Incomplete is ReasonCut or ReasonDamaged where only a beginning could be unpacked, else empty. It is known at the end.
func (u *Unpacked) Incomplete() string { return u.reason }

// Close frees what unpacking took.
func (u *Unpacked) Close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unpack reads what is packed.
func (b *Builder) unpack(name string, u *Unpacked, nested int) error {
	defer u.Close()
	if nested >= maxNested {
		return fmt.Errorf("read %s: compressed more than %d times", name, maxNested)
	}
	inputs := len(b.d.inputs)
	err := b.read(name, bufio.NewReaderSize(u, sniffSize), nested+1)
	if u.reason == "" {
		if n := len(b.d.inputs); u.syslog != nil && u.syslog.others > 0 && n > 0 {
			noteTimes(&b.d.inputs[n-1], noteOtherPrograms, u.syslog.others)
		}
		if n := len(b.d.inputs); err == nil && u.members != nil && u.members.trailing && n > 0 {
			b.d.inputs[n-1].note(noteTrailing, 0)
		}
		return err
	}
	if len(b.d.inputs) == inputs {
		b.d.inputs = append(b.d.inputs, input{name: name, kind: "empty"})
	}
	b.d.inputs[len(b.d.inputs)-1].skip(u.reason, u.n, 0)
	if errors.Is(err, ErrUnknownInput) {
		err = nil // too little of it was left to tell
	}
	return err
}

// members reads the members of a gzip file one after the other, as gzip does: padding of zero bytes (tapes, block devices)
// ends them, and so does anything else that is not gzip.
type members struct {
	in       *bufio.Reader
	z        *gzip.Reader
	trailing bool
}

func newMembers(in *bufio.Reader) (*members, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{in: in, z: z}, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && errors.Is(err, io.EOF) {
			return n, nil
		}
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

func (m *members) next() error {
	for {
		c, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if c == 0 {
			continue
		}
		if err := m.in.UnreadByte(); err != nil {
			return err
		}
		break
	}
	if head, _ := m.in.Peek(2); len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		m.trailing = true
		return io.EOF
	}
	if err := m.z.Reset(m.in); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	m.z.Multistream(false)
	return nil
}

// failing is a reader of nothing but an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// IsIncomplete says whether an input could only be unpacked in part.
func IsIncomplete(inputs []Input) bool {
	for _, in := range inputs {
		for _, s := range in.Skipped {
			if s.Reason == ReasonCut || s.Reason == ReasonDamaged {
				return true
			}
		}
	}
	return false
}
