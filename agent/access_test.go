package agent_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"stowage/agent"
	"stowage/engine"
)

// TestEngineKnowsRoles: what a host's certificate may do with the engine, and
// that nobody without one gets in.
func TestEngineKnowsRoles(t *testing.T) {
	t.Parallel() // it mostly waits
	r := newRig(t)
	issued, err := r.certs.Host("db001", time.Now(), false)
	must(t, err)
	id, err := agent.ReadIdentity(issued.Dir, time.Now())
	must(t, err)
	asHost := r.opts
	asHost.TLS = id.Client(agent.EngineName)
	c, err := engine.Dial(t.Context(), r.address, asHost)
	must(t, err)
	t.Cleanup(c.Close)
	answer := func(context.Context, engine.Delivery) ([]byte, error) { return []byte("mine"), nil }
	stop, _, err := c.Answer("host.db001", answer, 1)
	must(t, err)
	defer stop()
	// Its own queue: it answers. A call of its own, to itself or others: denied.
	mine, err := engine.Dial(t.Context(), r.address, r.opts)
	must(t, err)
	t.Cleanup(mine.Close)
	asker := mine.Asker()
	t.Cleanup(asker.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if got, _, err := asker.Ask(ctx, "host.db001", "one", []byte("x"), nil); err != nil || string(got) != "mine" {
		t.Errorf("its own queue: %q, %v", got, err)
	}
	if _, err := c.Run(ctx, engine.Job{ID: "j", Kind: "k", Lanes: []engine.Lane{{Name: "l", Parts: []engine.Part{{Subject: "s", Steps: []engine.Step{{Name: "x"}}}}}}}, nil); err == nil {
		t.Error("a host began a job")
	}
	// The queue of another: never served.
	stopOther, _, err := c.Answer("host.db002", answer, 1)
	if err == nil {
		defer stopOther()
	}
	short, cancelShort := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancelShort()
	if got, _, err := asker.Ask(short, "host.db002", "two", []byte("x"), nil); err == nil {
		t.Errorf("db001 answers for db002: %q", got)
	}
	// Strangers.
	for name, how := range map[string]*tls.Config{"no TLS": nil, "no certificate": {InsecureSkipVerify: true}} {
		o := r.opts
		o.TLS = how
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		if c, err := engine.Dial(ctx, r.address, o); err == nil {
			c.Close()
			t.Errorf("%s: let in", name)
		}
		cancel()
	}
}

// How long an empty call takes; a figure for people, no promise.
func BenchmarkCall(b *testing.B) {
	needsMariaDB(b)
	r := newRig(b)
	h := r.agent("db017")
	for b.Loop() {
		if _, err := h.FreeBytes(b.Context(), "/"); err != nil {
			b.Fatal(err)
		}
	}
}
