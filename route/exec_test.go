package route_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/turns"
	"stowage/route"
	"stowage/route/routetest"
)

// creator is a router that can be given its first table.
type creator interface {
	Create(ctx context.Context, pairs map[farm.PairName]*route.Pair) error
}

// wantHint expects an error with these words.
func wantHint(t *testing.T, when string, do func() error, is error, words string) {
	t.Helper()
	err := do()
	if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v, want %q", when, err, words)
	}
}

func newExec(dir string, timeout time.Duration) *route.Exec {
	return route.NewExec(route.ExecOptions{Program: []string{os.Args[0], "routing-program", dir}, Dir: dir,
		Lock: filepath.Join(dir, "routing"), Timeout: timeout})
}

// patient is how long a call may take that is to succeed: it starts a process,
// on a machine that may have much else to do. hanging is how long one is waited
// for that does not end; what follows it has no more.
const patient, hanging = 2 * time.Minute, 6 * time.Second

func fault(t *testing.T, dir, name string) (heal func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { os.Remove(path) }
}

func TestExecConforms(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	dir := ""
	routetest.Subject{
		Changes: 100,
		Open: func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router {
			dir = t.TempDir()
			return create(t, newExec(dir, patient), pairs)
		},
		// Not through the same lock file, as from another workspace: the
		// program itself refuses what is out of date.
		Again: func(t *testing.T) route.Router {
			return route.NewExec(route.ExecOptions{Program: []string{os.Args[0], "routing-program", dir}, Lock: filepath.Join(t.TempDir(), "own"), Timeout: patient})
		},
		Cut: func(t *testing.T) func() { return fault(t, dir, "broken") },
		Spoil: func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "table.json"), []byte("{\n\"format_version\": 1,\n oops"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}.Run(t)
}

func TestExecFailures(t *testing.T) {
	t.Parallel()
	closeGate := func(p *route.Pair) error { p.CloseGate(farm.A); return nil }
	for _, x := range []struct {
		fault, want string
		unknown     bool
	}{
		{"broken", "the load balancer is away", false},
		{"lies", "shows generation 1 otherwise", false},
		{"hangs", "no end to \"apply\" after", false},
	} {
		t.Run(x.fault, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := newExec(dir, patient)
			create(t, r, onePair())
			heal := fault(t, dir, x.fault)
			if x.fault == "hangs" {
				r = newExec(dir, hanging)
				go healHanging(dir, heal)
			}
			err := r.Change(t.Context(), pairName, closeGate)
			if err == nil || !strings.Contains(err.Error(), x.want) || farm.Hint(err) == "" {
				t.Errorf("error %v, want %q", err, x.want)
			}
			if got := errors.Is(err, farm.ErrOutcomeUnknown); got != x.unknown {
				t.Errorf("outcome unknown: %v (%v)", got, err)
			}
			heal()
			table, err := r.Read(t.Context())
			if err != nil || table.Pairs[pairName].GateIsClosed(farm.A) {
				t.Errorf("after the failure: %+v %v", table, err)
			}
		})
	}
}

// healHanging lets the call after the one that hangs go through.
func healHanging(dir string, heal func()) {
	await(filepath.Join(dir, "hanging"))
	heal()
}

// A call that was killed leaves something under way that carries it out later:
// it comes too late.
func TestExecLateApplyIsFencedOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	create(t, newExec(dir, patient), onePair())
	r := newExec(dir, hanging)
	go healHanging(dir, fault(t, dir, "late"))
	if err := r.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil }); err == nil {
		t.Fatal("a call that did not end is a success")
	}
	fault(t, dir, "late-go")
	for end := time.Now().Add(patient); ; time.Sleep(20 * time.Millisecond) {
		raw, err := os.ReadFile(filepath.Join(dir, "late-code"))
		if err == nil && len(raw) > 0 {
			if string(raw) != "3" {
				t.Errorf("the late call ended with %s, want 3", raw)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the late call never came")
		}
	}
	table, err := r.Read(t.Context())
	if err != nil || table.Pairs[pairName].GateIsClosed(farm.A) {
		t.Errorf("the late call closed the gate: %+v %v", table, err)
	}
}
