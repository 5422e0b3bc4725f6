package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/swing"
)

// A farm.yaml that is broken, or gone, when the last step writes into it left the
// lane stuck after the point of no return.
func TestFarmFileBrokenAtRetireIsWaitedFor(t *testing.T) {
	faults := []error{fmt.Errorf("farm.yaml:3: %w", farm.ErrInput), fs.ErrNotExist, fs.ErrNotExist, nil}
	var said []string
	tell := func(e farm.Event) { said = append(said, e.Text) }
	tries := 0
	m := &Mover{Settings: swing.Settings{Patience: time.Hour}}
	if err := m.awaitFarm(t.Context(), tell, func() error { tries++; return faults[tries-1] }); err != nil || tries != len(faults) {
		t.Errorf("%d tries, %v", tries, err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "farm.yaml:3") {
		t.Errorf("said %q", said)
	}
	broken := func() error { return farm.ErrInput }
	if err := new(Mover).awaitFarm(t.Context(), tell, broken); !errors.Is(err, act.ErrFarmFile) {
		t.Errorf("given up: %v", err)
	}
	other := errors.New("the disk is full")
	if err := m.awaitFarm(t.Context(), tell, func() error { return other }); !errors.Is(err, other) {
		t.Errorf("another error: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := m.awaitFarm(stopped, tell, broken); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
