package feed

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"stowage/mysql"
)

// An idle source that is lost now and then, behind a proxy that ends what is quiet, say, is not a lost source: a loss behind a connection that held is tried anew.
func TestLossOfAConnectionThatHeld(t *testing.T) {
	t.Parallel()
	asked := 0
	none := errors.New("nobody is there")
	server := mysql.Open("shop", "127.0.0.1:1", mysql.Account{}, slog.New(slog.DiscardHandler))
	defer server.Close()
	r := &Reader{server: server, refused: map[string]error{}, source: Source{Tries: 1, Servers: func(context.Context) ([]*mysql.Server, error) { asked++; return nil, none }}, tries: 1}
	for _, c := range []struct {
		held time.Duration
		want int
	}{{time.Second, 0}, {2 * heldFor, 1}} {
		asked, r.tries, r.begun = 0, 1, time.Now().Add(-c.held)
		if err := r.mend(t.Context(), errors.New("lost")); err == nil || asked != c.want {
			t.Errorf("behind a connection that held for %v: asked %d times, want %d; %v", c.held, asked, c.want, err)
		}
	}
}
