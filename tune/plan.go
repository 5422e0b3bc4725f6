package tune

import (
	"fmt"
	"slices"

	"stowage/farm"
)

// Planned is one host as a plan leaves it, before anything has moved.
type Planned struct {
	Host      string
	Memory    int64 // bytes, of its host type
	Instances []Instance
}

// aioDefault is fs.aio-max-nr of a kernel that nobody has touched.
const aioDefault = 65536

// PlanRules are the rules about what a plan brings together. They have the ids
// of the rules they are kin to: what is a warning on a machine that runs may
// be a blocker for a plan, which can still be changed.
func PlanRules() []Rule {
	sum, pages, aio := memSum, dbPageSize, dbAIO
	sum.Check, pages.Check, aio.Check = nil, nil, nil // asked of a plan's hosts, not of Facts
	aio.Reads = "innodb_read_io_threads, innodb_write_io_threads and innodb_use_native_aio of each instance; the kernel's default for fs.aio-max-nr"
	return []Rule{sum, pages, aio}
}

// AuditPlan asks the plan's rules about every host.
func AuditPlan(plan string, hosts []Planned) Report {
	asked := map[string]func(Planned) Outcome{memSum.ID: Planned.memory, dbPageSize.ID: Planned.pages, dbAIO.ID: Planned.aio}
	all := Report{FormatVersion: 1, Host: plan, Findings: []Finding{}, NotApplicable: []NotApplicable{}, NotKnown: []NotKnown{}, Followed: []string{}, States: []State{}, Unread: []Unread{}}
	for _, r := range PlanRules() {
		r.Check = func(*Facts) Outcome {
			var out Outcome
			known := false
			for _, h := range hosts {
				o := asked[r.ID](h)
				known = known || o.NotApplicable == ""
				out.Findings = append(out.Findings, o.Findings...)
			}
			if !known {
				return notApplicable("the settings of the instances are known for no host")
			}
			return out
		}
		one := Audit(&Facts{}, []Rule{r})
		all.Findings = append(all.Findings, one.Findings...)
		all.NotApplicable = append(all.NotApplicable, one.NotApplicable...)
		all.Followed = append(all.Followed, one.Followed...)
		all.States = append(all.States, one.States...)
	}
	slices.SortStableFunc(all.Findings, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
	return all
}

// memory: more than 80 % promised is too much for a host that is not there yet.
func (h Planned) memory() Outcome {
	var sum int64
	n := 0
	for _, i := range h.Instances {
		if need, ok := i.memory(); ok {
			sum += need
			n++
		}
	}
	if n == 0 || h.Memory == 0 {
		return notApplicable("not known")
	}
	share := float64(sum) / float64(h.Memory)
	if share <= 0.8 {
		return Outcome{}
	}
	return found(Finding{Severity: farm.Blocker, Subject: h.Host, Read: fmt.Sprintf("%d of %d instances want %s of %s", n, len(h.Instances), bytes(sum), bytes(h.Memory)),
		Verdict: fmt.Sprintf("the plan promises %.0f %% of its memory", 100*share),
		Why:     "each server takes its buffer pool with it, whatever its shards need; the rest is for the kernel, connections, temporary tables and backups",
		Fix:     "smaller buffer pools before they move (SET GLOBAL innodb_buffer_pool_size is dynamic), or more memory: for the shards in farm.yaml, so that the plan knows",
		Persist: "innodb_buffer_pool_size in each option file", Revert: "the sizes of before"})
}

func (h Planned) pages() Outcome {
	sizes := map[string][]string{}
	for _, i := range h.Instances {
		if n, _, ok := i.number("innodb_page_size"); ok {
			sizes[bytes(n)] = append(sizes[bytes(n)], i.Name)
		}
	}
	switch len(sizes) {
	case 0:
		return notApplicable("not known")
	case 1:
		return Outcome{}
	}
	x := mixedPages(sizes)
	x.Subject, x.Why = h.Host, "they can share a host and move as they are, but their files cannot be merged into one instance later"
	return found(x)
}

// aio adds what each server asks for at its start: 256 requests for each thread
// that waits for disks.
func (h Planned) aio() Outcome {
	var sum int64
	n := 0
	for _, i := range h.Instances {
		native, _, known := i.setting("innodb_use_native_aio")
		if !known || i.AIO == "io_uring" {
			continue
		}
		n++
		if !is(native, "ON", "1") {
			continue
		}
		for _, name := range []string{"innodb_read_io_threads", "innodb_write_io_threads"} {
			threads, _, ok := i.number(name)
			if !ok {
				threads = 4 // both vendors' default
			}
			sum += 256 * min(threads, 1024)
		}
	}
	if n == 0 {
		return notApplicable("not known")
	}
	if sum*4 <= aioDefault*3 {
		return Outcome{}
	}
	return found(Finding{Severity: farm.Warning, Subject: h.Host, Read: fmt.Sprintf("%s may ask for %d asynchronous requests; a kernel's default is %d", farm.Counted(n, "instance"), sum, aioDefault),
		Verdict: "the last instances may not start there",
		Why:     "all instances of a host share one limit, and each server takes its part when it starts. With io_uring there is no limit. Which of the two a server uses is only known when it runs, so this is an estimate",
		Fix:     "sysctl fs.aio-max-nr=1048576 on that host", Persist: "/etc/sysctl.d/60-stowage.conf: fs.aio-max-nr = 1048576", Revert: fmt.Sprintf("sysctl fs.aio-max-nr=%d", aioDefault)})
}
