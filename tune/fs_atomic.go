package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var fsAtomic = Rule{
	ID: "FS-ATOMIC", Title: "writes that cannot be torn", Reads: "statx of each instance's ibdata1 (STATX_WRITE_ATOMIC); /sys/block/D/queue/atomic_write_unit_max_bytes",
	Source:  "Linux 6.11 (block devices), 6.16 (XFS); measured on 6.18: XFS with reflink promises 4 KiB to 1 MiB on any disk. No MariaDB or MySQL release uses RWF_ATOMIC (MySQL: mysql-community #57, asked for in 2026-06)",
	Except:  "a server that asks the kernel for atomic writes",
	Passing: true, // measured: XFS answers otherwise for a file of a server that was restarted
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			if i.Atomic == nil {
				continue
			}
			n++
			page := int64(16 << 10)
			if size, _, ok := i.number("innodb_page_size"); ok {
				page = size
			}
			if i.Atomic.Max < page || i.Atomic.Min > page {
				continue
			}
			out = append(out, untorn(i.Name, fmt.Sprintf("statx: atomic_write_unit_min %d, atomic_write_unit_max %d; innodb_page_size %d", i.Atomic.Min, i.Atomic.Max, page), "its filesystem", page))
		}
		for _, d := range f.storage() {
			unit, err := strconv.ParseInt(d.Queue["atomic_write_unit_max_bytes"], 10, 64)
			if err != nil || unit == 0 {
				continue
			}
			n++
			if unit >= 16<<10 {
				out = append(out, untorn(d.Name, fmt.Sprintf("%s: %d", d.attribute("atomic_write_unit_max_bytes"), unit), "this disk", 16<<10))
			}
		}
		return judged(out, n, "no disk or kernel with atomic writes")
	},
}

func untorn(subject, read, who string, page int64) Finding {
	return Finding{Severity: farm.Note, Subject: subject, Read: read,
		Verdict: fmt.Sprintf("%s can write a page of %s untorn; that is not a licence to switch the doublewrite buffer off", who, bytes(page)),
		Why:     "the promise holds for writes that ask for it (RWF_ATOMIC), and today's servers do not ask",
		Fix:     "nothing; keep innodb_doublewrite on", Persist: "-", Revert: "-"}
}
