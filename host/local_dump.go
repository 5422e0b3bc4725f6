package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"stowage/backup/dump"
	"stowage/farm"
	"stowage/internal/keeper"
)

// Dumper writes databases of a server as a stream of package dump. It is handed in, because it asks servers.
type Dumper func(ctx context.Context, as Login, databases []string, w io.Writer) error

// Dumps lets the machine make dumps.
func (l *Local) Dumps(d Dumper) { l.dumper = d }

func (l *Local) dump(ctx context.Context, from Origin, w io.Writer) error {
	err := errors.New("this program makes none")
	if l.dumper != nil {
		err = l.dumper(ctx, from.Login, from.Dump, w)
	}
	if err != nil {
		return &farm.Error{Op: "dump", Subject: string(from.Instance.Name), Err: err, Hint: farm.Hint(err)}
	}
	return nil
}

// scanDump reads a dump to its end, and says where its rows stand.
func scanDump(ctx context.Context, r io.Reader) (Copied, error) {
	head, end, err := dump.Read(r, func(dump.Head, dump.File, io.Reader) error { return context.Cause(ctx) })
	return dumped(head, end), err
}

func dumped(h dump.Head, end dump.End) Copied {
	return Copied{Seed: SeedPoint{File: h.File, Offset: h.Offset}, At: h.At, GTID: h.GTID, Databases: h.Databases, Files: end.Files, Rows: end.Rows}
}

// loaders is how many clients load rows side by side.
const loaders = 2

// load has the server's own client load a dump, as a person would, into databases that are not there yet. The instance's binary log does not know of it.
func (l *Local) load(ctx context.Context, to Destination, r io.Reader) (out Copied, err error) {
	fail := func(err error) (Copied, error) {
		return Copied{}, &farm.Error{Op: "load dump", Subject: string(to.Instance.Name), Err: err, Hint: farm.Hint(err)}
	}
	programs, install := []string{"mariadb", "mysql"}, "mariadb-client"
	if l.IsMySQL() {
		programs, install = []string{"mysql", "mariadb"}, "mysql-client"
	}
	program, err := find(programs)
	if err != nil {
		return fail(&farm.Error{Op: "find program", Subject: programs[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "apt-get install " + install})
	}
	login, err := l.loginFile("client", to.Instance, *to.Load, l.credential)
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(filepath.Dir(login))
	b := &loading{local: l, program: program, login: login}
	var stage dump.Stage
	head, end, err := dump.Read(r, func(h dump.Head, f dump.File, text io.Reader) error {
		if f.Stage != stage {
			if err := b.finish(); err != nil {
				return err
			}
			begin := ""
			if stage == 0 {
				begin = makeDatabases(h)
			}
			n := 1
			if f.Stage == dump.Rows {
				n = loaders
			}
			if err := b.begin(ctx, n, begin); err != nil {
				return err
			}
			stage = f.Stage
		}
		return b.send(f, text)
	})
	if err != nil {
		b.kill()
		return fail(errors.Join(err, b.finish()))
	}
	if err := b.finish(); err != nil {
		return fail(err)
	}
	return dumped(head, end), nil
}

// makeDatabases are the statements that make the databases of a dump: its files name none.
func makeDatabases(h dump.Head) string {
	var b strings.Builder
	b.WriteString("SET NAMES utf8mb4;\n")
	for _, d := range h.Databases {
		fmt.Fprintf(&b, "CREATE DATABASE %s CHARACTER SET %s COLLATE %s", quoteName(d.Name), d.Charset, d.Collation)
		if d.Comment != "" { // MySQL's databases have none
			fmt.Fprintf(&b, " COMMENT '%s'", strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(d.Comment))
		}
		b.WriteString(";\n")
	}
	return b.String()
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// loading is the clients of one stage.
type loading struct {
	local          *Local
	program, login string
	clients        []*loadClient
	free           chan *loadClient
	work           sync.WaitGroup
}

type loadClient struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said bytes.Buffer
	err  error // of what was sent last
}

// begin starts the clients. Each file is sent to one that has taken all of the one before.
func (b *loading) begin(ctx context.Context, n int, first string) error {
	b.free = make(chan *loadClient, n)
	for range n {
		c := &loadClient{}
		c.cmd = b.local.command(ctx, b.program, "--defaults-file="+b.login, "--binary-mode", "--comments", "--batch", "--skip-reconnect", "--default-character-set=binary", "--max-allowed-packet=1G", "--init-command=SET SESSION sql_log_bin = 0")
		c.cmd.Stdout, c.cmd.Stderr = io.Discard, &c.said
		in, err := c.cmd.StdinPipe()
		if err != nil {
			return err
		}
		c.in = in
		if err := keeper.Start(c.cmd); err != nil {
			return err
		}
		b.clients = append(b.clients, c)
		if _, err := io.WriteString(c.in, first); err != nil {
			return err
		}
		b.free <- c
	}
	return nil
}

// send hands a file on. It is in memory then, so that the next can be read.
func (b *loading) send(f dump.File, text io.Reader) error {
	raw, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	c := <-b.free
	if c.err != nil {
		b.free <- c
		return c.err
	}
	b.work.Go(func() {
		use := ""
		if f.Database.Name != "" {
			use = "SET NAMES utf8mb4;\nUSE " + quoteName(f.Database.Name) + ";\n"
		}
		_, c.err = io.WriteString(c.in, use)
		if c.err == nil {
			_, c.err = c.in.Write(raw)
		}
		if c.err != nil {
			c.err = fmt.Errorf("%s: %w", f.Name, c.err)
		}
		b.free <- c
	})
	return nil
}

// finish waits until all that was sent is done: a client ends with 0 only then.
func (b *loading) finish() error {
	b.work.Wait()
	var all error
	for _, c := range b.clients {
		err := errors.Join(c.err, c.in.Close())
		if ended := c.cmd.Wait(); ended != nil { // what else failed failed for that
			err = fmt.Errorf("the client: %w:\n  %s", errors.Join(ended, err), lastLines(c.said.Bytes(), 5))
		}
		all = errors.Join(all, err)
	}
	b.clients = nil
	return all
}

// kill ends the clients before their input: they must not take a half statement for a whole one.
func (b *loading) kill() {
	for _, c := range b.clients {
		_ = c.cmd.Process.Kill() // it may have ended
	}
}
