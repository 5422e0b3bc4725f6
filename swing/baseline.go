package swing

import (
	"context"
	"fmt"
	"slices"

	"stowage/farm"
	"stowage/mysql"
)

// Baseline is what a side was before it left. A side that an act changes in
// place (Returns is Leaves) is checked against it: compared with itself it
// would always be equal. An act reads it before out and remembers it, because
// afterwards nobody can tell it any more.
type Baseline struct {
	Variables map[string]string `json:"variables"`
	Events    bool              `json:"events"` // the event scheduler was on
	// Pool are the settings of its buffer pool that Stowage changes while it is out.
	Pool map[string]string `json:"pool,omitempty"`
	// Served is what it had counted of its clients' statements since its start; nil: it counts none.
	Served *mysql.Served `json:"served,omitempty"`
}

// inPlace are variables that only a server that stays itself must keep, beside
// those of Compared.
var inPlace = []string{"server_id", "port", "datadir", "log_bin_basename", "innodb_buffer_pool_size", "skip_name_resolve", "character_set_client", "max_allowed_packet"}

// CheckedInPlace are the variables that must be what they were on a side that
// returns in place, unless the act announces them.
func CheckedInPlace() []string { return slices.Concat(compared, inPlace) }

// ReadBaseline reads the baseline of a side that is in rotation.
func ReadBaseline(ctx context.Context, side *mysql.Server) (Baseline, error) {
	was, err := side.Variables(ctx, append(CheckedInPlace(), "event_scheduler")...)
	if err != nil {
		return Baseline{}, err
	}
	events := was["event_scheduler"] == "ON"
	delete(was, "event_scheduler") // a fence turns it off
	b := Baseline{Variables: was, Events: events}
	if b.Pool, err = side.PoolSettings(ctx); err != nil {
		return b, err
	}
	sources, err := side.ServedSources(ctx)
	if err != nil || len(sources) == 0 {
		return b, err
	}
	served, err := side.Served(ctx, sources[0])
	b.Served = &served
	return b, err
}

// isInPlace reports whether the act changes the side and does not replace it.
func (s *Swing) isInPlace() bool { return s.Leaves == s.Returns }

// checkBaseline holds a side that returns in place to what it was. All
// variables that differ are named at once: a person reads this once.
func (s *Swing) checkBaseline(ctx context.Context) error {
	if s.Baseline == nil {
		return &farm.Error{Op: "check", Subject: string(s.Returns.Name()), Err: fmt.Errorf("%w: its variables were not recorded before it left", farm.ErrRefused),
			Hint: "an act in place has to set Swing.Baseline: this is a fault of Stowage"}
	}
	is, err := s.Returns.Variables(ctx, CheckedInPlace()...)
	if err != nil {
		return err
	}
	var differ []string
	for _, name := range CheckedInPlace() {
		if was := s.Baseline.Variables[name]; was != is[name] && !slices.Contains(s.MayDiffer, name) {
			differ = append(differ, fmt.Sprintf("%s is %q, was %q", name, is[name], was))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	text := differ[0]
	if n := len(differ) - 1; n > 0 {
		text = fmt.Sprintf("%s, and %s more", text, farm.Counted(n, "variable"))
	}
	return &farm.Error{Op: "check", Subject: string(s.Returns.Name()), Err: fmt.Errorf("%w: %s, before the side left", farm.ErrRefused, text),
		Hint: "the act does not announce this change; set the variable back in the option file, or announce it"}
}
