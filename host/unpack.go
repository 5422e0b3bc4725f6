package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"stowage/internal/safefile"
)

// mariadb-backup streams files in chunks, several files side by side, each in
// order:
//
//	8 bytes  "XBSTCK01"
//	1        flags; 1: whoever does not know the type may skip the chunk
//	1        type: 'P' a piece of a file, 'E' its end
//	4        length of the path, little-endian, and the path
//	all but 'E' go on with
//	8        length of the piece
//	8        where it belongs in the file
//	4        its CRC-32
//	...      the piece
const (
	chunkMagic     = "XBSTCK01"
	chunkHead      = len(chunkMagic) + 1 + 1 + 4
	chunkPieceHead = 8 + 8 + 4
	chunkIgnorable = 1
	chunkPiece     = 'P'
	chunkFileEnd   = 'E'
	chunkPathLimit = 512 // mbstream's
	// chunkPieceLimit is six times what mariadb-backup puts into a piece: its
	// sum comes with its head, and stands for nothing until the end is there.
	chunkPieceLimit = 64 << 20

	unpackBuffer = 256 << 10
	// forgetEvery is how much of a file is written before the kernel is asked to
	// begin with its way to the disk and not to keep it in memory.
	forgetEvery = 8 << 20
	holeSize    = 4096 // filesystems' blocks
)

// unpacker makes files of a stream. It writes below its directory and nowhere
// else, and never over a file that is there.
type unpacker struct {
	root  *os.Root
	in    *bufio.Reader
	owner *syscall.Credential // nil: us
	files map[string]*unpacked
}

// unpacked is a file whose end has not come yet.
type unpacked struct {
	*os.File
	at     int64 // where its next piece belongs
	kept   int64 // what the kernel may still hold
	sparse bool
}

func openUnpacker(dir string, from io.Reader, owner *syscall.Credential) (*unpacker, error) {
	in, err := safefile.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	root, err := in.Root()
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	return &unpacker{root: root, in: bufio.NewReaderSize(from, unpackBuffer), owner: owner, files: map[string]*unpacked{}}, nil
}

// run unpacks the whole stream. A file whose end is missing makes it an error.
func (u *unpacker) run(ctx context.Context) (err error) {
	defer func() {
		for _, f := range u.files {
			_ = f.Close() // half a file: there is an error already
		}
		err = errors.Join(err, u.root.Close())
	}()
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		more, err := u.chunk()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	for path := range u.files {
		return fmt.Errorf("%s has no end: %w", path, io.ErrUnexpectedEOF)
	}
	return nil
}

// chunk takes the next one; more is false where the stream ends.
func (u *unpacker) chunk() (more bool, err error) {
	var head [chunkHead]byte
	if _, err := io.ReadFull(u.in, head[:]); err != nil {
		if errors.Is(err, io.EOF) { // and not in the middle of a head
			return false, nil
		}
		return false, err
	}
	if string(head[:len(chunkMagic)]) != chunkMagic {
		return false, errors.New("this is no stream of mariadb-backup")
	}
	flags, kind := head[len(chunkMagic)], head[len(chunkMagic)+1]
	path, err := u.path(binary.LittleEndian.Uint32(head[chunkHead-4:]))
	if err != nil {
		return false, err
	}
	if kind == chunkFileEnd {
		return true, u.end(path)
	}
	var piece [chunkPieceHead]byte
	if _, err := io.ReadFull(u.in, piece[:]); err != nil {
		return false, cutShort(err)
	}
	length, at := binary.LittleEndian.Uint64(piece[:]), binary.LittleEndian.Uint64(piece[8:])
	if length > chunkPieceLimit {
		return false, fmt.Errorf("a piece of %d bytes of %s; no more than %d are ever announced", length, path, chunkPieceLimit)
	}
	var f *unpacked
	switch {
	case kind == chunkPiece:
		f, err = u.open(path)
	case flags&chunkIgnorable == 0:
		err = fmt.Errorf("a chunk of kind %q, which only a newer version of mbstream understands", kind)
	}
	if err == nil && f != nil && uint64(f.at) != at {
		err = fmt.Errorf("%s goes on at %d, and has %d bytes", path, at, f.at)
	}
	if err == nil {
		err = u.piece(f, int64(length), binary.LittleEndian.Uint32(piece[16:]))
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

func (u *unpacker) path(length uint32) (string, error) {
	if length == 0 || length >= chunkPathLimit {
		return "", fmt.Errorf("a path of %d bytes", length)
	}
	raw := make([]byte, length)
	if _, err := io.ReadFull(u.in, raw); err != nil {
		return "", cutShort(err)
	}
	path := filepath.Clean(string(raw))
	if !filepath.IsLocal(path) || path == "." || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("the path %q leads out of the data directory", raw)
	}
	return path, nil
}

// open is the file of that path: a new one, or one whose end has not come.
func (u *unpacker) open(path string) (*unpacked, error) {
	if f := u.files[path]; f != nil {
		return f, nil
	}
	if err := u.makeDirs(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := u.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o660)
	if err != nil {
		return nil, err
	}
	u.files[path] = &unpacked{File: f}
	if u.owner != nil {
		err = f.Chown(int(u.owner.Uid), int(u.owner.Gid))
	}
	return u.files[path], err
}

func (u *unpacker) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := u.makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	err := u.root.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil && u.owner != nil {
		err = u.chown(dir)
	}
	return err
}

// chown gives a directory to the servers' account through a descriptor: by its
// name it could be another thing by then.
func (u *unpacker) chown(dir string) error {
	f, err := u.root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chown(int(u.owner.Uid), int(u.owner.Gid)), f.Close())
}

// piece writes so many bytes to the end of a file; nil for nowhere. They are
// believed only when their sum is right: an error makes the copy worthless.
func (u *unpacker) piece(f *unpacked, length int64, want uint32) error {
	if f != nil && f.at == 0 && strings.HasSuffix(f.Name(), ".ibd") && length >= spaceFlagsEnd {
		head, err := u.in.Peek(spaceFlagsEnd)
		if err != nil {
			return cutShort(err)
		}
		f.sparse = isPageCompressed(head)
	}
	var sum uint32
	for length > 0 {
		if _, err := u.in.Peek(1); err != nil {
			return cutShort(err)
		}
		part, _ := u.in.Peek(int(min(length, int64(u.in.Buffered())))) // it is there
		sum = crc32.Update(sum, crc32.IEEETable, part)
		if f != nil {
			if err := f.add(part); err != nil {
				return err
			}
		}
		length -= int64(len(part))
		_, _ = u.in.Discard(len(part)) // it is there
	}
	if sum != want {
		return fmt.Errorf("a piece has the checksum %08x, and said %08x", sum, want)
	}
	return nil
}

// add writes what comes next.
func (f *unpacked) add(p []byte) error {
	begin := f.at
	f.at += int64(len(p))
	if f.kept += int64(len(p)); f.kept >= forgetEvery {
		defer f.forget()
	}
	if f.sparse {
		return f.addSparse(p, begin)
	}
	_, err := f.WriteAt(p, begin)
	return err
}

// addSparse leaves holes where whole blocks of the filesystem are zero: what
// page compression saves are such holes.
func (f *unpacked) addSparse(p []byte, at int64) error {
	var zero [holeSize]byte
	from := 0 // not yet written
	write := func(to int) error {
		if from == to {
			return nil
		}
		_, err := f.WriteAt(p[from:to], at+int64(from))
		return err
	}
	for i := 0; i < len(p); {
		n := min(len(p)-i, int(holeSize-(at+int64(i))%holeSize))
		if n == holeSize && bytes.Equal(p[i:i+n], zero[:]) {
			if err := write(i); err != nil {
				return err
			}
			from = i + n
		}
		i += n
	}
	return write(len(p))
}

// forget keeps a copy from driving what databases need out of the memory, as
// mbstream does.
func (f *unpacked) forget() {
	f.kept = 0
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// end closes a file; one of which nothing came is empty.
func (u *unpacker) end(path string) error {
	f, err := u.open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	delete(u.files, path)
	if f.sparse {
		err = f.Truncate(f.at) // it may end with a hole
	}
	f.forget()
	return errors.Join(err, f.Close())
}

// Where a tablespace's first page keeps its flags.
const (
	spaceFlags    = 38 + 16
	spaceFlagsEnd = spaceFlags + 4
)

// isPageCompressed reports whether a tablespace that begins so has compressed
// pages, whose rest is zeros. To be wrong here costs space or speed only.
func isPageCompressed(head []byte) bool {
	flags := binary.BigEndian.Uint32(head[spaceFlags:])
	if flags&(1<<4) != 0 { // innodb_checksum_algorithm=full_crc32: the algorithm's number
		return flags>>5&7 != 0
	}
	return flags&(1<<16) != 0
}

// cutShort never lets the end of a stream within a chunk be taken for its end.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
