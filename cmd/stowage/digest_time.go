package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// parseTime reads a time that a person gave: an instant, or how long ago (1h, 2d, "2d ago").
func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t, nil
		}
	}
	if ago, ok := parseSpan(strings.TrimSpace(strings.TrimSuffix(text, "ago"))); ok {
		return time.Now().Add(-ago), nil
	}
	return time.Time{}, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %s %q is not a time", farm.ErrInput, flag, text),
		Hint: "write it as 2026-11-21T10:00:00Z, or how long ago: 1h, 2d, 1w"}
}

// parseSpan reads a length of time, in days and weeks too. A day has 24 hours.
func parseSpan(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, is := strings.CutSuffix(text, unit); is {
			n, err := strconv.ParseFloat(number, 64)
			return time.Duration(n * float64(length)), err == nil && n > 0 && n < 1e4
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

// spanText is a length of time as people write it: 1w, 2d, 1h30m0s.
func spanText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d%(7*day) == 0:
		return fmt.Sprintf("%dw", d/(7*day))
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}
