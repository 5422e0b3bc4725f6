package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/binlog"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/vault"
)

// archiveOf is where the tests keep the binary logs of a server.
func archiveOf(t testing.TB) string {
	t.Helper()
	dir, err := host.ArchiveDir(vault.Place{Dir: t.TempDir()}, "shard")
	must(t, err)
	return dir
}

// archive brings what a server has written since into its archive.
func archive(t testing.TB, l *host.Local, s *mariadbtest.Instance, into string) host.Archived {
	t.Helper()
	a, err := l.ArchiveBinlogs(t.Context(), sourceOf(s), filepath.Join(s.Datadir, "bl.index"), into)
	must(t, err)
	return a
}

// sameFiles holds the archive's files against the server's, byte by byte: those that are closed are equal.
func sameFiles(t testing.TB, s *mariadbtest.Instance, into string, a host.Archived) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(into, a.Identity, "bl.0?????"))
	must(t, err)
	if int64(len(paths)) != a.Files || len(paths) == 0 {
		t.Fatalf("%d files; the archive says %d", len(paths), a.Files)
	}
	bytesOf := int64(0)
	for _, p := range paths {
		is, err := os.ReadFile(p)
		must(t, err)
		was, err := os.ReadFile(filepath.Join(s.Datadir, filepath.Base(p)))
		must(t, err)
		was[binlog.InUseByte] &^= binlog.InUseBit
		if !bytes.Equal(is, was) {
			t.Errorf("%s has %d bytes, the server's has %d, and they differ", filepath.Base(p), len(is), len(was))
		}
		bytesOf += int64(len(is))
	}
	if bytesOf != a.Bytes {
		t.Errorf("%d bytes; the archive says %d", bytesOf, a.Bytes)
	}
}

// TestArchiveFollowsTheLog: whatever the server does between two calls, the archive has its files, and one byte is another: the mark that a
// file is in use. A call that finds nothing appends nothing.
func TestArchiveFollowsTheLog(t *testing.T) {
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s", "--max-binlog-size=64K", "--gtid-domain-id=5")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(2000))")
	var a host.Archived
	for n := range 12 {
		s.Exec(t, "USE d", fmt.Sprintf("INSERT d.a (v) SELECT REPEAT('%c', seq) FROM seq_1_to_%d", 'a'+n, 10+200*(n%3)))
		switch n {
		case 3:
			s.Exec(t, "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
		case 5:
			s.Kill()
			s.Restart(t)
		case 8:
			s.Restart(t)
		}
		a = archive(t, l, s, into)
		sameFiles(t, s, into, a)
		if pos := s.Value(t, "SELECT @@gtid_binlog_pos"); a.Position != pos {
			t.Fatalf("position %s; the server says %s", a.Position, pos)
		}
	}
	if len(a.Gaps) > 0 || len(a.Forks) > 0 || a.Files < 8 {
		t.Errorf("%+v", a)
	}
	if again := archive(t, l, s, into); again.Appended != 0 || again.Last != a.Last || again.Until.Before(a.Until) {
		t.Errorf("again: %+v, and before: %+v", again, a)
	}
	must(t, l.CheckBinlogs(t.Context(), into))
	state, err := l.ArchiveState(t.Context(), into)
	must(t, err)
	if state.Last != a.Last || state.Bytes != a.Bytes {
		t.Errorf("%+v, want %+v", state, a)
	}
}

// TestArchiveNamesGapsAndForks: what a server removed before it was archived is a gap; a server that was made anew, whose log was cut, or
// of which a byte differs has another log, and what was archived stays.
func TestArchiveNamesGapsAndForks(t *testing.T) {
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT d.a VALUES ()")
	first := archive(t, l, s, into)

	s.Exec(t, "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
	purge(t, s, "bl.000004")
	gapped := archive(t, l, s, into)
	if gapped.Identity != first.Identity || len(gapped.Gaps) != 1 || gapped.Gaps[0].Has == gapped.Gaps[0].Next || gapped.Gaps[0].After != first.Last {
		t.Fatalf("%+v, and before it %+v", gapped, first)
	}

	// A hole in the names with nothing in it is none in the log.
	s.Exec(t, "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
	purge(t, s, "bl.000006")
	s.Exec(t, "INSERT d.a VALUES ()")
	if a := archive(t, l, s, into); len(a.Gaps) != 1 || a.Identity != first.Identity || a.Files != 3 {
		t.Fatalf("%+v", a)
	}

	// The log loses its end, as after a power cut.
	s.Exec(t, "INSERT d.a VALUES ()")
	whole := archive(t, l, s, into)
	s.Kill()
	must(t, os.Truncate(filepath.Join(s.Datadir, whole.Last.File), whole.Last.Offset-20))
	before, err := os.ReadFile(filepath.Join(into, whole.Identity, whole.Last.File))
	must(t, err)
	cut := archive(t, l, s, into)
	if cut.Identity == whole.Identity || len(cut.Forks) != 1 || !strings.Contains(cut.Forks[0], fmt.Sprintf("%d were archived", whole.Last.Offset)) {
		t.Fatalf("%+v, and before it %+v", cut, whole)
	}
	after, err := os.ReadFile(filepath.Join(into, whole.Identity, whole.Last.File))
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("what was archived has changed")
	}
	if again := archive(t, l, s, into); again.Identity != cut.Identity || len(again.Forks) != 1 {
		t.Errorf("again: %+v", again)
	}

	// Another server under the same name, with files of the same names.
	other := mariadbtest.Start(t, "other")
	other.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT)")
	made := archive(t, l, other, into)
	if made.Identity == cut.Identity || len(made.Forks) != 2 || made.Files != 1 {
		t.Errorf("%+v", made)
	}

	// A byte of a transaction that was archived.
	other.Kill()
	path := filepath.Join(other.Datadir, made.Last.File)
	raw, err := os.ReadFile(path)
	must(t, err)
	raw[made.Last.Offset-10] ^= 1
	must(t, os.WriteFile(path, raw, 0o644))
	_, err = l.ArchiveBinlogs(t.Context(), sourceOf(other), filepath.Join(other.Datadir, "bl.index"), into)
	var fault *binlog.Fault
	if !errors.As(err, &fault) || fault.Cut {
		t.Errorf("a byte that differs: %v", err)
	}
	if a, err := l.ArchiveState(t.Context(), into); err != nil || len(a.Forks) != 3 || a.Last.Offset >= made.Last.Offset {
		t.Errorf("%+v, %v", a, err)
	}
}

// purge removes files from the server's log. It does not remove one whose transactions may not be on the disk yet (a binlog checkpoint).
func purge(t testing.TB, s *mariadbtest.Instance, to string) {
	t.Helper()
	for range 200 {
		s.Exec(t, "PURGE BINARY LOGS TO '"+to+"'")
		raw, err := os.ReadFile(filepath.Join(s.Datadir, "bl.index"))
		must(t, err)
		if strings.HasPrefix(string(raw), "./"+to+"\n") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server does not purge its log to %s", to)
}

// counted is what a writer knows of a moment: the rows of each table by then.
type counted struct {
	gtid string
	rows map[string]int
	sum  string
}

// history writes rows with all that changes how a log looks, and notes what was there after each transaction.
func history(t testing.TB, s *mariadbtest.Instance, each func(n int)) []counted {
	t.Helper()
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100), at INT DEFAULT UNIX_TIMESTAMP())",
		"CREATE TABLE d.log (id INT AUTO_INCREMENT PRIMARY KEY, a INT)", "CREATE TRIGGER d.t AFTER INSERT ON d.a FOR EACH ROW INSERT d.log (a) VALUES (NEW.id)")
	db := s.DB(t, mariadbtest.Stowage, "d")
	db.SetMaxOpenConns(1)
	var all []counted
	domain := s.Value(t, "SELECT @@gtid_domain_id")
	formats := []string{"ROW", "MIXED", "STATEMENT"}
	for n := range 150 {
		statements := []string{"SET SESSION binlog_format='" + formats[n/3%3] + "'"}
		switch n % 10 {
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
	must(t, rows.Close())
	for _, n := range names {
		var count int
		must(t, db.QueryRow("SELECT COUNT(*) FROM "+n).Scan(&count))
		c.rows[n] = count
		var table, sum string
		must(t, db.QueryRow("CHECKSUM TABLE "+n).Scan(&table, &sum))
		c.sum += n + "=" + sum + " "
	}
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
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s", "--sync-binlog=0")
	into := archiveOf(t)
	all := history(t, s, func(n int) {
		if n%7 == 0 {
			archive(t, l, s, into)
		}
	})
	a := archive(t, l, s, into)
	target := mariadbtest.Start(t, "target", "--read-only=1")
	from := begin(t, into, a)
	at, reached := 0, ""
	for range 5 {
		at += 1 + rand.IntN(len(all)/6)
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
}
