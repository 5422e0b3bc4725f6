package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"stowage/internal/raced"
	"stowage/internal/turns"
)

type packing func(ctx context.Context, w io.Writer, level int, fill func(io.Writer) error) (int64, error)

// eachWay runs a test with the library and with the program.
func eachWay(t *testing.T, test func(t *testing.T, pack packing)) {
	t.Run("library", func(t *testing.T) { test(t, packByLibrary) })
	t.Run("program", func(t *testing.T) {
		program, err := exec.LookPath("zstd")
		if err != nil {
			t.Skip("NOT TESTED: zstd is not installed")
		}
		test(t, func(ctx context.Context, w io.Writer, level int, fill func(io.Writer) error) (int64, error) {
			return packByProgram(ctx, program, w, level, fill)
		})
	})
}

func pattern(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "row %d %x;", i, i*i*7919)
	}
	return b.Bytes()[:n]
}

func TestPackedIsReadByZstd(t *testing.T) {
	turns.One(t, 8)
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("NOT TESTED: zstd is not installed")
	}
	eachWay(t, func(t *testing.T, pack packing) {
		for _, size := range []int{1, frameSize - 1, frameSize, 3*frameSize + 5} {
			for _, level := range []int{1, 3, 19} {
				if level == 19 && size > 1 || level == 3 && raced.On {
					continue // takes seconds
				}
				want := pattern(size)
				var packed bytes.Buffer
				raw, err := pack(t.Context(), &packed, level, func(w io.Writer) error { _, err := w.Write(want); return err })
				if err != nil || raw != int64(size) {
					t.Fatalf("%d bytes: %d, %v", size, raw, err)
				}
				flipped := bytes.Clone(packed.Bytes())
				cmd := exec.Command(zstd, "-dc")
				cmd.Stdin = &packed
				if got, err := cmd.Output(); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes at level %d: zstd -dc gives %d, %v", size, level, len(got), err)
				}
				flipped[len(flipped)-2] ^= 1 // in the sum of the last frame
				cmd = exec.Command(zstd, "-t", "-q")
				cmd.Stdin = bytes.NewReader(flipped)
				if err := cmd.Run(); err == nil {
					t.Errorf("%d bytes at level %d: zstd -t finds nothing: the frames have no sums", size, level)
				}
			}
		}
	})
}

func TestPackingFails(t *testing.T) {
	full := func(after int) io.Writer {
		return writerFunc(func(p []byte) (int, error) {
			if after -= len(p); after < 0 {
				return 0, syscall.ENOSPC
			}
			return len(p), nil
		})
	}
	broken, gone := errors.New("the producer broke"), errors.New("somebody ended it")
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(i * i >> 3 * 2654435761 >> 7)
	}
	endless := func(w io.Writer) error {
		for {
			if _, err := w.Write(noise); err != nil {
				return fmt.Errorf("the producer: %w", err)
			}
		}
	}
	eachWay(t, func(t *testing.T, pack packing) {
		for _, after := range []int{0, 1, 100_000} {
			if _, err := pack(t.Context(), full(after), 1, endless); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("a full disk: %v", err)
			}
		}
		_, err := pack(t.Context(), full(0), 1, func(w io.Writer) error { _, err := w.Write(noise); return err })
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a disk that is full at the last byte: %v", err)
		}
		if _, err := pack(t.Context(), io.Discard, 1, func(w io.Writer) error { _, _ = w.Write(noise); return broken }); !errors.Is(err, broken) {
			t.Errorf("a producer that failed: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := pack(ctx, io.Discard, 1, endless); !errors.Is(err, gone) {
			t.Errorf("an end by ctx: %v", err)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// TestZstdIsKilled: what a dead zstd has written is no part.
func TestZstdIsKilled(t *testing.T) {
	turns.One(t, 8)
	program, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("NOT TESTED: zstd is not installed")
	}
	for _, last := range []bool{false, true} {
		_, err := packByProgram(t.Context(), program, io.Discard, 1, func(w io.Writer) error {
			for n := range 200 {
				if n == 100 {
					killChild(t, program)
				}
				if _, err := w.Write(pattern(100_000)); err != nil {
					return err
				}
				if n == 100 && last {
					return nil
				}
			}
			return nil
		})
		if err == nil {
			t.Errorf("zstd was killed, at the end %v, and nobody noticed", last)
		} else {
			t.Log(err)
		}
	}
}

// killChild kills the child of this process that runs a program.
func killChild(t *testing.T, program string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		exe, _ := os.Readlink(filepath.Dir(path) + "/exe")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) && filepath.Base(exe) == filepath.Base(program) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Error("there is no zstd to be killed")
}
