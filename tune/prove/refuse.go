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

// refusals are all other rules, with the reason and what to do instead. RULE stands for the rule. docs/measuring/tune.md has the same table.
var refusals = []struct {
	why, instead string
	rules        []string
}{
	{
		"it is about what a power cut loses, and no speed decides that: the unsafe way is always the faster one",
		"what is safe: stowage tune --rule RULE; what safety costs here: stowage bench run DIR --steps LOG4K-FDS-Q1T1",
		[]string{"DB-DBLWR", "DB-DURABLE", "FS-NOBARRIER", "BLK-WC-VIEW", "RAID-AWB", "RAID-DISK", "FS-ATOMIC"},
	},
	{
		"it is fixed when the array, the partition or the filesystem is made, or mounted anew: nothing can be switched while data is there",
		"stowage bench matrix, with both ways as an axis, on an empty disk or on loop files",
		[]string{"RAID-CHUNK", "FS-XFS-LAYOUT", "FS-XFS-AG", "FS-XFS-MISC", "FS-EXT4-STRIPE", "FS-EXT4-DATA", "FS-COW", "BLK-ALIGN"},
	},
	{
		"it is fixed when a server's files are made",
		"stowage bench engine, with both page sizes as cells, on servers of its own",
		[]string{"DB-PAGE"},
	},
	{
		"it is felt by pools of hundreds of GiB on machines with several memory nodes, and a throw-away server has neither",
		"restart one instance with it, and compare stowage digest of before with after",
		[]string{"MEM-NUMA"},
	},
	{
		"it is about two servers: how fast a replica follows its source",
		"stowage bench engine --replication DIR",
		[]string{"DB-PARALLEL"},
	},
	{
		"what it finds is durability, replication that is not safe, or memory in the wrong engine: the throw-away server runs InnoDB",
		"stowage tune --rule RULE; engines against each other: stowage bench engine",
		[]string{"DB-ROCKS"},
	},
	{
		"it is about pauses when the page cache is full, which come once in minutes; no short run sees one",
		"time a backup or a load of many gigabytes, before and after: stowage tune --fix --rule RULE",
		[]string{"MEM-DIRTY"},
	},
	{
		"the setting matters when memory runs out, and a proof would have to use up this machine's",
		"stowage tune --rule RULE says how much is missing; watch Swapped and the OOM killer's lines (dmesg)",
		[]string{"MEM-SUM", "MEM-SWAP"},
	},
	{
		"it shows after days, in how much memory a server has beyond its pool",
		"restart one instance with it, and compare its RSS with its neighbour's after a week",
		[]string{"MEM-THP", "MEM-ALLOC"},
	},
	{
		"the setting affects the removal of files, and no step removes any",
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
		"only the controller's own tool switches it, and Stowage gives controllers no commands",
		"stowage bench run DIR --steps RND16K-R-Q32T4 before and after, then stowage bench compare",
		[]string{"RAID-RA"},
	},
	{
		"the disk or the array is at fault, not a setting: it has to be repaired or replaced first",
		"stowage tune --rule RULE says which one, and why",
		[]string{"RAID-DEGR", "RAID-HOT", "HW-WEAR", "HW-HEAT"},
	},
	{
		"other processes or guests use the processors, and no setting of this machine adds any",
		"stowage tune --watch 1m --rule RULE, before and after something was moved away",
		[]string{"CPU-WAIT"},
	},
	{
		"another clock under running servers is a risk of its own: the kernel has marked a clock unstable, or the boot line chooses one",
		"boot with it, and hold stowage bench engine of before against after",
		[]string{"CPU-CLK"},
	},
	{
		"it is a line that does nothing any more, or that keeps a server or a mount from starting: taking it out changes no speed",
		"stowage tune --rule RULE names file and line",
		[]string{"DB-GONE", "FS-XFS-GONE", "BLK-SCHED-OLD", "BLK-NRQ", "BLK-IRQ"},
	},
	{
		"it is a limit: below it nothing is felt, at it the next server does not start",
		"stowage tune --rule RULE says how far away it is",
		[]string{"DB-AIO"},
	},
	{
		"it is about names: which device a script or fstab means after the next restart",
		"stowage tune --rule RULE",
		[]string{"HW-ID"},
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
	return refused(rule.ID, "no step for it is known", "stowage tune --rule "+rule.ID)
}

func refused(subject, why, hint string) error {
	return &farm.Error{Op: "prove", Subject: subject, Err: fmt.Errorf("%w: %s", farm.ErrRefused, why), Hint: hint}
}
