package mysql

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
)

// poolScene is a server with two tables whose pages are all in its pool.
func poolScene(t *testing.T, args ...string) (*mariadbtest.Instance, *Server) {
	t.Helper()
	i, s := start(t, "pool", append([]string{"innodb_buffer_pool_size=16M", "innodb_lru_scan_depth=100"}, args...)...)
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.big (id INT PRIMARY KEY, k INT, pad CHAR(250), KEY (k))", "CREATE TABLE d.small (id INT PRIMARY KEY)",
		"USE d", "INSERT d.big SELECT seq, seq * 7 % 20000, seq FROM seq_1_to_20000", "INSERT d.small VALUES (1)")
	return i, s
}

const poolVariables = "SELECT CONCAT_WS(' ', @@innodb_buffer_pool_dump_pct, @@innodb_buffer_pool_dump_at_shutdown)"

// A quarter of a pool is no warm pool: a dump has all of it, no shutdown writes a smaller one in its
// place, and after a restart every page is there again. No setting is another than before.
func TestWholePoolComesBackAfterARestart(t *testing.T) {
	t.Parallel()
	i, s := poolScene(t, "innodb_buffer_pool_dump_at_shutdown=1")
	held := pages(t, s)
	must(t, s.DumpPool(t.Context(), true, patience))
	if now := i.Value(t, poolVariables); now != "25 ON" {
		t.Fatalf("settings are %q", now)
	}
	must(t, s.KeepPoolFile(t.Context()))
	i.Restart(t)
	cold := pages(t, s)
	ended, err := s.LoadPool(t.Context(), patience)
	if got := pages(t, s); err != nil || !strings.Contains(ended, "completed") || got < held*95/100 || cold > held/2 {
		t.Errorf("%d pages, %d right after the restart, %d before it: %q, %v", got, cold, held, ended, err)
	}
	if now := i.Value(t, poolVariables); now != "25 ON" {
		t.Errorf("settings are %q", now)
	}
}

// Of a server that serves clients no more is listed than its own settings say.
func TestDumpOfAServingPoolIsAsItsOwnerSays(t *testing.T) {
	t.Parallel()
	i, s := poolScene(t)
	must(t, s.DumpPool(t.Context(), false, patience))
	quarter := strings.Count(poolFile(t, i), "\n")
	room, err := s.PoolRoom(t.Context())
	if err != nil || quarter == 0 || int64(quarter) > room*30/100 {
		t.Errorf("%d pages, the pool can hold %d: %v", quarter, room, err)
	}
	must(t, s.DumpPool(t.Context(), true, patience)) // at once: the words of the first end are no answer
	if n := strings.Count(poolFile(t, i), "\n"); n < 2*quarter {
		t.Errorf("%d of %d pages; %d as its owner says", n, pages(t, s), quarter)
	}
}

// A kill between setting and putting back is mended later; what a person has set stays.
func TestPoolSettingsOfAKilledAttemptArePutBack(t *testing.T) {
	t.Parallel()
	i, s := poolScene(t)
	i.Exec(t, "SET GLOBAL innodb_buffer_pool_dump_pct = 40, GLOBAL innodb_buffer_pool_dump_at_shutdown = ON")
	was, err := s.PoolSettings(t.Context())
	must(t, err)
	i.Exec(t, "SET GLOBAL innodb_buffer_pool_dump_pct = 100") // and nothing after it
	must(t, s.KeepPoolFile(t.Context()))
	must(t, s.RestorePool(t.Context(), was))
	if got := i.Value(t, poolVariables); got != "40 ON" {
		t.Errorf("%q", got)
	}
	i.Exec(t, "SET GLOBAL innodb_buffer_pool_dump_pct = 60")
	must(t, s.RestorePool(t.Context(), was))
	if got := i.Value(t, poolVariables); got != "60 ON" {
		t.Errorf("what a person set is %q now", got)
	}
	i.SetOptions("innodb_buffer_pool_dump_pct=100")
	i.Restart(t)
	must(t, s.RestorePool(t.Context(), was))
	if got := i.Value(t, poolVariables); got != "100 OFF" {
		t.Errorf("what the option file says is %q now", got)
	}
}

// Where a table was rebuilt a dump of before means nothing; its name still does.
func TestTablesAreFilledByName(t *testing.T) {
	t.Parallel()
	i, s := poolScene(t)
	must(t, s.DumpPool(t.Context(), true, patience))
	hot, err := s.HotTables(t.Context(), poolFile(t, i))
	if err != nil || len(hot) != 2 || hot[0].Table != "big" || hot[0].Pages < 300 || hot[0].Of < hot[0].Pages {
		t.Fatalf("%+v, %v", hot, err)
	}
	i.Exec(t, "ALTER TABLE d.big FORCE")
	i.Restart(t)
	_, err = s.LoadPool(t.Context(), patience)
	must(t, err)
	void := pages(t, s)
	if n, err := s.ReadTables(t.Context(), hot, hot[0].Pages/2); err != nil || n != 1 {
		t.Errorf("%d tables fit into half of the room that they need, %v", n, err)
	}
	n, err := s.ReadTables(t.Context(), hot, 2000)
	if got := pages(t, s); err != nil || n != 2 || got < void+hot[0].Pages*9/10 {
		t.Errorf("%d tables read, %d pages, %d before: %v", n, got, void, err)
	}
}

func pages(t *testing.T, s *Server) int64 {
	t.Helper()
	n, err := s.PoolPages(t.Context())
	must(t, err)
	return n
}

func poolFile(t *testing.T, i *mariadbtest.Instance) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.Value(t, "SELECT @@datadir"), PoolFile))
	must(t, err)
	return string(text)
}
