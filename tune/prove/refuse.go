package prove

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/tune"
)

// provable are rules whose fix can be switched between two runs, and whose step feels it: a
// setting of the kernel's, of a disk's queue, of the disk's cache, of a mount or of the processors, or
// an option of a server, which is tried on a server of our own.
var provable = []string{"BLK-SCHED", "BLK-MICRO", "CPU-GOV", "BLK-RA", "BLK-WC-OFF", "FS-ATIME", "DB-IOCAP", "DB-NEIGH", "DB-FLUSH"}

// refusals are all other rules, with the reason and what to do instead. RULE
// stands for the rule.
var refusals = []struct {
	why, instead string
	rules        []string
}{
	{
		"it is about what a power cut loses, and no speed decides that: the unsafe way is always the faster one",
		"what is safe: stowage tune --rule RULE; what safety costs here: stowage bench run DIR --steps LOG4K-FDS-Q1T1",
		[]string{"DB-DBLWR", "DB-DURABLE", "FS-NOBARRIER", "BLK-WC-VIEW", "RAID-AWB"},
	},
	{
		"it is fixed when the filesystem or the partition is made, or mounted anew: nothing can be switched while data lies there",
		"stowage bench matrix, with both ways as an axis, on an empty disk or on loop files",
		[]string{"FS-XFS-LAYOUT", "FS-EXT4-STRIPE", "FS-EXT4-DATA", "FS-COW", "BLK-ALIGN"},
	},
	{
		"page sizes are fixed when a server's files are made, and memory of several processors is felt by pools of their size",
		"stowage bench engine, with both values, on servers of its own",
		[]string{"DB-PAGE", "MEM-NUMA", "DB-PARALLEL", "DB-ROCKS"},
	},
	{
		"it is about pauses when the page cache is full, which come once in minutes; no short run sees one",
		"time a backup or a load of many gigabytes, before and after: stowage tune --fix --rule RULE",
		[]string{"MEM-DIRTY"},
	},
	{
		"it is felt when files are removed, and no step removes any",
		"time a DROP TABLE before and after",
		[]string{"BLK-DISCARD"},
	},
	{
		"the step decides whether the verdict is right; the setting changes what servers and tools conclude, not how fast the disk is",
		"stowage bench run DIR --steps RND16K-R-Q1T1 --save now.json && stowage tune --measured now.json --rule RULE, then --fix",
		[]string{"BLK-ROT"},
	},
	{
		"it is about the device itself, and there is no second one to switch to",
		"stowage bench run DIR --save one.json on each, then stowage bench compare one.json other.json",
		[]string{"BLK-PLP", "CLD-INIT"},
	},
	{
		"no load on a storage decides it: it is right or wrong as it stands",
		"stowage tune --rule RULE says why, and how it is put right",
		[]string{
			"DB-GONE", "DB-AIO", "MEM-SUM", "MEM-SWAP", "MEM-THP", "MEM-ALLOC", "CPU-CLK", "FS-XFS-GONE", "FS-XFS-AG", "FS-XFS-MISC", "FS-ATOMIC",
			"BLK-SCHED-OLD", "BLK-NRQ", "BLK-IRQ", "RAID-DEGR", "HW-WEAR", "HW-HEAT", "HW-ID",
		},
	},
}

// Provable reports whether a proof of the rule can be tried at all.
func Provable(rule tune.Rule) bool { return refuse(rule) == nil }

// refuse is nil for a rule that can be proved, whatever this machine is like.
func refuse(rule tune.Rule) error {
	if slices.Contains(provable, rule.ID) {
		return nil
	}
	for _, r := range refusals {
		if slices.Contains(r.rules, rule.ID) {
			return refused(rule.ID, r.why, strings.ReplaceAll(r.instead, "RULE", rule.ID))
		}
	}
	return refused(rule.ID, "nobody has said how", "stowage tune --rule "+rule.ID)
}

func refused(subject, why, hint string) error {
	return &farm.Error{Op: "prove", Subject: subject, Err: fmt.Errorf("%w: %s", farm.ErrRefused, why), Hint: hint}
}
