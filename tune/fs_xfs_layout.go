package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var fsXFSLayout = Rule{
	ID: "FS-XFS-LAYOUT", Title: "XFS on stripes", Reads: "xfs_info sunit and swidth; md chunk size; /sys/block/D/queue/minimum_io_size and optimal_io_size",
	Source: "kernel, xfs (sunit, swidth); Red Hat: mkfs.xfs finds md and LVM stripes by itself, its defaults are optimal",
	Except: "a single drive; a RAID controller that does not show its stripe, where su= and sw= have to be given by hand",
	Prove:  "SEQ1M-W-Q4T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, fs := range f.Filesystems {
			chunk, where := f.chunk(fs.Device)
			if fs.Type != "xfs" || chunk == 0 {
				continue
			}
			n++
			if fs.Stripe == chunk {
				continue
			}
			x := Finding{Severity: farm.Warning, Subject: fs.Dir, Read: fmt.Sprintf("xfs_info: sunit %s, swidth %s; %s", bytes(fs.Stripe), bytes(fs.Width), where),
				Verdict: fmt.Sprintf("the filesystem does not know the stripe of %s below it", bytes(chunk)),
				Why:     "allocations begin anywhere in a stripe: large writes touch one disk more, and on RAID 5 or 6 read before they write",
				Fix:     "made anew by mkfs.xfs it finds the stripe by itself; the data goes elsewhere meanwhile", Persist: "it is in the superblock", Revert: "-"}
			out = append(out, x)
		}
		return judged(out, n, "no XFS of known geometry on stripes")
	},
}

// chunk is the stripe unit below a device, in bytes; 0 when there is none or
// nobody shows it.
func (f *Facts) chunk(device string) (int64, string) {
	d, ok := f.disk(device)
	if !ok {
		return 0, ""
	}
	for _, a := range f.Arrays {
		if a.Name == d.Name && a.Chunk > 0 && a.Level != "raid1" {
			return a.Chunk, fmt.Sprintf("/sys/block/%s/md/chunk_size: %s, %s of %d disks", a.Name, bytes(a.Chunk), a.Level, a.Disks)
		}
	}
	least, _ := strconv.ParseInt(d.Queue["minimum_io_size"], 10, 64) // 0 when it is not a number, as when it is missing
	best, _ := strconv.ParseInt(d.Queue["optimal_io_size"], 10, 64)
	if least >= 8<<10 && best > least && best%least == 0 {
		return least, fmt.Sprintf("/sys/block/%s/queue: minimum_io_size %s, optimal_io_size %s", d.Name, bytes(least), bytes(best))
	}
	return 0, ""
}
