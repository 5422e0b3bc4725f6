package demo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/host"
	"stowage/mysql"
)

// makeTemplateMySQL is makeTemplate for MySQL. It is never started: each copy
// makes a server_uuid of its own when it is.
func (b *builder) makeTemplateMySQL(ctx context.Context, t host.Instance) (host.Instance, error) {
	if err := b.local.WriteFile(ctx, t.Config, []byte(placeMySQL(t)+leanMySQL)); err != nil {
		return t, err
	}
	setup := strings.Join(mysql.BootstrapMySQL(b.accounts, b.root), ";\n") + ";\n"
	if err := b.local.Found(ctx, t, []byte(setup)); err != nil {
		return t, err
	}
	err := os.Remove(filepath.Join(t.Datadir, "auto.cnf"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return t, err
}
