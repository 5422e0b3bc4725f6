package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/agent"
	"stowage/farm"
	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/turns"
)

// Errors keep their text, hint and kind, and say where they happened.
func TestErrorsSurviveTheTrip(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	h := r.agent("db017")
	i := hosttest.Place(t, here(t), "x")
	must(t, h.Claim(t.Context(), i, "one act"))
	err := h.Claim(t.Context(), i, "another act")
	if !errors.Is(err, host.ErrForeign) || !errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "" ||
		!strings.Contains(err.Error(), "db017") || !strings.Contains(err.Error(), "it belongs to one act") {
		t.Errorf("%v (hint %q)", err, farm.Hint(err))
	}
	if _, err := h.ReadFile(t.Context(), filepath.Join(i.Dir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	large := make([]byte, 3<<20)
	if err := h.WriteFile(t.Context(), filepath.Join(i.Dir(), "large"), large); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("3 MB: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(i.Dir(), "large"), large, 0o600))
	if _, err := h.ReadFile(t.Context(), filepath.Join(i.Dir(), "large")); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("reading 3 MB: %v", err)
	}
}

// A call waits for an agent that is away, and goes to the one that comes.
func TestCallWaitsForItsAgent(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := r.board.Host("db017").FreeBytes(ctx, "/"); !errors.Is(err, context.DeadlineExceeded) || farm.Hint(err) == "" {
		t.Errorf("with nobody there: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := r.board.Host("db017").FreeBytes(t.Context(), "/")
		got <- err
	}()
	time.Sleep(200 * time.Millisecond)
	h := r.agent("db017")
	must(t, <-got)
	m, err := h.Meet(t.Context())
	must(t, err)
	if m.Host != "db017" || m.Version != "test" || m.Address == "" || m.Expires.Before(time.Now()) {
		t.Errorf("%+v", m)
	}
}

// The engine dies and comes back; agents and programs find it again.
func TestEngineRestarts(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	h := r.agent("db017")
	must(t, ask(t, h))
	p, err := os.FindProcess(r.server.PID())
	must(t, err)
	must(t, p.Kill())
	must(t, ask(t, h))
}

func ask(t *testing.T, h *agent.Remote) error {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	_, err := h.FreeBytes(ctx, "/")
	return err
}

// The certificate of an agent is renewed while a program knows the old one.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	h := r.agent("db017")
	must(t, ask(t, h))
	_, err := r.certs.Host("db017", time.Now(), true)
	must(t, err)
	r.again("db017")
	must(t, ask(t, h))
}

// A program that has taken over ends what the one before it began, and that
// one's calls are refused from then on, also after a restart of the agent.
func TestLaterProgramTakesOver(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	h := r.agent("db017")
	i := somewhere(t)
	must(t, h.Claim(t.Context(), i, "act"))
	later := r.program(2).Host("db017")
	must(t, later.Claim(t.Context(), i, "act"))
	for range 2 {
		if err := h.WriteFile(t.Context(), filepath.Join(i.Dir(), "f"), []byte("late")); !errors.Is(err, farm.ErrRefused) {
			t.Errorf("an earlier program still writes: %v", err)
		}
		if _, err := h.FreeBytes(t.Context(), "/"); err != nil {
			t.Errorf("it may look: %v", err)
		}
		r.again("db017")
	}
	must(t, later.WriteFile(t.Context(), filepath.Join(i.Dir(), "f"), []byte("now")))
	must(t, later.Remove(t.Context(), i, "act"))
}

// What passes through the engine cannot be read there: not a login, not a
// password in an option file, not what was read.
func TestNothingIsKeptInTheClear(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	const canary = "kanarienvogel-7f3a"
	r := newRig(t)
	h := r.agent("db017")
	i := hosttest.Place(t, here(t), "x")
	must(t, h.Claim(t.Context(), i, "act"))
	path := filepath.Join(i.Dir(), "secret.cnf")
	must(t, h.WriteFile(t.Context(), path, []byte("password="+canary)))
	got, err := h.ReadFile(t.Context(), path)
	must(t, err)
	if !strings.Contains(string(got), canary) {
		t.Fatalf("read %q", got)
	}
	if err := h.Found(t.Context(), i, []byte("-- "+canary+"\nthis is no SQL: "+canary)); err == nil {
		t.Error("founded with what is not SQL")
	}
	_, err = h.Fetch(t.Context(), host.Copy{From: h, Origin: host.Origin{Instance: i, Login: host.Login{User: "u", Password: canary, Address: "127.0.0.1:1"}}, Target: host.Destination{Instance: i}})
	if err == nil {
		t.Error("copied from a server that is not there")
	}
	must(t, h.Remove(t.Context(), i, "act"))
	found := 0
	err = filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		found++
		if bytes.Contains(raw, []byte(canary)) {
			t.Errorf("%s holds the secret in the clear", p)
		}
		return err
	})
	must(t, err)
	if log := r.agents["db017"].said.String(); strings.Contains(log, canary) {
		t.Errorf("the agent's log holds the secret:\n%s", log)
	}
	if found < 10 {
		t.Errorf("looked at %d files only", found)
	}
	begun := 0
	for _, l := range r.auditOf("db017") {
		if l["event"] == "begin" && l["by"] == "controller" && l["asker"] == "test" {
			begun++
		}
	}
	if begun < 5 {
		t.Errorf("the audit log holds %d calls of ours", begun)
	}
}

// somewhere is the place of an instance that never runs.
func somewhere(t *testing.T) host.Instance {
	dir := filepath.Join(t.TempDir(), "x")
	return host.Instance{Name: "x", Address: "127.0.0.1", Port: 1, Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
}
