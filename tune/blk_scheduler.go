package tune

import (
	"fmt"
	"slices"

	"stowage/farm"
)

var blkScheduler = Rule{
	ID: "BLK-SCHED", Title: "I/O scheduler", Reads: "/sys/block/D/queue/scheduler",
	Source: "MariaDB, Configuring Linux for MariaDB: none for SSD and NVMe, mq-deadline for spinning disks; RHEL 8, Managing storage, ch. 8",
	Except: "shares of I/O between instances (io.weight) need bfq or iocost; guests of a hypervisor: no single answer, measure",
	Prove:  "RND16K-RW70-Q32T4",
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.storage() {
			is, known, says := f.flash(d)
			now := d.Scheduler()
			if !slices.Contains(schedulers, now) {
				now = ""
			}
			if known && !is && says == kernelSpins && d.Adapter == "" {
				known = false // behind what, nobody says: kernels take disks for spinning until they are told
			}
			if now == "" || !known || d.guest() {
				if x, ok := undecided(d, now); ok {
					l.see(d.Name)
					l.find(x)
				} else if !d.guest() {
					l.lacksScheduler(d, now)
				}
				continue
			}
			l.see(d.Name)
			want, severity := "none", farm.Note
			why := "a device that answers in microseconds gains nothing from sorting, and pays for it with processor time"
			if now == "bfq" {
				severity, why = farm.Warning, "bfq computes a budget for each process at every request; it is made for desktops and slow disks"
			}
			if !is {
				want, why = "mq-deadline", "a moving head gains from requests in order; with none, reads wait behind writes"
			}
			if now == want || !is && (now != "none" || d.RAID()) || is && now == "kyber" {
				continue
			}
			x := Finding{Severity: severity, Subject: d.Name, Read: fmt.Sprintf("%s: %s; %s says what it is made of", d.attribute("scheduler"), d.Queue["scheduler"], says),
				Verdict: fmt.Sprintf("%s is scheduled by %s, %s fits it better", d.Name, now, want), Why: why}
			fixFile(&x, d.set("scheduler", want), udev(d, "scheduler", want))
			if !d.offers(want) {
				x.Change = nil
			}
			l.find(x)
		}
		return l.outcome("no disk whose medium is known, other than a guest's: measure")
	},
}

// schedulers are all names that kernels have had.
var schedulers = []string{"none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq", "anticipatory"}

// undecided: nobody can say which scheduler fits, and somebody wants to know it by
// measuring. The other one of the two is what there is to try.
func undecided(d Disk, now string) (Finding, bool) {
	other := map[string]string{"none": "mq-deadline", "mq-deadline": "none", "bfq": "none", "kyber": "none"}[now]
	if !d.Asked || other == "" || !d.offers(other) {
		return Finding{}, false
	}
	x := Finding{Severity: farm.Note, Subject: d.Name, Read: d.attribute("scheduler") + ": " + d.Queue["scheduler"],
		Verdict: fmt.Sprintf("whether %s or %s suits it better is not known from here: measure", now, other),
		Why:     "a hypervisor or a RAID controller sorts requests itself, or does not; what is below it is not shown"}
	fixFile(&x, d.set("scheduler", other), udev(d, "scheduler", other))
	return x, true
}

// lacksScheduler says what is missing to judge a disk's scheduler.
func (l *look) lacksScheduler(d Disk, now string) {
	if now == "" {
		l.lacks(d.Name, "its scheduler", "cat "+d.attribute("scheduler"))
		return
	}
	l.lacks(d.Name, "what it is made of", d.askMedium())
}
