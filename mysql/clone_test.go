package mysql

import (
	"sync/atomic"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
)

// A clone goes as fast as the last word said: slowly, though it had begun
// without a limit on the server, and then to its end.
func TestLimitOfAClone(t *testing.T) {
	l := mariadbtest.Named(t, mariadbtest.MySQL9)
	donor, fresh := l.Start(t, "donor"), l.Start(t, "fresh")
	s := open(t, fresh)
	must(t, s.LimitClone(t.Context(), 0)) // 1 MiB/s: a server without any rows has 70 MB
	var copied atomic.Int64
	ended := make(chan error, 1)
	go func() {
		ended <- s.Clone(t.Context(), donor.Address, Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}, func(done, _ int64) { copied.Store(done) })
	}()
	begin := time.Now()
	for copied.Load() == 0 && time.Since(begin) < patience {
		time.Sleep(50 * time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Fatalf("70 MB at 1 MiB/s were there within %v: %v", time.Since(begin), err)
	case <-time.After(4 * time.Second):
	}
	if copied.Load() == 0 {
		t.Errorf("nothing was copied within %v", time.Since(begin))
	}
	must(t, s.LimitClone(t.Context(), 1<<40))
	must(t, s.LimitClone(t.Context(), -1))
	if v := fresh.Value(t, "SELECT @@GLOBAL.clone_max_data_bandwidth"); v != "0" {
		t.Errorf("without a limit it is %s", v)
	}
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(patience):
		t.Errorf("without a limit there are %d bytes after %v more", copied.Load(), patience)
	}
}
