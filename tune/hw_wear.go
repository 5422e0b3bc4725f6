package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var hwWear = Rule{
	ID: "HW-WEAR", Title: "how worn the drives are", Reads: "smartctl -j or nvme smart-log: percentage_used, power_on_hours, available_spare, critical_warning, media_errors; attributes and device statistics of SATA drives, defects and error counters of SAS drives; the same of drives behind RAID controllers (smartctl -d megaraid,N or cciss,N), and their media errors",
	Source: "NVM Express, SMART log; smartmontools' JSON",
	Except: "guests, which see no device",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			switch {
			case d.Health != nil:
				l.see(d.Name)
				worn(l, d.Name, d.Health, "smartctl -x /dev/"+d.Name)
			case d.RAID() || d.guest(): // the drives behind it are asked, or nobody is
			default:
				l.lacks(d.Name, "what the drive says of itself", "smartctl -x /dev/"+d.Name+" as root (Debian: smartmontools)")
			}
		}
		l.unanswered(f)
		for _, c := range f.Controllers {
			if c.DrivesMissing != "" {
				l.lacks(c.name(), "its drives: "+c.DrivesMissing, c.askDrives())
			}
			for _, d := range c.Drives {
				l.see(c.name() + " drive " + d.ID)
				c.wornBehind(l, d)
			}
		}
		return l.outcome("no drive reported its health: no smartctl, no nvme, no RAID controller, or a guest")
	},
}

// sayWorn is a finding about a drive's life.
func sayWorn(l *look, severity farm.Severity, subject, read, verdict string) {
	l.find(Finding{Severity: severity, Subject: subject, Read: read, Verdict: verdict,
		Why: "packing more onto a host multiplies what is written to its disks; a disk that is worn fails while it is full",
		Fix: "replace it before anything is moved onto it", Persist: "-", Revert: "-"})
}

// worn judges what a drive says of itself.
func worn(l *look, name string, h *Health, get string) {
	if h.Passed != nil && !*h.Passed {
		sayWorn(l, farm.Blocker, name, h.From+": overall self-assessment: failed", "the drive says itself that it is failing")
	}
	if h.Critical != 0 {
		sayWorn(l, farm.Blocker, name, fmt.Sprintf("%s: critical_warning 0x%02x", h.From, h.Critical), "the drive warns: spare, temperature, reliability, read-only or its backup power")
	}
	if h.Spare >= 0 && h.SpareThreshold > 0 && h.Spare <= h.SpareThreshold {
		sayWorn(l, farm.Blocker, name, fmt.Sprintf("%s: available_spare %d %%, threshold %d %%", h.From, h.Spare, h.SpareThreshold), "its spare blocks are used up")
	}
	if len(h.Failing) > 0 {
		sayWorn(l, farm.Blocker, name, h.From+": at the threshold: "+strings.Join(h.Failing, ", "), "its maker's own limit for a drive that fails is reached")
	}
	if len(h.Failed) > 0 {
		sayWorn(l, farm.Warning, name, h.From+": was at the threshold: "+strings.Join(h.Failed, ", "), "its maker's own limit was reached before")
	}
	left, paced := h.daysLeft()
	switch {
	case h.Used > 80:
		sayWorn(l, farm.Warning, name, h.worn(left, paced), "most of its rated life is over")
	case paced && left < 365:
		sayWorn(l, farm.Warning, name, h.worn(left, paced), fmt.Sprintf("at the pace of its life so far its rated endurance is used up in %d days; twice the writes, half the days", left))
	}
	if h.MediaErrors > 0 {
		sayWorn(l, farm.Warning, name, fmt.Sprintf("%s: media_errors %d", h.From, h.MediaErrors), "it has lost data before, if only once")
	}
	if h.Pending > 0 {
		sayWorn(l, farm.Warning, name, fmt.Sprintf("%s: %s that it cannot read wait to be replaced", h.From, farm.Counted(h.Pending, "sector")), "it cannot give back what it was given")
	}
	if h.Uncorrectable > 0 {
		sayWorn(l, farm.Warning, name, fmt.Sprintf("%s: %s that it could not correct", h.From, farm.Counted(h.Uncorrectable, "error")), "it could not give back what it was given")
	}
	if h.Reallocated > 0 {
		sayWorn(l, farm.Warning, name, fmt.Sprintf("%s: %s replaced by spare ones", h.From, farm.Counted(h.Reallocated, "sector")), "it has begun to use its spare sectors")
		if h.Rotation == 0 { // flash replaces blocks as it wears
			last := &l.Findings[len(l.Findings)-1]
			last.Severity, last.Fix = farm.Note, "look again in a week: a number that grows quickly is a drive that fails"
		}
	}
	for _, what := range h.Missing {
		l.lacks(name, what, get)
	}
}

// wornBehind judges a drive behind a controller, by the controller's counters and
// by what the drive says of itself where it could be asked.
func (c Controller) wornBehind(l *look, d Drive) {
	name := c.name() + " drive " + d.ID
	if d.MediaErrors > 0 || d.Predicted > 0 || d.Alert {
		read := fmt.Sprintf("%s: %d media errors, %d predictive failures, warned: %v", d.Model, d.MediaErrors, d.Predicted, d.Alert)
		if !d.Counted {
			read = fmt.Sprintf("%s: %s, warned: %v", d.Model, d.State, d.Alert)
		}
		sayWorn(l, farm.Warning, name, read, "the drive has begun to fail")
	}
	ask := c.askDrives()
	if d.Device >= 0 {
		ask += "; smartctl -x -d " + c.SmartDevice(d.Device) + " on a disk of this controller"
	}
	switch {
	case d.Health != nil:
		worn(l, name, d.Health, ask)
	case !d.Counted:
		l.lacks(name, "its errors and warnings", ask)
	case d.Media != "HDD":
		l.lacks(name, "how much of its endurance is used", ask)
	}
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
	if h.UsedFrom != "" {
		text += " (" + h.UsedFrom + ")"
	}
	if paced {
		text += fmt.Sprintf(" in %d days of power, %d days left at that pace", h.Hours/24, days)
	}
	return text
}
