package tune

import (
	"fmt"

	"stowage/farm"
)

var memAllocator = Rule{
	ID: "MEM-ALLOC", Title: "memory allocators", Reads: "/proc/PID/maps, VmRSS, configured memory",
	Source:  "smalldatum 2025-04: MyRocks with glibc takes much more memory than its caches; with jemalloc or tcmalloc it does not",
	Except:  "a server that has just loaded a large backup",
	Passing: true,
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			plan, ok := i.memory()
			if !ok || i.Process == nil || i.Process.RSS == 0 || i.Process.Allocator == "" {
				continue
			}
			n++
			if i.Process.Allocator != "glibc" || i.Process.RSS <= plan+plan/2 {
				continue
			}
			x := Finding{Severity: farm.Note, Subject: i.Name, Read: fmt.Sprintf("/proc/%d: %s resident, %s configured, allocator glibc", i.Process.PID, bytes(i.Process.RSS), bytes(plan)),
				Verdict: "it uses half as much again as it was given",
				Why:     "glibc keeps an arena for each few threads, and what is freed in one is not given to others",
				Fix:     "Environment=LD_PRELOAD=libjemalloc.so.2 in its unit, then restart", Persist: "systemctl edit of the unit lasts", Revert: "take it out, restart"}
			if engine, rocks := i.usesEngine("ROCKSDB"); rocks {
				x.Severity, x.Verdict = farm.Warning, engine+" on glibc: "+x.Verdict
			}
			out = append(out, x)
		}
		return judged(out, n, "no running server whose memory could be read")
	},
}
