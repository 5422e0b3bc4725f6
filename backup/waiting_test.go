package backup

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stowage/vault"
)

// Somebody else's lock on a repository is waited for for minutes: whoever watches is told, and told why, each twenty seconds.
func TestALockedRepositoryIsSaid(t *testing.T) {
	at := vault.Place{Restic: "/srv/repository"}
	synctest.Test(t, func(t *testing.T) {
		var said []string
		err := Waiting(t.Context(), at, func(text string) { said = append(said, text) }, func(context.Context) error {
			time.Sleep(45 * time.Second)
			return nil
		})
		if err != nil || len(said) != 2 || said[1] != "waits for /srv/repository, 40s so far: another process may have locked the repository; restic list locks" {
			t.Errorf("%v %q", err, said)
		}
	})
	var s stall
	begin := time.Unix(1000, 0)
	for _, x := range []struct {
		n     int64
		after time.Duration
		want  string
	}{{0, 0, ""}, {0, 19 * time.Second, ""}, {0, 21 * time.Second, "; no byte for 21s: another process may have locked"}, {5, 22 * time.Second, ""}, {5, 50 * time.Second, "; no byte for 28s"}, {6, 51 * time.Second, ""}} {
		if got := s.after(x.n, begin.Add(x.after), at); got != x.want && (x.want == "" || !strings.HasPrefix(got, x.want)) {
			t.Errorf("%d bytes after %s: %q", x.n, x.after, got)
		}
	}
}
