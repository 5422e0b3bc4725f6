package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// clouds are marks of volumes that are filled from a snapshot behind the
// machine's back, or live on credits.
var clouds = []struct{ vendor, model, name string }{
	{"Amazon EC2", "Amazon Elastic Block Store", "EBS"},
	{"Google", "PersistentDisk", "a persistent disk"},
	{"Microsoft Corporation", "Virtual Disk", "a managed disk"},
}

var cloudInit = Rule{
	ID: "CLD-INIT", Title: "volumes of a cloud", Reads: "/sys/class/dmi/id/sys_vendor, model of each disk",
	Source: "AWS, EBS user guide: blocks of a volume made from a snapshot are fetched at their first access; burst credits",
	Except: "volumes that were made empty, or with fast snapshot restore; volumes of provisioned speed",
	Prove:  "SEQ1M-R-Q8T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		for _, d := range f.storage() {
			for _, c := range clouds {
				if !strings.HasPrefix(f.Vendor, c.vendor) || !strings.Contains(d.Model, c.model) {
					continue
				}
				out = append(out, Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("%s, %s", f.Vendor, d.Model),
					Verdict: fmt.Sprintf("this is %s: its first read of each block may be slow, and its speed may last only as long as its credits", c.name),
					Why:     "a volume from a snapshot looks ten times slower than it is until it has been read once; one on credits looks faster than it is until they are spent",
					Fix:     fmt.Sprintf("read it once before it is trusted: dd if=/dev/%s of=/dev/null bs=1M", d.Name), Persist: "reading once lasts", Revert: "-"})
			}
		}
		return judged(out, 0, "no volume of a cloud that is known to Stowage")
	},
}
