package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"stowage/farm"
	"stowage/internal/safefile"
)

var _ Founder = (*Local)(nil)

// Found implements Founder: system tables, then setup in a start of the
// server's that listens on no port. What an earlier try left is made anew.
func (l *Local) Found(ctx context.Context, i Instance, setup []byte) error {
	fail := func(err error) error {
		return &farm.Error{Op: "found instance", Subject: string(i.Name), Err: err}
	}
	if pid, err := l.Running(ctx, i); err != nil || pid != 0 {
		return fail(fmt.Errorf("%w: its server runs (pid %d, %v)", farm.ErrRefused, pid, err))
	}
	if filepath.Dir(i.Datadir) != i.Dir() {
		return fail(fmt.Errorf("%w: data directory %s is not in %s", farm.ErrRefused, i.Datadir, i.Dir()))
	}
	if err := l.emptyData(i); err != nil {
		return fail(err)
	}
	if l.IsMySQL() {
		return l.foundMySQL(ctx, i, setup)
	}
	if err := l.InstallDB(ctx, i); err != nil {
		return err
	}
	if len(setup) == 0 {
		return nil
	}
	return l.firstWords(ctx, i, setup)
}

// SetUp implements Founder.
func (l *Local) SetUp(ctx context.Context, i Instance, setup []byte) error {
	pid, err := l.Running(ctx, i)
	if err == nil && pid != 0 {
		err = fmt.Errorf("%w: its server runs (pid %d)", farm.ErrRefused, pid)
	}
	if err != nil {
		return &farm.Error{Op: "set up instance", Subject: string(i.Name), Err: err}
	}
	return l.firstWords(ctx, i, setup)
}

// firstWords runs SQL from an init file that only the servers' account can
// read. The server ends by itself: SHUTDOWN is the file's last word.
func (l *Local) firstWords(ctx context.Context, i Instance, setup []byte) error {
	fail := func(err error) error {
		return &farm.Error{Op: "set up instance", Subject: string(i.Name), Err: err, Hint: "read " + filepath.Join(i.Dir(), ErrorLog)}
	}
	file, remove, err := l.initFile(i, append(append([]byte{}, setup...), "\nSHUTDOWN;\n"...))
	if err != nil {
		return fail(err)
	}
	defer remove()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	// No binary log: an instance begins with an empty history.
	cmd := l.command(ctx, l.server, "--defaults-file="+i.Config, "--skip-networking", "--skip-log-bin", "--skip-slave-start", "--skip-event-scheduler",
		"--read-only=OFF", "--init-file="+file)
	// A statement that fails aborts the start, with another exit code than the
	// SHUTDOWN at the end of the file.
	if err := cmd.Run(); err != nil {
		return fail(fmt.Errorf("the server did not take it all (%w); its log says:\n  %s", err, tail(filepath.Join(i.Dir(), ErrorLog), 5)))
	}
	return nil
}

// initFile writes SQL where only the servers' account can read it; remove
// takes it away again.
func (l *Local) initFile(i Instance, text []byte) (file string, remove func(), err error) {
	in, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return "", nil, err
	}
	dir, err := in.MkdirTemp(".found-")
	if err != nil {
		return "", nil, errors.Join(err, in.Close())
	}
	remove = func() { _ = errors.Join(in.RemoveAll(filepath.Base(dir.Path())), dir.Close(), in.Close()) }
	if err := hand(dir, map[string]string{"setup.sql": string(text)}, l.credential); err != nil {
		remove()
		return "", nil, err
	}
	return filepath.Join(dir.Path(), "setup.sql"), remove, nil
}
