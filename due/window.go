package due

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a small machine has no list of zones
)

// Window is a time of the week in which something may be begun: on some days, from one time of the day to another, as the clocks
// of one place show it.
type Window struct {
	Days []string `json:"days,omitempty"` // "mon", of the day on which it opens; none: every day
	From string   `json:"from"`           // "22:00"
	To   string   `json:"to"`             // "04:00": not after From, it is a time of the next day
	Zone string   `json:"zone,omitempty"` // "Asia/Tokyo"; "": UTC
}

// WeekDays are the words for days, as time.Weekday counts them.
var WeekDays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// String is the window for people: "mon, thu 22:00 to 04:00 Asia/Tokyo".
func (w Window) String() string {
	days, zone := strings.Join(w.Days, ", "), w.Zone
	if days == "" {
		days = "every day"
	}
	if zone == "" {
		zone = "UTC"
	}
	return fmt.Sprintf("%s %s to %s %s", days, w.From, w.To, zone)
}

// Check says what is wrong with the words of a window; the first.
func (w Window) Check() error {
	for _, d := range w.Days {
		if !slices.Contains(WeekDays, d) {
			return fmt.Errorf("%q is not a day: they are called %s", d, strings.Join(WeekDays, ", "))
		}
	}
	for _, text := range []string{w.From, w.To} {
		if _, err := time.Parse("15:04", text); err != nil || len(text) != 5 {
			return fmt.Errorf("%q is no time of the day: write 22:00", text)
		}
	}
	if strings.EqualFold(w.Zone, "local") { // it would be another one on another machine
		return errors.New(`"Local" is not a time zone: write the place, as in Europe/Lisbon`)
	}
	if _, err := time.LoadLocation(w.Zone); err != nil {
		return fmt.Errorf("%q is not a time zone: write UTC or a place, as in Europe/Lisbon", w.Zone)
	}
	return nil
}

// span is from when to when a window is open once.
type span struct{ from, to time.Time }

// ahead is how many days are looked at: a week, and a day on either side, for windows that were opened yesterday and clocks of
// other places.
const ahead = 9

// spans are the times of the next days at which any of the windows is open, in order; those that touch are one.
func spans(windows []Window, now time.Time) []span {
	var all []span
	for _, w := range windows {
		zone, err := time.LoadLocation(w.Zone)
		if err != nil {
			continue // Check has said so
		}
		from, _ := time.Parse("15:04", w.From)
		to, _ := time.Parse("15:04", w.To)
		today := now.In(zone)
		for n := -2; n <= ahead; n++ {
			day := time.Date(today.Year(), today.Month(), today.Day()+n, 12, 0, 0, 0, zone)
			if len(w.Days) > 0 && !slices.Contains(w.Days, WeekDays[day.Weekday()]) {
				continue
			}
			next := 0
			if !to.After(from) {
				next = 1
			}
			at := func(clock time.Time, later int) time.Time {
				return time.Date(day.Year(), day.Month(), day.Day()+later, clock.Hour(), clock.Minute(), 0, 0, zone)
			}
			all = append(all, span{at(from, 0), at(to, next)})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && !s.from.After(out[n-1].to) {
			if s.to.After(out[n-1].to) {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// Opens is the first moment from now on from which windows stay open for as long as something takes, and whether there is one.
// Where there are no windows it is now.
func Opens(windows []Window, now time.Time, takes time.Duration) (time.Time, bool) {
	if len(windows) == 0 {
		return now, true
	}
	for _, s := range spans(windows, now) {
		begin := s.from
		if begin.Before(now) {
			begin = now
		}
		if !begin.Add(takes).After(s.to) {
			return begin, true
		}
	}
	return time.Time{}, false
}
