package workspace

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// The keys of backup in farm.yaml.
var (
	backupKeys = []string{"dir", "host", "zstd", "restic", "password_file", "env_file", "full", "incremental", "binlogs", "logical", "verify", "keep"}
	keepKeys   = []string{"last", "daily", "weekly", "monthly", "yearly", "within"}
)

// backup reads the key of that name.
func (r *farmReader) backup(n *yaml.Node) {
	out := &r.farm.Backup
	r.fields(n, func() string { return "backup" }, backupKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of backup" }
		switch key {
		case "dir":
			out.Dir = r.text(v, what)
		case "host":
			out.Host = farm.HostName(r.text(v, what))
		case "zstd":
			out.Zstd = int(r.whole(v, what, 1, 19))
		case "restic":
			out.Restic = r.text(v, what)
		case "password_file":
			out.PasswordFile = r.text(v, what)
		case "env_file":
			out.EnvFile = r.text(v, what)
		case "full":
			out.Full = r.interval(v, what)
		case "incremental":
			out.Incremental = r.interval(v, what)
		case "binlogs":
			out.Binlogs = r.interval(v, what)
		case "logical":
			out.Logical = r.interval(v, what)
		case "verify":
			out.Verify = r.interval(v, what)
		case "keep":
			r.keep(v)
		default:
			return false
		}
		return true
	})
	if *out == (farm.Backup{}) && len(r.list) == 0 { // to Check it is a farm without the key
		r.fault(n, "backup has no place: give dir, a directory, or restic, a repository")
	}
}

// keep reads which backups stay.
func (r *farmReader) keep(n *yaml.Node) {
	out := &r.farm.Backup.Keep
	r.fields(n, func() string { return "keep of backup" }, keepKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of keep" }
		count := func() int { return int(r.whole(v, what, 0, 100000)) }
		switch key {
		case "last":
			out.Last = count()
		case "daily":
			out.Daily = count()
		case "weekly":
			out.Weekly = count()
		case "monthly":
			out.Monthly = count()
		case "yearly":
			out.Yearly = count()
		case "within":
			out.Within = r.lasting(v, what, time.Hour, 100*366*24*time.Hour)
		default:
			return false
		}
		return true
	})
	if *out == (farm.Keep{}) && !r.bad[n] && len(r.list) == 0 {
		r.fault(n, "keep of backup keeps nothing: give a number of 1 or more, or within")
	}
}

// backup writes the key of that name, if it says anything.
func (w *farmWriter) backup(b farm.Backup) {
	if b == (farm.Backup{}) {
		return
	}
	row := flow{}
	text := func(key, v string) {
		if v != "" {
			row.add(key, scalar(v))
		}
	}
	count := func(to *flow, key string, v int) {
		if v != 0 {
			to.add(key, strconv.Itoa(v))
		}
	}
	text("dir", b.Dir)
	text("host", string(b.Host))
	count(&row, "zstd", b.Zstd)
	text("restic", b.Restic)
	text("password_file", b.PasswordFile)
	text("env_file", b.EnvFile)
	row.times([]timed{{"full", b.Full}, {"incremental", b.Incremental}, {"binlogs", b.Binlogs}, {"logical", b.Logical}, {"verify", b.Verify}})
	if k := b.Keep; k != (farm.Keep{}) {
		keep := flow{}
		for i, v := range []int{k.Last, k.Daily, k.Weekly, k.Monthly, k.Yearly} { // in the order of keepKeys
			count(&keep, keepKeys[i], v)
		}
		keep.times([]timed{{"within", k.Within}})
		row.add("keep", keep.String())
	}
	w.line("backup: %s", row)
}
