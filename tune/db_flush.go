package tune

import "stowage/farm"

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
			fixOption(&x, i, "innodb_flush_method", "O_DIRECT", value)
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
