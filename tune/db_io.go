package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var dbNeighbors = Rule{
	ID: "DB-NEIGH", Title: "flushing neighbours", Reads: "innodb_flush_neighbors; what the disk below the data directory is made of, and what the kernel takes it for",
	Source: "MySQL 8.0: default 0 (WL#9631); MariaDB: ignored on SSD since 10.4.4, as far as the kernel knows one (fil0fil: is_rotational)",
	Except: "spinning disks",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			value, where, ok := i.setting("innodb_flush_neighbors")
			below := f.under(i.Datadir)
			if !ok || len(below) == 0 {
				continue
			}
			is, known, says := f.flash(below[0])
			if !known {
				continue
			}
			n++
			if value == "0" || !is {
				continue
			}
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: fmt.Sprintf("%s; %s: flash, says %s", where, below[0].Name, says),
				Verdict: "each page that is written takes its dirty neighbours along: more writes, more wear",
				Why:     "it saves movements of a head, and here is none"}
			if i.MariaDB && below[0].Queue["rotational"] == "0" {
				x.Severity, x.Verdict = farm.Note, "MariaDB ignores it here, because the kernel says that the disk is flash"
				x.Why = "0 says the same in words that a person can read"
			} else if i.MariaDB {
				x.Verdict += "; MariaDB would ignore it, if the kernel did not take the disk for a spinning one (BLK-ROT)"
			}
			fixVariable(&x, i, "innodb_flush_neighbors", "0")
			out = append(out, x)
		}
		return judged(out, n, "no instance of which both the setting and its disk are known")
	},
}

var dbIOCapacity = Rule{
	ID: "DB-IOCAP", Title: "how fast InnoDB flushes", Reads: "innodb_io_capacity, measured RND16K-W, Innodb_buffer_pool_wait_free, Innodb_checkpoint_age",
	Source: "MySQL manual: as low as practical, above 20000 not recommended; Percona 2019: reduce it; defaults: MySQL 8.4 10000, MariaDB 200",
	Except: "idle flushing only; the figure of a data sheet is none of these",
	Prove:  "RND16K-W-Q8T4",
	Check: func(f *Facts) Outcome {
		return f.each("innodb_io_capacity", func(i Instance, value, where string) (Finding, bool) {
			set, _ := strconv.ParseFloat(value, 64) // 0 when it is no number: then nothing below is true
			x := Finding{Severity: farm.Warning, Subject: i.Name, Read: where}
			step, measured, known := "", Step{}, false
			for _, d := range f.under(i.Datadir) {
				if id, s, ok := f.Measured[d.Name].step("RND16K-W-Q"); ok && s.IOPS > 0 {
					step, measured, known = id, s, true
				}
			}
			waits, _ := strconv.ParseInt(i.Status["innodb_buffer_pool_wait_free"], 10, 64) // 0 when it was not asked
			switch {
			case known && set > measured.IOPS/2:
				half := fmt.Sprintf("%.0f", measured.IOPS/2)
				x.Read += fmt.Sprintf("; %s: %.0f a second", step, measured.IOPS)
				x.Verdict = "it is told to flush more than half of what the disk can write at all"
				x.Why = "pages are written again and again that would have changed once more: wear, and reads that wait behind writes"
				fixVariable(&x, i, "innodb_io_capacity", half)
			case set > 20000:
				x.Verdict = "a figure from a data sheet: InnoDB flushes as if there were no reads"
				x.Why = "pages are written again and again that would have changed once more"
				fixVariable(&x, i, "innodb_io_capacity", "2000")
			case set > 0 && set <= 200 && (waits > 0 || i.checkpointShare() > 0.75):
				x.Read += fmt.Sprintf("; Innodb_buffer_pool_wait_free: %d, checkpoint age at %.0f %%", waits, 100*i.checkpointShare())
				x.Verdict = "flushing falls behind: queries wait for a free page, or will when the log is full"
				x.Why = "200 is what one spinning disk does; the default has not moved with the disks"
				fixVariable(&x, i, "innodb_io_capacity", "1000")
			default:
				return x, false
			}
			return x, true
		})
	},
}

// checkpointShare is how full the redo log is with changes whose pages are not
// written yet; 0 when it is not known.
func (i Instance) checkpointShare() float64 {
	age, err := strconv.ParseFloat(i.Status["innodb_checkpoint_age"], 64)
	limit, err2 := strconv.ParseFloat(i.Status["innodb_checkpoint_max_age"], 64)
	if err != nil || err2 != nil || limit <= 0 {
		return 0
	}
	return age / limit
}

var dbAIO = Rule{
	ID: "DB-AIO", Title: "asynchronous I/O and its limit", Reads: "fs.aio-nr, fs.aio-max-nr, error logs (io_uring or native AIO), kernel",
	Source: "MDEV-26674: io_uring of kernels 5.11 to 5.15.2 loses writes; measured: with io_uring fs.aio-nr stays 0. MySQLTuner and tuned's oracle profile still ask for 1048576",
	Except: "servers that use io_uring, for the limit",
	Check: func(f *Facts) Outcome {
		used, err := strconv.ParseInt(f.Sys["fs.aio-nr"], 10, 64)
		limit, err2 := strconv.ParseInt(f.Sys["fs.aio-max-nr"], 10, 64)
		if err != nil || err2 != nil || limit == 0 {
			return notApplicable("fs.aio-max-nr could not be read")
		}
		var out []Finding
		rings := 0
		for _, i := range f.Instances {
			if i.AIO != "io_uring" {
				continue
			}
			rings++
			if k := f.Kernel; k.AtLeast(5, 11, 0) && !k.AtLeast(5, 15, 3) {
				x := Finding{Severity: farm.Warning, Subject: i.Name, Read: "error log: Using io_uring; kernel " + k.Text,
					Verdict: "this kernel's io_uring loses requests: the server hangs or stops", Why: "MDEV-26674; kernels from 5.15.3 on are mended"}
				fixOption(&x, "innodb_use_native_aio", "OFF", "ON")
				x.Fix += "; better, a newer kernel"
				out = append(out, x)
			}
		}
		read := fmt.Sprintf("/proc/sys/fs/aio-nr: %d, aio-max-nr: %d", used, limit)
		switch {
		case used*4 > limit*3:
			x := Finding{Severity: farm.Warning, Subject: "fs.aio-max-nr", Read: read, Verdict: "the next instance here may not start: it will find no asynchronous I/O left",
				Why: "each InnoDB takes some thousands at its start, all instances share one limit"}
			fixSysctl(&x, f, "fs.aio-max-nr", "/proc/sys/fs/aio-max-nr", "1048576")
			out = append(out, x)
		case limit >= 1<<20 && used == 0 && rings > 0:
			out = append(out, Finding{Severity: farm.Note, Subject: "fs.aio-max-nr", Read: read + "; io_uring in use",
				Verdict: "the limit was raised for nothing: nobody here uses that kind of asynchronous I/O", Why: "advice from the time of libaio; io_uring has no such limit",
				Fix: "nothing needs to be done", Persist: "-", Revert: "-"})
		}
		return found(out...)
	},
}
