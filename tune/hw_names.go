package tune

import (
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// unstable are names that the kernel gives in the order in which disks answer.
var unstable = lazy.Regexp(`^/dev/((?:s|h)d[a-z]+|nvme[0-9]+n[0-9]+)(?:p?[0-9]+)?$`)

var hwNames = Rule{
	ID: "HW-ID", Title: "names of disks that may change", Reads: "/etc/fstab, /dev/disk/by-id, /sys/block",
	Source: "Red Hat, Migration planning guide: names such as sda are not stable; Dell: the remote console's floppy and CD are present at all times",
	Except: "machines with one disk that are never changed",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, l := range f.Fstab {
			n++
			if m := unstable().FindStringSubmatch(l.Device); m != nil {
				out = append(out, f.unstableName(l, m[1]))
			}
		}
		for _, d := range f.Disks {
			n++
			if d.Kind == Virtual {
				out = append(out, Finding{Severity: farm.Note, Subject: d.Name, Read: fmt.Sprintf("/sys/block/%s: %s, %s, removable", d.Name, strings.TrimSpace(d.Vendor+" "+d.Model), bytes(d.Size)),
					Verdict: "this is a remote console's virtual medium and no disk: it is left out everywhere",
					Why:     "it takes a name such as sda before the real disks get theirs, comes and goes with the console, and tools that expect a disk there fail",
					Fix:     "switch virtual media off in the machine's firmware, or leave it", Persist: "the firmware keeps it", Revert: "-"})
			}
		}
		return judged(out, n, "no /etc/fstab and no disks could be read")
	},
}

func (f *Facts) unstableName(l FstabLine, disk string) Finding {
	x := Finding{Severity: farm.Warning, Subject: fmt.Sprintf("/etc/fstab:%d", l.Number), Read: fmt.Sprintf("%s %s", l.Device, l.Dir),
		Verdict: "the name may mean another disk after the next restart", Why: "the kernel hands these names out in the order in which disks answer; a new controller, a virtual medium or a slow drive changes it",
		Fix: "UUID= (blkid) or /dev/disk/by-id/... instead", Persist: "/etc/fstab is what lasts", Revert: "put the old name back"}
	d, ok := f.disk(disk)
	switch {
	case !ok && len(f.Disks) > 0:
		x.Severity = farm.Blocker
		x.Verdict = fmt.Sprintf("there is no /dev/%s on this machine: %s will not be mounted", disk, l.Dir)
		x.Read += "; /sys/block has " + f.diskNames()
	case ok && d.Kind == Virtual:
		x.Severity = farm.Blocker
		x.Verdict = fmt.Sprintf("/dev/%s is a virtual medium now: the disk of that name has a new name", disk)
	case ok && d.ByID != "":
		x.Fix = "today it is " + d.ByID + ": write that (with -partN), or UUID= (blkid)"
	}
	return x
}

func (f *Facts) diskNames() string {
	var names []string
	for _, d := range f.Disks {
		if d.Kind != Loop && d.Kind != Memory {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return "no disks"
	}
	return strings.Join(names, ", ")
}
