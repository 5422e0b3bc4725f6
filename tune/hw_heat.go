package tune

import (
	"fmt"

	"stowage/farm"
)

var hwHeat = Rule{
	ID: "HW-HEAT", Title: "drives that were too hot", Reads: "smartctl -j or nvme smart-log: warning_temp_time, critical_comp_time",
	Source: "NVM Express, SMART log: minutes above the two limits, over the drive's life",
	Except: "a drive that had another place before",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, d := range f.storage() {
			if d.Health == nil || d.Health.HotMinutes < 0 {
				continue
			}
			n++
			h := d.Health
			if h.HotMinutes == 0 && h.CriticalMins == 0 {
				continue
			}
			x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %d minutes above the warning limit, %d above the critical one", h.From, h.HotMinutes, h.CriticalMins),
				Verdict: "the drive has been hot enough to slow itself down",
				Why:     "a drive that throttles answers late for minutes; any measurement across such a time is void", Fix: "look at the airflow, and at these counters before and after a measurement", Persist: "-", Revert: "-"}
			if h.CriticalMins > 0 {
				x.Severity = farm.Warning
			}
			out = append(out, x)
		}
		return judged(out, n, "no drive told of its temperature")
	},
}
