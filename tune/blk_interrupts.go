package tune

import (
	"strings"

	"stowage/farm"
)

var blkInterrupts = Rule{
	ID: "BLK-IRQ", Title: "interrupts pinned to processors", Reads: "start-up scripts and udev rules that write smp_affinity; NVMe disks",
	Source: "kernel, core-api/irq/managed_irq: affinity of managed interrupts cannot be modified from user space",
	Except: "controllers with one vector; isolcpus=managed_irq",
	Check: func(f *Facts) Outcome {
		nvme := false
		for _, d := range f.storage() {
			nvme = nvme || strings.HasPrefix(d.Name, "nvme")
		}
		if !nvme {
			return notApplicable("no NVMe disk here")
		}
		var out []Finding
		for _, l := range f.Lines {
			if strings.Contains(l.Text, "smp_affinity") || strings.Contains(l.Text, "set_irq_affinity") {
				out = append(out, Finding{Severity: farm.Note, Subject: l.at(), Read: l.Text,
					Verdict: "pinning the interrupts of NVMe disks is obsolete: the kernel does it, and refuses others",
					Why:     "each queue has its interrupt on the processors it serves; the write fails with EIO",
					Fix:     "remove the line, unless it is for a network card or an old controller", Persist: "it is that line that lasts", Revert: "put the line back"})
			}
		}
		return found(out...)
	},
}
