package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// times is U+00D7, for ratios: 0.62 times as long.
const times = "\u00d7"

// whole prints a number with commas: 24,310.
func whole(v float64) string { return farm.Whole(v) }

// digits prints about three significant digits without an exponent.
func digits(v float64) string { return farm.Digits(v) }

// millis prints milliseconds, in seconds from 10 seconds on.
func millis(v float64) string { return farm.Millis(v) }

// latency prints seconds of query time: microseconds below a millisecond. What is not known (a quantile of what came added
// up) is nothing.
func latency(seconds float64) string {
	if math.IsNaN(seconds) {
		return ""
	}
	if seconds > 0 && seconds < 0.001 {
		return strconv.FormatFloat(seconds*1e6, 'f', 0, 64) + " \u00b5s"
	}
	return millis(seconds * 1000)
}

// span prints a length of time: 3.2 s, 2 min 41 s, 1 h 3 min.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Size prints bytes with a space before the unit: 13.9 TB.
func Size(n int64) string { return size(n) }

// size prints bytes with a space before the unit: 13.9 TB.
func size(n int64) string { return amount(float64(n), farm.KindBytes) }

func amount(v float64, k farm.Kind) string {
	text := farm.RoundQuantity(v, k)
	if at := strings.IndexFunc(text, func(r rune) bool { return r >= 'A' && r <= 'z' }); at > 0 {
		return text[:at] + " " + text[at:]
	}
	return text
}

func percent(fraction float64) string {
	if fraction > 0 && fraction < 0.0005 {
		return "<\u20090.1\u00a0%"
	}
	if fraction > 0 && fraction < 0.095 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*fraction), ".0") + "\u00a0%"
	}
	return fmt.Sprintf("%.0f\u00a0%%", 100*fraction)
}

// fewer says what a figure lost: 75 % less.
func fewer(before, after float64, less, more string) string {
	switch {
	case before <= 0 || before == after:
		return "as before"
	case after < before:
		return percent((before-after)/before) + " " + less
	default:
		return percent((after-before)/before) + " " + more
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return whole(float64(n)) + " " + noun + "s"
}

// clock prints moments in UTC, and in the reader's zone where it differs.
type clock struct{ zone *time.Location }

// stamp is the date and both times: 2026-11-21 21:05:11 UTC (22:05:11 CET).
func (c clock) stamp(t time.Time) string {
	if t.IsZero() {
		return "not known"
	}
	utc := t.UTC()
	text := utc.Format("2006-01-02 15:04:05 UTC")
	local := t.In(c.zone)
	if _, offset := local.Zone(); offset == 0 {
		return text
	}
	if local.Format(time.DateOnly) != utc.Format(time.DateOnly) {
		return text + local.Format(" (2006-01-02 15:04:05 MST)")
	}
	return text + local.Format(" (15:04:05 MST)")
}

// instant is the time of day, to the millisecond, in UTC.
func instant(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// labels are the names themselves where the longest has room for so many characters, and otherwise what brief leaves of them.
func labels(names []string, room int) func(string) string {
	for _, n := range names {
		if len([]rune(n)) > room {
			return brief(names)
		}
	}
	return func(n string) string { return n }
}

// brief cuts what all names begin with off, except digits, so that a label
// fits a small box: dbshard017a is 017a among its like.
func brief(names []string) func(string) string {
	prefix := ""
	if len(names) > 1 {
		prefix = names[0]
	}
	for _, n := range names {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = strings.TrimRight(prefix, "0123456789")
	return func(n string) string {
		if rest := strings.TrimPrefix(n, prefix); rest != "" {
			return rest
		}
		return n
	}
}
