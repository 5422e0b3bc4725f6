package tune

import (
	"fmt"

	"stowage/farm"
)

var memHugePages = Rule{
	ID: "MEM-THP", Title: "transparent huge pages", Reads: "/sys/kernel/mm/transparent_hugepage/enabled; THP_enabled in /proc/PID/status; engines and allocators of the instances",
	Source: "kernel, transhuge; Percona 2014: TokuDB does not start with them; MDEV-33279: MariaDB 10.6.17 and 10.11.7 switch them off for themselves (measured: THP_enabled 0)",
	Except: "explicit huge pages (large_pages)",
	Check: func(f *Facts) Outcome {
		if f.HugePages == "" {
			return notApplicable("the kernel has no transparent huge pages")
		}
		if f.HugePages != "always" {
			return Outcome{}
		}
		x := Finding{Severity: farm.Note, Subject: "transparent_hugepage", Read: "/sys/kernel/mm/transparent_hugepage/enabled: always",
			Verdict: "huge pages for everybody: nothing here is known to suffer",
			Why:     "memory that an allocator gives back in small pieces stays taken in pieces of 2 MiB, so a server may grow for weeks; madvise gives huge pages to those that ask"}
		for _, i := range f.Instances {
			engine, suffers := i.usesEngine("ROCKSDB", "TokuDB")
			if i.Process != nil && i.Process.HugePages != nil && !*i.Process.HugePages {
				x.Verdict = "huge pages for everybody, but " + i.Name + " has switched them off for itself"
				continue
			}
			if !suffers && i.Process != nil && (i.Process.Allocator == "jemalloc" || i.Process.Allocator == "tcmalloc") {
				engine, suffers = i.Process.Allocator, true
			}
			if suffers {
				x.Severity = farm.Warning
				x.Verdict = fmt.Sprintf("%s uses %s, whose memory grows with huge pages", i.Name, engine)
				break
			}
		}
		fixFile(&x, &Change{Path: "/sys/kernel/mm/transparent_hugepage/enabled", From: "always", To: "madvise"}, "kernel command line: transparent_hugepage=madvise")
		x.Fix += "; restart the instance, what it has stays"
		return found(x)
	},
}
