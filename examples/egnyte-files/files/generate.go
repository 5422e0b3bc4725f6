package files

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	egnyte "stowage/examples/egnyte-files"
)

// rowsAtOnce are the rows of one LOAD DATA, and of one transaction.
const rowsAtOnce = 500_000

// Generate makes the database, where it is not there, its tables, which must not be there, and the rows of the plan. The account needs CREATE,
// ALTER, INDEX and INSERT, and SUPER (MariaDB: BINLOG ADMIN) where the plan is unlogged; the server must allow local_infile.
func Generate(ctx context.Context, db *sql.DB, shard string, p Plan) ([]Tenant, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", shard, err)
	}
	defer func() { _ = conn.Close() }()
	statements := []string{"CREATE DATABASE IF NOT EXISTS `" + shard + "` CHARACTER SET utf8mb4", "USE `" + shard + "`"}
	if p.Unlogged {
		statements = append([]string{"SET SESSION sql_log_bin = 0"}, statements...)
	}
	if err := run(ctx, conn, append(statements, Statements(egnyte.Schema)...)...); err != nil {
		return nil, fmt.Errorf("generate %s: %w", shard, err)
	}
	l := p.layout()
	for _, table := range []struct {
		name string
		rows iter.Seq[line]
	}{{"tenants", l.tenantRows()}, {"folders", l.folderRows()}, {"files", l.fileRows()}, {"versions", l.versionRows()}} {
		if err := fill(ctx, conn, table.name, table.rows, p.say); err != nil {
			return nil, fmt.Errorf("generate %s.%s: %w", shard, table.name, err)
		}
	}
	return l.tenants, nil
}

func (p Plan) say(format string, args ...any) {
	if p.Say != nil {
		p.Say(fmt.Sprintf(format, args...))
	}
}

// Statements are those of a script without string literals that hold semicolons, and without its comments.
func Statements(script string) []string {
	script = regexp.MustCompile(`(?m)^--.*$`).ReplaceAllString(script, "")
	var out []string
	for _, s := range strings.Split(script, ";") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func run(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.60q: %w", s, err)
		}
	}
	return nil
}

var secondaryKey = regexp.MustCompile("(?m)^  ((?:UNIQUE )?KEY `(\\w+)` .*?\\)),?$")

// fill puts rows into an empty table that has only its primary key meanwhile. Its other indexes are built afterwards, by sorting:
// row by row, in scattered order, they would take hours where they do not fit into the buffer pool.
func fill(ctx context.Context, conn *sql.Conn, table string, rows iter.Seq[line], say func(string, ...any)) error {
	var name, definition string
	if err := conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&name, &definition); err != nil {
		return err
	}
	var drop, add []string
	for _, m := range secondaryKey.FindAllStringSubmatch(definition, -1) {
		drop, add = append(drop, "DROP KEY `"+m[2]+"`"), append(add, "ADD "+m[1])
	}
	if len(drop) > 0 {
		if err := run(ctx, conn, "ALTER TABLE "+table+" "+strings.Join(drop, ", ")); err != nil {
			return err
		}
	}
	next, stop := iter.Pull(rows)
	defer stop()
	for all, ended := 0, false; !ended; {
		loaded, err := load(ctx, conn, table, func() (line, bool) {
			row, ok := next()
			ended = !ok
			return row, ok
		})
		if err != nil {
			return err
		}
		if all += loaded; loaded > 0 {
			say("%s: %d rows", table, all)
		}
	}
	if len(add) == 0 {
		return nil
	}
	say("%s: indexes", table)
	return run(ctx, conn, "ALTER TABLE "+table+" "+strings.Join(add, ", "))
}

// loads numbers the readers that the driver knows by name.
var loads atomic.Int64

// load sends up to rowsAtOnce rows by one LOAD DATA LOCAL.
func load(ctx context.Context, conn *sql.Conn, table string, next func() (line, bool)) (rows int, err error) {
	name := fmt.Sprintf("egnyte-files-%d", loads.Add(1))
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var buffer []byte
		for ; rows < rowsAtOnce; rows++ {
			row, ok := next()
			if !ok {
				break
			}
			if buffer = append(buffer, row...); len(buffer) < 256<<10 {
				continue
			}
			if _, err := to.Write(buffer); err != nil {
				return // the statement has ended, and says why
			}
			buffer = buffer[:0]
		}
		if _, err := to.Write(buffer); err == nil {
			_ = to.Close() // of a pipe: cannot fail
		}
	}()
	mysql.RegisterReaderHandler(name, func() io.Reader { return from })
	defer mysql.DeregisterReaderHandler(name)
	_, err = conn.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+table+" CHARACTER SET binary")
	_ = from.Close() // lets the goroutine end where the server did not read to the end
	<-done
	return rows, err
}
