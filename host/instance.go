package host

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"stowage/farm"
	"stowage/vault"
)

// Instance is one server process on a host: where it lives and listens. Paths
// are absolute on that host.
type Instance struct {
	Name    farm.InstanceName
	Address string // IP to listen on
	Port    int
	Datadir string
	Config  string // the option file it starts with

	// GroupSuffix tells it apart from others that start with the same file:
	// farm.Side has more. Empty for all that Stowage makes.
	GroupSuffix string `json:",omitempty"`
}

// Group is the group of its option file, of which this is the text, that holds
// its own options and no other server's.
func (i Instance) Group(text string) string {
	if i.GroupSuffix != "" {
		return "mysqld" + i.GroupSuffix
	}
	return ServerGroup(text)
}

// Dial is host:port.
func (i Instance) Dial() string { return net.JoinHostPort(i.Address, strconv.Itoa(i.Port)) }

// Dir is the directory that holds everything of the instance.
func (i Instance) Dir() string { return filepath.Dir(i.Config) }

// Login is how a backup logs in to its source, and a replay to its target.
type Login struct {
	User, Password string
	Address        string // host:port, or the path of a socket
	// TLS, as PEM; without a CA it is not asked for.
	CA, Cert, Key string `json:",omitempty"`
	AnyName       bool   `json:",omitempty"` // the certificate may be for another name
}

// SeedPoint is the place in the source's binary log that a seed belongs to.
// It is only meaningful on the source (mysql.Server.PositionAt).
type SeedPoint struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	// By is when the copy was whole: a log that was begun later is another one. Zero: not known.
	By time.Time `json:"by,omitzero"`
}

// ErrPrepared: a fresh copy holds transactions that were prepared but not
// committed when it was taken; the server will not start until they are
// decided. They were never acknowledged to anybody.
var ErrPrepared = errors.New("the copy holds prepared transactions")

// ErrForeign: a directory is in the way that the act did not make.
var ErrForeign = errors.New("directory was not made by this act")

// Host is what an act needs of one machine. Every method may be called again
// after a crash and comes to the same state.
type Host interface {
	// Claim makes the instance's directory and marks it as made by owner. It
	// is ErrForeign when the directory exists with another mark or none.
	Claim(ctx context.Context, i Instance, owner string) error
	// Claimable is nil when Claim would succeed; it changes nothing.
	Claimable(ctx context.Context, i Instance, owner string) error
	// Wipe empties a claimed instance's data directory.
	Wipe(ctx context.Context, i Instance, owner string) error
	// Remove stops nothing and deletes a claimed instance's directory.
	Remove(ctx context.Context, i Instance, owner string) error

	// ReadFile and WriteFile move small files of an instance. Files are
	// written whole and replaced atomically.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	WriteFile(ctx context.Context, path string, content []byte) error

	// Options is what the instance is started with.
	Options(ctx context.Context, i Instance) (Start, error)

	// Send streams a physical copy to w: of a running instance, or one that a vault keeps.
	Send(ctx context.Context, from Origin, w io.Writer) error
	// Receive takes such a stream in: into the data directory of an instance, or into a vault.
	Receive(ctx context.Context, to Destination, r io.Reader) (Copied, error)
	// Prepare makes a received copy startable and says where it stands. What Receive has put beside it as a delta is applied to it.
	Prepare(ctx context.Context, i Instance) (SeedPoint, error)
	// Vault is a vault as this host sees it. What it says of one that cannot be opened it says when it is used.
	Vault(p vault.Place) vault.Vault

	// Start starts the instance and returns when it takes connections. One
	// that runs already is left alone.
	Start(ctx context.Context, i Instance, budget time.Duration) error
	// NoteStart notes on the machine how an instance that runs was started: by which
	// unit, or with which command line, environment and account. One that does not
	// run keeps the note that it has.
	NoteStart(ctx context.Context, i Instance) error
	// StartAgain is Start in the way that was noted last: an instance that its owner
	// starts in ways of his own is not started in ours.
	StartAgain(ctx context.Context, i Instance, budget time.Duration) error
	// RollbackPrepared decides the prepared transactions of a fresh copy.
	RollbackPrepared(ctx context.Context, i Instance) error
	// Stop ends the instance, cleanly if it does so within the budget and as a
	// crash would if not; one that does not run is left alone.
	Stop(ctx context.Context, i Instance, budget time.Duration) error
	// Retire stops an instance that nobody needs any more. The data directory of
	// one that Stowage did not make is closed behind it, with a note in it, so
	// that it cannot be started by mistake.
	Retire(ctx context.Context, i Instance, budget time.Duration, note string) (Retired, error)
	// Running is the process id of the instance, or 0.
	Running(ctx context.Context, i Instance) (int, error)

	// FreeBytes is the room on the filesystem that holds dir, or its nearest
	// existing parent.
	FreeBytes(ctx context.Context, dir string) (int64, error)
	// PortFree reports whether nothing listens at host:port.
	PortFree(ctx context.Context, address string) (bool, error)
}
