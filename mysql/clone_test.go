package mysql

import (
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
