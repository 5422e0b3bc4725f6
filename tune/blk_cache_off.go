package tune

import (
	"fmt"

	"stowage/farm"
)

var blkCacheOff = Rule{
	ID: "BLK-WC-OFF", Title: "a disk's cache that was switched off", Reads: "hdparm -W, smartctl write_cache; mount options",
	Source: "kernel, writeback_cache_control: fsync sends PREFLUSH and FUA, so a volatile cache is safe with a filesystem that flushes",
	Except: "a filesystem mounted without barriers, a RAID controller that does not pass flushes on, a device known to report flushes falsely",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			if d.guest() || d.RAID() {
				continue // its cache is another's
			}
			if l.see(d.Name); d.WriteCache == nil {
				l.lacks(d.Name, "whether its cache is on", d.askCache())
				continue
			}
			if is, _, _ := f.flash(d); *d.WriteCache || !is {
				continue
			}
			x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("the write cache of /dev/%s is off", d.Name),
				Verdict: "its cache was switched off to be safe: today that costs speed and life of the flash, and is no safer",
				Why:     "the advice is from 2008, when kernels did not flush; they do since, and flash without its cache writes each small block by itself",
				Fix:     "hdparm -W1 /dev/" + d.Name, Persist: "/etc/hdparm.conf: write_cache = on", Revert: "hdparm -W0 /dev/" + d.Name}
			if d.CacheType != "" { // sd sends it to the drive as MODE SELECT, and flushes from then on
				x.Change = &Change{Path: d.CacheType, From: "write through", To: "write back"}
			}
			l.find(x)
		}
		return l.outcome("no device said whether its cache is on")
	},
}
