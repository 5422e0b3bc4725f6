package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var fsAtomic = Rule{
	ID: "FS-ATOMIC", Title: "writes that cannot be torn", Reads: "/sys/block/D/queue/atomic_write_unit_max_bytes",
	Source: "Linux 6.11 (block devices), 6.16 (XFS); no MariaDB or MySQL release uses RWF_ATOMIC (MySQL: mysql-community #57, asked for in 2026-06)",
	Except: "a server that asks the kernel for atomic writes",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, d := range f.storage() {
			unit, err := strconv.ParseInt(d.Queue["atomic_write_unit_max_bytes"], 10, 64)
			if err != nil || unit == 0 {
				continue
			}
			n++
			if unit < 16<<10 {
				continue
			}
			out = append(out, Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s: %d", d.attribute("atomic_write_unit_max_bytes"), unit),
				Verdict: "this disk can write a page of 16 KiB untorn; that is no licence to switch the doublewrite buffer off",
				Why:     "the promise holds for writes that ask for it (RWF_ATOMIC), and today's servers do not ask",
				Fix:     "nothing; keep innodb_doublewrite on", Persist: "-", Revert: "-"})
		}
		return judged(out, n, "no disk or kernel with atomic writes")
	},
}
