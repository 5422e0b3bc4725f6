package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

// tolerable is how many seconds of writing may wait in the page cache.
const tolerable = 10

var memDirty = Rule{
	ID: "MEM-DIRTY", Title: "how much may wait in the page cache", Reads: "vm.dirty_ratio, vm.dirty_bytes, MemTotal, measured SEQ1M-W",
	Source: "tuned's postgresql profile: 512 MiB and 64 MiB; otherwise blogs only, so prove it",
	Except: "InnoDB with O_DIRECT, no binary log, and no backups written on this machine",
	Prove:  "SEQ1M-W-Q4T1",
	Check: func(f *Facts) Outcome {
		ratio, err := strconv.Atoi(f.Sys["vm.dirty_ratio"])
		if limit := f.Sys["vm.dirty_bytes"]; limit != "" && limit != "0" {
			return Outcome{}
		}
		if err != nil || f.Memory == 0 {
			return notApplicable("vm.dirty_ratio or the machine's memory could not be read")
		}
		slowest, step := 0.0, ""
		for _, m := range f.Measured {
			if id, s, ok := m.step("SEQ1M-W"); ok && s.MBps > 0 && (step == "" || s.MBps < slowest) {
				slowest, step = s.MBps, id
			}
		}
		if step == "" {
			return notApplicable("not measured how fast the disks write: give a benchmark with --measured DISK=FILE")
		}
		dirty := float64(f.Memory) * float64(ratio) / 100
		seconds := dirty / (slowest * 1e6)
		if seconds <= tolerable {
			return Outcome{}
		}
		x := Finding{Severity: farm.Warning, Subject: "vm.dirty_ratio", Read: fmt.Sprintf("/proc/sys/vm/dirty_ratio: %d, of %s; %s: %.0f MB/s", ratio, bytes(f.Memory), step, slowest),
			Verdict: fmt.Sprintf("%s may wait to be written, %.0f seconds of this disk", bytes(int64(dirty)), seconds),
			Why:     "a backup fills the page cache in a moment; then every fsync of every instance waits behind it",
			Fix:     "sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=536870912", Persist: "/etc/sysctl.d/60-stowage.conf: the same two lines",
			Revert: fmt.Sprintf("sysctl vm.dirty_ratio=%d vm.dirty_background_ratio=%s (which set the bytes to 0)", ratio, f.Sys["vm.dirty_background_ratio"])}
		return found(x)
	},
}
