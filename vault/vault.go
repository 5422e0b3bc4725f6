package vault

import (
	"context"
	"encoding/json"
	"io"
)

// Place says where a vault is, as the machine sees it that opens it. One of Dir and Restic is set.
type Place struct {
	// Dir is the absolute path of a directory.
	Dir string `json:"dir,omitempty"`
	// Level is how hard zstd tries in a directory, 1 to 19; 0: 1.
	Level int `json:"level,omitempty"`

	// Restic is a repository in restic's own words: a path, sftp:, rest:, s3: and what else it knows.
	Restic string `json:"restic,omitempty"`
	// PasswordFile holds the repository's password, EnvFile lines of NAME=VALUE for restic: keys of an object store. Both are files of
	// the machine that opens the vault.
	PasswordFile string `json:"password_file,omitempty"`
	EnvFile      string `json:"env_file,omitempty"`
}

// Part is one stream of a set, as it was kept.
type Part struct {
	Name string `json:"name"`
	// File is where its bytes are: a file beside the manifest, or the id of a snapshot of restic's. Until the set is sealed it is that snapshot's tag.
	File string `json:"file"`
	// Raw is the length of the stream, Bytes what it takes up where that is known, in bytes.
	Raw   int64 `json:"raw_bytes"`
	Bytes int64 `json:"bytes"`
	// SHA256 is the sum of File in a directory; of the stream itself in a repository, which has sums of its own.
	SHA256 string `json:"sha256"`
}

// Manifest is what a whole set is made of. It is written last.
type Manifest struct {
	FormatVersion int    `json:"format_version"`
	Set           string `json:"set"`
	Parts         []Part `json:"parts"`
	// About is what whoever made the set says of it, as JSON.
	About json.RawMessage `json:"about"`
}

// Format is the version of manifests that this program writes.
const Format = 1

// Part is the one of that name.
func (m Manifest) Part(name string) (Part, bool) {
	for _, p := range m.Parts {
		if p.Name == name {
			return p, true
		}
	}
	return Part{}, false
}

// Pruner is a Vault in which Remove only forgets: Prune gives the room back.
type Pruner interface {
	Prune(ctx context.Context) error
}

// Vault keeps sets. Names of sets are relative paths of plain words: instance/time-kind. Methods may be called by several goroutines for
// different sets.
type Vault interface {
	// Put keeps what fill writes as a part of a set that is not whole yet. A part that is there under this name begins anew. When fill
	// fails, or writes nothing, or ctx ends, nothing is left that a later Seal could take for whole.
	Put(ctx context.Context, set, name string, fill func(io.Writer) error) (Part, error)
	// Seal writes the manifest, and texts beside it for people, by their names: the set is whole from then on, also after a power cut.
	// A set that is sealed already with the same parts is left alone.
	Seal(ctx context.Context, m Manifest, texts map[string]string) error
	// Drop removes what there is of a set that is not whole. Sets that are whole it refuses.
	Drop(ctx context.Context, set string) error

	// Sets are the manifests of all whole sets below a prefix, in the order of their names. "" is all.
	Sets(ctx context.Context, prefix string) ([]Manifest, error)
	// Get writes the stream of a part to w. It is an error that names the part when what was read is not what was kept; bytes that
	// have been written by then are worth nothing.
	Get(ctx context.Context, set, name string, w io.Writer) error
	// Check reads all parts of a set and compares them with their sums. Its error wraps ErrDamaged and names what is damaged.
	Check(ctx context.Context, set string) error
	// Remove takes a whole set away, its manifest first.
	Remove(ctx context.Context, set string) error
	// Free is the room that is left, in bytes; negative: nobody knows.
	Free(ctx context.Context) (int64, error)
}
