package fresh

import (
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"stowage/host"
	"stowage/mysql"
)

// temporary are the options that a new instance has only until it serves.
var temporary = map[string]string{"read_only": "ON", "event_scheduler": "OFF", "skip_slave_start": "ON"}

// Mark is a line in the option file of a new instance that nobody knows yet.
const Mark = "# stowage: not in rotation yet. This line and some options go before its first client.\n"

// Options is the option file of a new instance that nobody knows yet, after
// that of another: its own identity, address and paths, and what else is given.
func Options(model string, flavor mysql.Flavor, i host.Instance, id uint32, more map[string]string) []byte {
	text := strings.ReplaceAll(model, Mark, "")
	values := map[string]string{
		"server_id": strconv.FormatUint(uint64(id), 10),
		"port":      strconv.Itoa(i.Port), "bind_address": i.Address,
		"report_host": i.Address, "report_port": strconv.Itoa(i.Port),
		"datadir": i.Datadir, "socket": "mysqld.sock", // relative to datadir: 107 bytes are soon used up
		"pid_file": filepath.Join(i.Dir(), host.PidFile), "log_error": filepath.Join(i.Dir(), host.ErrorLog),
		"tmpdir": filepath.Join(i.Dir(), host.TempDir),
	}
	if _, ok := host.Option(text, host.ServerGroup(text), "slow_query_log_file"); ok {
		values["slow_query_log_file"] = filepath.Join(i.Dir(), "slow.log")
	}
	for k, v := range temporary {
		values[flavor.Option(k)] = v
	}
	maps.Copy(values, more)
	return []byte(Mark + host.RewriteOptions(text, host.ServerGroup(text), values))
}

// Settled is an option file with what another has in place of the temporary
// options.
func Settled(is, was string) string {
	is = strings.ReplaceAll(is, Mark, "")
	values := map[string]string{}
	for _, k := range Temporary() {
		values[k], _ = host.Option(was, host.ServerGroup(was), k)
	}
	return host.RewriteOptions(is, host.ServerGroup(is), values)
}

// Temporary are the names of the temporary options in the words of all
// flavors.
func Temporary() []string {
	var out []string
	for k := range temporary {
		out = append(out, k)
		if word := (mysql.Flavor{Vendor: "MySQL"}).Option(k); word != k {
			out = append(out, word)
		}
	}
	return out
}
