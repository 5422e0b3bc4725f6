package tune

import (
	"fmt"

	"stowage/farm"
	"stowage/internal/lazy"
)

var (
	oldScheduler = lazy.Regexp(`\b(noop|cfq)\b`)
	elevator     = lazy.Regexp(`\belevator=`)
)

var blkSchedulerOld = Rule{
	ID: "BLK-SCHED-OLD", Title: "schedulers that are gone", Reads: "udev rules, tuned profiles, boot parameters and start-up scripts that set a scheduler",
	Source: "RHEL 8, Managing storage, ch. 8: single-queue schedulers are removed; measured on 6.18: echo noop gives EINVAL. MariaDB's page still shows echo noop",
	Except: "kernels before 5.0",
	Check: func(f *Facts) Outcome {
		if f.Kernel.Known() && !f.Kernel.AtLeast(5, 0, 0) {
			return notApplicable("kernel " + f.Kernel.Text + " still has them")
		}
		var out []Finding
		n := 0
		for _, l := range f.Lines {
			x := Finding{Severity: farm.Warning, Subject: l.at(), Read: l.Text,
				Why: "kernels since 5.0 have only multi-queue schedulers; the write fails, and the disk keeps whatever it had", Persist: "it is that line that lasts", Revert: "put the line back"}
			switch name := oldScheduler().FindString(l.Text); {
			case name != "" && schedules().MatchString(l.Text):
				now := map[string]string{"noop": "none", "cfq": "bfq"}[name]
				x.Verdict = fmt.Sprintf("%s does not exist any more: the line does nothing", name)
				x.Fix = fmt.Sprintf("write %s instead of %s; noop is called none now, and what cfq did is done by bfq", now, name)
			case elevator().MatchString(l.Text):
				x.Severity = farm.Note
				x.Verdict = "elevator= is ignored by kernels since 5.0"
				x.Fix = "remove it; a udev rule with ATTR{queue/scheduler} does what it did"
			case schedules().MatchString(l.Text):
				n++
				continue
			default:
				continue
			}
			out = append(out, x)
		}
		return judged(out, n, "nothing sets a scheduler by name")
	},
}

// schedules: the line is about a scheduler, not about something else called so.
var schedules = lazy.Regexp(`scheduler|elevator`)
