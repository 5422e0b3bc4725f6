package host_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/binlog"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// counted is what a writer knows of a moment: the rows of each table by then.
type counted struct {
	gtid string
	rows map[string]int
	sum  string
}

// history writes rows with all that changes how a log looks, and notes what was there after each step. Temporary tables end with the session
// that has them, so a replay that was killed while one was there cannot go on: resumed leaves them out.
func history(t testing.TB, s *mariadbtest.Instance, resumed bool, each func(n int)) []counted {
	t.Helper()
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100), at INT DEFAULT UNIX_TIMESTAMP())",
		"CREATE TABLE d.log (a INT PRIMARY KEY)", "CREATE TRIGGER d.t AFTER INSERT ON d.a FOR EACH ROW INSERT d.log (a) VALUES (NEW.id)")
	s.Exec(t, "CREATE TABLE d.m (id INT) ENGINE=MyISAM", "CREATE TABLE d.old (id INT PRIMARY KEY, x INT, y INT AS (x + 1) STORED) WITH SYSTEM VERSIONING", "INSERT d.old (id, x) VALUES (1, 0)")
	data := filepath.Join(s.Dir, "load.txt")
	must(t, os.WriteFile(data, []byte("1\ntwo\n'\\''\n"), 0o644))
	db := s.DB(t, mariadbtest.Stowage, "d")
	db.SetMaxOpenConns(1)
	var all []counted
	domain := s.Value(t, "SELECT @@gtid_domain_id")
	formats := []string{"ROW", "MIXED", "STATEMENT"}
	for n := range 150 {
		statements := []string{"SET SESSION binlog_format='" + formats[n/3%3] + "'"}
		switch n % 10 {
		case 1:
			statements = append(statements, "LOAD DATA INFILE '"+data+"' INTO TABLE a (v)", "INSERT m VALUES (1),(2)", fmt.Sprintf("UPDATE old SET x = %d", n))
		case 2:
			x := fmt.Sprintf("'x%d'", n)
			statements = append(statements, "XA START "+x, "INSERT a (v) VALUES ('xa')", "XA END "+x, "XA PREPARE "+x, []string{"XA COMMIT ", "XA ROLLBACK "}[n/10%2]+x)
			if resumed {
				break
			}
			statements = append(statements, "CREATE TEMPORARY TABLE tmp (id INT)", "INSERT tmp VALUES (1),(2)", "INSERT a (v) SELECT CONCAT('tmp', id) FROM tmp", "DROP TEMPORARY TABLE tmp")
		case 3:
			statements = append(statements, fmt.Sprintf("CREATE TABLE x%d (id INT PRIMARY KEY) SELECT seq AS id FROM seq_1_to_%d", n, n+1))
		case 5:
			statements = append(statements, "SET SESSION gtid_domain_id="+fmt.Sprint(900+n%3), fmt.Sprintf("INSERT a (v) VALUES ('domain %d')", n), "SET SESSION gtid_domain_id="+domain)
		case 7:
			statements = append(statements, "BEGIN", "UPDATE a SET v = CONCAT('u', v) WHERE id % 7 = 1", "DELETE FROM a ORDER BY id LIMIT 1", fmt.Sprintf("INSERT a (v) VALUES ('d''%d\\\\')", n), "COMMIT")
		case 8:
			statements = append(statements, fmt.Sprintf("ALTER TABLE log ADD COLUMN c%d INT", n))
		case 9:
			statements = append(statements, "FLUSH BINARY LOGS", "INSERT a (v) SELECT CONCAT('many', seq) FROM seq_1_to_300")
		default:
			statements = append(statements, fmt.Sprintf("INSERT a (v) VALUES ('%d'), ('b')", n))
		}
		for _, st := range statements {
			if _, err := db.Exec(st); err != nil {
				t.Fatalf("%s: %v", st, err)
			}
		}
		c := contents(t, s)
		c.gtid = s.Value(t, "SELECT @@gtid_binlog_pos")
		all = append(all, c)
		if each != nil {
			each(n)
		}
	}
	return all
}

// contents is what there is: the rows of each table, and a sum over all.
func contents(t testing.TB, s *mariadbtest.Instance) counted {
	t.Helper()
	c := counted{rows: map[string]int{}}
	db := s.DB(t, mariadbtest.Stowage, "d")
	rows, err := db.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1")
	must(t, err)
	var names []string
	for rows.Next() {
		var n string
		must(t, rows.Scan(&n))
		names = append(names, n)
	}
	must(t, errors.Join(rows.Err(), rows.Close()))
	for _, n := range names {
		var count int
		must(t, db.QueryRow("SELECT COUNT(*) FROM "+n).Scan(&count))
		c.rows[n] = count
		if n == "old" {
			continue // its sum is another one though all columns of all rows, also those that were, are equal (10.11.19)
		}
		var table, sum string
		must(t, db.QueryRow("CHECKSUM TABLE "+n).Scan(&table, &sum))
		c.sum += n + "=" + sum + " "
	}
	var past sql.NullString // rows that were, with the times that they have
	must(t, db.QueryRow("SELECT SUM(CRC32(CONCAT_WS(' ', id, x, y, row_start, row_end))) FROM old FOR SYSTEM_TIME ALL").Scan(&past))
	c.sum += past.String
	must(t, db.Close())
	return c
}

func replaying(s *mariadbtest.Instance, into string, from, to host.Mark) host.Replaying {
	return host.Replaying{Archive: into, From: from, To: to, Instance: sourceOf(s), Login: loginTo(s)}
}

// begin is the first place of an archive.
func begin(t testing.TB, into string, a host.Archived) host.Mark {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(into, a.Identity, "bl.0?????"))
	must(t, err)
	slices.Sort(paths)
	raw, err := os.ReadFile(paths[0])
	must(t, err)
	h, err := binlog.ReadHead(bytes.NewReader(raw))
	must(t, err)
	return host.Mark{Log: a.Identity, File: filepath.Base(paths[0]), Offset: h.End}
}

// TestReplayToTransactions: an empty server that is replayed to a transaction has the rows that were there right after it, and the same
// position; and it goes on from there to later ones.
func TestReplayToTransactions(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s", "--sync-binlog=0")
	into := archiveOf(t)
	all := history(t, s, false, func(n int) {
		if n%7 == 0 {
			archive(t, l, s, into)
		}
	})
	a := archive(t, l, s, into)
	target := mariadbtest.Start(t, "target", "--read-only=1")
	from := begin(t, into, a)
	at, reached := 0, ""
	for range 5 {
		if at += 1 + rand.IntN(len(all)/6); at%10 == 2 {
			at++ // its last transaction drops a temporary table: a target by rows writes none to its own log
		}
		to, err := l.ArchiveUntil(t.Context(), into, all[at].gtid)
		must(t, err)
		if !samePosition(to.Position, all[at].gtid) {
			t.Fatalf("found %s for %s", to.Position, all[at].gtid)
		}
		r := replaying(target, into, from, to.Mark)
		r.Reached = reached
		told := int64(-1)
		r.Told = func(done, all int64) {
			if done < told || done > all {
				t.Errorf("told %d of %d after %d", done, all, told)
			}
			told = done
		}
		must(t, l.Replay(t.Context(), r))
		reached = target.Value(t, "SELECT @@gtid_binlog_pos")
		if c := contents(t, target); c.sum != all[at].sum || !samePosition(reached, all[at].gtid) || told <= 0 {
			t.Fatalf("at %s: %s, %v; want %s: %s, %v; told %d", reached, c.sum, c.rows, all[at].gtid, all[at].sum, all[at].rows, told)
		}
	}
	// The same again is nothing, and a range from its beginning is refused by the server.
	to, err := l.ArchiveUntil(t.Context(), into, all[at].gtid)
	must(t, err)
	r := replaying(target, into, from, to.Mark)
	r.Reached = reached
	must(t, l.Replay(t.Context(), r))
	r.Reached = ""
	if err := l.Replay(t.Context(), r); err == nil || !strings.Contains(err.Error(), "ERROR ") {
		t.Errorf("from the beginning again: %v", err)
	}
	if c := contents(t, target); c.sum != all[at].sum {
		t.Errorf("%s, want %s", c.sum, all[at].sum)
	}
}

func samePosition(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestReplayOfALargeStatement: rows of more bytes than the server takes at once, with rows of two tables in one statement; over a socket.
func TestReplayOfALargeStatement(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s", "--innodb-log-file-size=64M")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE old (id INT, x INT, y INT) WITH SYSTEM VERSIONING", "CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(200))", "INSERT a SELECT seq, REPEAT('x', 150) FROM seq_1_to_40000",
		"CREATE TABLE b (PRIMARY KEY (id)) SELECT * FROM a", "UPDATE a JOIN b USING (id) SET a.v = CONCAT('a', id), b.v = CONCAT('b', id)", "DELETE FROM a WHERE id % 3 = 0")
	a := archive(t, l, s, into)
	target := mariadbtest.Start(t, "target", "--max-allowed-packet=1M", "--innodb-log-file-size=64M")
	r := replaying(target, into, begin(t, into, a), a.Last)
	r.Login = host.Login{User: "root", Password: mariadbtest.Root.Password(), Address: target.Socket}
	must(t, l.Replay(t.Context(), r))
	if is, was := contents(t, target), contents(t, s); is.sum != was.sum || !samePosition(target.Value(t, "SELECT @@gtid_binlog_pos"), a.Position) {
		t.Errorf("%s %v, want %s %v", is.sum, is.rows, was.sum, was.rows)
	}
	if a.Bytes < 20<<20 {
		t.Errorf("only %d bytes", a.Bytes)
	}
}

// TestReplayByHand: what docs/reference/binlogs.md says, with the server's own programs and no Stowage.
func TestReplayByHand(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	all := history(t, s, false, nil)
	a := archive(t, l, s, into)
	paths, err := filepath.Glob(filepath.Join(into, a.Identity, "bl.0?????"))
	must(t, err)
	target := mariadbtest.Start(t, "target")
	target.Exec(t, "SET GLOBAL gtid_strict_mode = OFF", "SET GLOBAL max_allowed_packet = 1073741824")
	script := fmt.Sprintf("set -o pipefail; mariadb-binlog --verify-binlog-checksum --start-position=%d %s | mariadb --binary-mode --skip-reconnect --max-allowed-packet=1G -h %s -P %d -u stowage",
		begin(t, into, a).Offset, strings.Join(paths, " "), target.Host, target.Port)
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+mariadbtest.Stowage.Password())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if is, was := contents(t, target), all[len(all)-1]; is.sum != was.sum {
		t.Errorf("%s %v, want %s %v", is.sum, is.rows, was.sum, was.rows)
	}
}

// TestReplayRefuses: places that are not there, places across a gap, and an instance that somebody else has written to.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)")
	a := archive(t, l, s, into)
	from := begin(t, into, a)
	target := mariadbtest.Start(t, "target")
	refused := func(r host.Replaying, want error) {
		t.Helper()
		if err := l.Replay(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	middle := a.Last
	middle.Offset -= 3
	refused(replaying(target, into, from, middle), host.ErrNotArchived)
	beyond := a.Last
	beyond.Offset += 100
	refused(replaying(target, into, from, beyond), host.ErrNotArchived)
	elsewhere := a.Last
	elsewhere.File = "bl.000077"
	refused(replaying(target, into, from, elsewhere), host.ErrNotArchived)
	r := replaying(target, into, from, a.Last)
	r.Reached = "4711-1-1"
	refused(r, farm.ErrRefused)
	for _, gtid := range []string{"1-1-999", s.Value(t, "SELECT CONCAT(@@gtid_domain_id, '-', @@server_id, '-999')"), "1-1"} {
		if f, err := l.ArchiveUntil(t.Context(), into, gtid); err == nil {
			t.Errorf("%s is at %v", gtid, f)
		}
	}
	for _, at := range []time.Time{time.Now().Add(time.Hour), a.From.Add(-time.Second)} {
		if f, err := l.ArchiveAt(t.Context(), into, at); !errors.Is(err, host.ErrNotArchived) {
			t.Errorf("%s is at %v, %v", at, f, err)
		}
	}
	s.Exec(t, "INSERT d.a VALUES ()", "FLUSH BINARY LOGS")
	purge(t, s, "bl.000002")
	s.Exec(t, "INSERT d.a VALUES ()")
	b := archive(t, l, s, into)
	refused(replaying(target, into, from, b.Last), host.ErrNotArchived)
	if pos := target.Value(t, "SELECT @@gtid_binlog_pos"); pos != "" {
		t.Errorf("the target has %s", pos)
	}
	// What it wrote itself has the number of a transaction of the log: to go on behind that number would leave the transaction out.
	target.Exec(t, "SET SESSION gtid_domain_id = "+s.Value(t, "SELECT @@gtid_domain_id"), "CREATE DATABASE own")
	refused(replaying(target, into, from, a.Last), farm.ErrRefused)
}
