package safefile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A FIFO is read to its end, and whoever waits for its writer, or for more, is let go when the context ends.
func TestAStreamIsReadUntilTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	in, err := OpenStream(t.Context(), path)
	must(t, err)
	go func() { _ = os.WriteFile(path, []byte("all of it"), 0) }()
	if raw, err := io.ReadAll(in); string(raw) != "all of it" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
	must(t, in.Close())

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	in, err = OpenStream(ctx, path)
	must(t, err)
	defer in.Close()
	if _, err := io.ReadAll(in); !errors.Is(err, context.Canceled) {
		t.Errorf("without a writer: %v", err)
	}

	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	if in, err := OpenStream(ctx, file); err != nil {
		t.Error(err)
	} else if _, is := in.(*os.File); !is {
		t.Errorf("a regular file comes as %T", in)
	} else {
		in.Close()
	}
	if _, err := OpenStream(ctx, filepath.Dir(file)); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := OpenStream(ctx, file+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}
