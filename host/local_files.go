package host

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"stowage/farm"
	"stowage/internal/safefile"
)

// FilesPart is the name of a part of a set that is an archive of tar: the data directory of a server that was shut down.
const FilesPart = "base.tar"

// CloneLog is the binary log of a server that only clones: it says nothing, and no copy has it.
const CloneLog = "stowage-clone"

// notSent are files of a data directory that belong to one server: its identity, keys that it made, what it notes of its buffers, and the options
// that were set at run time, which a clone does not bring; and what goes with each start.
var notSent = []string{"auto.cnf", "mysqld-auto.cnf", "*.pem", "ib_buffer_pool", "ibtmp1", "#innodb_temp", "#clone", CloneLog + ".*", RelayBase + ".*", "*.pid", "*.sock", "*.sock.lock"}

// holes marks a file in the archive of which not all is on the disk: it is unpacked with holes again.
const holes = "STOWAGE.holes"

// sendFiles writes the data directory of an instance that does not run, in the order of names.
func (l *Local) sendFiles(ctx context.Context, i Instance, w io.Writer) error {
	fail := func(err error) error {
		return &farm.Error{Op: "pack files", Subject: string(i.Name), Err: err}
	}
	pid, err := l.Running(ctx, i)
	if err == nil && pid != 0 {
		err = fmt.Errorf("%w: its server runs (pid %d)", farm.ErrRefused, pid)
	}
	if err != nil {
		return fail(err)
	}
	dir, err := safefile.OpenDir(i.Datadir)
	if err != nil {
		return fail(err)
	}
	root, err := dir.Root()
	if err = errors.Join(err, dir.Close()); err != nil {
		return fail(err)
	}
	defer root.Close()
	out := tar.NewWriter(w)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !strings.Contains(name, "/") && isOwn(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file", name)
		}
		return packFile(out, root, name)
	})
	return errOr(fail, errors.Join(err, out.Close()))
}

func isOwn(name string) bool {
	for _, pattern := range notSent {
		if is, _ := path.Match(pattern, name); is {
			return true
		}
	}
	return false
}

// packFile writes one file, or a directory.
func packFile(out *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: 0o640, Size: info.Size(), ModTime: info.ModTime(), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if info.IsDir() {
		h.Name, h.Mode, h.Size, h.Typeflag = name+"/", 0o750, 0, tar.TypeDir
		return out.WriteHeader(h)
	}
	if st, is := info.Sys().(*syscall.Stat_t); is && st.Blocks*512 < info.Size() {
		h.PAXRecords = map[string]string{holes: "1"}
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{f}, make([]byte, unpackBuffer))
	return err
}

// eachFile reads an archive to its end. Only directories and regular files with names of below are taken.
func eachFile(ctx context.Context, r io.Reader, take func(*tar.Header, io.Reader) error) (files int, err error) {
	in := tar.NewReader(r)
	for {
		if ctx.Err() != nil {
			return files, context.Cause(ctx)
		}
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // what fills the last block
			return files, err
		}
		if err != nil {
			return files, err
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir || !filepath.IsLocal(h.Name) {
			return files, fmt.Errorf("%q is neither a directory nor a regular file below the data directory", h.Name)
		}
		if h.Typeflag == tar.TypeReg {
			files++
		}
		if err := take(h, in); err != nil {
			return files, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// scanFiles reads an archive to its end: it is whole, and has the system tablespace.
func scanFiles(ctx context.Context, r io.Reader) (out Copied, err error) {
	has := false
	out.Files, err = eachFile(ctx, bufio.NewReaderSize(r, unpackBuffer), func(h *tar.Header, body io.Reader) error {
		has = has || h.Name == "mysql.ibd"
		_, err := io.Copy(io.Discard, body)
		return err
	})
	if err == nil && !has {
		err = errors.New("the copy has no mysql.ibd: it is not the data directory of a MySQL server, or it is not whole")
	}
	return out, err
}

// receiveFiles unpacks an archive into the data directory of an instance.
func (l *Local) receiveFiles(ctx context.Context, i Instance, r io.Reader) (Copied, error) {
	u, err := openUnpacker(i.Datadir, nil, l.credential)
	if err == nil {
		_, err = eachFile(ctx, bufio.NewReaderSize(r, unpackBuffer), u.file)
		err = errors.Join(err, u.root.Close())
	}
	if err != nil {
		return Copied{}, &farm.Error{Op: "unpack", Subject: string(i.Name), Err: err}
	}
	return Copied{}, nil
}

// file makes one file or directory of an archive.
func (u *unpacker) file(h *tar.Header, body io.Reader) error {
	name := filepath.Clean(h.Name)
	if h.Typeflag == tar.TypeDir {
		return u.makeDirs(name)
	}
	f, err := u.open(name)
	if err != nil {
		return err
	}
	f.sparse = h.PAXRecords[holes] != ""
	for buffer := make([]byte, unpackBuffer); ; { // whole buffers, so that blocks of zeros are seen as such
		n, err := io.ReadFull(body, buffer)
		if err := f.add(buffer[:n]); err != nil {
			return errors.Join(err, f.Close())
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && f.at == h.Size:
			return u.end(name)
		case err != nil:
			return errors.Join(err, f.Close())
		}
	}
}
