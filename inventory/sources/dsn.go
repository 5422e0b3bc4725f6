package sources

import (
	"net"
	"net/url"
	"strings"

	"stowage/internal/lazy"
)

// dsn is a data source name, without user and password.
type dsn struct {
	addresses []string // host:port; none for a socket
	database  string
}

var (
	urlDSN = lazy.Regexp(`^(?:jdbc:)?(?:mysql|mariadb|mysqlx|mysql2)(?:[:+][a-z0-9]+)*://(.*)$`)
	goDSN  = lazy.Regexp(`^(?:[^/]*@)?(tcp|unix)\(([^)]*)\)/([^?]*)`)
)

// parseDSN reads the forms that clients of MySQL use: URLs, JDBC's with several
// hosts, PDO's mysql:host=..., and Go's user@tcp(host:port)/db. A password may
// hold what no URL may, so this is not a parser of URLs.
func parseDSN(text string) (dsn, bool) {
	text = strings.TrimSpace(text)
	if !strings.ContainsAny(text, "/(=") {
		return dsn{}, false // most are host:port
	}
	if m := urlDSN().FindStringSubmatch(text); m != nil {
		return urlParts(m[1]), true
	}
	if rest, ok := strings.CutPrefix(text, "mysql:"); ok && strings.Contains(rest, "=") {
		return pdoParts(rest), true
	}
	if m := goDSN().FindStringSubmatch(text); m != nil {
		d := dsn{database: m[3]}
		if m[1] == "tcp" {
			d.addresses = []string{withPort(m[2])}
		}
		return d, true
	}
	return dsn{}, false
}

func urlParts(rest string) dsn {
	rest, _, _ = cutQuery(rest)
	authority, database := rest, ""
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		authority = rest[i+1:]
	}
	authority, database, _ = strings.Cut(authority, "/")
	out := dsn{database: unescaped(database)}
	for _, h := range strings.Split(authority, ",") {
		if h = strings.TrimSpace(h); h != "" {
			out.addresses = append(out.addresses, withPort(unescaped(h)))
		}
	}
	return out
}

// cutQuery cuts at the question mark behind the last @, because a password may hold one.
func cutQuery(text string) (before, after string, found bool) {
	at := strings.LastIndexByte(text, '@') + 1
	before, after, found = strings.Cut(text[at:], "?")
	return text[:at] + before, after, found
}

func pdoParts(rest string) dsn {
	var out dsn
	host, port, socket := "", "", false
	for _, part := range strings.Split(rest, ";") {
		key, value, _ := strings.Cut(part, "=")
		switch strings.TrimSpace(key) {
		case "host":
			host = strings.TrimSpace(value)
		case "port":
			port = strings.TrimSpace(value)
		case "dbname":
			out.database = strings.TrimSpace(value)
		case "unix_socket":
			socket = true
		}
	}
	if host != "" && !socket {
		if port != "" {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		out.addresses = []string{withPort(host)}
	}
	return out
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// withPort adds the usual port where none is said.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), "3306")
}
