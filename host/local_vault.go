package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/backup/dump"
	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/vault"
)

// Vault implements Host.
func (l *Local) Vault(p vault.Place) vault.Vault {
	v, err := vault.Open(p)
	if err != nil {
		return vault.Failing(err)
	}
	return v
}

// store brings a stream into a vault, and says what is in it.
func (l *Local) store(ctx context.Context, to Stored, r io.Reader) (Copied, error) {
	var out Copied
	part, err := l.Vault(to.Place).Put(ctx, to.Set, to.Name, func(w io.Writer) error {
		look := scan
		switch to.Name {
		case dump.Part:
			look = scanDump
		case FilesPart:
			look = scanFiles
		}
		var err error
		out, err = look(ctx, io.TeeReader(r, w))
		return err
	})
	if err != nil {
		return Copied{}, &farm.Error{Op: "keep copy", Subject: to.Set, Err: err, Hint: farm.Hint(err)}
	}
	out.Part = part
	return out, nil
}

// checkpointFiles are the names that a copy's LSNs have, by version.
var checkpointFiles = []string{"xtrabackup_checkpoints", "mariadb_backup_checkpoints"}

// scan reads a stream to its end: the sum of each piece is compared, each file has an end, and the two small files that say where the copy stands are read.
func scan(ctx context.Context, r io.Reader) (Copied, error) {
	in := &chunks{bufio.NewReaderSize(r, unpackBuffer)}
	open, small := map[string]bool{}, map[string][]byte{}
	var out Copied
	for {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		c, more, err := in.next()
		if err != nil {
			return out, err
		}
		if !more {
			break
		}
		if c.kind == chunkFileEnd {
			delete(open, c.path)
			out.Files++
			continue
		}
		kept := slices.Contains(placeFiles, c.path) || slices.Contains(checkpointFiles, c.path)
		open[c.path] = open[c.path] || c.kind == chunkPiece
		err = in.body(c, func(p []byte) error {
			if kept && len(small[c.path])+len(p) <= placeFile {
				small[c.path] = append(small[c.path], p...)
			}
			return nil
		})
		if err != nil {
			return out, fmt.Errorf("%s: %w", c.path, err)
		}
	}
	for path := range open {
		return out, fmt.Errorf("%s has no end: %w", path, io.ErrUnexpectedEOF)
	}
	return out, out.read(small)
}

// read takes what the small files of a copy say. A server without a binary log has no place in one.
func (c *Copied) read(small map[string][]byte) (err error) {
	for _, name := range placeFiles {
		if raw, has := small[name]; has {
			if c.Seed, err = parseSeedPoint(name, raw); err != nil {
				return err
			}
		}
	}
	for _, name := range checkpointFiles {
		raw, has := small[name]
		if !has {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			key, value, _ := strings.Cut(line, "=")
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			switch strings.TrimSpace(key) {
			case "from_lsn":
				c.FromLSN = n
			case "to_lsn":
				if err != nil {
					return fmt.Errorf("%s says %q", name, line)
				}
				c.ToLSN = n
			}
		}
		return nil
	}
	return errors.New("the copy does not say up to which LSN it goes: mariadb-backup did not make it, or it is not whole")
}

// deltaDir is where the files of an incremental copy wait until they are applied.
func deltaDir(i Instance) string { return filepath.Join(i.Dir(), "delta") }

func hasDelta(i Instance) bool {
	info, err := os.Lstat(deltaDir(i))
	return err == nil && info.IsDir()
}

// makeDelta makes that directory anew.
func (l *Local) makeDelta(i Instance) (string, error) {
	if err := removeDelta(i); err != nil {
		return "", err
	}
	dir, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return "", err
	}
	defer dir.Close()
	return deltaDir(i), l.makePart(dir, filepath.Base(deltaDir(i)))
}

func removeDelta(i Instance) error {
	dir, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return err
	}
	return errors.Join(dir.RemoveAll(filepath.Base(deltaDir(i))), dir.Close())
}
