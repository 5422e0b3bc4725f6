package tune

import (
	"fmt"

	"stowage/farm"
)

var raidAlwaysBack = Rule{
	ID: "RAID-AWB", Title: "a RAID controller's cache and its battery", Reads: "storcli, perccli, perccli2 or MegaCli: cache policy of each volume, battery",
	Source: "the controllers' own help: WB writes back while the battery is good, AWB always, WT never",
	Except: "throw-away data",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		for _, c := range f.Controllers {
			name := fmt.Sprintf("%s %d", c.Tool, c.Number)
			if c.CacheUnguarded {
				out = append(out, Finding{Severity: farm.Blocker, Subject: name, Read: c.Model + ": write cache stays on when the battery is bad",
					Verdict: "a power cut with a bad battery loses acknowledged commits", Why: "the controller answers a flush from memory that nothing keeps alive",
					Fix: c.writeBack("all"), Persist: "the controller keeps it", Revert: "the same with awb, or CachedBadBBU"})
			}
			for _, v := range c.Volumes {
				x := Finding{Subject: name + " volume " + v.ID, Read: fmt.Sprintf("%s, %s, cache: %s, battery: %s", c.Model, v.Level, v.Cache, c.Battery.word()),
					Persist: "the controller keeps it", Revert: "-"}
				switch {
				case v.Cache == BackAlways:
					x.Severity = farm.Blocker
					x.Verdict = "its cache writes back whatever the battery says: a power cut may lose acknowledged commits"
					x.Why = "AWB and \"force write back\" make benchmarks of machines with empty batteries look good; what is in the memory is gone with the power"
					x.Fix = c.writeBack(lastPart(v.ID))
					x.Revert = "the same with awb, or CachedBadBBU"
				case v.Cache == Back && (v.CacheNow == Through || c.Battery.Known && !c.Battery.Healthy):
					x.Severity = farm.Warning
					x.Verdict = "writes go through to the disks now, because the battery is not well: commits are slow"
					x.Why = "that is what WB is for; without a battery it is the safe choice. New batteries charge for hours, and relearn every month or so"
					x.Fix = "replace the battery, or wait for the end of its relearn cycle"
				default:
					continue
				}
				out = append(out, x)
			}
		}
		return judged(out, len(f.Controllers), "no RAID controller answered")
	},
}

// writeBack is the command that makes a volume, or all, write back only while
// the battery is good.
func (c Controller) writeBack(volume string) string {
	if c.Tool == "MegaCli" {
		return fmt.Sprintf("MegaCli -LDSetProp NoCachedBadBBU -L%s -a%d", volume, c.Number)
	}
	return fmt.Sprintf("%s /c%d/v%s set wrcache=wb", c.Tool, c.Number, volume)
}

func (b Battery) word() string {
	switch {
	case !b.Known:
		return "unknown"
	case !b.Present:
		return "none"
	}
	return b.State
}

// lastPart is the volume's number in "0/1".
func lastPart(id string) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '/' {
			return id[i+1:]
		}
	}
	return id
}
