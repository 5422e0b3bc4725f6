package route

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"stowage/farm"
)

// A gate that was found open and closed again may have been passed, while
// somebody waits behind it for the last work to end. Which pairs that concerns
// lies in a file beside the table, for whoever holds the gate; opening it where
// it was settles it.

func (h *HAProxy) breachPath() string { return h.file.path + ".breached" }

func (h *HAProxy) breached() ([]farm.PairName, error) {
	raw, err := os.ReadFile(h.breachPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var pairs []farm.PairName
	if err == nil {
		_, err = decode(raw, &pairs)
	}
	if err != nil {
		return nil, &farm.Error{Op: "read routing", Subject: h.breachPath(), Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
			Hint: "it lists pairs whose gate was open for a while; with every gate open it can be removed"}
	}
	return pairs, nil
}

func (h *HAProxy) markBreached(pair farm.PairName, yes bool) error {
	pairs, err := h.breached()
	if err != nil || slices.Contains(pairs, pair) == yes {
		return err
	}
	if yes {
		pairs = append(pairs, pair)
	} else {
		pairs = slices.DeleteFunc(pairs, func(p farm.PairName) bool { return p == pair })
	}
	return h.writeBeside(h.breachPath(), pairs)
}

// checkBreached refuses to send clients elsewhere on the strength of a gate
// that was open for a while.
func (h *HAProxy) checkBreached(c haChange) error {
	if c.onlyOpens() {
		return h.markBreached(c.pair, false)
	}
	pairs, err := h.breached()
	if err != nil || c.sameServers() || !slices.Contains(pairs, c.pair) {
		return err
	}
	return &farm.Error{Op: "change routing", Subject: string(c.pair), Err: fmt.Errorf("%w: its gate was open for a while when it should have been closed", ErrDrift),
		Hint: "the switch is tried again from its beginning"}
}

// anyGateClosed reports whether any gate of the pair is closed.
func (p *Pair) anyGateClosed() bool {
	return slices.ContainsFunc(p.Routes, func(r Route) bool { return r.Gate == Closed })
}
