package tune

import (
	"fmt"

	"stowage/farm"
)

// Parts of a time from which waiting for a processor is worth a word: below, a measurement by turns does not see it.
const (
	stolen  = 0.05
	queued  = 0.2
	holding = 0.01
)

var cpuWait = Rule{
	ID: "CPU-WAIT", Title: "waiting for processors", Reads: "/proc/stat (steal), schedstat of the servers' threads, cpu.stat of their control groups; in a window with --watch",
	Source:  "proc(5): steal; kernel, sched-stats: time on the run queue; kernel, cgroup-v2: nr_throttled",
	Except:  "hosts that are meant to be full, where latency does not count; a backup that is running now",
	Passing: true,
	Check: func(f *Facts) Outcome {
		l := &look{}
		if f.CPU != nil {
			f.CPU.judge(l)
		}
		for _, i := range f.Instances {
			if i.Process == nil {
				continue
			}
			if f.CPU == nil && len(l.Subjects) == 0 {
				l.lacks("processors", "/proc/stat", "head -1 /proc/stat")
			}
			l.see(i.Name)
			i.queued(l)
			i.heldBack(l)
		}
		return l.outcome("neither /proc/stat nor a running server was read")
	},
}

func (c CPUTime) judge(l *look) {
	l.see("processors")
	if part := c.Stolen / (c.Busy + c.Stolen); c.Busy+c.Stolen > 0 && part >= stolen {
		l.find(Finding{Severity: farm.Warning, Subject: "processors", Read: fmt.Sprintf("/proc/stat: %.0f s stolen beside %.0f s busy %s", c.Stolen, c.Busy, c.since()),
			Verdict: fmt.Sprintf("the hypervisor withholds %.0f %% of the processor time that this guest needs", 100*part),
			Why:     "a thread that holds a lock stops with its processor, and all threads that wait for the lock wait longer",
			Fix:     "a host with fewer guests, or an instance type whose processors are not shared", Persist: "-", Revert: "-"})
	}
}

// queued: threads that could run, and waited for a processor.
func (i Instance) queued(l *look) {
	q := i.Process.Queue
	if q == nil {
		l.lacks(i.Name, "how long its threads wait for a processor", fmt.Sprintf("cat /proc/%d/task/*/schedstat, as root", i.Process.PID))
		return
	}
	if part := q.Waited / (q.Ran + q.Waited); q.Ran+q.Waited > 1 && part >= queued {
		l.find(Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("/proc/%d/task/*/schedstat: threads ran %.1f s and waited %.1f s for a processor, %s", i.Process.PID, q.Ran, q.Waited, q.since()),
			Verdict: fmt.Sprintf("its threads waited for a processor in %.0f %% of the time they could have run", 100*part),
			Why:     "more threads want to run than there are processors, and each query takes longer by that",
			Fix:     "see what else runs here (top, pidstat -u 1), and move instances or jobs away; stowage capacity says what fits", Persist: "-", Revert: "-"})
	}
}

// heldBack: a control group's quota that is too small.
func (i Instance) heldBack(l *look) {
	for _, t := range i.Process.Throttles {
		part := float64(t.Held) / float64(max(t.Periods, 1))
		switch {
		case t.MissingOfTheGroup:
			l.lacks(i.Name, "whether its control group "+t.Group+" holds it back", "cat cpu.stat of "+t.Group+" below /sys/fs/cgroup")
		case part >= holding:
			l.find(Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("cpu.stat of %s: held back in %d of %d periods", t.Group, t.Held, t.Periods),
				Verdict: fmt.Sprintf("the CPU quota of its control group stopped it in %.0f %% of its periods", 100*part),
				Why:     "all its threads stop for the rest of the period, up to 100 ms, and keep the locks that they hold",
				Fix:     "a larger quota, or none: systemctl set-property UNIT CPUQuota= ; in containers the limit of the CPU", Persist: "set-property writes it down; for containers their own description", Revert: "the quota of before"})
		}
	}
}
