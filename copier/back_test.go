package copier

import (
	"errors"
	"strings"
	"testing"

	"stowage/farm"
)

// There is no way back past a changed definition: whoever tries is told so, again and again, and the target goes on serving.
func TestNoWayBack(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, x := range map[string]struct {
		spoil []string
		says  string
	}{
		"changed": {[]string{"ALTER TABLE shop.k ADD COLUMN mine INT"}, "another client ran: ALTER TABLE shop.k"},
		"purged":  {[]string{"INSERT INTO shop.k (v) VALUES (2)", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "SELECT SLEEP(2)", "PURGE BINARY LOGS BEFORE NOW()"}, "binary log"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, busy...)
			f.carried(t)
			f.cutOver(t)
			for _, text := range x.spoil {
				f.to.Exec(t, text)
			}
			for what, try := range map[string]func() error{
				"feed back":  func() error { return f.c.Back(t.Context()) },
				"feed now":   func() error { return f.c.BackNow(t.Context()) },
				"fence back": func() error { _, err := f.c.FenceBack(t.Context()); return err },
			} {
				var lost *NoWayBack
				if err := try(); !errors.As(err, &lost) || !errors.Is(err, farm.ErrRefused) || !strings.Contains(lost.Why, x.says) || farm.Hint(err) == "" {
					t.Errorf("%s: %v", what, err)
				}
			}
			if can, err := f.c.CanServe(t.Context()); err != nil || !can {
				t.Errorf("the target can serve: %v, %v", can, err)
			}
			f.to.Exec(t, "INSERT INTO shop.k (v) VALUES (2)")
			must(t, f.c.Settle(t.Context()))
		})
	}
}
