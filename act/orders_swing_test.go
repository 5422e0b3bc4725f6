package act

import (
	"testing"
	"time"

	"stowage/placement"
	"stowage/swing"
)

// Limits that goals.yaml does not give are those for production.
func TestSwingSettingsAreThoseOfTheGoals(t *testing.T) {
	g := placement.Defaults()
	g.Soak = time.Hour
	g.Ramp = placement.Ramp{Latency: 7, Longest: time.Minute}
	s, d := SwingSettings(g), swing.Defaults().Limits
	if s.Soak != WatchAtMost || s.Limits != (swing.Limits{Latency: 7, Floor: d.Floor, Errors: d.Errors, Statements: d.Statements, Longest: time.Minute}) {
		t.Errorf("%v, %+v", s.Soak, s.Limits)
	}
}
