package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var blkReadAhead = Rule{
	ID: "BLK-RA", Title: "read-ahead", Reads: "/sys/block/D/queue/read_ahead_kb, engines of the instances",
	Source: "kernel, sysfs-block: read-ahead is for filesystems, through the page cache; tuned's throughput-performance raises it to 4096",
	Except: "backups and scans gain from large values; RAID of many spinning disks too",
	Prove:  "SCAN16K-R",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			kb, err := strconv.Atoi(d.Queue["read_ahead_kb"])
			if l.see(d.Name); err != nil {
				l.lacks(d.Name, "its read-ahead", "cat "+d.attribute("read_ahead_kb"))
				continue
			}
			x := Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %d", d.attribute("read_ahead_kb"), kb)}
			engine := f.buffered()
			switch {
			case kb == 0:
				x.Verdict = "read-ahead is off: InnoDB does not notice, backups and copies do"
				x.Why = "old advice says to switch it off for databases; InnoDB reads with O_DIRECT, past the page cache, where there is no read-ahead to switch off"
			case kb >= 4096 && engine != "":
				x.Severity = farm.Warning
				x.Verdict = fmt.Sprintf("every random read of %s may fetch %d KiB", engine, kb)
				x.Why = engine + " reads through the page cache, where a large read-ahead turns a small read into a long one and pushes out what was useful"
			default:
				continue
			}
			fixFile(&x, d.set("read_ahead_kb", "128"), udev(d, "read_ahead_kb", "128"))
			l.find(x)
		}
		return l.outcome("no disk with a read-ahead setting")
	},
}

// buffered is an engine in use that reads through the page cache, or "".
func (f *Facts) buffered() string {
	for _, i := range f.Instances {
		if engine, ok := i.usesEngine("MyISAM", "Aria", "ROCKSDB"); ok {
			return engine
		}
	}
	return ""
}
