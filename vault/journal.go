package vault

import (
	"context"
	"io"
	"os"
	"time"
)

// Piece is one of a journal.
type Piece struct {
	ID   string    `json:"id"`   // of its snapshot
	Path string    `json:"path"` // of its one file there
	At   time.Time `json:"at"`   // when it was kept
	// Labels are what whoever kept it says of it.
	Labels map[string]string `json:"labels,omitempty"`
	Bytes  int64             `json:"bytes"`
	SHA256 string            `json:"sha256"`
}

// Journal is a Vault that also keeps journals: what grows all the time, piece by piece. A piece has labels and no manifest: it is there as a
// whole, or not at all. Sets know nothing of pieces.
type Journal interface {
	// Append keeps a file that is whole and that nobody changes, from its beginning. The repository has to exist.
	Append(ctx context.Context, journal, name string, labels map[string]string, whole *os.File) error
	// Pieces are those of a journal, the oldest first. Those that can be read are returned also when another cannot: then the error
	// wraps ErrDamaged. Nobody's lock is waited for.
	Pieces(ctx context.Context, journal string) ([]Piece, error)
	// Read writes a piece to w. It is an error that wraps ErrDamaged and names the piece when what was read is not what was kept.
	Read(ctx context.Context, journal string, p Piece, w io.Writer) error
	// Uncached is the same journal, of which nothing is read that this machine has kept of it.
	Uncached() Journal
	// Forget takes pieces out of a journal; the room comes back with the next Prune. Where wait is false it gives up when somebody else
	// uses the repository.
	Forget(ctx context.Context, journal string, all []Piece, wait bool) error
}
