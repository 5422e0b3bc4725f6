package mysql

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// The limit of a clone can be said before it, while it runs, and taken away, and the clone comes to its end. How fast it then
// goes is the plugin's: it rests for a second at most after each tenth of a second of copying, so that the 70 MB of a server
// without rows may be there before it has rested much.
func TestLimitOfAClone(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	l := mariadbtest.Named(t, mariadbtest.MySQL9)
	donor, fresh := l.Start(t, "donor"), l.Start(t, "fresh")
	s := open(t, fresh)
	limit := func(bytesPerSecond int64, want string) {
		t.Helper()
		must(t, s.LimitClone(t.Context(), bytesPerSecond))
		if v := fresh.Value(t, "SELECT @@GLOBAL.clone_max_data_bandwidth"); v != want {
			t.Errorf("with a limit of %d bytes/s it is %s, want %s", bytesPerSecond, v, want)
		}
	}
	limit(1<<40, "1048576")
	limit(-1, "0")
	limit(0, "1") // MiB/s, the least there is
	ended := make(chan error, 1)
	go func() {
		ended <- s.Clone(t.Context(), donor.Address, Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}, nil)
	}()
	time.Sleep(500 * time.Millisecond)
	if err := s.LimitClone(t.Context(), -1); err != nil {
		t.Logf("it had ended, and the server with it, before its limit was taken away: %v", err)
	}
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(patience):
		t.Fatalf("it did not end within %v of having no limit", patience)
	}
}

// A clone writes what is outside of the data directory to the same path of its own host; what options place, it places by its own.
func TestTablespacesOutsideOfTheDataDirectory(t *testing.T) {
	turns.One(t, 3)
	t.Parallel() // it mostly waits
	i := mariadbtest.Named(t, mariadbtest.MySQL9).Start(t, "s")
	outside := filepath.Join(i.Dir, "tmp")
	i.SetOptions("--innodb-directories=" + outside)
	i.Restart(t)
	s := open(t, i)
	if has, err := s.FilesElsewhere(t.Context()); err != nil || len(has) > 0 {
		t.Fatalf("%q %v", has, err)
	}
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) DATA DIRECTORY = '"+outside+"'", "CREATE TABLESPACE g ADD DATAFILE '"+outside+"/g.ibd'", "CREATE UNDO TABLESPACE u ADD DATAFILE '"+outside+"/u.ibu'")
	has, err := s.FilesElsewhere(t.Context())
	must(t, err)
	if want := []string{"d/t (" + outside + "/d/t.ibd)", "g (" + outside + "/g.ibd)", "u (" + outside + "/u.ibu)"}; !slices.Equal(has, want) {
		t.Errorf("%q, want %q", has, want)
	}
}
