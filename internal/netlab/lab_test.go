package netlab

import (
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func newLab(t *testing.T, names ...string) (*Lab, []*Machine) {
	t.Helper()
	if missing := Missing(); missing != "" {
		t.Skip("NOT TESTED: machines of network namespaces: " + missing)
	}
	mark := Mark()
	t.Cleanup(func() {
		if err := Clear(mark); err != nil {
			t.Error(err)
		}
	})
	network, err := Network("10.212")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(mark, network)
	if err != nil {
		t.Fatal(err)
	}
	var out []*Machine
	for _, n := range names {
		m, err := l.Add(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return l, out
}

// Two machines hear each other at their own addresses, and not while the line
// of one is cut.
func TestMachinesHearEachOtherUntilCut(t *testing.T) {
	_, m := newLab(t, "one", "two")
	var heard net.Listener
	err := m[0].Do(func() (err error) {
		heard, err = net.Listen("tcp", m[0].Address+":9000")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	dial := func(patience time.Duration) error {
		return m[1].Do(func() error {
			c, err := net.DialTimeout("tcp", m[0].Address+":9000", patience)
			if err == nil {
				c.Close()
			}
			return err
		})
	}
	if err := dial(10 * time.Second); err != nil {
		t.Fatalf("the machines do not hear each other: %v", err)
	}
	if err := m[0].Cut(); err != nil {
		t.Fatal(err)
	}
	if err := dial(300 * time.Millisecond); err == nil {
		t.Error("a machine that is cut off is heard")
	}
	if err := m[0].Heal(); err != nil {
		t.Fatal(err)
	}
	if err := dial(10 * time.Second); err != nil {
		t.Errorf("a machine whose line was healed is not heard: %v", err)
	}
}

// Clear ends what runs in the machines, takes them away, and may be run again.
func TestClearLeavesNothing(t *testing.T) {
	l, m := newLab(t, "one")
	cmd := exec.Command("sleep", "600")
	if err := m[0].Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	outside := exec.Command("sleep", "600")
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Process.Kill(); _ = outside.Wait() }()
	if err := Clear(l.mark); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("what ran in the machine was not killed")
	}
	if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("what ran outside of it is gone: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(spaces, l.mark+"*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := Clear(l.mark); err != nil {
		t.Errorf("again: %v", err)
	}
}

// A lab that was cleared can be made again at once, under the same mark.
func TestClearedLabIsMadeAgain(t *testing.T) {
	l, _ := newLab(t)
	for round := range 10 {
		for _, n := range []string{"one", "two", "three"} {
			if _, err := l.Add(n); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if err := Clear(l.mark); err != nil {
			t.Fatal(err)
		}
		again, err := New(l.mark, l.base.String())
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		l = again
	}
}

// Labs side by side, of this process or of others, have networks of their own.
func TestNetworkIsGivenOnce(t *testing.T) {
	seen := map[string]bool{}
	for range 5 {
		base, err := Network("10.211")
		if err != nil {
			t.Fatal(err)
		}
		if seen[base] {
			t.Errorf("%s was given twice", base)
		}
		seen[base] = true
	}
}
