package due_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"stowage/due"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWindowsOpen(t *testing.T) {
	night := due.Window{Days: []string{"mon", "tue", "wed", "thu"}, From: "22:00", To: "04:00", Zone: "Asia/Tokyo"}
	for _, tt := range []struct {
		name    string
		windows []due.Window
		now     string
		takes   time.Duration
		want    string // "": never
	}{
		{"no windows", nil, "2026-11-25T12:00:00Z", time.Hour, "2026-11-25T12:00:00Z"},
		{"opens tonight, Wednesday in Tokyo", []due.Window{night}, "2026-11-25T12:00:00Z", time.Hour, "2026-11-25T13:00:00Z"},
		{"is open, past midnight", []due.Window{night}, "2026-11-25T16:30:00Z", time.Hour, "2026-11-25T16:30:00Z"},
		{"is open, and not for long enough", []due.Window{night}, "2026-11-25T18:30:00Z", time.Hour, "2026-11-26T13:00:00Z"},
		{"opened on Thursday, open on Friday morning", []due.Window{night}, "2026-11-26T18:00:00Z", time.Hour, "2026-11-26T18:00:00Z"},
		{"no Friday night: Monday", []due.Window{night}, "2026-11-27T13:00:00Z", time.Hour, "2026-11-30T13:00:00Z"},
		{"as long as the window", []due.Window{night}, "2026-11-25T12:00:00Z", 6 * time.Hour, "2026-11-25T13:00:00Z"},
		{"longer than any", []due.Window{night}, "2026-11-25T12:00:00Z", 6*time.Hour + time.Second, ""},
		{"two that touch are one", []due.Window{{From: "20:00", To: "22:00"}, {From: "22:00", To: "23:00"}}, "2026-11-25T12:00:00Z", 3 * time.Hour, "2026-11-25T20:00:00Z"},
		{"a whole day", []due.Window{{Days: []string{"sat"}, From: "00:00", To: "00:00"}}, "2026-11-25T12:00:00Z", 24 * time.Hour, "2026-11-28T00:00:00Z"},
		// On 2027-03-28 clocks in Lisbon go from 01:00 to 02:00: that night is an hour shorter.
		{"a night with an hour less", []due.Window{{From: "00:00", To: "04:00", Zone: "Europe/Lisbon"}}, "2027-03-27T23:00:00Z", 4 * time.Hour, "2027-03-28T23:00:00Z"},
		{"a night with an hour more", []due.Window{{From: "00:00", To: "04:00", Zone: "Europe/Lisbon"}}, "2026-10-24T22:00:00Z", 5 * time.Hour, "2026-10-24T23:00:00Z"},
	} {
		got, ok := due.Opens(tt.windows, at(t, tt.now), tt.takes)
		if !ok {
			got = time.Time{}
		}
		var want time.Time
		if tt.want != "" {
			want = at(t, tt.want)
		}
		if !got.Equal(want) {
			t.Errorf("%s: %v, want %v", tt.name, got.UTC(), want)
		}
	}
}

// TestOpensIsInsideAndFirst: whatever the windows, at each minute of what is found some window is open, and a minute earlier it would not do.
func TestOpensIsInsideAndFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 8))
	zones := []string{"", "Asia/Tokyo", "Europe/Lisbon", "America/St_Johns", "Pacific/Chatham"}
	for range 300 {
		var windows []due.Window
		for range 1 + r.IntN(3) {
			w := due.Window{From: clock(r), To: clock(r), Zone: zones[r.IntN(len(zones))]}
			for _, d := range due.WeekDays {
				if r.IntN(3) > 0 {
					w.Days = append(w.Days, d)
				}
			}
			if err := w.Check(); err != nil {
				t.Fatal(err)
			}
			windows = append(windows, w)
		}
		now := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), 0, 0, time.UTC)
		takes := time.Duration(r.IntN(180)) * time.Minute
		got, ok := due.Opens(windows, now, takes)
		if !ok {
			continue
		}
		for m := time.Duration(0); m < takes; m += time.Minute {
			if !isOpen(windows, got.Add(m)) {
				t.Fatalf("%v from %v for %v: %v, and at %v no window is open", windows, now, takes, got, got.Add(m))
			}
		}
		for early := now; early.Before(got); early = early.Add(time.Minute) {
			fits := true
			for m := time.Duration(0); m < takes && fits; m += time.Minute {
				fits = isOpen(windows, early.Add(m))
			}
			if fits && (takes > 0 || isOpen(windows, early)) {
				t.Fatalf("%v from %v for %v: %v, and %v would do", windows, now, takes, got, early)
			}
		}
	}
}

func clock(r *rand.Rand) string {
	return time.Date(2000, 1, 1, r.IntN(24), r.IntN(4)*15, 0, 0, time.UTC).Format("15:04")
}

// isOpen looks at one minute with other arithmetic: what the clock of the place shows.
func isOpen(windows []due.Window, at time.Time) bool {
	for _, w := range windows {
		zone, _ := time.LoadLocation(w.Zone)
		local := at.In(zone)
		is, day := local.Format("15:04"), func(back int) bool {
			if len(w.Days) == 0 {
				return true
			}
			for _, d := range w.Days {
				if d == due.WeekDays[local.AddDate(0, 0, -back).Weekday()] {
					return true
				}
			}
			return false
		}
		if w.From < w.To && day(0) && is >= w.From && is < w.To ||
			w.From >= w.To && (day(0) && is >= w.From || day(1) && is < w.To) {
			return true
		}
	}
	return false
}

func TestWindowsAreChecked(t *testing.T) {
	for _, w := range []due.Window{{Days: []string{"monday"}, From: "22:00", To: "04:00"}, {From: "22", To: "04:00"}, {From: "22:00", To: "24:00"}, {From: "9:00", To: "10:00"},
		{From: "22:00", To: "04:00", Zone: "Tokyo"}, {From: "22:00", To: "04:00", Zone: "Local"}} {
		if w.Check() == nil {
			t.Errorf("%+v passes", w)
		}
	}
}
