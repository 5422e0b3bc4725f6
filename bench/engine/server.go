package engine

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"

	"stowage/bench/engine/sheet"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/keeper"
	"stowage/internal/optionfile"
	"stowage/internal/safefile"
)

const (
	startLimit = 2 * time.Minute
	stopLimit  = 30 * time.Second
	socketName = "s" // in the data directory
	database   = "bench"
)

// server is one data directory and, from start to stop, the process that serves it.
type server struct {
	name     string
	dir      string // holds all of it
	cell     sheet.Cell
	id       int // server_id
	port     int // on 127.0.0.1; 0: sockets only
	programs host.Programs
	plugins  string   // where ha_rocksdb.so lies; of MyRocks
	also     []string // lines of the option file that come last, and so count

	cmd    *exec.Cmd
	exited chan error
	handle int // of the data directory: a socket's path has 107 bytes at most, ours has as many as it likes
	db     *sql.DB
	loaded int64 // bytes on disk after loading
}

func (s *server) datadir() string { return filepath.Join(s.dir, "data") }
func (s *server) config() string  { return filepath.Join(s.dir, "my.cnf") }
func (s *server) log() string     { return filepath.Join(s.dir, "error.log") }
func (s *server) pid() int        { return s.cmd.Process.Pid }

func (s *server) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &farm.Error{Op: op, Subject: s.name, Err: err}
}

// make makes the directories, owned by the servers' account.
func (s *server) make() error {
	for _, dir := range []string{s.dir, filepath.Join(s.dir, "tmp")} {
		if err := mkdir(dir, s.programs); err != nil {
			return s.fail("make directory of", err)
		}
	}
	return nil
}

func mkdir(dir string, p host.Programs) error {
	in, err := safefile.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer in.Close()
	made, err := in.Mkdir(filepath.Base(dir), 0o700)
	if err != nil {
		return err
	}
	if p.Account != nil {
		err = made.Chown(int(p.Account.Uid), int(p.Account.Gid))
	}
	return errors.Join(err, made.Close())
}

// writeConfig writes the whole option file. What is not ours to compare is small and the same in all cells.
func (s *server) writeConfig(cache int64, extra []string) error {
	f := s.family()
	lines := []string{
		f.group, "datadir=" + optionfile.Text(s.datadir()), "socket=" + socketName, "pid-file=pid", "log-error=" + optionfile.Text(s.log()), "tmpdir=" + optionfile.Text(filepath.Join(s.dir, "tmp")),
		fmt.Sprintf("server-id=%d", s.id), "skip-name-resolve", "performance_schema=0", "max_connections=300",
		"log-bin=bl", "loose_binlog_format=ROW", "innodb_buffer_pool_dump_at_shutdown=0", "innodb_buffer_pool_load_at_startup=0",
	}
	lines = append(lines, f.own...)
	if s.port == 0 {
		lines = append(lines, "skip-networking")
	} else {
		lines = append(lines, "bind-address=127.0.0.1", fmt.Sprintf("port=%d", s.port))
	}
	if s.plugins != "" {
		lines = append(lines, "plugin-dir="+optionfile.Text(s.plugins))
	}
	lines = append(append(lines, f.lines(s.cell, cache)...), append(extra, s.also...)...)
	dir, err := safefile.OpenDir(filepath.Dir(s.config()))
	if err == nil { // the directory is the servers' account's
		err = errors.Join(dir.Replace(filepath.Base(s.config()), []byte(strings.Join(lines, "\n")+"\n"), 0o644, nil), dir.Close())
	}
	if err != nil {
		return s.fail("write option file of", err)
	}
	return nil
}

// command is a program under the servers' account, in a group of its own so that Ctrl-C reaches us only; keeper starts it, so that the kernel kills it when we are gone.
func (s *server) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.programs.Account}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TMPDIR=" + filepath.Join(s.dir, "tmp")}
	if s.plugins != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+s.plugins) // libraries that came with the plugin
	}
	cmd.Dir = s.dir
	cmd.WaitDelay = 5 * time.Second // scripts leave children that hold our pipe
	return cmd
}

// start starts it and waits until it takes a login.
func (s *server) start(ctx context.Context, cache int64, extra ...string) error {
	if err := s.writeConfig(cache, extra); err != nil {
		return err
	}
	said, err := safefile.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return s.fail("start", err)
	}
	defer said.Close()
	if a := s.programs.Account; a != nil {
		if err := said.Chown(int(a.Uid), int(a.Gid)); err != nil {
			return s.fail("start", err)
		}
	}
	s.cmd = s.command(context.Background(), s.programs.Server, "--defaults-file="+s.config())
	s.cmd.Stdout, s.cmd.Stderr = said, said
	if err := keeper.Start(s.cmd); err != nil {
		s.cmd = nil
		return s.fail("start", err)
	}
	exited := make(chan error, 1)
	s.exited = exited
	go func(c *exec.Cmd) { exited <- c.Wait() }(s.cmd)
	if s.handle, err = unix.Open(s.datadir(), unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		s.kill()
		return s.fail("start", err)
	}
	connector, err := s.connector("")
	if err != nil {
		s.kill()
		return s.fail("start", err)
	}
	s.db = sql.OpenDB(connector)
	s.db.SetMaxIdleConns(1)
	if err := s.await(ctx); err != nil {
		s.kill()
		return err
	}
	return nil
}

func (s *server) await(ctx context.Context) error {
	for end := time.Now().Add(startLimit); ; {
		err := s.db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case died := <-s.exited:
			s.exited <- died
			return s.fail("start", fmt.Errorf("the server ended (%v); its log says:\n  %s", died, s.tail(6)))
		case <-ctx.Done():
			return farm.ErrInterrupted
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			return s.fail("start", fmt.Errorf("no login within %v: %w; its log says:\n  %s", startLimit, err, s.tail(6)))
		}
	}
}

// connector makes connections as root, who has no password: only we can reach the socket.
func (s *server) connector(db string) (sqldriver.Connector, error) {
	cfg := driver.NewConfig()
	cfg.User, cfg.DBName, cfg.Net, cfg.Addr = "root", db, "tcp", s.name
	cfg.InterpolateParams = true
	cfg.CheckConnLiveness = false
	cfg.MaxAllowedPacket = 16 << 20
	cfg.Logger = log.New(io.Discard, "", 0) // every error comes back to us anyway
	path := fmt.Sprintf("/proc/self/fd/%d/%s", s.handle, socketName)
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	return driver.NewConnector(cfg)
}

// stop ends it in good order, or as a crash would when it takes too long.
func (s *server) stop() error {
	if s.cmd == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.exited:
		s.exited <- err
	case <-time.After(stopLimit):
	}
	s.kill()
	return nil
}

// kill is kill -9; on a server that is gone it only tidies up.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	died := <-s.exited
	s.exited <- died // for whoever asks again
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.handle > 0 {
		_ = unix.Close(s.handle)
	}
	s.cmd, s.db, s.handle = nil, nil, 0
}

func (s *server) tail(lines int) string {
	raw, err := os.ReadFile(s.log())
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	all := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

// exec runs statements of ours, one after the other.
func (s *server) exec(ctx context.Context, statements ...string) error {
	for _, q := range statements {
		if _, err := s.db.ExecContext(ctx, q); err != nil {
			if ctx.Err() != nil {
				return farm.ErrInterrupted
			}
			return s.fail("say to", fmt.Errorf("%s: %w", q, err))
		}
	}
	return nil
}

// value is the one value that a query returns, as text; empty for none.
func (s *server) value(ctx context.Context, query string) (string, error) {
	var v sql.NullString
	err := s.db.QueryRowContext(ctx, query).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil && ctx.Err() != nil {
		return "", farm.ErrInterrupted
	}
	return v.String, s.fail("ask", err)
}

// pairs are the first two columns of a query's rows.
func (s *server) pairs(ctx context.Context, query string) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		if ctx.Err() != nil {
			return nil, farm.ErrInterrupted
		}
		return nil, s.fail("ask", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var k, v sql.NullString
		if err := rows.Scan(&k, &v); err != nil {
			return nil, s.fail("ask", err)
		}
		out[k.String] = v.String
	}
	return out, s.fail("ask", rows.Err())
}

// record is the one row of a query, by the names of its columns.
func (s *server) record(ctx context.Context, query string) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, interrupted(ctx, "ask "+s.name, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, s.fail("ask", err)
	}
	out := map[string]string{}
	if rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, s.fail("ask", err)
		}
		for i, name := range columns {
			out[name] = cells[i].String
		}
	}
	return out, s.fail("ask", rows.Err())
}
