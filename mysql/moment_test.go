package mysql

import (
	"testing"
	"time"
)

// A clock that is set, ours or the server's, makes a moment unknown; nobody may
// set real clocks here, so what is set is the moment's memory of them.
func TestMomentOutlivesAClockThatIsSet(t *testing.T) {
	_, s := start(t, "a")
	m, err := s.Moment(t.Context())
	must(t, err)
	at, err := m.At(t.Context(), s)
	must(t, err)
	if at.IsZero() || at.After(m.Here) || m.Here.Sub(at) > 3*time.Second {
		t.Errorf("taken at %v, and is said to be %v", m.Here, at)
	}
	for what, change := range map[string]func(*Moment){
		"our clock was set back":             func(m *Moment) { m.Here = m.Here.Add(time.Hour) },
		"our clock was set forward":          func(m *Moment) { m.Here = m.Here.Add(-time.Hour) },
		"the server's clock was set back":    func(m *Moment) { m.There += 3600 },
		"the server's clock was set forward": func(m *Moment) { m.There -= 3600 },
		"both were set back":                 func(m *Moment) { m.There += 60; m.Here = m.Here.Add(time.Minute) },
		"the machine was started anew":       func(m *Moment) { m.Boot = "another" },
		"it was never taken":                 func(m *Moment) { *m = Moment{} },
	} {
		x := m
		change(&x)
		if at, err := x.At(t.Context(), s); err != nil || !at.IsZero() {
			t.Errorf("%s: known to be %v, %v", what, at, err)
		}
	}
}
