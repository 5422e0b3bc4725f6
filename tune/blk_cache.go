package tune

import (
	"fmt"

	"stowage/farm"
)

var blkCacheView = Rule{
	ID: "BLK-WC-VIEW", Title: "what the kernel believes about the disk's cache", Reads: "/sys/block/D/queue/write_cache; smartctl write_cache, nvme vwc",
	Source: "kernel, sysfs-block: writing the file changes the kernel's view, not the device, and that might not be safe",
	Except: "a device that really has no volatile cache, whatever it says",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, d := range f.storage() {
			if d.WriteCache == nil || d.Queue["write_cache"] == "" {
				continue
			}
			n++
			if !*d.WriteCache || d.Queue["write_cache"] != "write through" {
				continue
			}
			x := Finding{Severity: farm.Blocker, Subject: d.Name, Read: d.attribute("write_cache") + ": write through; the device says that its cache is on",
				Verdict: "the kernel has stopped flushing a cache that is on: a power cut loses commits",
				Why:     "old tuning pages write \"write through\" here because fsync gets fast; it gets fast because nothing is flushed any more"}
			fixFile(&x, d.set("write_cache", "write back"), "remove the line that wrote it (udev rule, rc.local); the kernel asks the device at start-up")
			out = append(out, x)
		}
		return judged(out, n, "no device said whether its cache is on")
	},
}

var blkCacheOff = Rule{
	ID: "BLK-WC-OFF", Title: "a disk's cache that was switched off", Reads: "hdparm -W, smartctl write_cache; mount options",
	Source: "kernel, writeback_cache_control: fsync sends PREFLUSH and FUA, so a volatile cache is safe with a filesystem that flushes",
	Except: "a filesystem mounted without barriers, a RAID controller that does not pass flushes on, a device known to lie",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, d := range f.storage() {
			if d.WriteCache == nil {
				continue
			}
			n++
			if is, _, _ := f.flash(d); *d.WriteCache || !is {
				continue
			}
			out = append(out, Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("the write cache of /dev/%s is off", d.Name),
				Verdict: "its cache was switched off to be safe: today that costs speed and life of the flash, and is no safer",
				Why:     "the advice is from 2008, when kernels did not flush; they do since, and flash without its cache writes each small block by itself",
				Fix:     "hdparm -W1 /dev/" + d.Name, Persist: "/etc/hdparm.conf: write_cache = on", Revert: "hdparm -W0 /dev/" + d.Name})
		}
		return judged(out, n, "no device said whether its cache is on")
	},
}
