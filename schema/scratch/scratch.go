// Package scratch asks a throw-away server what it makes of statements that people wrote: CREATE TABLE, and changes of tables.
//
// It answers: "how would this definition read if a server had it?" and "what would this change make of these tables, and how cheaply?" INT and int(11), KEY and INDEX, a default that is not written:
// text that people write says the same in many ways, a server's says it in one. Main type: Server, opened once and asked many times.
//
// Invariants: the server is one of this machine's programs, with a directory of its own that is gone afterwards, and an address of loopback; no server of the farm is asked or written to.
package scratch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// Statement makes one table.
type Statement struct {
	Table string
	Text  string
	Place string // file:line
}

// Question is how a throw-away server is made, and what it is asked first.
type Question struct {
	Local      *host.Local
	Dir        string // is made, and removed: ABSOLUTE
	Charset    string // of the database; "" is the server's
	Collation  string
	Statements []Statement // for Read
	Open       func(address string, account mysql.Account) *mysql.Server
}

const (
	owner    = "stowage schema"
	patience = 2 * time.Minute
)

// Server is a throw-away server. Its methods may be called by several goroutines; they take turns.
type Server struct {
	Flavor mysql.Flavor // what it says it is

	q        Question
	instance host.Instance
	sql      *mysql.Server
	turn     sync.Mutex
}

// Open founds and starts a server; Statements of q are not looked at. Close it.
func Open(ctx context.Context, q Question) (_ *Server, err error) {
	port, err := host.FreePort()
	if err != nil {
		return nil, err
	}
	i := instanceIn(q.Dir)
	i.Port = port
	account := mysql.Account{User: "scratch", Password: rand.Text()}
	if err := q.Local.Claim(ctx, i, owner); err != nil {
		return nil, err
	}
	s := &Server{q: q, instance: i}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	options := fmt.Sprintf("[mysqld]\ndatadir=%s\nsocket=s\npid-file=%s\nlog-error=%s\ntmpdir=%s\nbind-address=127.0.0.1\nport=%d\nskip-log-bin\nskip-name-resolve\ndefault-time-zone=+00:00\ninnodb_buffer_pool_size=16M\nperformance_schema=0\n"+
		"loose-secure_file_priv=\nloose-mysqlx=OFF\ninnodb_flush_log_at_trx_commit=0\ninnodb_doublewrite=0\nloose-sync_frm=0\nloose-debug_no_sync=1\nloose-innodb_flush_method=nosync\nloose-system_versioning_alter_history=KEEP\n", // nothing is kept, so nothing waits for the disk; what becomes of a history is judged, and not refused by the server
		i.Datadir, filepath.Join(q.Dir, host.PidFile), filepath.Join(q.Dir, host.ErrorLog), filepath.Join(q.Dir, host.TempDir), port)
	if err := q.Local.WriteFile(ctx, i.Config, []byte(options)); err != nil {
		return nil, err
	}
	setup := []byte("CREATE USER 'scratch'@'127.0.0.1' IDENTIFIED BY '" + account.Password + "';\nGRANT ALL ON *.* TO 'scratch'@'127.0.0.1';\n")
	if err := q.found(ctx, i, options, setup); err != nil {
		return nil, err
	}
	if err := q.Local.Start(ctx, i, patience); err != nil {
		return nil, err
	}
	if key, err := q.Local.ReadFile(ctx, filepath.Join(i.Datadir, "public_key.pem")); err == nil {
		account.PublicKey = string(key) // MySQL made it; without it no password is sent there
	}
	s.sql = q.Open(i.Dial(), account)
	s.Flavor, err = s.sql.Flavor(ctx)
	return s, err
}

// found makes the server's data. MariaDB reads setup at its only start: Found would start and stop it once more for that.
func (q Question) found(ctx context.Context, i host.Instance, options string, setup []byte) error {
	if q.Local.IsMySQL() {
		return q.Local.Found(ctx, i, setup)
	}
	if err := q.Local.Found(ctx, i, nil); err != nil {
		return err
	}
	file := filepath.Join(q.Dir, "setup.sql")
	return errors.Join(q.Local.WriteFile(ctx, file, setup), q.Local.WriteFile(ctx, i.Config, []byte(options+"init-file="+file+"\n")))
}

// Close ends the server, as a crash would because nothing of it is kept, and removes its directory. It does so also when ctx has ended.
func (s *Server) Close(ctx context.Context) error {
	if s.sql != nil {
		s.sql.Close()
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(s.q.Local.Kill(clean, s.instance, 30*time.Second), s.q.Local.Remove(clean, s.instance, owner))
}

// Read makes the tables on a server of its own and reads them back: Open, Server.Read and Close. flavor is what the server says it is.
func Read(ctx context.Context, q Question) (tables map[string]string, flavor mysql.Flavor, err error) {
	s, err := Open(ctx, q)
	if err != nil {
		return nil, flavor, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	tables, err = s.Read(ctx, q.Statements)
	return tables, s.Flavor, err
}

// Read makes the tables, without checks of foreign keys, and reads them back: by name, as SHOW CREATE TABLE says them. A statement that the server refuses is an error with its place (farm.ErrInput).
func (s *Server) Read(ctx context.Context, statements []Statement) (map[string]string, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.make(ctx, "scratch", statements)
}

// make makes tables in a database of their own and reads them back. The database is gone when it returns with an error, and when the next one of that name is made.
func (s *Server) make(ctx context.Context, database string, statements []Statement) (map[string]string, error) {
	texts := make([]string, len(statements))
	for n, t := range statements {
		texts[n] = t.Text
	}
	if err := s.sql.DropDatabase(ctx, database); err != nil {
		return nil, err
	}
	if n, err := s.sql.MakeTables(ctx, database, s.q.Charset, s.q.Collation, texts); err != nil {
		subject := database
		if n >= 0 {
			subject = statements[n].Place
		}
		return nil, &farm.Error{Op: "make table", Subject: subject, Err: fmt.Errorf("%w: the server (%s) refuses it: %w", farm.ErrInput, s.Flavor, cause(err)), Hint: "correct the file"}
	}
	all, err := s.sql.CreatedTables(ctx, []string{database})
	return all[database], err
}

// cause leaves out where the throw-away server listened.
func cause(err error) error {
	var e *farm.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
