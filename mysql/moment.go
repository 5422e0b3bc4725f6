package mysql

import (
	"context"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Moment is a point in time at a server, to be compared with later ones by
// another process, also after somebody has set a clock.
type Moment struct {
	Here  time.Time     `json:"here,omitzero"`  // this machine's clock
	There float64       `json:"there,omitzero"` // the server's, in seconds
	Boot  string        `json:"boot,omitempty"` // which start of this machine
	Ticks time.Duration `json:"ticks,omitzero"` // since that start, by a clock that nobody sets
}

// clockError is by how much the two clocks may differ from the one that nobody
// sets before they count as set: more than an answer takes, and than NTP moves
// a clock within a move of hours.
const clockError = time.Second

// Moment is now.
func (s *Server) Moment(ctx context.Context) (Moment, error) {
	m := Moment{Boot: bootID()}
	if err := s.row(ctx, "SELECT UNIX_TIMESTAMP(NOW(6))", nil, &m.There); err != nil {
		return Moment{}, err
	}
	m.Here, m.Ticks = time.Now().Round(0), ticks()
	return m, nil
}

// At is when m was, by this machine's clock of now and not too late. It is zero,
// for not known, when that clock or the server's was set since, or the machine
// started anew: ages of work on the server, which are told by these clocks,
// then say nothing about before and after m.
func (m Moment) At(ctx context.Context, s *Server) (time.Time, error) {
	if m.Here.IsZero() {
		return time.Time{}, nil
	}
	now, err := s.Moment(ctx)
	if err != nil {
		return time.Time{}, err
	}
	passed := now.Ticks - m.Ticks
	here := now.Here.Sub(m.Here)
	there := time.Duration((now.There - m.There) * float64(time.Second))
	if m.Boot == "" || m.Boot != now.Boot || (here-passed).Abs() > clockError || (there-passed).Abs() > clockError {
		return time.Time{}, nil
	}
	return m.Here.Add(-2 * clockError), nil
}

// ticks is the time since this machine was started, asleep or awake.
func ticks() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// bootID names this start of this machine, "" when it is not known.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
