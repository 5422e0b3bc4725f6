package farm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// HostOption is one option of the servers on hosts of a type: a value as the
// server reads it, or a share of the host that its instances divide among them.
type HostOption struct {
	Name  string  // innodb_buffer_pool_size: lower case, with _
	Value string  // "64G"; empty when Share is given
	Share float64 // from 0 to 1: of the host, less what is reserved there
}

// String is the value as farm.yaml has it.
func (o HostOption) String() string {
	if o.Value != "" {
		return o.Value
	}
	return strconv.FormatFloat(math.Round(o.Share*1e6)/1e4, 'f', -1, 64) + "%"
}

// OptionName is the name of an option as Stowage compares it.
func OptionName(text string) string {
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), "-", "_"))
	return strings.TrimPrefix(name, "loose_")
}

// divided are the options that may be shares, by the resource they divide.
var divided = map[ResourceName][]string{
	Memory: {"innodb_buffer_pool_size", "key_buffer_size", "aria_pagecache_buffer_size", "rocksdb_block_cache_size"},
	IOPS:   {"innodb_io_capacity", "innodb_io_capacity_max"},
	CPU: {"innodb_read_io_threads", "innodb_write_io_threads", "innodb_purge_threads", "slave_parallel_threads", "slave_parallel_workers",
		"replica_parallel_workers", "thread_pool_size"},
}

// dividedBy is the resource that an option may have a share of.
func dividedBy(name string) (ResourceName, bool) {
	for _, r := range []ResourceName{Memory, IOPS, CPU} {
		if slices.Contains(divided[r], name) {
			return r, true
		}
	}
	return "", false
}

// Options that a host type must not set: who the instance is and whom it
// follows, which Stowage gives each; what the files on disk are made with, which
// a copy has of its source; whether it takes writes, which a move decides.
var (
	optionsOfOne = []string{"server_id", "port", "bind_address", "report_host", "report_port", "report_user", "report_password", "datadir", "socket", "pid_file", "log_error",
		"tmpdir", "gtid_domain_id", "auto_increment_offset", "auto_increment_increment", "log_bin", "log_bin_index", "log_bin_basename", "relay_log", "relay_log_index", "relay_log_basename", "log_basename", "user",
		"basedir", "init_file", "defaults_file", "server_uuid", "innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory"}
	optionsOfData = []string{"innodb_page_size", "innodb_data_file_path", "lower_case_table_names", "innodb_undo_tablespaces", "innodb_checksum_algorithm", "character_set_server",
		"collation_server", "sql_mode", "default_time_zone", "time_zone", "gtid_strict_mode", "gtid_ignore_duplicates", "sync_binlog", "innodb_flush_log_at_trx_commit", "max_connections", "binlog_format", "binlog_row_image", "gtid_mode", "enforce_gtid_consistency", "log_slave_updates", "log_replica_updates",
		"explicit_defaults_for_timestamp"}
	optionsOfMoves = []string{"read_only", "super_read_only", "event_scheduler", "skip_slave_start", "skip_replica_start", "skip_grant_tables", "skip_networking", "offline_mode"}
)

// OptionRefused says why a host type may not set an option; empty: it may.
func OptionRefused(name string) string {
	switch {
	case slices.Contains(optionsOfOne, name):
		return "each instance has its own"
	case slices.Contains(optionsOfData, name), strings.HasPrefix(name, "replicate_"), strings.HasPrefix(name, "binlog_do_"), strings.HasPrefix(name, "binlog_ignore_"):
		return "both sides of a pair must have the same, whatever host they are on"
	case slices.Contains(optionsOfMoves, name):
		return "a move sets it"
	}
	return ""
}

// sizeOption reads a size as servers do: digits and perhaps K, M, G or T, powers
// of 1024.
func sizeOption(text string) (bytes float64, ok bool) {
	unit := 1.0
	if n := len(text); n > 0 {
		if at := strings.IndexByte("KMGT", text[n-1]&^0x20); at >= 0 && text[n-1] > '9' {
			unit, text = math.Pow(1024, float64(at+1)), text[:n-1]
		}
	}
	v, err := strconv.ParseUint(text, 10, 63)
	return float64(v) * unit, err == nil
}

// Most is how many instances a host of the type may hold where so much is
// reserved: max_instances, or fewer where the memory that the options give each
// allows no more. 0: no limit, unless the host HoldsNone.
func (t HostType) Most(reserved Resources) int {
	most := t.MaxInstances
	if fit, limited := t.fitMemory(reserved); limited && (most == 0 || fit < most) {
		most = fit
	}
	return most
}

// HoldsNone says that the memory that the options give each instance is more
// than such a host has left beside what is reserved.
func (t HostType) HoldsNone(reserved Resources) bool {
	fit, limited := t.fitMemory(reserved)
	return limited && fit == 0
}

// fitMemory is how many instances fit by the memory that the options give them:
// shares are of what is not reserved, as OptionsOn divides it.
func (t HostType) fitMemory(reserved Resources) (fit int, limited bool) {
	each, shared := 0.0, 0.0
	for _, o := range t.Options {
		if by, ok := dividedBy(o.Name); ok && by == Memory {
			size, _ := sizeOption(o.Value)
			each, shared = each+size, shared+o.Share
		}
	}
	memory, limited := t.Capacity[Memory]
	if !limited || each <= 0 {
		return 0, false
	}
	const rounding = 1e-9 // 1 - 0.9 is a little less than a tenth
	return int(max(0, memory-reserved[Memory])*(1-shared)/each + rounding), true
}

// OptionsOn is what the host's type says of the options of each of so many
// instances on a host. Nil: nothing.
func (f *Farm) OptionsOn(name HostName, instances int) map[string]string {
	h, _ := f.Host(name)
	t, ok := f.HostType(h.Type)
	if !ok || len(t.Options) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, o := range t.Options {
		if out[o.Name] = o.Value; o.Value == "" {
			by, _ := dividedBy(o.Name)
			part := o.Share * max(0, t.Capacity[by]-h.Reserved[by]) / float64(max(1, instances))
			if by == Memory {
				out[o.Name] = strconv.FormatFloat(max(1, math.Floor(part/(1<<20))), 'f', 0, 64) + "M"
			} else {
				out[o.Name] = strconv.FormatFloat(max(1, math.Floor(part)), 'f', 0, 64)
			}
		}
	}
	return out
}

// CacheOptions is the memory that a server takes for its caches, by what one
// can look up of its options; those that are not given count nothing.
func CacheOptions(value func(name string) string) (bytes float64) {
	for _, name := range divided[Memory] {
		size, _ := sizeOption(value(name))
		bytes += size
	}
	return bytes
}

// SameOption reports whether a server's value is that of an option: sizes,
// switches and numbers are written in several ways, some of them in quotes.
func SameOption(a, b string) bool {
	a, b = optionMeans(a), optionMeans(b)
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y
}

func optionMeans(text string) string {
	v := strings.ToUpper(strings.Trim(strings.TrimSpace(text), `'"`))
	switch v {
	case "ON", "TRUE", "YES":
		return "1"
	case "OFF", "FALSE", "NO":
		return "0"
	}
	return PlainOption(v)
}

// OptionHolds reports whether a server runs with an option, as it reads it:
// servers round a buffer pool up to whole chunks of 128 MiB for each of up to
// eight parts.
func OptionHolds(name, is, want string) bool {
	if SameOption(is, want) {
		return true
	}
	got, err := strconv.ParseFloat(is, 64)
	size, ok := sizeOption(want)
	if name != "innodb_buffer_pool_size" || err != nil || !ok {
		return false
	}
	for _, chunk := range []float64{128 << 20, 1 << 30} {
		if over := got - size; over > 0 && over < chunk && int64(got)%int64(chunk) == 0 {
			return true
		}
	}
	return false
}

// PlainOption is an option's value as SET GLOBAL takes it: sizes as numbers.
func PlainOption(value string) string {
	if size, ok := sizeOption(value); ok {
		return strconv.FormatFloat(size, 'f', 0, 64)
	}
	return value
}

// options: what a host type says of its servers.
func (c *checker) options(at string, t HostType) {
	seen, shares := map[string]bool{}, map[ResourceName]float64{}
	each := 0.0
	for _, o := range t.Options {
		here := at + ".options." + o.Name
		if seen[o.Name] {
			c.say(here, "host type %s has option %s twice", t.Name, o.Name)
		}
		seen[o.Name] = true
		if why := OptionRefused(o.Name); why != "" {
			c.say(here, "a host type must not set %s: %s", o.Name, why)
		}
		by, may := dividedBy(o.Name)
		size, isSize := sizeOption(o.Value)
		switch {
		case o.Value != "" && may && by == Memory && !isSize:
			c.say(here, "%s of host type %s is %q: write a size as the server reads it (64G, 65536M), or a share of the host's memory (70%%)", o.Name, t.Name, o.Value)
		case o.Value != "" && may && by == Memory:
			each += size
		case o.Value != "":
		case !may:
			c.say(here, "%s of host type %s is a share, and Stowage does not know of what: shares are of memory (%s), of iops (%s) or of cores (%s)", o.Name, t.Name,
				strings.Join(divided[Memory], ", "), strings.Join(divided[IOPS], ", "), strings.Join(divided[CPU], ", "))
		case t.Capacity[by] <= 0:
			c.say(here, "%s of host type %s is a share of its %s, which farm.yaml does not give", o.Name, t.Name, keyOf(by))
		default:
			if by == Memory {
				shares[by] += o.Share
			} else {
				shares[by] = max(shares[by], o.Share)
			}
			if shares[by] > 1 {
				c.say(here, "the shares of %s that host type %s gives its servers are more than all of it", keyOf(by), t.Name)
			}
		}
	}
	if memory, limited := t.Capacity[Memory]; limited && each > memory {
		c.say(at+".options", "one instance of host type %s would have %s of memory, and the host has %s", t.Name, FormatQuantity(each, KindBytes), FormatQuantity(memory, KindBytes))
	}
}

func keyOf(r ResourceName) string {
	if r == CPU {
		return "cores"
	}
	return string(r)
}

// Overfilled says of which hosts the memory that options give the servers on it
// is more than there is, with how much; instances are how many each host has.
func (f *Farm) Overfilled(instances map[HostName]int) map[HostName]string {
	out := map[HostName]string{}
	for _, h := range f.Hosts {
		t, ok := f.HostType(h.Type)
		memory, limited := t.Capacity[Memory]
		n := instances[h.Name]
		if !ok || !limited || n == 0 {
			continue
		}
		sum := 0.0
		var by []string
		for name, value := range f.OptionsOn(h.Name, n) {
			if r, ok := dividedBy(name); ok && r == Memory {
				size, _ := sizeOption(value)
				sum += size * float64(n)
				by = append(by, name+" = "+value)
			}
		}
		if room := memory - h.Reserved[Memory]; sum > room*(1+1e-9) {
			slices.Sort(by)
			out[h.Name] = fmt.Sprintf("%s with %s are %s of memory, and %s are there", Counted(n, "instance"), strings.Join(by, ", "), FormatQuantity(math.Round(sum), KindBytes), FormatQuantity(math.Round(room), KindBytes))
		}
	}
	return out
}
