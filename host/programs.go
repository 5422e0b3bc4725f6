package host

import (
	"fmt"
	"log/slog"
	"syscall"

	"stowage/farm"
)

// Programs are those of the MariaDB or MySQL that is installed, the first of the PATH, for whoever runs throw-away servers as children of its
// own. Instances of a farm are run by Local.
type Programs struct {
	Server    string
	IsMySQL   bool
	InstallDB string // of MariaDB; MySQL's server makes its system tables itself
	// Account is the one that servers run under, nil for our own: mariadbd refuses to be root.
	Account *syscall.Credential
}

// FindPrograms looks for them; a missing one is an error that names the package.
func FindPrograms() (Programs, error) {
	var p Programs
	l := &Local{log: slog.New(slog.DiscardHandler)}
	need := func(into *string, names ...string) error {
		path, err := find(names)
		if err != nil {
			return &farm.Error{Op: "find program", Subject: names[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "apt-get install mariadb-server"}
		}
		*into = path
		return nil
	}
	if err := need(&l.server, "mariadbd", "mysqld"); err != nil {
		return p, err
	}
	p.Server, p.IsMySQL = l.server, l.IsMySQL()
	if !p.IsMySQL {
		if err := need(&p.InstallDB, "mariadb-install-db"); err != nil {
			return p, err
		}
	}
	account, err := serverAccount()
	p.Account = account
	return p, err
}

// CanReach is Local.CanReach for these programs.
func (p Programs) CanReach(dir string) error { return (&Local{credential: p.Account}).CanReach(dir) }
