package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var hwHeat = Rule{
	ID: "HW-HEAT", Title: "drives that were too hot", Reads: "smartctl -j or nvme smart-log: warning_temp_time, critical_comp_time",
	Source:  "NVM Express, SMART log: minutes above the two limits, over the drive's life",
	Except:  "a drive that had another place before",
	Passing: true,
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			h := d.Health
			if h == nil || h.HotMinutes < 0 {
				if strings.HasPrefix(d.Name, "nvme") {
					l.lacks(d.Name, "warning_temp_time", "smartctl -x /dev/"+d.Name+" as root, or nvme smart-log")
				}
				continue
			}
			l.see(d.Name)
			if h.HotMinutes == 0 && h.CriticalMins == 0 {
				continue
			}
			x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %d minutes above the warning limit, %d above the critical one", h.From, h.HotMinutes, h.CriticalMins),
				Verdict: "the drive has been hot enough to slow itself down",
				Why:     "a drive that throttles answers late for minutes; any measurement across such a time is void", Fix: "look at the airflow, and at these counters before and after a measurement", Persist: "-", Revert: "-"}
			if h.CriticalMins > 0 {
				x.Severity = farm.Warning
			}
			l.find(x)
		}
		return l.outcome("no drive reported its temperature")
	},
}
