package vault

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"
)

// listersAtOnce is how many manifests are read at once: each needs a restic, which takes a second to open a repository.
const listersAtOnce = 4

// Sets reads each manifest once, with a restic of its own. Those that can be read are returned also when another cannot.
func (r *Restic) Sets(ctx context.Context, prefix string) ([]Manifest, error) {
	sets, err := r.sets(ctx, prefix)
	return sets, failed("list", r.place.Subject(), r.place.Subject(), r.remedied(err))
}

func (r *Restic) sets(ctx context.Context, prefix string) ([]Manifest, error) {
	if prefix != "" {
		if err := checkSet(prefix); err != nil {
			return nil, err
		}
	}
	all, err := r.snapshots(ctx, tagManifest)
	if errors.Is(err, errAbsent) {
		return nil, r.mayInitialise() // a file system that is not mounted has no sets either
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	var first []snapshot
	for _, s := range all {
		set := s.tag(tagSet)
		if !isBelow(set, prefix) || slices.ContainsFunc(first, func(f snapshot) bool { return f.tag(tagSet) == set }) {
			continue
		}
		first = append(first, s)
	}
	found, faults := make([]Manifest, len(first)), make([]error, len(first))
	var wait sync.WaitGroup
	slots := make(chan struct{}, listersAtOnce)
	for i, s := range first {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i], faults[i] = r.manifest(ctx, s.tag(tagSet), s.ID)
		})
	}
	wait.Wait()
	var sets []Manifest
	for i := range first {
		if faults[i] == nil {
			sets = append(sets, found[i])
		}
	}
	slices.SortFunc(sets, func(a, b Manifest) int { return strings.Compare(a.Set, b.Set) })
	return sets, errors.Join(append(faults, err)...)
}

func (r *Restic) Get(ctx context.Context, set, name string, w io.Writer) error {
	return failed("read", set+"/"+name, r.place.Subject(), r.remedied(r.get(ctx, set, name, w)))
}

func (r *Restic) get(ctx context.Context, set, name string, w io.Writer) error {
	if err := checkNames(set, name); err != nil {
		return err
	}
	all, m, err := r.whole(ctx, set)
	if err != nil {
		return err
	}
	p, ok := m.Part(name)
	if !ok {
		return none(set+"/"+name, "the set has no such part")
	}
	return r.dump(ctx, all, set, p, w)
}

// whole are the snapshots of a set that is whole, and its manifest. A snapshot that is damaged matters only when something is missing.
func (r *Restic) whole(ctx context.Context, set string) ([]snapshot, Manifest, error) {
	all, err := r.snapshots(ctx, tagSet+set)
	if errors.Is(err, errAbsent) {
		return nil, Manifest{}, errors.Join(none(set, err.Error()), r.mayInitialise())
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, Manifest{}, err
	}
	m, missing := r.manifestOf(ctx, set, all)
	if missing != nil {
		return nil, m, errors.Join(err, missing)
	}
	for _, p := range m.Parts {
		if _, ok := find(all, p); !ok && err != nil {
			return nil, m, err
		}
	}
	return all, m, nil
}

// Check reads all snapshots of a set from the repository itself, not what restic has kept of it on this machine, and names each that is damaged.
func (r *Restic) Check(ctx context.Context, set string) error {
	return failed("check", set, r.place.Subject(), r.remedied(r.with("--no-cache").check(ctx, set)))
}

func (r *Restic) check(ctx context.Context, set string) error {
	if err := checkSet(set); err != nil {
		return err
	}
	all, m, err := r.whole(ctx, set)
	if err != nil {
		return err
	}
	var faults []error
	for _, p := range m.Parts {
		faults = append(faults, r.dump(ctx, all, set, p, io.Discard))
	}
	for _, s := range all {
		if text := s.tag(tagText); text != "" {
			_, err := r.read(ctx, io.Discard, "dump", s.ID, pathOf(set, text))
			faults = append(faults, asDamage(set+"/"+text, err))
		}
	}
	return errors.Join(faults...)
}

// dump writes the stream of a part to w. That it is what was kept is known when it returns nil, not before.
func (r *Restic) dump(ctx context.Context, all []snapshot, set string, p Part, w io.Writer) error {
	name := set + "/" + p.Name
	s, ok := find(all, p)
	if !ok {
		return damaged(name, "its snapshot %s is not in the repository", p.File)
	}
	return r.dumped(ctx, s.ID, pathOf(set, p.Name), name, p, w)
}

// dumped writes the one file of a snapshot to w, and compares it with length and sum of a part.
func (r *Restic) dumped(ctx context.Context, id, path, name string, p Part, w io.Writer) error {
	to := &summed{counter: counter{w: w, most: p.Raw}, hash: sha256.New()}
	_, err := r.read(ctx, to, "dump", id, path)
	switch sum := fmt.Sprintf("%x", to.hash.Sum(nil)); {
	case to.err != nil:
		return to.err
	case to.over:
		return damaged(name, "its stream is longer than the %d bytes of the manifest", p.Raw)
	case err != nil:
		return asDamage(name, err)
	case to.n != p.Raw:
		return damaged(name, "its stream has %d bytes, and the manifest says %d", to.n, p.Raw)
	case sum != p.SHA256:
		return damaged(name, "its sum is %s, and %s when it was written", sum, p.SHA256)
	}
	return nil
}

// summed is a counter with the sum of what it passed on.
type summed struct {
	counter
	hash hash.Hash
	over bool
}

func (s *summed) Write(p []byte) (int, error) {
	n, err := s.counter.Write(p)
	s.hash.Write(p[:n])
	s.over = s.over || errors.Is(err, errTooLong)
	return n, err
}
