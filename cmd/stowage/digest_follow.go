package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"stowage/digest"
	"stowage/farm"
)

// follow shows what is being added to a slow log, again and again until Ctrl-C. A log that is rotated or truncated is followed
// where it begins anew.
func (a *app) follow(ctx context.Context, path string, every time.Duration, f digestFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err == nil {
		_, err = file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return &farm.Error{Op: "follow", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give one slow log that is being written"}
	}
	defer func() { _ = file.Close() }()
	t := digest.NewTail(path, o)
	began := time.Now()
	for {
		if file, err = a.added(path, file, t); err != nil {
			return err
		}
		if err := a.followed(t, began, f); err != nil {
			return err
		}
		if wait(ctx, every) != nil {
			break
		}
	}
	if _, err = a.added(path, file, t); err == nil {
		err = t.Flush()
	}
	if err != nil || f.save == "" {
		return err
	}
	return a.saveDigest(f.save, t.Digest())
}

// added reads what was added, and goes on in the file that has the name now.
func (a *app) added(path string, file *os.File, t *digest.Tail) (*os.File, error) {
	for {
		buffer := make([]byte, 1<<20)
		n, err := file.Read(buffer)
		if n > 0 {
			if err := t.Add(buffer[:n]); err != nil {
				return file, &farm.Error{Op: "follow", Subject: path, Err: err}
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return file, &farm.Error{Op: "follow", Subject: path, Err: err}
		}
		break
	}
	at, err := file.Seek(0, io.SeekCurrent)
	mine, statErr := file.Stat()
	named, nameErr := os.Stat(path)
	switch {
	case err != nil || statErr != nil || nameErr != nil: // just being rotated
		return file, nil
	case os.SameFile(mine, named) && named.Size() < at: // truncated
		_, err = file.Seek(0, io.SeekStart)
		return file, err
	case os.SameFile(mine, named):
		return file, nil
	}
	next, err := os.Open(path)
	if err != nil {
		return file, nil // the next look will find it
	}
	_ = file.Close() // it was only read
	return next, nil
}

// followed draws the page: over the one before on a terminal, below it elsewhere.
func (a *app) followed(t *digest.Tail, began time.Time, f digestFlags) error {
	l := t.Digest().Listing()
	if f.order != "" {
		if err := l.OrderBy(f.order); err != nil {
			return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
		}
	}
	if f.anonymize {
		l.Anonymize()
	}
	return a.inOnePiece(func(w io.Writer) error {
		if file, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			fmt.Fprint(w, "\x1b[H\x1b[2J")
		}
		fmt.Fprintf(w, "%s, for %s; Ctrl-C ends it\n\n", time.Now().Format(time.TimeOnly), time.Since(began).Round(time.Second))
		return l.WriteRanking(w, a.textOptions(f.top))
	})
}
