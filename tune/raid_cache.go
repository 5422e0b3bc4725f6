package tune

import (
	"fmt"

	"stowage/farm"
)

var raidAlwaysBack = Rule{
	ID: "RAID-AWB", Title: "a RAID controller's cache and its battery", Reads: "storcli, perccli, perccli2, MegaCli, ssacli or arcconf: cache policy of each volume, battery",
	Source: "the controllers' own help: WB writes back while the battery is good, AWB always, WT never",
	Except: "throw-away data",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		l := &look{}
		l.unanswered(f)
		for _, c := range f.Controllers {
			l.see(c.name())
			if c.CacheUnguarded {
				l.find(Finding{Severity: farm.Blocker, Subject: c.name(), Read: c.Model + ": write cache stays on when the battery is bad",
					Verdict: "a power cut with a bad battery loses acknowledged commits", Why: "the controller answers a flush from memory that nothing keeps alive",
					Fix: c.writeBack("all"), Persist: "the controller keeps it", Revert: c.words().undoBack})
			}
			if c.VolumesMissing != "" {
				l.lacks(c.name(), "its volumes and their cache policy: "+c.VolumesMissing, c.askVolumes())
			}
			for _, v := range c.Volumes {
				c.cached(l, v)
			}
		}
		return l.outcome("no RAID controller answered")
	},
}

// cached judges the write cache of one volume. What the policy in force says
// counts before what is configured: only it knows where writes go now.
func (c Controller) cached(l *look, v Volume) {
	name := c.name() + " volume " + v.ID
	l.see(name)
	x := Finding{Severity: farm.Blocker, Subject: name, Read: fmt.Sprintf("%s, %s, cache: %s, now: %s, battery: %s", c.Model, v.Level, v.Cache.word(), v.CacheNow.word(), c.Battery.word()),
		Fix: c.writeThrough(lastPart(v.ID)), Persist: "the controller keeps it", Revert: "-"}
	now := v.CacheNow
	switch {
	case v.Cache == BackAlways || now == BackAlways:
		x.Verdict = "its cache writes back whatever the battery says: a power cut may lose acknowledged commits"
		x.Why = "AWB and \"force write back\" make benchmarks of machines with empty batteries look good; what is in the memory is gone with the power"
		x.Fix = c.writeBack(lastPart(v.ID))
		x.Revert = c.words().undoBack
	case v.Cache == CacheHidden || v.CacheNow == CacheHidden:
		l.lacks(name, "its cache policy", c.askVolumes())
		return
	case v.Cache == Back && now == Through && c.Battery.Healthy:
		x.Severity = farm.Warning
		x.Verdict = "writes go through to the disks now, though write back is configured and the battery is well: commits are slow"
		x.Why = "the controller has switched its cache off; it does so for a fault of its memory, of the cache board, or while it has no room"
		x.Fix = "ask the controller why: " + c.askBattery()
	case v.Cache == Back && now == Through:
		x.Severity = farm.Warning
		x.Verdict = "writes go through to the disks now, because the battery is not well: commits are slow"
		x.Why = "that is what WB is for; without a battery it is the safe choice. New batteries charge for hours, and relearn every month or so"
		x.Fix = "replace the battery, or wait for the end of its relearn cycle"
	case now == Through:
		return
	case !c.Battery.Known:
		l.lacks(name, "whether a battery keeps its write-back cache over a power cut", c.askBattery())
		return
	case !c.Battery.Present:
		x.Verdict = "it writes back, and no battery is there: a power cut loses acknowledged commits"
		x.Why = "the controller answers a flush from memory that nothing keeps alive"
	case !c.Battery.Healthy:
		x.Verdict = "it writes back, and the battery is not well: a power cut may lose acknowledged commits"
		x.Why = "the policy in force does not say that writes go through to the disks meanwhile"
		x.Fix = "replace the battery, or wait for the end of its relearn cycle; until then " + x.Fix
	default:
		return
	}
	l.find(x)
}

func (w WriteCache) word() string {
	if w == CacheHidden {
		return "not told"
	}
	return string(w)
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
