package vault

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/keeper"
)

// Tags of a piece, beside its labels. Its path is unlike that of all others: forget with rules groups by host and paths, and so takes nothing of
// a journal away.
const (
	tagJournal = "journal="
	tagBytes   = "bytes="
	tagSum     = "sha256="
)

const (
	// journalPatience is how long a piece waits for a lock of somebody else's: the next one comes soon, and brings both.
	journalPatience = 30 * time.Second
	// listPatience is how long the list of pieces may take. restic itself tries for a quarter of an hour.
	listPatience = 2 * time.Minute
	// forgottenAtOnce keeps the arguments of one restic short.
	forgottenAtOnce = 256
)

var _ Journal = (*Restic)(nil)

// Append implements Journal. restic reads from a file that has all of it: however this program and restic end, there is never a part of it.
func (r *Restic) Append(ctx context.Context, journal, name string, labels map[string]string, whole *os.File) error {
	return failed("keep", journal+"/"+name, r.place.Subject(), r.remedied(r.appendPiece(ctx, journal, name, labels, whole)))
}

func (r *Restic) appendPiece(ctx context.Context, journal, name string, labels map[string]string, whole *os.File) error {
	if err := checkNames(journal, name); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.NewSectionReader(whole, 0, 1<<62))
	if err != nil {
		return err
	}
	if n == 0 {
		return errEmpty
	}
	tags := []string{tagJournal + journal, tagBytes + strconv.FormatInt(n, 10), fmt.Sprintf("%s%x", tagSum, sum.Sum(nil))}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		tag := key + "=" + labels[key]
		if !isWord(key) || strings.ContainsAny(tag, ",\n\x00") || slices.ContainsFunc(tags, func(t string) bool { return strings.HasPrefix(t, key+"=") }) {
			return fmt.Errorf("%w: %.200q cannot be a tag", farm.ErrInput, tag)
		}
		tags = append(tags, tag)
	}
	return r.patient(journalPatience).putFile(ctx, pathOf(journal, name), whole, tags...)
}

// patient is the same repository, with another patience for locks of others; never a longer one.
func (r *Restic) patient(d time.Duration) *Restic {
	out := r.with()
	out.patience = min(r.patience, d)
	return out
}

// putFile keeps a file that is whole, from its beginning.
func (r *Restic) putFile(ctx context.Context, path string, f *os.File, tags ...string) error {
	return r.unlocked(ctx, func() error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var said lastWords
		cmd := r.command(ctx, &said, backupArgs(path, tags)...)
		cmd.Stdin = f
		return r.told(ctx, keeper.RunGently(cmd), &said)
	})
}

// Pieces implements Journal.
func (r *Restic) Pieces(ctx context.Context, journal string) ([]Piece, error) {
	all, err := r.pieces(ctx, journal)
	return all, failed("list", journal, r.place.Subject(), r.remedied(err))
}

func (r *Restic) pieces(ctx context.Context, journal string) ([]Piece, error) {
	if err := checkSet(journal); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	all, err := r.with("--no-lock").snapshots(within, tagJournal+journal)
	switch {
	case errors.Is(err, errAbsent):
		return nil, &farm.Error{Op: "open repository", Subject: r.place.Subject(), Err: err, Hint: "is its file system mounted? A repository that does not exist yet is made by the first backup: stowage backup run"}
	case within.Err() != nil && ctx.Err() == nil:
		return nil, &farm.Error{Op: "open repository", Subject: r.place.Subject(), Err: fmt.Errorf("it did not answer within %s", listPatience), Hint: serverHint}
	case err != nil && !errors.Is(err, ErrDamaged):
		return nil, err
	}
	var out []Piece
	for _, s := range all {
		p := Piece{ID: s.ID, At: s.Time, Labels: map[string]string{}, SHA256: s.tag(tagSum)}
		n, bad := strconv.ParseInt(s.tag(tagBytes), 10, 64)
		if bad != nil || len(s.Paths) != 1 || !isSum(p.SHA256) {
			continue // no piece of ours: somebody has tagged it
		}
		p.Bytes, p.Path = n, s.Paths[0]
		for _, t := range s.Tags {
			if key, value, ok := strings.Cut(t, "="); ok {
				p.Labels[key] = value
			}
		}
		out = append(out, p)
	}
	return out, err
}

// Read implements Journal.
func (r *Restic) Read(ctx context.Context, journal string, p Piece, w io.Writer) error {
	err := r.dumped(ctx, p.ID, p.Path, strings.TrimPrefix(p.Path, "/"), Part{Raw: p.Bytes, SHA256: p.SHA256}, w)
	return failed("read", journal, r.place.Subject(), r.remedied(err))
}

// Uncached implements Journal.
func (r *Restic) Uncached() Journal { return r.with("--no-cache") }

// Forget implements Journal.
func (r *Restic) Forget(ctx context.Context, journal string, all []Piece, wait bool) error {
	if !wait {
		r = r.patient(0)
	}
	for some := range slices.Chunk(all, forgottenAtOnce) {
		which := make([]snapshot, len(some))
		for n, p := range some {
			which[n].ID = p.ID
		}
		if err := r.forget(ctx, tagJournal+journal, which); err != nil {
			return failed("forget", journal, r.place.Subject(), r.remedied(err))
		}
	}
	return nil
}
