package agent_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"stowage/farm"
)

// patientRecorder records until a file is there; orders are its name. What a
// real one does is tested in record, and with agents in cmd/stowage.
type patientRecorder struct{}

func (patientRecorder) Record(ctx context.Context, order []byte, told func(string)) ([]byte, error) {
	told("recording")
	for {
		if _, err := os.Stat(string(order)); err == nil {
			return []byte("digested"), nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (patientRecorder) End(_ context.Context, order []byte) error {
	return os.WriteFile(string(order), nil, 0o600)
}

func (patientRecorder) Read(string, int64) ([]byte, error) { return nil, nil }
func (patientRecorder) Forget(string) error                { return farm.ErrFindings }

// A recording neither ends what another program has under way nor ends with
// it, in either order; it is audited, but not when it is only read.
func TestRecordingsStandBesideMoves(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	early := r.agent("db017")
	later := r.program(2).Host("db017")
	i := somewhere(t)
	flag := []byte(i.Dir() + ".ended")
	must(t, later.Claim(t.Context(), i, "act"))
	ended, began := make(chan error, 1), make(chan string, 100)
	go func() {
		out, err := early.Record(t.Context(), "p1a", flag, func(text string) { began <- text })
		if err == nil && string(out) != "digested" {
			err = errors.New(string(out))
		}
		ended <- err
	}()
	if text := <-began; text != "recording" {
		t.Errorf("told %q", text)
	}
	latest := r.program(3).Host("db017")
	must(t, latest.Remove(t.Context(), i, "act")) // takes over from both
	must(t, early.EndRecording(t.Context(), "p1a", flag))
	must(t, <-ended)
	_, err := early.ReadRecording(t.Context(), "p1a", "x", 0)
	must(t, err)
	if err := early.ForgetRecording(t.Context(), "p1a", "x"); !errors.Is(err, farm.ErrFindings) {
		t.Errorf("%v", err)
	}
	calls := map[string]int{}
	for _, l := range r.auditOf("db017") {
		if l["on"] == "p1a" {
			calls[l["call"].(string)]++
		}
	}
	if calls["record"] != 2 || calls["end-recording"] != 2 || calls["forget-recording"] != 2 || calls["read-recording"] != 0 {
		t.Errorf("audited %v", calls)
	}
}

// echo answers with what it is asked.
type echo struct{}

func (echo) Look(_ context.Context, question []byte) ([]byte, error) {
	if len(question) == 0 {
		return nil, farm.ErrInput
	}
	return question, nil
}

// A look takes nothing over, also by an earlier program, and leaves a line in the audit log only when it fails.
func TestLooksStandBesideEverything(t *testing.T) {
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	early := r.agent("db017")
	must(t, r.program(2).Host("db017").Claim(t.Context(), somewhere(t), "act"))
	if out, err := early.Look(t.Context(), []byte("what?")); err != nil || string(out) != "what?" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := early.Look(t.Context(), nil); !errors.Is(err, farm.ErrInput) {
		t.Errorf("%v", err)
	}
	looks := 0
	for _, l := range r.auditOf("db017") {
		if l["call"] == "look" {
			looks++
			if l["event"] != "failed" {
				t.Errorf("audited: %v", l)
			}
		}
	}
	if looks != 1 {
		t.Errorf("%d looks are in the audit log", looks)
	}
}
