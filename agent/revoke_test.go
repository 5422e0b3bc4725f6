package agent_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stowage/agent"
	"stowage/engine"
	"stowage/farm"
)

// A host is revoked while a program that knows it runs: nothing is asked of it
// any more, and its answers are refused, also by a later program. Another agent
// keeps the list. With a new certificate the host is asked again.
func TestRevokedHostIsNotAsked(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	revoked, other := r.agent("db017"), r.agent("db018")
	must(t, ask(t, revoked))
	i := somewhere(t)
	must(t, revoked.Claim(t.Context(), i, "act"))
	_, added, err := r.certs.Revoke("db017", "test", time.Now())
	if err != nil || added != 1 {
		t.Fatalf("%d, %v", added, err)
	}
	before := len(r.auditOf("db017"))
	for name, h := range map[string]*agent.Remote{"the program that runs": revoked, "a later one": r.anew(2).Host("db017")} {
		err := h.Claim(t.Context(), i, "act")
		if !errors.Is(err, agent.ErrRevoked) || !errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "" {
			t.Errorf("%s asks: %v (hint %q)", name, err, farm.Hint(err))
		}
		if _, err := h.Meet(t.Context()); !errors.Is(err, agent.ErrRevoked) {
			t.Errorf("%s meets it: %v", name, err)
		}
	}
	if after := len(r.auditOf("db017")); after != before {
		t.Errorf("the revoked host was asked: %v", r.auditOf("db017")[before:])
	}
	if n, err := other.Tell(t.Context()); err != nil || n != 1 {
		t.Errorf("the other agent knows %d revoked certificates, %v", n, err)
	}
	// Nobody tells the agent that is started again, and it knows.
	must(t, os.Remove(r.certs.RevokedPath()))
	r.again("db018")
	if n, err := r.anew(3).Host("db018").Tell(t.Context()); err != nil || n != 1 {
		t.Errorf("started again it knows %d revoked certificates, %v", n, err)
	}
	_, err = r.certs.Host("db017", time.Now(), true)
	must(t, err)
	r.again("db017")
	must(t, ask(t, revoked))
}

// anew is a program that has read its certificates just now.
func (r *rig) anew(term int64) *agent.Switchboard {
	r.t.Helper()
	id, err := agent.ReadIdentity(filepath.Join(r.dir, "certs", "controller"), time.Now())
	must(r.t, err)
	c, err := engine.Dial(r.t.Context(), r.address, r.opts)
	must(r.t, err)
	asker := c.Asker()
	r.t.Cleanup(func() { asker.Close(); c.Close() })
	board, err := agent.NewSwitchboard(asker, id, "test", term, slog.New(slog.DiscardHandler))
	must(r.t, err)
	return board
}
