package digest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func read(t *testing.T, o Options, content []byte) Report {
	t.Helper()
	b := New(o)
	if err := b.Read("input", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	return b.Digest().Report()
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t *testing.T, content []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(content, nil)
}

// The same log in every wrapping that occurs gives the same classes.
func TestReadKnowsContentNotNames(t *testing.T) {
	log := []byte(banner + logged(30, "SELECT a FROM t WHERE id=1") + logged(20, "COMMIT"))
	var stored bytes.Buffer
	if err := digestOf(t, log).Encode(&stored); err != nil {
		t.Fatal(err)
	}
	wide := func(order binary.AppendByteOrder, mark bool) []byte {
		var out []byte
		if mark {
			out = order.AppendUint16(out, 0xfeff)
		}
		for _, c := range utf16.Encode([]rune(string(log))) {
			out = order.AppendUint16(out, c)
		}
		return out
	}
	for name, content := range map[string][]byte{
		"plain":                 log,
		"gzip":                  gzipped(t, log),
		"zstd":                  zstandard(t, log),
		"gzip in zstd":          zstandard(t, gzipped(t, log)),
		"two gzips in a row":    append(gzipped(t, log[:200]), gzipped(t, log[200:])...),
		"UTF-8 with its mark":   append([]byte("\xef\xbb\xbf"), log...),
		"B13 UTF-16 LE":         wide(binary.LittleEndian, true),
		"B13 UTF-16 BE":         wide(binary.BigEndian, true),
		"B13 UTF-16 unmarked":   wide(binary.LittleEndian, false),
		"stored digest":         stored.Bytes(),
		"zeros of a truncation": append(make([]byte, 300), log...),
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, Options{}, content)
			want(t, r, "1 select a from t where id=?", "1 commit")
		})
	}
}

func TestReadRefusesWhatItDoesNotKnow(t *testing.T) {
	b := New(Options{})
	err := b.Read("picture", bytes.NewReader([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x01\x02\x03\x04\x05\x06")))
	if !errors.Is(err, ErrUnknownInput) || !strings.Contains(err.Error(), "picture") {
		t.Errorf("a picture: %v", err)
	}
	if r := b.Digest().Report(); len(r.Inputs) != 1 || len(r.Inputs[0].Skipped) != 1 {
		t.Errorf("a picture: inputs %+v", r.Inputs)
	}
	bomb := []byte(logged(1, "COMMIT"))
	for range maxNested + 1 {
		bomb = gzipped(t, bomb)
	}
	if err := New(Options{}).Read("bomb", bytes.NewReader(bomb)); err == nil {
		t.Error("compressed four times, and no error")
	}
	cut := gzipped(t, []byte(strings.Repeat(logged(1, "COMMIT"), 100)))
	b = New(Options{})
	if err := b.Read("cut.gz", bytes.NewReader(cut[:len(cut)-20])); err != nil {
		t.Error(err)
	} else if r := b.Digest().Report(); r.Events == 0 || !IsIncomplete(r.Inputs) {
		t.Errorf("a gzip file cut short: %d events, %+v", r.Events, r.Inputs)
	}
}

func TestGeneralLogConformance(t *testing.T) {
	for path, ref := range samples(t, "genlogs") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := read(t, Options{}, text)
			if r.Inputs[0].Type != "genlog" {
				t.Errorf("read as %s", r.Inputs[0].Type)
			}
			checkReference(t, r, ref)
		})
	}
}

const general = banner + "261121 21:45:44\t     3 Connect\troot@localhost on  using Socket\n" +
	"\t\t     3 Init DB\tshop\n" +
	"\t\t     3 Query\tSELECT a\nFROM t\nWHERE b='x'\n" +
	"261121 21:45:45\t     4 Connect\tapp@web1 on money\n" +
	"\t\t     4 Query\tSELECT 'x\n\t\t     3 Query\tDROP TABLE money\n'\n" +
	"\t\t     4 Execute\tSELECT * FROM t WHERE id=5\n" +
	"\t\t     4 Query\tselec broken 'abc\n" +
	"\t\t     4 Query\tSELECT 12 Monkeys\n  12 Monkeys\n" +
	"\t\t     4 Quit\t\n" +
	"\t\t     5 Connect\tAccess denied for user x\n"

func TestGeneralLog(t *testing.T) {
	r := read(t, Options{}, []byte(general))
	want(t, r, "2 administrator command: Connect", "1 administrator command: Access denied for user x\n", "1 administrator command: Execute", "1 administrator command: Init DB",
		"1 administrator command: Quit", "1 selec broken 'abc", "1 select ?", "1 select ? monkeys ? monkeys", "1 select a from t where b=?")
	if n := len(r.Inputs[0].Notes); n != 2 {
		t.Errorf("notes %+v", r.Inputs[0].Notes)
	}
	for _, c := range r.Classes {
		switch c.Fingerprint {
		case "administrator command: Access denied for user x\n":
			if c.ID32 != "8F237256EC4DAD715EF2FECB30F8211B" {
				t.Errorf("ID %s of a refused connection, the reference has another", c.ID32)
			}
		case "select a from t where b=?":
			if fmt.Sprint(c.DBs, c.Users, c.Tables) != "[{shop 1}] [{root 1}] [t]" || c.Untimed != 1 {
				t.Errorf("class %+v", c)
			}
		case "select ?":
			if fmt.Sprint(c.DBs, c.Users, c.Hosts) != "[{money 1}] [{app 1}] [{web1 1}]" || c.FirstSeen.Second() != 45 {
				t.Errorf("class %+v", c)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(general))
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("2016-06-07T19:07:02.565999Z    6 Query\tSELECT 1 'x\n 7 Query 1\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		b := New(Options{})
		if err := b.Read("input", bytes.NewReader(content)); err != nil {
			return
		}
		d := b.Digest()
		for _, in := range d.inputs {
			if in.kind == "genlog" && in.bytes != int64(len(content)) && !bytes.HasPrefix(content, []byte("\xef\xbb\xbf")) &&
				sniffUTF16(content) == kindUnknown && content[0] != 0x1f {
				t.Errorf("%d bytes of %d accounted for", in.bytes, len(content))
			}
		}
		d.Report()
	})
}
