package sources

import (
	"strings"

	"stowage/inventory/claims"
)

// haproxy reads the server lines of a configuration: of backends and of listen
// sections. A server without a port takes the client's; ${DB} is the
// environment's.
func (r *reader) haproxy(file string, src []byte) {
	section, kind := "", r.subject(claims.Instance)
	for i, line := range strings.Split(string(src), "\n") {
		place := claims.Place{Where: file, Line: i + 1}
		words, ok := proxyWords(line)
		if !ok {
			r.fault(place, "a quote is not closed")
			continue
		}
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "mailers", "cache", "program", "http-errors", "ring", "fcgi-app", "log-forward", "crt-store":
			section = words[0]
		case "server":
			if section != "backend" && section != "listen" {
				continue // a server of peers is a HAProxy
			}
			if len(words) < 3 {
				r.fault(place, "server wants a name and an address")
				continue
			}
			s := claims.Subject{Kind: kind, Name: words[1]}
			r.say(s, "", "", place)
			r.value(s, "address", strings.TrimPrefix(strings.TrimPrefix(words[2], "ipv4@"), "ipv6@"), place)
		}
	}
}

// proxyWords takes a line apart: blanks and # end words but for those in
// quotes and behind a backslash.
func proxyWords(line string) ([]string, bool) {
	var out []string
	var b strings.Builder
	in, quote := false, byte(0)
	end := func() {
		if in {
			out = append(out, b.String())
			b.Reset()
			in = false
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
			in = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == '#':
			end()
			return out, true
		case c == ' ' || c == '\t' || c == '\r':
			end()
		default:
			b.WriteByte(c)
			in = true
		}
	}
	end()
	return out, quote == 0
}
