package farmtest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func Number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// SeriesRound is one round and its number.
type SeriesRound struct {
	Number  int    `json:"number"`
	Runbook string `json:"runbook"`
	Round
	Stderr string `json:"stderr,omitempty"`
}

func (r SeriesRound) Text() string {
	return fmt.Sprintf("  faults: %s\n  wrong: %s\n  %s\n  the program said:\n%s",
		strings.Join(r.Faults, "; "), strings.Join(r.Wrong, "\n         "), strings.Join(r.Log, "\n  "), r.Stderr)
}

func (r SeriesRound) Print() {
	text := fmt.Sprintf("%4d %-13s %-7s %5.1f s  exits %v  %s\n", r.Number, r.Runbook, r.End(), r.Seconds, r.Codes, strings.Join(r.Faults, "; "))
	for _, why := range r.Why {
		text += "     " + why + "\n"
	}
	fmt.Fprint(os.Stderr, text)
}
