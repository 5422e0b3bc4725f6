package host

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"stowage/farm"
)

// foundMySQL is Found for MySQL, whose server makes its own system tables and
// runs setup at the end of that. root has no password then and can log in on
// the socket alone, which is in the data directory.
func (l *Local) foundMySQL(ctx context.Context, i Instance, setup []byte) error {
	fail := func(err error) error {
		return &farm.Error{Op: "found instance", Subject: string(i.Name), Err: err, Hint: "read " + filepath.Join(i.Dir(), ErrorLog)}
	}
	file, remove, err := l.initFile(i, setup)
	if err != nil {
		return fail(err)
	}
	defer remove()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	// No binary log: an instance begins with an empty history.
	out, err := l.command(ctx, l.server, "--defaults-file="+i.Config, "--initialize-insecure", "--init-file="+file,
		"--skip-log-bin", "--read-only=OFF", "--super-read-only=OFF").CombinedOutput()
	if err != nil {
		return fail(fmt.Errorf("%w: %s; its log says:\n  %s", err, lastLines(out, 3), tail(filepath.Join(i.Dir(), ErrorLog), 5)))
	}
	return nil
}
