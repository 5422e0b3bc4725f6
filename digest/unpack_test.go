package digest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// manyEvents is a log that compresses badly enough to be cut anywhere.
func manyEvents(n int) []byte {
	var b strings.Builder
	b.WriteString(banner)
	for i := range n {
		b.WriteString(logged(30+i%1000, "SELECT a FROM t WHERE id="+strings.Repeat("7", i%40+1)))
	}
	return []byte(b.String())
}

func bzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	c := exec.Command("bzip2", "-c")
	c.Stdin = bytes.NewReader(content)
	out, err := c.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no bzip2 here")
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A download that broke off ended with exit code 0 and a tenth of the events.
func TestCutCompressedLogIsAFinding(t *testing.T) {
	log := manyEvents(3000)
	all := read(t, Options{}, log).Events
	for name, whole := range map[string][]byte{"gzip": gzipped(t, log), "zstd": zstandard(t, log), "bzip2": bzipped(t, log)} {
		for _, workers := range []int{1, 2} {
			for _, share := range []float64{0.01, 0.5, 0.9, 0.9999} {
				r := read(t, Options{Workers: workers}, whole[:int(share*float64(len(whole)))])
				if !IsIncomplete(r.Inputs) || r.Inputs[len(r.Inputs)-1].Skipped[0].Count != 1 {
					t.Errorf("%s cut at %v: %+v", name, share, r.Inputs)
				}
				if share > 0.8 && name == "gzip" && r.Events < all/2 || share > 0.8 && name == "zstd" && r.Events == 0 || r.Events > all {
					t.Errorf("%s cut at %v: %d of %d events", name, share, r.Events, all)
				}
			}
			if r := read(t, Options{Workers: workers}, whole); r.Events != all || IsIncomplete(r.Inputs) {
				t.Errorf("%s whole: %d of %d events, %+v", name, r.Events, all, r.Inputs)
			}
			damaged := bytes.Clone(whole)
			damaged[len(damaged)/2] ^= 0x55
			if r := read(t, Options{Workers: workers}, damaged); !IsIncomplete(r.Inputs) {
				t.Errorf("%s damaged: %+v", name, r.Inputs)
			}
		}
	}
}

// Tapes and block devices pad with zero bytes; gzip reads over them.
func TestGzipWithPaddingIsRead(t *testing.T) {
	log := manyEvents(2000)
	all := read(t, Options{}, log).Events
	padded := append(gzipped(t, log), make([]byte, 5000)...)
	if r := read(t, Options{}, padded); r.Events != all || IsIncomplete(r.Inputs) || len(r.Inputs[0].Notes) != 0 {
		t.Errorf("%d of %d events, %+v", r.Events, all, r.Inputs)
	}
	two := append(bytes.Clone(padded), gzipped(t, log)...)
	if r := read(t, Options{}, two); r.Events != 2*all {
		t.Errorf("padding between members: %d of %d events", r.Events, 2*all)
	}
	if r := read(t, Options{}, append(padded, "rubbish"...)); r.Events != all || len(r.Inputs[0].Notes) != 1 {
		t.Errorf("rubbish behind: %d of %d events, %+v", r.Events, all, r.Inputs)
	}
}

// A log of another program was read as a slow log without events.
func TestOtherLogsAreNamed(t *testing.T) {
	for content, want := range map[string]string{
		"2026-01-02 03:04:05.678 UTC [99] app@shop LOG:  duration: 12.3 ms  statement: select 1\n": "PostgreSQL",
		"\xfebin\x00\x01\x02\x03rest": "mysqlbinlog",
		"\xfd7zXZ\x00\x00\x04":        "xz -dc",
		"\x04\x22\x4d\x18\x64@\xa7\x00# Time: 2026-01-02T03:04:05.678901Z\n# User@Host: a[a] @ h []\n\x12": "lz4 -dc", // its lines passed for a log of one event
		"\x1f\x9d\x90\x23\x40":         "zcat",
		"\x5d\x00\x00\x80\x00\xff\xff": "xz -dc --format=lzma",
	} {
		err := New(Options{}).Read("input", strings.NewReader(content))
		if !errors.Is(err, ErrUnknownInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := New(Options{Workers: 2}).Read("input", f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q as a file: %v", content, err)
		}
	}
}
