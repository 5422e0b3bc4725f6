package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"stowage/internal/safefile"
)

const (
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
	in    *chunks
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
	return &unpacker{root: root, in: &chunks{bufio.NewReaderSize(from, unpackBuffer)}, owner: owner, files: map[string]*unpacked{}}, nil
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
	c, more, err := u.in.next()
	if err != nil || !more {
		return false, err
	}
	if c.kind == chunkFileEnd {
		return true, u.end(c.path)
	}
	var f *unpacked
	if c.kind == chunkPiece {
		f, err = u.open(c.path)
	}
	if err == nil && f != nil && uint64(f.at) != c.at {
		err = fmt.Errorf("%s goes on at %d, and has %d bytes", c.path, c.at, f.at)
	}
	if err == nil {
		err = u.piece(f, c)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", c.path, err)
	}
	return true, nil
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

// piece writes the bytes of a chunk to the end of a file; nil for nowhere.
func (u *unpacker) piece(f *unpacked, c chunk) error {
	if f == nil {
		return u.in.body(c, func([]byte) error { return nil })
	}
	if f.at == 0 && strings.HasSuffix(f.Name(), ".ibd") && c.length >= spaceFlagsEnd {
		head, err := u.in.Peek(spaceFlagsEnd)
		if err != nil {
			return cutShort(err)
		}
		f.sparse = isPageCompressed(head)
	}
	return u.in.body(c, f.add)
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
