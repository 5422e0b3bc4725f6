package tune

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

var raidHot = Rule{
	ID: "RAID-HOT", Title: "one busy disk beside idle ones", Reads: "/proc/diskstats, once a second with --watch; files of the servers (performance_schema)",
	Source:  "kernel, iostats: time in which a disk had a request; arithmetic: an array is as fast as the member that all wait for",
	Except:  "volumes that fill one disk after the other (linear); drives behind a RAID controller, which the kernel does not see",
	Passing: true,
	Check: func(f *Facts) Outcome {
		l := &look{}
		for _, d := range f.Disks {
			members := f.membersOf(d)
			if d.Kind != Stacked || len(members) < 2 || f.isInside(d) {
				continue
			}
			l.see(d.Name)
			f.hot(l, d, members)
		}
		return l.outcome("no array of several disks that the kernel sees")
	},
}

// membersOf are the names of the disks that a device is made of.
func (f *Facts) membersOf(d Disk) []string {
	var out []string
	for _, x := range f.below(d.Name) {
		out = append(out, x.Name)
	}
	return out
}

// isInside reports whether another device is made of this one: the outermost is judged.
func (f *Facts) isInside(d Disk) bool {
	return slices.ContainsFunc(f.Disks, func(o Disk) bool {
		return o.Name != d.Name && slices.ContainsFunc(o.Slaves, func(s string) bool { return s == d.Name }) && slices.Equal(f.membersOf(o), f.membersOf(d))
	})
}

// hot looks for intervals in which one member had no pause and the others had little to do.
func (f *Facts) hot(l *look, d Disk, members []string) {
	const get = "stowage tune --watch 1m, while the load runs"
	if f.Watch == nil {
		l.lacks(d.Name, "how busy each of its disks is", get)
		return
	}
	intervals := 0
	for n, m := range members {
		uses := f.Watch.Disks[m]
		x, _ := f.disk(m)
		if len(uses) == 0 || n > 0 && len(uses) != intervals || x.Queue["iostats"] == "0" {
			l.lacks(d.Name, "how busy "+m+" is", get+"; with iostats off the kernel counts nothing (BLK-MICRO)")
			return
		}
		intervals = len(uses)
	}
	for _, m := range members {
		var when []int
		for n := range intervals {
			if f.Watch.Disks[m][n].Busy >= 0.9 && f.median(members, m, n) < 0.5 {
				when = append(when, n)
			}
		}
		if 2*len(when) >= intervals {
			l.find(f.hotFinding(d, members, m, when))
		}
	}
}

// median is how busy the middle one of the other members was.
func (f *Facts) median(members []string, but string, interval int) float64 {
	var others []float64
	for _, m := range members {
		if m != but {
			others = append(others, f.Watch.Disks[m][interval].Busy)
		}
	}
	slices.Sort(others)
	return (others[(len(others)-1)/2] + others[len(others)/2]) / 2
}

func (f *Facts) hotFinding(d Disk, members []string, hot string, when []int) Finding {
	var lines []string
	var others Use
	for _, m := range members {
		lines = append(lines, m+" "+series(f.Watch.Disks[m]))
		if m != hot {
			u := average(f.Watch.Disks[m], when)
			others.IOPS += u.IOPS / float64(len(members)-1)
			others.Wait += u.Wait / float64(len(members)-1)
		}
	}
	is := average(f.Watch.Disks[hot], when)
	x := Finding{Severity: farm.Warning, Subject: d.Name,
		Read:    fmt.Sprintf("busy over %.0f s, in %%: %s", f.Watch.Seconds, strings.Join(lines, "; ")),
		Persist: "-", Revert: "-"}
	if is.IOPS <= 1.5*others.IOPS && is.Wait >= 2*others.Wait {
		x.Verdict = fmt.Sprintf("%s is slow: it serves %.0f requests a second, its neighbours %.0f, but it takes %.1f ms for each instead of %.1f", hot, is.IOPS, others.IOPS, is.Wait, others.Wait)
		x.Why = "the array waits for its slowest disk, and a disk that has become slow is often about to fail"
		x.Fix = fmt.Sprintf("smartctl -x /dev/%s, cable and slot; replace it if its neighbours stay faster (HW-WEAR)", hot)
		return x
	}
	x.Verdict = fmt.Sprintf("%s takes the load alone: %.0f requests a second, its neighbours %.0f", hot, is.IOPS, others.IOPS)
	x.Why = "the requests are for one disk, so the array is as fast as that one"
	x.Fix = "spread the busy files over all disks: another layout or chunk, or files moved away"
	if files, known := f.busiestFiles(members); known {
		x.Read += "; busiest files: " + files
	} else {
		x.Fix += ". Which files are busy is not known: run it in a workspace with this machine's instances, and with performance_schema=ON"
	}
	return x
}
