package tune

import (
	"fmt"
	"strconv"
	"strings"

	"stowage/farm"
)

var memSwap = Rule{
	ID: "MEM-SWAP", Title: "swapping", Reads: "vm.swappiness, /proc/swaps, VmSwap of the servers",
	Source: "MariaDB, Configuring swappiness: 1",
	Except: "swap on zram only, which is memory",
	Check: func(f *Facts) Outcome {
		var disks []string
		for _, s := range f.Swaps {
			if !strings.Contains(s, "zram") {
				disks = append(disks, s)
			}
		}
		if len(disks) == 0 {
			return notApplicable("no swap on a disk")
		}
		text := f.Sys["vm.swappiness"]
		level, err := strconv.Atoi(text)
		if err != nil {
			return notApplicable("vm.swappiness could not be read")
		}
		var out []Finding
		x := Finding{Severity: farm.Warning, Subject: "vm.swappiness", Read: fmt.Sprintf("/proc/sys/vm/swappiness: %d; swap on %s%s", level, strings.Join(disks, ", "), f.swapped())}
		switch {
		case level > 10:
			x.Verdict = "the kernel will swap out parts of buffer pools to keep files in its cache"
			x.Why = "a backup or a log that is read fills the page cache; with a high swappiness that counts as much as the pool, and queries wait for pages that should be in memory"
		case level == 0:
			x.Severity = farm.Note
			x.Verdict = "with 0 the kernel kills a process rather than swap"
			x.Why = "since Linux 3.5 zero means: not before memory is used up. 1 keeps pools in memory as well, and leaves a way out"
		default:
			return Outcome{}
		}
		fixSysctl(&x, f, "vm.swappiness", "/proc/sys/vm/swappiness", "1")
		return found(append(out, x)...)
	},
}

// swapped says how much of the servers has been swapped out already.
func (f *Facts) swapped() string {
	var sum int64
	for _, i := range f.Instances {
		if i.Process != nil {
			sum += i.Process.Swapped
		}
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of the servers is in it now", bytes(sum))
}
