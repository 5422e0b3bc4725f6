package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"stowage/farm"
)

func (r *Restic) Seal(ctx context.Context, m Manifest, texts map[string]string) error {
	return failed("seal", m.Set, r.place.Subject(), r.remedied(r.seal(ctx, m, texts)))
}

func (r *Restic) seal(ctx context.Context, m Manifest, texts map[string]string) error {
	if _, err := m.encode(); err != nil { // before restic is asked for anything
		return err
	}
	if err := checkTexts(m, texts); err != nil {
		return err
	}
	all, err := r.snapshots(ctx, tagSet+m.Set)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	m.Parts, err = withIDs(all, m.Parts)
	if slices.ContainsFunc(all, snapshot.isManifest) {
		was, bad := r.manifestOf(ctx, m.Set, all)
		if bad == nil && (err != nil || !sameParts(was, m)) {
			bad = refused("seal", m.Set, "it is whole already, with other parts", "use another name")
		}
		return bad
	}
	if err != nil {
		return err
	}
	raw, err := m.encode()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := r.putText(ctx, pathOf(m.Set, name), texts[name], tagSet+m.Set, tagText+name); err != nil {
			return err
		}
	}
	return r.putText(ctx, pathOf(m.Set, manifestFile), string(raw), tagSet+m.Set, tagManifest)
}

// withIDs are parts as a manifest names them: by the ids of their snapshots.
func withIDs(all []snapshot, parts []Part) ([]Part, error) {
	out := slices.Clone(parts)
	for i, p := range out {
		s, ok := find(all, p)
		if !ok {
			return nil, fmt.Errorf("%w: part %s: there is no snapshot %.100q of it: it has not been put", farm.ErrInput, p.Name, p.File)
		}
		out[i].File = cmp.Or(s.Original, s.ID)
	}
	return out, nil
}

// find is the snapshot of a part: by its id, or, before the set is sealed, by what Put has tagged it with. When somebody has changed its tags with
// restic, it has another id and knows its first.
func find(all []snapshot, p Part) (snapshot, bool) {
	i := slices.IndexFunc(all, func(s snapshot) bool {
		return p.File != "" && s.tag(tagPart) == p.Name && slices.Contains([]string{s.ID, s.Original, s.tag(tagPut)}, p.File)
	})
	if i < 0 {
		return snapshot{}, false
	}
	return all[i], true
}

// Drop needs a moment in which no other restic uses the repository, and waits for it.
func (r *Restic) Drop(ctx context.Context, set string) error {
	return failed("drop", set, r.place.Subject(), r.remedied(r.drop(ctx, set)))
}

func (r *Restic) drop(ctx context.Context, set string) error {
	if err := checkSet(set); err != nil {
		return err
	}
	all, err := r.snapshots(ctx, tagSet+set)
	if errors.Is(err, errAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, snapshot.isManifest) {
		return refused("drop", set, "the set is whole", "to remove whole sets is another matter: stowage backup prune")
	}
	return r.forget(ctx, tagSet+set, all)
}

// Remove needs a moment in which no other restic uses the repository, and waits for it. The room comes back with the next Prune.
func (r *Restic) Remove(ctx context.Context, set string) error {
	return failed("remove", set, r.place.Subject(), r.remedied(r.remove(ctx, set)))
}

func (r *Restic) remove(ctx context.Context, set string) error {
	if err := checkSet(set); err != nil {
		return err
	}
	all, err := r.snapshots(ctx, tagSet+set)
	if errors.Is(err, errAbsent) {
		return none(set, err.Error())
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	if len(all) == 0 {
		return errors.Join(none(set, "there are no snapshots of it"), err)
	}
	var manifests, others []snapshot
	for _, s := range all {
		if s.isManifest() {
			manifests = append(manifests, s)
		} else {
			others = append(others, s)
		}
	}
	if err := r.forget(ctx, tagSet+set, manifests); err != nil {
		return err
	}
	return r.forget(ctx, tagSet+set, others)
}

// forget removes snapshots that have a tag, and looks whether they are gone: restic ends with 0 also when it left one.
func (r *Restic) forget(ctx context.Context, tag string, which []snapshot) error {
	if len(which) == 0 {
		return nil
	}
	args := []string{"forget"}
	for _, s := range which {
		args = append(args, s.ID)
	}
	if err := r.run(ctx, args...); err != nil {
		return err
	}
	left, err := r.snapshots(ctx, tag)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	for _, s := range which {
		if slices.ContainsFunc(left, func(l snapshot) bool { return l.ID == s.ID }) {
			return fmt.Errorf("restic forget ended with 0, and the snapshot %s is there", s.ID)
		}
	}
	return nil
}

// Prune gives back the room of what was dropped, removed, or cut short. It needs the repository for itself, for hours where that is
// large, and waits for it.
func (r *Restic) Prune(ctx context.Context) error {
	return failed("prune", r.place.Subject(), r.place.Subject(), r.remedied(r.run(ctx, "prune")))
}

const (
	roomHint   = "give the place of the repository more room, or remove old backups and prune; then do it again"
	serverHint = "check whether the server of the repository runs, and whether it can be reached from this machine"
)

// remedied puts the remedy to what restic says, which has no error numbers.
func (r *Restic) remedied(err error) error {
	if err == nil || farm.Hint(err) != "" {
		return err
	}
	for _, known := range []struct{ text, hint string }{
		{"no space left on device", roomHint},
		{"quota exceeded", roomHint},
		{"507 Insufficient Storage", roomHint},
		{"SSH_FX_FAILURE", "an SFTP server does not say why it failed: check whether the disk there is full, and whether the account may write"},
		{"wrong password or no key found", "check whether " + r.place.PasswordFile + " has the password that the repository was made with"},
		{"connection refused", serverHint},
		{"connection reset", serverHint},
		{"closed by remote host", serverHint},
		{"no route to host", serverHint},
		{"timed out", serverHint},
		{"no such host", "check whether the server of the repository has the right name"},
		{"Permission denied (publickey", "let the key of this machine's account into the account at the repository's server; try it with ssh -o BatchMode=yes"},
		{"Host key verification failed", "log in there once by hand with ssh, and compare the key of the host"},
		{"executable file not found", "the program that restic starts is missing: apt-get install openssh-client"},
		{"403 Forbidden", "the server of the repository does not allow it: one that only appends takes nothing away; do that where it may be done"},
	} {
		if says(err, known.text) {
			return &farm.Error{Op: "use repository", Subject: r.place.Subject(), Err: err, Hint: known.hint}
		}
	}
	return err
}
