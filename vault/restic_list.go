package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/internal/nested"
)

// Tags of our snapshots. A tag has no comma in it: restic takes it for the border between two.
const (
	tagOurs     = "stowage"
	tagManifest = "manifest"
	tagSet      = "set="
	tagPart     = "part="
	tagText     = "text="
	tagPut      = "put=" // unlike that of any other attempt
)

// snapshot is what restic says of one.
type snapshot struct {
	ID       string    `json:"id"`
	Original string    `json:"original"` // its id before somebody changed its tags
	Time     time.Time `json:"time"`
	Paths    []string  `json:"paths"`
	Tags     []string  `json:"tags"`
}

// tag is the rest of the tag that begins so.
func (s snapshot) tag(prefix string) string {
	for _, t := range s.Tags {
		if rest, ok := strings.CutPrefix(t, prefix); ok {
			return rest
		}
	}
	return ""
}

func (s snapshot) isManifest() bool { return slices.Contains(s.Tags, tagManifest) }

// pathOf is the one file of a snapshot.
func pathOf(set, name string) string { return "/" + set + "/" + name }

const listLimit = 256 << 20 // bytes of a list of snapshots

// errAbsent: there is no repository at this place.
var errAbsent = errors.New("there is no repository")

// snapshots are ours that have all these tags, the oldest first. Those that can be read are returned also when another cannot: then the
// error wraps ErrDamaged.
func (r *Restic) snapshots(ctx context.Context, tags ...string) ([]snapshot, error) {
	var out bytes.Buffer
	said, err := r.read(ctx, &out, "snapshots", "--json", "--tag", strings.Join(append([]string{tagOurs}, tags...), ","))
	if err != nil {
		if isAbsent(err) {
			err = fmt.Errorf("%w: %w", errAbsent, err)
		}
		return nil, asDamage(r.place.Subject(), err)
	}
	raw, err := nested.Read(&out, listLimit)
	if err != nil {
		return nil, damaged(r.place.Subject(), "the list of snapshots: %w", err)
	}
	var all []snapshot
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, damaged(r.place.Subject(), "the list of snapshots: %w", err)
	}
	slices.SortStableFunc(all, func(a, b snapshot) int { return a.Time.Compare(b.Time) })
	if strings.Contains(said, "could not load snapshot") { // and exit code 0
		return all, damaged(r.place.Subject(), "%s", said)
	}
	return all, nil
}

// isAbsent reports whether a repository does not exist: in a directory, by SFTP, on a REST server, in a bucket.
func isAbsent(err error) bool {
	return says(err, "unable to open config file") && says(err, "no such file or directory", "does not exist") && !says(err, "connection refused", "no such host")
}

// asDamage makes damage of an error when restic says that something it read is not what it wrote, or is missing. That a server did not
// answer is none.
func asDamage(subject string, err error) error {
	isMissing := says(err, "Load(<data/", "Load(<index/", "Load(<snapshot/", "Load(<key/") && says(err, "no such file or directory", "does not exist", "404 Not Found")
	if isMissing || says(err, "ciphertext verification failed", "invalid data returned", "is damaged", "not found in repository", "not found in index", "unexpected end of JSON") {
		return damaged(subject, "%w", err)
	}
	return err
}

// manifestOf is the manifest among the snapshots of a set. Of several the oldest counts: a set is sealed once.
func (r *Restic) manifestOf(ctx context.Context, set string, all []snapshot) (Manifest, error) {
	for _, s := range all {
		if s.isManifest() && s.tag(tagSet) == set {
			return r.manifest(ctx, set, s.ID)
		}
	}
	return Manifest{}, none(set, "there is no snapshot of its manifest, so it is not whole")
}

// manifest reads one. What a snapshot holds never changes, so it is read once.
func (r *Restic) manifest(ctx context.Context, set, id string) (Manifest, error) {
	r.mu.Lock()
	m, known := r.manifests[id]
	r.mu.Unlock()
	if known && m.Set == set {
		return m, nil
	}
	name := set + "/" + manifestFile
	raw := &limitedBuffer{most: manifestLimit + 1}
	if _, err := r.read(ctx, raw, "dump", id, pathOf(set, manifestFile)); err != nil {
		return m, asDamage(name, err)
	}
	m, err := decodeManifest(raw.Bytes(), set)
	if err != nil {
		return m, damaged(name, "%w", err)
	}
	for _, p := range m.Parts {
		if !isSum(p.File) {
			return m, damaged(name, "it says that the part %s is in the snapshot %.100q", p.Name, p.File)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manifests[id] = m
	return m, nil
}

// limitedBuffer keeps the beginning of what is written.
type limitedBuffer struct {
	bytes.Buffer
	most int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}
