package host

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// piece and fileEnd are chunks as mariadb-backup writes them.
func piece(path string, at int, body []byte) []byte {
	out := append([]byte(chunkMagic), 0, chunkPiece)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(path)))
	out = append(out, path...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(body)))
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	return append(out, body...)
}

func fileEnd(path string) []byte {
	out := append([]byte(chunkMagic), 0, chunkFileEnd)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(path)))
	return append(out, path...)
}

func unpackInto(t testing.TB, dir string, from io.Reader) error {
	t.Helper()
	u, err := openUnpacker(dir, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	return u.run(t.Context())
}

// tree is every file below dir with its content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What mbstream packs, we unpack as mbstream does.
func TestUnpackAsMbstreamDoes(t *testing.T) {
	if _, err := exec.LookPath("mbstream"); err != nil {
		t.Skip("NOT TESTED: unpacking beside mbstream, which is not installed (mariadb-backup)")
	}
	dir := t.TempDir()
	was := map[string]int{"ibdata1": 12<<20 + 5, "shop/empty.frm": 0, "shop/one.MYD": 1, "other/t.ibd": 3 << 20, "aria_log_control": 52}
	args := []string{"-c"}
	for path, size := range was {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(rand.Uint32())
		}
		file := filepath.Join(dir, "packed", path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	pack := exec.Command("mbstream", args...)
	pack.Dir = filepath.Join(dir, "packed")
	stream, err := pack.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]io.Reader{"whole": bytes.NewReader(stream), "torn": iotest.HalfReader(bytes.NewReader(stream))} {
		to := filepath.Join(dir, name)
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unpackInto(t, to, from); err != nil {
			t.Fatal(err)
		}
		want, got := tree(t, pack.Dir), tree(t, to)
		if len(got) != len(was) {
			t.Errorf("%s: %d files, want %d", name, len(got), len(was))
		}
		for path, body := range want {
			if got[path] != body {
				t.Errorf("%s: %s is not what was packed", name, path)
			}
		}
	}
}

// Two files side by side, of which one ends after the other.
func pairOfFiles() []byte {
	return bytes.Join([][]byte{piece("a/x", 0, []byte("one ")), piece("y", 0, []byte("uno")), piece("./a/x", 4, []byte("two")), fileEnd("y"), fileEnd("a/x")}, nil)
}

// A stream that is cut or changed anywhere is no copy; where it is cut between
// two files of which both have ended, only the sender's word tells.
func TestUnpackRefusesWhatIsNotWhole(t *testing.T) {
	whole := pairOfFiles()
	dir := t.TempDir()
	if err := unpackInto(t, dir, bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir); got["/a/x"] != "one two" || got["/y"] != "uno" || len(got) != 2 {
		t.Fatalf("got %q", got)
	}
	for at := 1; at < len(whole); at++ {
		if err := unpackInto(t, t.TempDir(), bytes.NewReader(whole[:at])); err == nil {
			t.Errorf("cut at %d of %d and taken for whole", at, len(whole))
		}
	}
	body := len(piece("a/x", 0, nil)) // the first byte of the first piece
	for _, at := range []int{0, 9, body - 20, body - 12, body - 4, body} {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x40
		if err := unpackInto(t, t.TempDir(), bytes.NewReader(bad)); err == nil {
			t.Errorf("byte %d was changed and nothing noticed", at)
		}
	}
	if err := unpackInto(t, dir, bytes.NewReader(whole)); err == nil {
		t.Error("files that were there are written over")
	}
}

func TestUnpackStaysInItsDirectory(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../x", "/x", "a/../../x", "up/x", ".", "", "a\x00b", strings.Repeat("x", chunkPathLimit)} {
		stream := append(piece(path, 0, []byte("!")), fileEnd(path)...)
		if err := unpackInto(t, dir, bytes.NewReader(stream)); err == nil {
			t.Errorf("%q was written", path)
		}
	}
	if got := tree(t, top); len(got) != 0 {
		t.Errorf("there is %q", got)
	}
}

// Tablespaces with compressed pages keep their holes; all others are written
// whole, so that there is room for what they will hold.
func TestUnpackKeepsHolesOfCompressedPages(t *testing.T) {
	const pages = 64
	body := make([]byte, pages*16384)
	for i := 0; i < len(body); i += 16384 { // 5 KB of each page
		for j := i; j < i+5000; j++ {
			body[j] = byte(j)
		}
	}
	blocks := func(flags uint32) int64 {
		dir, in := t.TempDir(), bytes.Clone(body)
		binary.BigEndian.PutUint32(in[spaceFlags:], flags)
		cut := 3*16384 + 777
		stream := bytes.Join([][]byte{piece("d/t.ibd", 0, in[:cut]), piece("d/t.ibd", cut, in[cut:]), fileEnd("d/t.ibd")}, nil)
		if err := unpackInto(t, dir, bytes.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
		if tree(t, dir)["/d/t.ibd"] != string(in) {
			t.Errorf("flags %x: the file is not what was packed", flags)
		}
		f, err := os.OpenFile(filepath.Join(dir, "d/t.ibd"), os.O_RDWR, 0)
		if err == nil {
			err = f.Sync() // ext4 decides late
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return st.Sys().(*syscall.Stat_t).Blocks * 512
	}
	if plain := blocks(1<<4 | 5); plain < int64(len(body)) {
		t.Errorf("a tablespace without compression has %d of %d bytes", plain, len(body))
	}
	for _, flags := range []uint32{1 << 16, 1<<4 | 5 | 1<<5} {
		if got := blocks(flags); got > int64(len(body))*6/10 {
			t.Errorf("flags %x: %d of %d bytes are on the disk", flags, got, len(body))
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pairOfFiles())
	f.Add(fileEnd("../x"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = unpackInto(t, dir, bytes.NewReader(stream))
		if left, err := os.ReadDir(top); err != nil || len(left) != 1 {
			t.Errorf("it wrote outside: %v %v", left, err)
		}
	})
}
