package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

var fsExt4Stripe = Rule{
	ID: "FS-EXT4-STRIPE", Title: "ext4 on stripes", Reads: "dumpe2fs -h: RAID stride and stripe width; md chunk size; /sys/block/D/queue",
	Source: "kernel, ext4: stripe=; mke2fs(8): stride, stripe_width",
	Except: "a single drive",
	Prove:  "SEQ1M-W-Q4T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, fs := range f.Filesystems {
			chunk, where := f.chunk(fs.Device)
			if !strings.HasPrefix(fs.Type, "ext") || chunk == 0 || fs.Block == 0 {
				continue
			}
			n++
			if fs.Stripe == chunk {
				continue
			}
			out = append(out, Finding{Severity: farm.Warning, Subject: fs.Dir, Read: fmt.Sprintf("dumpe2fs: stride %s; %s", bytes(fs.Stripe), where),
				Verdict: fmt.Sprintf("the filesystem does not know the stripe of %s below it", bytes(chunk)), Why: "large writes begin in the middle of a stripe; on RAID 5 or 6 each reads before it writes",
				Fix:     fmt.Sprintf("tune2fs -E stride=%d %s; stripe_width is stride times the disks that hold data", chunk/fs.Block, fs.Device),
				Persist: "it is in the superblock; mount again", Revert: fmt.Sprintf("tune2fs -E stride=%d %s", fs.Stripe/fs.Block, fs.Device)})
		}
		return judged(out, n, "no ext4 of known geometry on stripes")
	},
}
