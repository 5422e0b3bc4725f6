package tune

import (
	"fmt"
	"strconv"

	"stowage/farm"
)

var dbIOCapacity = Rule{
	ID: "DB-IOCAP", Title: "how fast InnoDB flushes", Reads: "innodb_io_capacity, measured RND16K-W, Innodb_buffer_pool_wait_free, Innodb_checkpoint_age",
	Source: "MySQL manual: as low as practical, above 20000 not recommended; Percona 2019: reduce it; defaults: MySQL 8.4 10000, MariaDB 200",
	Except: "idle flushing only; the figure of a data sheet is none of these",
	Prove:  "OLTP-W",
	Check: func(f *Facts) Outcome {
		return f.each("innodb_io_capacity", func(i Instance, value, where string) (Finding, bool) {
			set, _ := strconv.ParseFloat(value, 64) // 0 when it is not a number: then nothing below is true
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
				x.Verdict = "InnoDB may flush more than half of what the disk can write"
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
