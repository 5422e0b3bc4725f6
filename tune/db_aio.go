package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

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
				fixOption(&x, i, "innodb_use_native_aio", "OFF", "ON")
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
				Verdict: "the limit was raised for nothing: no server here uses that kind of asynchronous I/O", Why: "advice from the time of libaio; io_uring has no such limit",
				Fix: "nothing needs to be done", Persist: "-", Revert: "-"})
		}
		return found(out...)
	},
}
