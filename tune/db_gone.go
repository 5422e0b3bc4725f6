package tune

import (
	"fmt"

	"stowage/farm"
)

// goneOptions are options of old option files. refused: the server does not
// start with it; else it starts, and says in its log that the option does
// nothing. MariaDB's lines were tried on 10.11.14; MySQL's are of its
// reference of options by version.
var goneOptions = []struct {
	name                string
	mariaDB             bool
	major, minor, patch int
	refused             bool
	instead             string
}{
	{"innodb_buffer_pool_instances", true, 10, 6, 0, false, "there is one pool, and it scales"},
	{"innodb_page_cleaners", true, 10, 6, 0, false, "there is one page cleaner"},
	{"innodb_thread_concurrency", true, 10, 6, 0, false, "thread_handling=pool-of-threads limits what runs"},
	{"innodb_commit_concurrency", true, 10, 6, 0, false, ""},
	{"innodb_log_files_in_group", true, 10, 6, 0, false, "there is one log file; innodb_log_file_size is its size"},
	{"innodb_log_checksums", true, 10, 6, 0, false, "checksums are always on"},
	{"innodb_undo_logs", true, 10, 6, 0, false, ""},
	{"innodb_file_format", true, 10, 6, 0, false, ""},
	{"innodb_large_prefix", true, 10, 6, 0, false, ""},
	{"innodb_locks_unsafe_for_binlog", true, 10, 6, 0, false, "transaction_isolation=READ-COMMITTED"},
	{"innodb_scrub_log", true, 10, 6, 0, false, ""},
	{"innodb_checksums", true, 10, 6, 0, true, "innodb_checksum_algorithm"},
	{"innodb_file_io_threads", true, 10, 6, 0, true, "innodb_read_io_threads and innodb_write_io_threads"},
	{"innodb_additional_mem_pool_size", true, 10, 6, 0, true, ""},
	{"innodb_use_sys_malloc", true, 10, 6, 0, true, ""},
	{"innodb_support_xa", true, 10, 6, 0, true, "it is always on"},

	{"query_cache_size", false, 8, 0, 3, true, ""},
	{"query_cache_type", false, 8, 0, 3, true, ""},
	{"innodb_file_format", false, 8, 0, 0, true, ""},
	{"innodb_large_prefix", false, 8, 0, 0, true, ""},
	{"innodb_locks_unsafe_for_binlog", false, 8, 0, 0, true, "transaction_isolation=READ-COMMITTED"},
	{"innodb_checksums", false, 8, 0, 0, true, "innodb_checksum_algorithm"},
	{"innodb_support_xa", false, 8, 0, 0, true, "it is always on"},
	{"expire_logs_days", false, 8, 2, 0, true, "binlog_expire_logs_seconds"},
	{"default_authentication_plugin", false, 8, 4, 0, true, "authentication_policy"},
}

var dbGone = Rule{
	ID: "DB-GONE", Title: "options that are gone", Reads: "option files; version of each server",
	Source: "tried on MariaDB 10.11.14; MySQL, Server version reference: option and variable changes for 8.0, 8.2 and 8.4",
	Except: "option files that older servers read, too",
	Check: func(f *Facts) Outcome {
		var out []Finding
		n := 0
		for _, i := range f.Instances {
			if !i.Version.Known() || len(i.Options) == 0 {
				continue
			}
			n++
			for _, o := range i.Options {
				if x, ok := i.gone(o); ok {
					out = append(out, x)
				}
			}
		}
		return judged(out, n, "no instance with a known version and known option files")
	},
}

func (i Instance) gone(o Option) (Finding, bool) {
	for _, g := range goneOptions {
		if g.name != o.Key || g.mariaDB != i.MariaDB || !i.Version.AtLeast(g.major, g.minor, g.patch) {
			continue
		}
		x := Finding{Severity: farm.Note, Subject: fmt.Sprintf("%s:%d", o.File, o.Number), Read: fmt.Sprintf("%s=%s; %s is %s", o.Key, o.Value, i.Name, i.Version.Text),
			Verdict: "the option does nothing any more; the server says so in its log at each start", Why: "old advice that outlived what it was about",
			Fix: "delete the line", Persist: "the option file is what lasts", Revert: "put it back"}
		if g.instead != "" {
			x.Fix += "; " + g.instead
		}
		if g.refused {
			x.Severity, x.Verdict = farm.Blocker, "the server will not start with this option"
			if o.Loose {
				x.Severity, x.Verdict = farm.Note, "the option does nothing any more (loose_ keeps the server from refusing it)"
			}
		}
		return x, true
	}
	return Finding{}, false
}
