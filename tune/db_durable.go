package tune

import "stowage/farm"

var dbDurable = Rule{
	ID: "DB-DURABLE", Title: "commits that survive a power cut", Reads: "innodb_flush_log_at_trx_commit, sync_binlog, read_only, wsrep_on",
	Source: "MySQL and MariaDB manuals; measured: MariaDB's default for sync_binlog is 0",
	Except: "replicas that can be made anew, Galera nodes with two others",
	Prove:  "LOG4K-FDS-Q1T1",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			if v, _, ok := i.setting("wsrep_on"); ok && is(v, "ON", "1") {
				continue
			}
			if v, _, ok := i.setting("read_only"); ok && is(v, "ON", "1") {
				continue
			}
			for _, s := range []struct{ name, lost string }{
				{"innodb_flush_log_at_trx_commit", "about a second of acknowledged commits"},
				{"sync_binlog", "the end of the binary log: replicas have what this server has not, or the other way round"},
			} {
				value, where, ok := i.setting(s.name)
				if !ok {
					continue
				}
				if on, _, known := i.setting("log_bin"); s.name == "sync_binlog" && known && is(on, "OFF", "0") {
					continue
				}
				n++
				if value == "1" {
					continue
				}
				x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "a power cut loses " + s.lost,
					Why: "it takes writes, and what it acknowledges is not yet on the disk. Whether that is dear depends on the disk: measure it before you accept the loss"}
				fixVariable(&x, i, s.name, "1")
				out = append(out, x)
			}
		}
		return judged(out, n, "no instance that takes writes says how it commits")
	},
}
