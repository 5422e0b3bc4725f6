package tune

import (
	"fmt"

	"stowage/farm"
)

var hwWear = Rule{
	ID: "HW-WEAR", Title: "how much life the flash has left", Reads: "smartctl -j or nvme smart-log: percentage_used, power_on_hours, available_spare, critical_warning, media_errors; the same of drives behind RAID controllers (smartctl -d megaraid,N), and their media errors",
	Source: "NVM Express, SMART log; smartmontools' JSON",
	Except: "guests, which see no device",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		say := func(severity farm.Severity, subject, read, verdict string) {
			out = append(out, Finding{Severity: severity, Subject: subject, Read: read, Verdict: verdict,
				Why: "packing more onto a host multiplies what is written to its disks; a disk that is worn fails while it is full",
				Fix: "replace it before anything is moved onto it", Persist: "-", Revert: "-"})
		}
		health := func(name string, h *Health) {
			if h == nil {
				return
			}
			n++
			if h.Passed != nil && !*h.Passed {
				say(farm.Blocker, name, h.From+": overall self-assessment: failed", "the drive says itself that it is failing")
			}
			if h.Critical != 0 {
				say(farm.Blocker, name, fmt.Sprintf("%s: critical_warning 0x%02x", h.From, h.Critical), "the drive warns: spare, temperature, reliability, read-only or its backup power")
			}
			if h.Spare >= 0 && h.SpareThreshold > 0 && h.Spare <= h.SpareThreshold {
				say(farm.Blocker, name, fmt.Sprintf("%s: available_spare %d %%, threshold %d %%", h.From, h.Spare, h.SpareThreshold), "its spare blocks are used up")
			}
			left, paced := h.daysLeft()
			switch {
			case h.Used > 80:
				say(farm.Warning, name, h.worn(left, paced), "most of its rated life is over")
			case paced && left < 365:
				say(farm.Warning, name, h.worn(left, paced), fmt.Sprintf("at the pace of its life so far its rated endurance is used up in %d days; twice the writes, half the days", left))
			}
			if h.MediaErrors > 0 {
				say(farm.Warning, name, fmt.Sprintf("%s: media_errors %d", h.From, h.MediaErrors), "it has lost data before, if only once")
			}
		}
		for _, d := range f.storage() {
			health(d.Name, d.Health)
		}
		for _, c := range f.Controllers {
			for _, d := range c.Drives {
				n++
				name := fmt.Sprintf("%s %d drive %s", c.Tool, c.Number, d.ID)
				health(name, d.Health)
				if d.MediaErrors > 0 || d.Predicted > 0 {
					say(farm.Warning, name, fmt.Sprintf("%s: %d media errors, %d predictive failures", d.Model, d.MediaErrors, d.Predicted), "the drive has begun to fail")
				}
			}
		}
		return judged(out, n, "no drive told of its health: no smartctl, no nvme, no RAID controller, or a guest")
	},
}

// daysLeft is when the rated endurance is used up, if as much is written as was on
// average since the drive is new. Where little is used or little time has gone
// by, a percent more or less decides, and nothing is said.
func (h *Health) daysLeft() (days int64, known bool) {
	const month = 30 * 24
	if h.Used < 2 || h.Hours < month {
		return 0, false
	}
	return int64(max(0, 100-h.Used)) * h.Hours / int64(h.Used) / 24, true
}

// worn says what was read about it.
func (h *Health) worn(days int64, paced bool) string {
	text := fmt.Sprintf("%s: %d %% of the rated endurance used", h.From, h.Used)
	if paced {
		text += fmt.Sprintf(" in %d days of power, %d days left at that pace", h.Hours/24, days)
	}
	return text
}
