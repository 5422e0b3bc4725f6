package snapshot

import (
	"errors"
	"strings"
	"testing"

	"stowage/farm"
)

// A side with fewer running threads at work is read, of two that are alike the one that fewer clients write to, and none that is out or behind.
func TestChoose(t *testing.T) {
	seen := func(side farm.SideName, running int, serves float64, not string) Seen {
		return Seen{Place: Place{Side: side, Serves: serves}, Running: running, Not: not}
	}
	for name, tt := range map[string]struct {
		a, b Seen
		want farm.SideName
	}{
		"fewer running threads":  {seen("A", 7, 50, ""), seen("B", 2, 50, ""), "B"},
		"a replica, alike":       {seen("A", 2, 100, ""), seen("B", 2, 0, ""), "B"},
		"alike":                  {seen("A", 2, 50, ""), seen("B", 2, 50, ""), "A"},
		"the idle one is behind": {seen("A", 9, 50, ""), seen("B", 0, 50, "is 3s behind its twin"), "A"},
	} {
		if got, err := Choose([]Seen{tt.a, tt.b}); err != nil || got.Side != tt.want {
			t.Errorf("%s: side %s, %v", name, got.Side, err)
		}
	}
	_, err := Choose([]Seen{seen("A", 0, 0, "is out of rotation"), seen("B", 0, 50, "is 3s behind its twin")})
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "side A is out of rotation, side B is 3s behind its twin") {
		t.Errorf("%v", err)
	}
}
