package mariadbtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Writers keep inserting into d.w, each with its own connection, until stop is called.
func (i *Instance) Writers(t testing.TB, n int) (stop func()) {
	t.Helper()
	i.Exec(t, "CREATE DATABASE IF NOT EXISTS d", "CREATE TABLE IF NOT EXISTS d.w (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, KEY (v))")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, n)
	for w := range n {
		go func() {
			db := i.DB(t, App, "d")
			for k := 0; ctx.Err() == nil; k++ {
				time.Sleep(2 * time.Millisecond) // a busy machine's replica must be able to follow
				if _, err := db.Exec("INSERT w (v) VALUES (?),(?)", w, k); err != nil {
					done <- err
					return
				}
				if _, err := db.Exec("UPDATE w SET v = v + 1 WHERE id = ?", k); err != nil {
					done <- fmt.Errorf("update: %w", err)
					return
				}
			}
			done <- nil
		}()
	}
	return func() {
		t.Helper()
		cancel()
		for range n {
			if err := <-done; err != nil {
				t.Errorf("writer: %v", err)
			}
		}
	}
}
