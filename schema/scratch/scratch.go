// Package scratch asks a throw-away server what it makes of CREATE TABLE statements that people wrote.
//
// It answers: "how would this definition read if a server had it?" INT and int(11), KEY and INDEX, a default that is not written: text that people write says the same in many ways, a server's says it in one.
//
// Invariants: the server is one of this machine's programs, with a directory of its own that is gone afterwards, and an address of loopback; no server of the farm is asked or written to.
package scratch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
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

// Question is what a server is asked.
type Question struct {
	Local      *host.Local
	Dir        string // is made, and removed: ABSOLUTE
	Charset    string // of the database; "" is the server's
	Collation  string
	Statements []Statement
	Open       func(address string, account mysql.Account) *mysql.Server
}

const (
	owner    = "stowage schema"
	patience = 2 * time.Minute
)

// Read makes the tables on a server of its own, without checks of foreign keys, and reads them back: by name, as SHOW CREATE TABLE says them. flavor is what the server says it is.
// A statement that the server refuses is an error with its place.
func Read(ctx context.Context, q Question) (tables map[string]string, flavor mysql.Flavor, err error) {
	port, err := host.FreePort()
	if err != nil {
		return nil, flavor, err
	}
	i := host.Instance{Name: "scratch", Address: "127.0.0.1", Port: port, Datadir: filepath.Join(q.Dir, "data"), Config: filepath.Join(q.Dir, "my.cnf")}
	account := mysql.Account{User: "scratch", Password: rand.Text()}
	if err := q.Local.Claim(ctx, i, owner); err != nil {
		return nil, flavor, err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, q.Local.Stop(clean, i, 30*time.Second), q.Local.Remove(clean, i, owner))
	}()
	options := fmt.Sprintf("[mysqld]\ndatadir=%s\nsocket=s\npid-file=%s\nlog-error=%s\ntmpdir=%s\nbind-address=127.0.0.1\nport=%d\nskip-log-bin\nskip-name-resolve\ninnodb_buffer_pool_size=16M\nperformance_schema=0\n",
		i.Datadir, filepath.Join(q.Dir, host.PidFile), filepath.Join(q.Dir, host.ErrorLog), filepath.Join(q.Dir, host.TempDir), port)
	if err := q.Local.WriteFile(ctx, i.Config, []byte(options)); err != nil {
		return nil, flavor, err
	}
	setup := "CREATE USER 'scratch'@'127.0.0.1' IDENTIFIED BY '" + account.Password + "';\nGRANT ALL ON *.* TO 'scratch'@'127.0.0.1';\n"
	if err := q.Local.Found(ctx, i, []byte(setup)); err != nil {
		return nil, flavor, err
	}
	if err := q.Local.Start(ctx, i, patience); err != nil {
		return nil, flavor, err
	}
	server := q.Open(i.Dial(), account)
	defer server.Close()
	if flavor, err = server.Flavor(ctx); err != nil {
		return nil, flavor, err
	}
	const database = "scratch"
	statements := make([]string, len(q.Statements))
	for n, s := range q.Statements {
		statements[n] = s.Text
	}
	if n, err := server.MakeTables(ctx, database, q.Charset, q.Collation, statements); err != nil {
		subject := database
		if n >= 0 {
			subject = q.Statements[n].Place
		}
		return nil, flavor, &farm.Error{Op: "make table", Subject: subject, Err: fmt.Errorf("%w: the server (%s) refuses it: %w", farm.ErrInput, flavor, cause(err)), Hint: "correct the file"}
	}
	all, err := server.CreatedTables(ctx, []string{database})
	return all[database], flavor, err
}

// cause leaves out where the throw-away server listened.
func cause(err error) error {
	var e *farm.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
