package bench

import (
	"fmt"
	"strings"
	"time"
)

// files are how large the files are that loads work on. Their names are relative: fio runs where they lie, because it takes a
// colon in a path as the end of it.
type files struct {
	data, log int64
	// device, where there is one, has both on it, the log behind the data: /dev/sda, in which there is no colon.
	device string
}

func (f files) dataName() string {
	if f.device != "" {
		return f.device
	}
	return fileData
}

// logName is where the log is, and from where on.
func (f files) logName() (name string, at int64) {
	if f.device != "" {
		return f.device, f.data
	}
	return fileLog, 0
}

// sampling is the window in which fio counts for the series of speeds.
func sampling(runtime time.Duration) time.Duration {
	if runtime < 30*time.Second {
		return 250 * time.Millisecond
	}
	return time.Second
}

// engineOf is what carries a load. One request at a time that must be durable is how a server writes its log: pwrite and
// fdatasync, in the thread that waits for it. Everything else goes through the asynchronous engine, for with the
// synchronous ones fio takes iodepth=8 and does one at a time.
func engineOf(l Load, async string) string {
	if l.Durable && l.Q == 1 {
		return "psync"
	}
	return async
}

// jobFile is fio's job for a step. With series fio writes the counts of short windows, one file a load.
func jobFile(s Step, f files, engine string, runtime time.Duration, seed uint64, series bool) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("[global]")
	put("direct=1")
	put("thread=1") // fio's jobs end with fio, and fio with us
	put("group_reporting=1")
	put("time_based=1")
	put("runtime=%dms", runtime.Milliseconds())
	put("refill_buffers=1") // random data: nothing to compress, nothing to find twice
	put("norandommap=1")
	put("randseed=%d", seed)
	put("allow_file_create=0")
	put("lat_percentiles=1")
	put("clat_percentiles=0")
	if series {
		put("per_job_logs=0")
		put("log_avg_msec=%d", sampling(runtime).Milliseconds())
	}
	writeLoad(put, s.ID, s.Load, false, f, engine, series)
	if s.Beside != nil {
		writeLoad(put, s.besideID(), *s.Beside, true, f, engine, series)
	}
	return b.String()
}

func writeLoad(put func(string, ...any), name string, l Load, isBeside bool, f files, engine string, series bool) {
	put("")
	put("[%s]", name)
	if isBeside {
		put("new_group=1") // or it would be counted with the first
	}
	put("ioengine=%s", engineOf(l, engine))
	put("rw=%s", fioPattern(l))
	if l.Op == "RW70" {
		put("rwmixread=70")
	}
	put("bs=%d", l.Block)
	put("iodepth=%d", l.Q)
	put("numjobs=%d", l.T)
	if l.Durable {
		put("fdatasync=1")
	}
	if l.Rate > 0 {
		// Of each thread, and of each direction.
		each := l.Rate / float64(l.T)
		reads := each * map[string]float64{"R": 1, "RW70": 0.7}[l.Op]
		put("rate_iops=%d,%d", int(reads+0.5), int(each-reads+0.5))
	}
	switch {
	case l.Pattern == "LOG":
		name, at := f.logName()
		put("filename=%s", name)
		if at > 0 {
			put("offset=%d", at)
		}
		part := f.log / int64(l.T) / l.Block * l.Block // a piece of the log to each thread
		put("size=%d", part)
		if l.T > 1 {
			put("offset_increment=%d", part)
		}
	default:
		put("filename=%s", f.dataName())
		put("size=%d", f.data)
		if l.Pattern == "SEQ" && l.T > 1 {
			part := f.data / int64(l.T) / l.Block * l.Block
			put("offset_increment=%d", part)
			put("io_size=%d", part)
		}
	}
	if series {
		put("write_iops_log=%s", seriesName(name))
	}
}

// seriesName is the beginning of the file that fio writes; it adds _iops.log.
func seriesName(job string) string { return "series-" + strings.ReplaceAll(job, "/", "+") }

// fioPattern is what fio calls pattern and operation.
func fioPattern(l Load) string {
	op := map[string]string{"R": "read", "W": "write", "RW70": "rw"}[l.Op]
	if l.Pattern == "RND" {
		return "rand" + op
	}
	return op
}

// layoutJob writes the files from end to end, with random data and without reserving space first: file systems answer reads
// of reserved blocks from nowhere, and compress what is all zeros.
func layoutJob(f files, engine string, limit time.Duration, seed uint64) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("[global]\ndirect=1\nthread=1\nrefill_buffers=1\nfallocate=none\nrw=write\nbs=1m\nend_fsync=1")
	put("randseed=%d", seed)
	log, at := f.logName()
	put("\n[log]\nioengine=psync\nfilename=%s\nsize=%d\noffset=%d", log, f.log, at)
	put("\n[data]\nstonewall\nioengine=%s\niodepth=4\nfilename=%s\nsize=%d", engine, f.dataName(), f.data)
	if limit > 0 {
		put("runtime=%d", int(limit.Seconds()))
	}
	return b.String()
}
