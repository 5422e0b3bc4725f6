package farmtest

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// Root runs a statement where read_only does not reach: at the server's socket.
func (h *held) Root(whom Role, statement string) error {
	cfg := driver.NewConfig()
	cfg.User, cfg.Net = "root", "unix"
	cfg.Addr = filepath.Join(h.Instance(Fault{Whom: whom}).Datadir, "mysqld.sock")
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}
