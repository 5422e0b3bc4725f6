package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

func TestClaimStaysUntilItIsDropped(t *testing.T) {
	w := writtenWorkspace(t)
	taken, err := w.Take(workspace.Claim{Run: "move-1", Purpose: "move first", Pairs: []farm.PairName{"p1"}})
	if err != nil {
		t.Fatal(err)
	}
	var held *workspace.Held
	if _, err := w.Take(workspace.Claim{Run: "move-1"}); !errors.As(err, &held) || held.PID != os.Getpid() || held.Purpose != "move first" {
		t.Errorf("a second one: %v", err)
	}
	if all, err := w.Claims(); err != nil || len(all) != 1 || !all[0].Live || all[0].Pairs[0] != "p1" {
		t.Errorf("claims %+v, %v", all, err)
	}
	taken.Leave()
	if c, err := w.ClaimOf("move-1"); err != nil || c.Live || c.Pairs[0] != "p1" {
		t.Errorf("left: %+v, %v", c, err)
	}
	again, err := w.Take(workspace.Claim{Run: "move-1", Pairs: []farm.PairName{"p1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Drop(); err != nil {
		t.Error(err)
	}
	if _, err := w.ClaimOf("move-1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dropped: %v", err)
	}
}

// A claim that was cut short as it was written is for everything: nobody knows what it was about.
func TestClaimThatWasCutShort(t *testing.T) {
	w := writtenWorkspace(t)
	taken, err := w.Take(workspace.Claim{Run: "move-1", Pairs: []farm.PairName{"p1"}})
	if err != nil {
		t.Fatal(err)
	}
	taken.Leave()
	path := w.StatePath("claims/move-1")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(raw) - 1 {
		if err := os.WriteFile(path, raw[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := w.ClaimOf("move-1"); err != nil || !c.Whole || c.Run != "move-1" {
			t.Fatalf("after %d bytes: %+v, %v", n, c, err)
		}
	}
}

func TestWhoHasTheWorkspaceForHimself(t *testing.T) {
	w := writtenWorkspace(t)
	var held *workspace.Held
	one, err := w.Share()
	if err != nil {
		t.Fatal(err)
	}
	two, err := w.Share()
	if err != nil {
		t.Fatal(err)
	}
	two()
	taken, err := w.Take(workspace.Claim{Run: "move-1", Purpose: "move first"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Lock("routing open"); !errors.As(err, &held) || held.Purpose != "move first" {
		t.Errorf("beside one who shares it: %v", err)
	}
	one()
	taken.Leave()
	all, err := w.Lock("routing open")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Share(); !errors.As(err, &held) || held.Purpose != "routing open" {
		t.Errorf("beside one who has it for himself: %v", err)
	}
	all()
}

func TestOneBeginsAtATime(t *testing.T) {
	w := writtenWorkspace(t)
	first, err := w.Turn(t.Context(), "move first", nil)
	if err != nil {
		t.Fatal(err)
	}
	waits, got := make(chan *workspace.Held, 1), make(chan error, 1)
	go func() {
		second, err := w.Turn(t.Context(), "move second", func(h *workspace.Held) { waits <- h })
		if err == nil {
			second()
		}
		got <- err
	}()
	if h := <-waits; h.Purpose != "move first" {
		t.Errorf("waits for %+v", h)
	}
	select {
	case err := <-got:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	first()
	if err := <-got; err != nil {
		t.Error(err)
	}
}
