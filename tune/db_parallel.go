package tune

import "stowage/farm"

var dbParallel = Rule{
	ID: "DB-PARALLEL", Title: "parallel replication", Reads: "slave_parallel_threads and slave_parallel_mode (MariaDB); replica_parallel_workers, replica_parallel_type and replica_preserve_commit_order (MySQL); Slaves_running, read_only",
	Source: "MariaDB manual, Parallel Replication: threads are 0 by default, the mode is optimistic since 10.5.1; MySQL 8.0 manual: 4 workers and preserved order since 8.0.27",
	Except: "replicas that keep up with their source all day, and sources that write less than one thread applies",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			if !i.replicates() {
				continue
			}
			ask := i.parallelMySQL
			if i.MariaDB {
				ask = i.parallelMariaDB
			}
			found, known := ask()
			if known {
				n++
			}
			out = append(out, found...)
		}
		return judged(out, n, "no instance is known to be a replica")
	},
}

// replicates reports whether an instance follows another one, as far as it says so.
func (i Instance) replicates() bool {
	if running, ok := i.Status["slaves_running"]; ok && running != "0" { // MariaDB
		return true
	}
	for _, name := range []string{"read_only", "super_read_only"} {
		if v, _, ok := i.setting(name); ok && is(v, "ON", "1", "TRUE") {
			return true
		}
	}
	return false
}

func (i Instance) parallelMariaDB() (out []Finding, known bool) {
	threads, where, ok := i.number("slave_parallel_threads")
	if !ok {
		return nil, false
	}
	x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where}
	if threads == 0 {
		x.Verdict = "it applies one transaction at a time"
		x.Why = "its source commits many at once: at the peak, and after every stop, it falls behind, and a move waits for it"
		i.fixStopped(&x, "slave_parallel_threads", "4")
		return []Finding{x}, true
	}
	mode, where, ok := i.setting("slave_parallel_mode")
	if ok && is(mode, "none", "minimal") {
		x.Read += "; " + where
		x.Verdict = "its threads wait for each other: this mode applies one transaction at a time, but for its commit"
		x.Why = "optimistic applies side by side and does again what conflicts, in the order of the source in any case"
		i.fixStopped(&x, "slave_parallel_mode", "optimistic")
		return []Finding{x}, true
	}
	return nil, true
}

func (i Instance) parallelMySQL() (out []Finding, known bool) {
	word := "replica"
	workers, where, ok := i.number("replica_parallel_workers")
	if !ok {
		word = "slave"
		if workers, where, ok = i.number("slave_parallel_workers"); !ok {
			return nil, false
		}
	}
	if workers <= 1 {
		x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "it applies one transaction at a time",
			Why: "its source commits many at once: at the peak, and after every stop, it falls behind"}
		i.fixStopped(&x, word+"_parallel_workers", "4")
		return []Finding{x}, true
	}
	if kind, where, ok := i.setting(word + "_parallel_type"); ok && is(kind, "DATABASE") {
		x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "its workers share out whole databases: a shard is applied by one of them",
			Why: "LOGICAL_CLOCK applies side by side whatever the source committed together"}
		i.fixStopped(&x, word+"_parallel_type", "LOGICAL_CLOCK")
		out = append(out, x)
	}
	if order, where, ok := i.setting(word + "_preserve_commit_order"); ok && is(order, "OFF", "0") {
		x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "it may show a later transaction before an earlier one, and a crash leaves gaps",
			Why: "without the source's order a state can be read here that never was there"}
		i.fixStopped(&x, word+"_preserve_commit_order", "ON")
		out = append(out, x)
	}
	return out, true
}

// fixStopped fills in a fix that servers take only while they do not apply.
func (i Instance) fixStopped(f *Finding, name, to string) {
	now, _, _ := i.setting(name)
	stop, start := "STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"
	if !i.MariaDB && !i.Version.AtLeast(8, 0, 22) { // it knows the old words only
		stop, start = "STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"
	}
	f.Fix = stop + "; SET GLOBAL " + name + " = " + to + "; " + start
	f.Persist = name + " = " + to + " in the [mysqld] group of its option file"
	f.Revert = stop + "; SET GLOBAL " + name + " = " + now + "; " + start
}
