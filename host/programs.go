package host

import (
	"fmt"
	"log/slog"
	"syscall"

	"stowage/farm"
)

// Programs are those of the MariaDB that is installed, for whoever runs throw-away servers as children of its own. Instances of a farm are
// run by Local.
type Programs struct {
	Server, InstallDB string
	// Account is the one that servers run under, nil for our own: mariadbd refuses to be root.
	Account *syscall.Credential
}

// FindPrograms looks for them; a missing one is an error that names the package. MySQL is refused.
func FindPrograms() (Programs, error) {
	var p Programs
	l := &Local{log: slog.New(slog.DiscardHandler)}
	for _, x := range []struct {
		into  *string
		names []string
	}{{&l.server, []string{"mariadbd", "mysqld"}}, {&l.installDB, []string{"mariadb-install-db"}}} {
		path, err := find(x.names)
		if err != nil {
			return p, &farm.Error{Op: "find program", Subject: x.names[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "apt-get install mariadb-server"}
		}
		if *x.into = path; l.IsMySQL() {
			return p, &farm.Error{Op: "find program", Subject: path, Err: fmt.Errorf("%w: it is MySQL, and this needs MariaDB", farm.ErrInput), Hint: "put a MariaDB in front of the PATH"}
		}
	}
	p = Programs{Server: l.server, InstallDB: l.installDB}
	account, err := serverAccount()
	p.Account = account
	return p, err
}

// CanReach is Local.CanReach for these programs.
func (p Programs) CanReach(dir string) error { return (&Local{credential: p.Account}).CanReach(dir) }
