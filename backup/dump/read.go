package dump

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"stowage/internal/nested"
)

// File is one text of a stream.
type File struct {
	Stage    Stage
	Database Database // the zero value: it is of none
	Name     string
	Size     int64 // in bytes
}

// smallFile is more than the first and the last file have: a farm can hold 100,000 shards.
const smallFile = 64 << 20

// Read takes a stream apart. each gets the files one after the other, and may read as much of each as it needs. The error wraps io.ErrUnexpectedEOF where the stream
// has no end.
func Read(r io.Reader, each func(Head, File, io.Reader) error) (Head, End, error) {
	var head Head
	in := tar.NewReader(r)
	if err := document(in, headFile, &head); err != nil {
		return head, End{}, err
	}
	if head.FormatVersion != Format {
		return head, End{}, fmt.Errorf("it has format_version %d, and this program reads %d", head.FormatVersion, Format)
	}
	files := 0
	for last := Stage(0); ; files++ {
		h, err := in.Next()
		if err != nil {
			return head, End{}, cut(err)
		}
		if h.Name == endFile {
			break
		}
		f, err := head.file(h, last)
		if err != nil {
			return head, End{}, err
		}
		last = f.Stage
		if err := each(head, f, in); err != nil {
			return head, End{}, cut(err)
		}
	}
	var end End
	if err := decode(in, endFile, &end); err != nil {
		return head, end, err
	}
	if end.Files != files {
		return head, end, fmt.Errorf("it has %d files, but had %d when it was written", files, end.Files)
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return head, end, fmt.Errorf("data follows its end: %w", errors.Join(err))
	}
	_, err := io.Copy(io.Discard, r) // who wrote it is heard to the end
	return head, end, err
}

// file says what a file is.
func (h Head) file(t *tar.Header, last Stage) (File, error) {
	f := File{Name: t.Name, Size: t.Size}
	stage, dir, ok := stageOf(t.Name)
	if !ok || t.Typeflag != tar.TypeReg || t.Name != path.Clean(t.Name) || stage < last {
		return f, fmt.Errorf("a dump cannot have the file %.200q here", t.Name)
	}
	f.Stage = stage
	if stage == Accounts {
		return f, nil
	}
	n := slices.IndexFunc(h.Databases, func(d Database) bool { return d.Dir == dir })
	if n < 0 {
		return f, fmt.Errorf("the file %.200q is of no database that %s names", t.Name, headFile)
	}
	f.Database = h.Databases[n]
	return f, nil
}

func document(in *tar.Reader, name string, into any) error {
	h, err := in.Next()
	if err != nil {
		return cut(err)
	}
	if h.Name != name {
		return fmt.Errorf("it is not a dump: it begins with %.200q instead of %s", h.Name, name)
	}
	return decode(in, name, into)
}

func decode(in io.Reader, name string, into any) error {
	raw, err := nested.Read(in, smallFile)
	if err == nil {
		err = nested.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, cut(err))
	}
	return nil
}

// cut: a stream that ends before its last file was cut.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
