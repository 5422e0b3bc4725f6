package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stowage/bench/engine/sheet"
	"stowage/farm"
	"stowage/internal/keeper"
)

// template makes a data directory with system tables for each page size, once: servers begin as copies of it.
func (b *bencher) template(ctx context.Context, pages int64) (string, error) {
	if pages == 0 {
		pages = 16 << 10
	}
	dir := filepath.Join(b.servers, fmt.Sprintf("template-%dk", pages>>10))
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(dir); err == nil {
		return data, nil
	}
	t := b.server(fmt.Sprintf("template-%dk", pages>>10), sheet.Cell{Engine: sheet.InnoDB, PageSize: pages, Doublewrite: true, FlushMethod: "O_DIRECT", Durability: sheet.Relaxed})
	fail := func(err error) (string, error) { return "", t.fail("make system tables of", err) }
	if err := t.make(); err != nil {
		return "", err
	}
	if err := mkdir(data, b.programs); err != nil {
		return fail(err)
	}
	// A small log, which is copied with every directory; servers make it as large as they want it.
	if err := t.writeConfig(16<<20, []string{t.family().smallLog, "skip-log-bin"}); err != nil {
		return "", err
	}
	cmd := t.command(ctx, b.programs.InstallDB, "--defaults-file="+t.config(), "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if b.programs.IsMySQL {
		cmd = t.command(ctx, b.programs.Server, "--defaults-file="+t.config(), "--initialize-insecure")
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	err := keeper.Run(cmd)
	if ctx.Err() != nil {
		return "", farm.ErrInterrupted
	}
	if err != nil {
		text := strings.TrimSpace(said.String() + "\n  " + t.tail(4)) // MySQL says it in its log
		return fail(fmt.Errorf("%w:\n  %s", err, text[max(0, len(text)-600):]))
	}
	return data, nil
}

// server is one that has no data yet.
func (b *bencher) server(name string, c sheet.Cell) *server {
	b.ids++
	s := &server{name: name, dir: filepath.Join(b.servers, name), cell: c, id: b.ids, programs: b.programs}
	if c.Engine == sheet.MyRocks {
		s.plugins = b.plugins
	}
	b.all = append(b.all, s)
	return s
}

// found makes a server's directory as a copy of another data directory.
func (b *bencher) found(ctx context.Context, s *server, from string) error {
	if err := s.make(); err != nil {
		return err
	}
	cmd := s.command(ctx, "/bin/cp", "-a", "--reflink=auto", from, s.datadir())
	var said strings.Builder
	cmd.Stderr = &said
	err := keeper.Run(cmd)
	if ctx.Err() != nil {
		return farm.ErrInterrupted
	}
	if err != nil {
		return s.fail("copy data of", fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String())))
	}
	return nil
}

// rocksHint is how MyRocks comes here without coming into every server of the machine.
const rocksHint = "MyRocks is not available: scripts/setup.sh bench unpacks Debian's plugin into /var/cache/stowage-plugins (or $STOWAGE_PLUGINS) without installing it: installed, it would be loaded into every server of the machine"

// rocksPlugin finds the directory of ha_rocksdb.so.
func rocksPlugin() string {
	for _, dir := range []string{os.Getenv("STOWAGE_PLUGINS"), "/var/cache/stowage-plugins", "/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib/mariadb/plugin"} {
		if _, err := os.Stat(filepath.Join(dir, "ha_rocksdb.so")); dir != "" && err == nil {
			return dir
		}
	}
	return ""
}

var errNoEngine = errors.New("the server does not have this engine")

// hasEngine asks a running server.
func (s *server) hasEngine(ctx context.Context) error {
	support, err := s.value(ctx, "SELECT support FROM information_schema.engines WHERE engine = '"+string(s.cell.Engine)+"'")
	if err == nil && support != "YES" && support != "DEFAULT" {
		err = errNoEngine
	}
	return err
}
