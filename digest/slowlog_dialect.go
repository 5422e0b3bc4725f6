package digest

import (
	"bytes"
	"strings"
)

const maxBanner = 1024

// isStart knows the first line a server writes into a log it opens: path, version, "started with:".
func isStart(line []byte) bool {
	if len(line) < 12 || len(line) > maxBanner ||
		!bytes.HasSuffix(line, []byte("started with:")) && !(line[0] == '/' && bytes.Contains(line, []byte("embedded library"))) {
		return false
	}
	version := bytes.Index(line, []byte(", Version: "))
	if version < 1 {
		return false
	}
	windows := line[1] == ':' && line[2] == '\\' // there, paths hold blanks
	return windows || bytes.IndexByte(line[:version], ' ') < 0
}

// isBanner knows all three lines a server writes into a log it opens.
func isBanner(line []byte) bool {
	if len(line) < 12 || len(line) > maxBanner {
		return false
	}
	switch {
	case line[0] == 'T' && (line[1] == 'c' || line[1] == 'C'):
		return bytes.HasPrefix(line, []byte("Tcp port: ")) || bytes.HasPrefix(line, []byte("TCP Port: "))
	case bytes.HasPrefix(line, []byte("Time")):
		return bytes.HasPrefix(bytes.TrimLeft(line[4:], " \t"), []byte("Id Command"))
	}
	return isStart(line)
}

// dialect gathers what the log tells about the server that wrote it.
type dialect struct {
	version  string // from the banner
	mariadb  bool
	extra    bool // log_slow_extra of MySQL 8.0.14 and later
	examined bool
}

// banner takes in a line of the banner, and says whether it was one.
func (d *dialect) banner(line []byte) bool {
	if !isBanner(line) {
		return false
	}
	if i := bytes.Index(line, []byte(", Version: ")); i >= 0 {
		v := string(line[i+len(", Version: "):])
		v = strings.TrimSuffix(strings.TrimSuffix(v, " started with:"), ".")
		d.version = v
		if bytes.Contains(line, []byte("rdsdbbin")) {
			d.version += " on RDS"
		}
	}
	return true
}

// sample looks at the first Query_time line.
func (d *dialect) sample(line []byte) {
	if d.examined {
		return
	}
	d.examined = true
	d.extra = bytes.Contains(line, []byte(" Start: ")) && bytes.Contains(line, []byte(" End: "))
}

func (d *dialect) String() string {
	server := "mysql"
	switch v := strings.ToLower(d.version); {
	case strings.Contains(v, "mariadb") || d.mariadb:
		server = "mariadb"
	case strings.Contains(v, "percona"):
		server = "percona"
	case d.extra:
		server = "mysql, log_slow_extra"
	case v == "":
		return "unknown server"
	}
	if d.version == "" {
		return server
	}
	return server + " " + d.version
}
