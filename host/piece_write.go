package host

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"stowage/binlog"
)

// A piece is an archive of tar:
//
//	0001-s17-9f31c2aa/log.json           as in the archive
//	0001-s17-9f31c2aa/bl.000001+0        the head of the file, when the piece begins behind it
//	0001-s17-9f31c2aa/bl.000001+98273    what is in the file from that offset on
//	0001-s17-9f31c2aa/bl.000001.marks    the lines of its marks that belong to the stretch
//	0001-s17-9f31c2aa/bl.000002+0        and so on
//	piece.json                           what the tags say: last, so a piece without it is not whole
const pieceFile = "piece.json"

// writePiece writes a stretch of a log, of which every checksum was looked at and both states compared.
func (g *aLog) writePiece(ctx context.Context, p Piece, w io.Writer) error {
	out := tar.NewWriter(w)
	about, err := json.MarshalIndent(g.about, "", "  ")
	if err == nil {
		err = member(out, g.name+"/"+logFile, append(about, '\n'))
	}
	if err != nil {
		return err
	}
	first, last := g.file(p.From.File), g.file(p.To.File)
	if first < 0 || last < first {
		return fmt.Errorf("%w: %s to %s", ErrNotArchived, p.From, p.To)
	}
	for n := first; n <= last; n++ {
		if err := g.writeFile(ctx, out, p, &g.files[n]); err != nil {
			return fmt.Errorf("%s: %w", g.files[n].name, err)
		}
	}
	end, err := json.Marshal(p)
	if err == nil {
		err = member(out, pieceFile, end)
	}
	if err != nil {
		return err
	}
	return out.Close()
}

func member(out *tar.Writer, name string, content []byte) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o640, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := out.Write(content)
	return err
}

// writeFile writes what a piece has of one file.
func (g *aLog) writeFile(ctx context.Context, out *tar.Writer, p Piece, f *archived) error {
	in, err := g.dir.OpenFile(f.name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	from := known{At: f.marks[0].At, State: f.head.Start.String()}
	if f.name == p.From.File && p.From.Offset > 0 {
		from = p.begins()
	}
	to := f.end()
	if f.name == p.To.File {
		to = p.ends()
	}
	if err := f.isRight(ctx, in, from, to); err != nil {
		return err
	}
	if from.Offset > 0 {
		head, err := headOf(in, f.head)
		if err == nil {
			err = member(out, fmt.Sprintf("%s/%s+0", g.name, f.name), head)
		}
		if err != nil {
			return err
		}
	}
	size := to.Offset - from.Offset
	if err := out.WriteHeader(&tar.Header{Name: fmt.Sprintf("%s/%s+%d", g.name, f.name, from.Offset), Mode: 0o640, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{out}, io.NewSectionReader(in, from.Offset, size), make([]byte, unpackBuffer)); err != nil {
		return err
	}
	lines, err := text(f.marksIn(from, to))
	if err != nil {
		return err
	}
	return member(out, g.name+"/"+f.name+marksSuffix, lines)
}

// isRight looks at every checksum between two places, and compares the states.
func (f *archived) isRight(ctx context.Context, in io.ReaderAt, from, to known) error {
	state, err := binlog.ParseState(from.State)
	if err != nil {
		return err
	}
	scan := f.head.Scan(io.NewSectionReader(in, 0, to.Offset), max(from.Offset, f.head.End), state)
	for scan.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := scan.Err(); err != nil {
		return err
	}
	if at := scan.Whole(); at != to.Offset || scan.State().String() != mustState(to.State).String() {
		return &binlog.Fault{At: at, Whole: at, Why: fmt.Sprintf("state %s, and %s was expected at %d,", orNothing(scan.State().String()), orNothing(to.State), to.Offset)}
	}
	return nil
}

// marksIn are the marks of a stretch, with one at each of its ends.
func (f *archived) marksIn(from, to known) []known {
	if from.Offset < f.head.End {
		from = f.marks[0]
	}
	out := []known{from}
	for _, k := range f.all() {
		if k.Offset > from.Offset && k.Offset < to.Offset || k.Offset == to.Offset && k.Closed != "" {
			out = append(out, k)
		}
	}
	if last := out[len(out)-1]; last.Offset < to.Offset {
		out = append(out, to)
	}
	return out
}

// wholePiece reads a piece to its end: it is the one that was asked for, and nothing is missing.
func wholePiece(r io.Reader, want Piece) error {
	in := tar.NewReader(r)
	var bytesOf int64
	for {
		h, err := in.Next()
		if err != nil {
			return fmt.Errorf("the piece has no end: %w", err)
		}
		if h.Name != pieceFile {
			name := bytes.TrimPrefix([]byte(h.Name), []byte(want.log()+"/"))
			if file, offset, ok := portionName(string(name)); ok && !(offset == 0 && file == want.From.File && want.From.Offset > 0) {
				bytesOf += h.Size
			}
			if _, err := io.Copy(io.Discard, in); err != nil {
				return err
			}
			continue
		}
		var is Piece
		raw, err := io.ReadAll(io.LimitReader(in, smallFile))
		if err == nil {
			err = json.Unmarshal(raw, &is)
		}
		if err != nil {
			return err
		}
		if is.From != want.From || is.To != want.To || is.Has != want.Has || bytesOf != want.Bytes {
			return fmt.Errorf("it is the piece from %s to %s, with %d bytes; the one from %s to %s with %d was wanted", is.From, is.To, bytesOf, want.From, want.To, want.Bytes)
		}
		_, err = in.Next()
		if err != io.EOF { //nolint:errorlint // archive/tar returns it bare
			return fmt.Errorf("something follows %s: %v", pieceFile, err)
		}
		return nil
	}
}
