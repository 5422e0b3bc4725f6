package tune

import "stowage/farm"

var blkCacheView = Rule{
	ID: "BLK-WC-VIEW", Title: "what the kernel believes about the disk's cache", Reads: "/sys/block/D/queue/write_cache; smartctl write_cache, nvme vwc",
	Source: "kernel, sysfs-block: writing the file changes the kernel's view, not the device, and that might not be safe",
	Except: "a device that really has no volatile cache, whatever it says",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			if d.guest() || d.RAID() {
				continue // its cache is another's
			}
			if l.see(d.Name); d.WriteCache == nil || d.Queue["write_cache"] == "" {
				l.lacks(d.Name, "whether its cache is on, by the device and by the kernel", d.askCache()+"; cat "+d.attribute("write_cache"))
				continue
			}
			if !*d.WriteCache || d.Queue["write_cache"] != "write through" {
				continue
			}
			x := Finding{Severity: farm.Blocker, Subject: d.Name, Read: d.attribute("write_cache") + ": write through; the device says that its cache is on",
				Verdict: "the kernel has stopped flushing a cache that is on: a power cut loses commits",
				Why:     "old tuning pages write \"write through\" here because fsync gets fast; it gets fast because nothing is flushed any more"}
			fixFile(&x, d.set("write_cache", "write back"), "remove the line that wrote it (udev rule, rc.local); the kernel asks the device at start-up")
			l.find(x)
		}
		return l.outcome("no device said whether its cache is on")
	},
}
