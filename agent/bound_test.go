package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
)

// roomy is a machine of which only the free space is asked.
type roomy struct {
	host.Host
	host.Founder
}

func (roomy) FreeBytes(context.Context, string) (int64, error) { return 4711, nil }

// between is an engine that hands calls to agents, and lets somebody change what comes back.
type between struct {
	agents map[string]*Agent // by queue
	kept   map[string][]byte // earlier calls, by id
	forge  func(b *between, queue, id string, request []byte) ([]byte, error)
}

func (b *between) Ask(ctx context.Context, queue, id string, request []byte, _ func(string)) ([]byte, bool, error) {
	if string(request) != callHello {
		b.kept[id] = request
	}
	if b.forge != nil {
		raw, err := b.forge(b, queue, id, request)
		return raw, true, err
	}
	raw, err := b.give(queue, id, request)
	return raw, true, err
}

func (b *between) give(queue, id string, request []byte) ([]byte, error) {
	return b.agents[queue].deliver(context.Background(), engine.Delivery{ID: id, Request: request})
}

func agentOf(t *testing.T, id *Identity) *Agent {
	t.Helper()
	a, err := New(Options{Host: farm.HostName(id.Name), Listen: "127.0.0.1:0", Data: t.TempDir(), Version: "test", Identity: id, Machine: roomy{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.desk.stop(); a.listen.Close(); a.audit.close() })
	return a
}

// An answer counts for the call that it was given to, by the host that was asked, for the program and the attempt that asked;
// everything else is refused, in the log and to whoever tells people, and the call is taken for one that may still run. (A refusal
// needed no signature, and nothing in an answer said what it was about.)
func TestForgedAnswersOfHostsAreRefusedLoudly(t *testing.T) {
	controller, db1, db2, stranger := identities(t)
	a1, a2 := agentOf(t, db1), agentOf(t, db2)
	as := func(id *Identity, change func(*answer)) func(*between, string, string, []byte) ([]byte, error) {
		return func(_ *between, _, call string, raw []byte) ([]byte, error) {
			plain, from, err := db1.open(askPurpose("db1", call), raw, RoleController, "", time.Now())
			if err != nil {
				return nil, err
			}
			var q request
			if err := nested.Unmarshal(plain, &q); err != nil {
				return nil, err
			}
			out := answer{Number: 1, Of: q.bound("db1", call)}
			change(&out)
			return id.seal(answerPurpose("db1", call), from, encode(out))
		}
	}
	for name, forge := range map[string]func(b *between, queue, id string, request []byte) ([]byte, error){
		"nothing":            func(*between, string, string, []byte) ([]byte, error) { return nil, nil },
		"words":              func(*between, string, string, []byte) ([]byte, error) { return []byte(`{"number":1}`), nil },
		"another host's key": as(db2, func(*answer) {}),
		"a stranger's key":   as(stranger, func(*answer) {}),
		"another attempt":    as(db1, func(o *answer) { o.Of.For = "job/lane p1/A, start, 7.2 of run" }),
		"another program":    as(db1, func(o *answer) { o.Of.Term-- }),
		"another question":   as(db1, func(o *answer) { o.Of.Call = callPortFree }),
		"bound to nothing":   as(db1, func(o *answer) { o.Of = bound{} }),
		"an earlier call's answer": func(b *between, queue, now string, _ []byte) ([]byte, error) {
			for id, request := range b.kept {
				if id != now {
					return b.give(queue, id, request)
				}
			}
			return nil, nil
		},
		"a refusal that nobody signed": func(*between, string, string, []byte) ([]byte, error) {
			return nil, fmt.Errorf("ask: %w: no", engine.ErrCallRefused)
		},
		"a refusal of another call": func(*between, string, string, []byte) ([]byte, error) { return a1.plainly(notTaken, "other", "no") },
		"a refusal of another host": func(_ *between, _, id string, _ []byte) ([]byte, error) { return a2.plainly(notTaken, id, "no") },
		"a renewal of another call": func(*between, string, string, []byte) ([]byte, error) { return a1.plainly(renewed, "other", "") },
		"a renewal nobody signed":   func(*between, string, string, []byte) ([]byte, error) { return []byte(renewed), nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := &between{agents: map[string]*Agent{Queue("db1"): a1}, kept: map[string][]byte{}}
			var log bytes.Buffer
			board, err := NewSwitchboard(b, controller, "test", 1, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			var alarms []string
			board.Alarm = func(on farm.HostName, call string, err error) { alarms = append(alarms, string(on)+" "+call) }
			h := board.Host("db1")
			if n, err := h.FreeBytes(t.Context(), "/"); n != 4711 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
			h.giveUp("given up before")
			b.forge = forge
			if n, err := h.FreeBytes(t.Context(), "/"); !errors.Is(err, ErrForged) || errors.Is(err, farm.ErrRefused) || n != 0 || farm.Hint(err) == "" || strings.Contains(err.Error(), "{") {
				t.Fatalf("%d, %v", n, err)
			}
			if want := []string{"db1 " + callFreeBytes}; !slices.Equal(alarms, want) || !strings.Contains(log.String(), "level=ERROR") {
				t.Errorf("told %q, want %q; log:\n%s", alarms, want, &log)
			}
			if given := h.givenUpOn(); len(given) != 2 {
				t.Errorf("given up: %q; want what was before, and this call", given)
			}
			b.forge = nil
			if n, err := h.FreeBytes(t.Context(), "/"); n != 4711 || err != nil || len(h.givenUpOn()) != 0 {
				t.Errorf("afterwards: %d, %v, %q", n, err, h.givenUpOn())
			}
		})
	}
}

// Who a host is and where its copies are fetched is said by itself, to whoever asks now.
func TestForgedGreetingIsRefused(t *testing.T) {
	controller, db1, db2, _ := identities(t)
	a1, a2 := agentOf(t, db1), agentOf(t, db2)
	for name, forge := range map[string]func(b *between, queue, id string, request []byte) ([]byte, error){
		"refused": func(*between, string, string, []byte) ([]byte, error) { return nil, engine.ErrCallRefused },
		"unsigned": func(*between, string, string, []byte) ([]byte, error) {
			return encode(hello{"test", "127.0.0.1:1"}), nil
		},
		"from before": func(_ *between, _, id string, q []byte) ([]byte, error) {
			return a1.deliver(t.Context(), engine.Delivery{ID: "before", Request: q})
		},
		"another host": func(_ *between, _, id string, q []byte) ([]byte, error) {
			return a2.deliver(t.Context(), engine.Delivery{ID: id, Request: q})
		},
	} {
		b := &between{kept: map[string][]byte{}, forge: forge}
		board, err := NewSwitchboard(b, controller, "test", 1, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := board.Host("db1").Meet(t.Context()); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// A refusal that the host has signed is its word, not a forgery.
func TestRefusalOfAHostIsTold(t *testing.T) {
	controller, db1, _, stranger := identities(t)
	b := &between{agents: map[string]*Agent{Queue("db1"): agentOf(t, db1)}, kept: map[string][]byte{}}
	board, err := NewSwitchboard(b, controller, "test", 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.forge = func(b *between, queue, id string, request []byte) ([]byte, error) {
		if string(request) != callHello {
			var err error
			if request, err = stranger.seal(askPurpose("db1", id), db1.cert, []byte("{}")); err != nil {
				return nil, err
			}
		}
		return b.give(queue, id, request)
	}
	if _, err := board.Host("db1").FreeBytes(t.Context(), "/"); errors.Is(err, ErrForged) || !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "did not take the call") {
		t.Errorf("%v", err)
	}
}
