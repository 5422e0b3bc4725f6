package probe

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"stowage/tune"
)

// watched is where a watch stands in a tree: one look after the other, each "at SECONDS" and lines of the kernel's own:
// the first line of /proc/stat, those of /proc/diskstats, and "threads PID RAN WAITED" in nanoseconds.
const watched = "/commands/watch.txt"

// Watch looks at the machine once a second for so long; Read takes what it saw. It ends early with ctx.
func (t *Tree) Watch(ctx context.Context, length time.Duration) {
	var b strings.Builder
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		stat, _ := t.read("/proc/stat")
		stat, _, _ = strings.Cut(stat, "\n")
		disks, _ := t.read("/proc/diskstats")
		fmt.Fprintf(&b, "at %.3f\n%s\n%s", time.Since(began).Seconds(), stat, disks)
		for _, pid := range t.servers() {
			if ran, waited, ok := t.threads(pid); ok {
				fmt.Fprintf(&b, "threads %d %d %d\n", pid, ran, waited)
			}
		}
		if time.Since(began) >= length {
			break
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	t.seen = b.String()
	t.keep(watched, t.seen)
}

// look is what was counted at one moment. All counters only grow.
type look struct {
	at           float64
	busy, stolen float64 // seconds of processors
	hasCPU       bool
	disks        map[string]diskCount
	threads      map[int][2]float64 // seconds: ran, waited
}

type diskCount struct{ requests, waited, busy float64 } // waited and busy in ms

// watch reads what somebody saw, of this machine or of a recording.
func (p *prober) watch() {
	text := p.seen
	if text == "" && p.ask == nil {
		text, _ = p.read(watched)
	}
	for l := range strings.Lines(text) {
		f := strings.Fields(l)
		if !strings.HasSuffix(l, "\n") {
			continue // cut: its last number may be
		}
		if len(f) == 2 && f[0] == "at" {
			if at, err := strconv.ParseFloat(f[1], 64); err == nil && (len(p.looks) == 0 || at > p.looks[len(p.looks)-1].at) {
				p.looks = append(p.looks, look{at: at, disks: map[string]diskCount{}, threads: map[int][2]float64{}})
			}
			continue
		}
		if len(p.looks) > 0 {
			p.looks[len(p.looks)-1].take(f)
		}
	}
	if len(p.looks) < 2 {
		p.looks = nil
		return
	}
	first, last := p.looks[0], p.looks[len(p.looks)-1]
	w := &tune.Watch{Seconds: last.at - first.at, Disks: map[string][]tune.Use{}}
	for name := range first.disks {
		if uses := usesOf(name, p.looks); uses != nil {
			w.Disks[name] = uses
		}
	}
	p.facts.Watch = w
}

func (k *look) take(f []string) {
	switch {
	case len(f) >= 9 && f[0] == "cpu":
		k.busy, k.stolen, k.hasCPU = cpuLine(f)
	case len(f) >= 14: // Documentation/admin-guide/iostats.rst
		var n [14]float64
		for i := 3; i < 14; i++ {
			v, err := strconv.ParseUint(f[i], 10, 64)
			if err != nil {
				return
			}
			n[i] = float64(v)
		}
		k.disks[f[2]] = diskCount{requests: n[3] + n[7], waited: n[6] + n[10], busy: n[12]}
	case len(f) == 4 && f[0] == "threads":
		pid, err := strconv.Atoi(f[1])
		ran, err1 := strconv.ParseUint(f[2], 10, 64)
		waited, err2 := strconv.ParseUint(f[3], 10, 64)
		if err == nil && err1 == nil && err2 == nil {
			k.threads[pid] = [2]float64{float64(ran) / 1e9, float64(waited) / 1e9}
		}
	}
}

// usesOf is what a disk did between each two looks; nil when a look lacks it, or it began anew.
func usesOf(name string, looks []look) []tune.Use {
	var out []tune.Use
	for n := 1; n < len(looks); n++ {
		a, one := looks[n-1].disks[name]
		b, two := looks[n].disks[name]
		if seconds := looks[n].at - looks[n-1].at; one && two && b.requests >= a.requests && b.busy >= a.busy && b.waited >= a.waited {
			u := tune.Use{Busy: min(1, (b.busy-a.busy)/1000/seconds), IOPS: (b.requests - a.requests) / seconds}
			if b.requests > a.requests {
				u.Wait = (b.waited - a.waited) / (b.requests - a.requests)
			}
			out = append(out, u)
			continue
		}
		return nil
	}
	return out
}

// cpuLine reads the first line of /proc/stat, in ticks of 10 ms: user nice system idle iowait irq softirq steal. Guests'
// time is within user's.
func cpuLine(f []string) (busy, stolen float64, ok bool) {
	for i := 1; i < 9; i++ {
		v, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return 0, 0, false
		}
		switch i {
		case 4, 5:
		case 8:
			stolen = float64(v) / 100
		default:
			busy += float64(v) / 100
		}
	}
	return busy, stolen, true
}

// cpu is what the processors did while somebody watched, or since the start.
func (p *prober) cpu() {
	if n := len(p.looks); n > 0 && p.looks[0].hasCPU && p.looks[n-1].hasCPU {
		a, b := p.looks[0], p.looks[n-1]
		if b.busy >= a.busy && b.stolen >= a.stolen {
			p.facts.CPU = &tune.CPUTime{Busy: b.busy - a.busy, Stolen: b.stolen - a.stolen, Watched: b.at - a.at}
			return
		}
	}
	text, _ := p.read("/proc/stat")
	line, _, whole := strings.Cut(text, "\n")
	if f := strings.Fields(line); whole && len(f) >= 9 && f[0] == "cpu" {
		if busy, stolen, ok := cpuLine(f); ok {
			p.facts.CPU = &tune.CPUTime{Busy: busy, Stolen: stolen}
		}
	}
}

// queue is how long the threads of a server waited for a processor.
func (p *prober) queue(pid int) *tune.RunQueue {
	if n := len(p.looks); n > 0 {
		a, one := p.looks[0].threads[pid]
		b, two := p.looks[n-1].threads[pid]
		if one && two && b[0] >= a[0] && b[1] >= a[1] {
			return &tune.RunQueue{Ran: b[0] - a[0], Waited: b[1] - a[1], Watched: p.looks[n-1].at - p.looks[0].at}
		}
	}
	file := fmt.Sprintf("/commands/threads-%d.txt", pid) // a server has hundreds of threads: a recording has their sum
	var ran, waited uint64
	if p.ask == nil {
		text, _ := p.read(file)
		if n, err := fmt.Sscanf(text, "%d %d\n", &ran, &waited); n != 2 || err != nil || !strings.HasSuffix(text, "\n") {
			return nil
		}
	} else {
		var ok bool
		if ran, waited, ok = p.threads(pid); !ok {
			return nil
		}
		p.keep(file, fmt.Sprintf("%d %d\n", ran, waited))
	}
	return &tune.RunQueue{Ran: float64(ran) / 1e9, Waited: float64(waited) / 1e9}
}

// servers are the process ids of database servers.
func (t *Tree) servers() (out []int) {
	saved := t.saved
	t.saved = nil // hundreds of processes are of no interest
	defer func() { t.saved = saved }()
	for _, name := range t.list("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			if comm := t.value("/proc/" + name + "/comm"); comm == "mariadbd" || comm == "mysqld" {
				out = append(out, pid)
			}
		}
	}
	return out
}

// threads sums up /proc/PID/task/*/schedstat: nanoseconds on a processor, and in the run queue.
func (t *Tree) threads(pid int) (ran, waited uint64, ok bool) {
	saved := t.saved
	t.saved = nil
	defer func() { t.saved = saved }()
	dir := fmt.Sprintf("/proc/%d/task", pid)
	for _, name := range t.list(dir) {
		f := strings.Fields(t.value(path.Join(dir, name, "schedstat"))) // "" when it has just ended
		if len(f) != 3 {
			continue
		}
		r, err := strconv.ParseUint(f[0], 10, 64)
		w, err2 := strconv.ParseUint(f[1], 10, 64)
		if err == nil && err2 == nil {
			ran, waited, ok = ran+r, waited+w, true
		}
	}
	return ran, waited, ok
}

// throttles are the counters of a process's control group and of those around it, of
// which any may have a quota. Groups without one are left out.
func (p *prober) throttles(proc string) (out []tune.Throttle) {
	text, _ := p.read(proc + "/cgroup")
	for l := range strings.Lines(text) { // 0::/system.slice/mariadb.service, or 4:cpu,cpuacct:/system.slice/...
		f := strings.SplitN(strings.TrimSpace(l), ":", 3)
		if len(f) != 3 {
			continue
		}
		root, quota, none := "/sys/fs/cgroup", "cpu.max", "max"
		if f[1] != "" {
			if !strings.Contains(","+f[1]+",", ",cpu,") {
				continue
			}
			root, quota, none = "/sys/fs/cgroup/"+f[1], "cpu.cfs_quota_us", "-1"
		}
		for group := path.Clean("/" + f[2]); ; group = path.Dir(group) {
			if limit := p.value(path.Join(root, group, quota)); limit != "" && !strings.HasPrefix(limit, none) {
				out = append(out, p.throttle(root, group))
			}
			if group == "/" {
				break
			}
		}
	}
	return out
}

func (p *prober) throttle(root, group string) tune.Throttle {
	t := tune.Throttle{Group: group}
	text, _ := p.read(path.Join(root, group, "cpu.stat"))
	seen := map[string]int64{}
	for l := range strings.Lines(text) {
		if f := strings.Fields(l); len(f) == 2 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n >= 0 {
				seen[f[0]] = n
			}
		}
	}
	var one, two bool
	t.Periods, one = seen["nr_periods"]
	t.Held, two = seen["nr_throttled"]
	t.MissingOfTheGroup = !one || !two
	return t
}
