package tune

import (
	"stowage/farm"
)

var dbDoublewrite = Rule{
	ID: "DB-DBLWR", Title: "the doublewrite buffer", Reads: "innodb_doublewrite",
	Source: "MySQL manual; measured: off halves the bytes written (88.9 to 43.1 KiB a transaction)",
	Except: "a device proven to write pages untorn, and a server that asks it to; throw-away replicas",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		return f.each("innodb_doublewrite", func(i Instance, value, where string) (Finding, bool) {
			x := Finding{Severity: farm.Blocker, Subject: i.Name, Read: where,
				Verdict: "a page that is half written when the power fails cannot be repaired: the instance is lost",
				Why:     "InnoDB writes pages of 16 KiB, disks promise 4 KiB at most. The pages it saves are the only reason why it is off anywhere"}
			fixOption(&x, "innodb_doublewrite", "ON", value)
			switch {
			case is(value, "OFF", "0", "FALSE"):
				return x, true
			case is(value, "DETECT_ONLY"):
				x.Severity, x.Verdict = farm.Warning, "torn pages are found, and cannot be repaired"
				return x, true
			}
			return x, false
		})
	},
}

// each looks at one setting of every instance that has it.
func (f *Facts) each(name string, look func(i Instance, value, where string) (Finding, bool)) Outcome {
	var out []Finding
	n := 0
	for _, i := range f.Instances {
		value, where, ok := i.setting(name)
		if !ok {
			continue
		}
		n++
		if x, bad := look(i, value, where); bad {
			out = append(out, x)
		}
	}
	return judged(out, n, "no instance says what its "+name+" is")
}

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

var dbFlush = Rule{
	ID: "DB-FLUSH", Title: "how InnoDB writes", Reads: "innodb_flush_method, innodb_data_file_buffering (MariaDB 11); filesystem of the data directory",
	Source: "O_DIRECT is the default of MariaDB since 10.6 (MDEV-24854) and MySQL since 8.4; NetApp: O_DIRECT_NO_FSYNC is unsuitable for XFS; MDEV-33545 for what replaces it",
	Except: "NFS and SAN, where a lab of NetApp saw fsync faster; ZFS",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		buffered := f.each("innodb_data_file_buffering", func(i Instance, value, where string) (Finding, bool) { // MariaDB 11 has it in two words
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where, Verdict: "pages are cached twice, in the buffer pool and by the kernel",
				Why: "memory that the pool could have, and writes in bursts when the kernel decides"}
			fixVariable(&x, i, "innodb_data_file_buffering", "OFF")
			return x, is(value, "ON", "1")
		})
		if buffered.NotApplicable == "" {
			return buffered
		}
		return f.each("innodb_flush_method", func(i Instance, value, where string) (Finding, bool) {
			m, _ := f.mountOf(i.Datadir)
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where}
			if m.Type != "" {
				x.Read += "; " + i.Datadir + " is on " + m.Type
			}
			fixOption(&x, "innodb_flush_method", "O_DIRECT", value)
			switch {
			case is(value, "nosync", "littlesync"):
				x.Severity, x.Verdict = farm.Blocker, "InnoDB does not flush: a power cut breaks the instance"
				x.Why = "these are for tests"
			case is(value, "O_DIRECT_NO_FSYNC"):
				x.Verdict = "files that grow are not flushed: after a crash their ends may be missing"
				x.Why = "without fsync the filesystem may not have written the new length; XFS and ext4 keep it in their log"
			case is(value, "fsync", "") && !is(m.Type, "nfs", "nfs4", "zfs"):
				x.Verdict = "pages are cached twice, in the buffer pool and by the kernel"
				x.Why = "memory that the pool could have, and writes in bursts when the kernel decides"
			default:
				return x, false
			}
			return x, true
		})
	},
}
