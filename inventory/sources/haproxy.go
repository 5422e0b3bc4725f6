package sources

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"stowage/inventory/claims"
)

// proxySections are the words that begin a section.
var proxySections = []string{"global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "mailers", "cache", "program", "http-errors", "ring", "fcgi-app", "log-forward", "log-profile", "crt-store", "traces", "acme"}

// proxyServer is a server line.
type proxyServer struct {
	name, address, section string
	place                  claims.Place
}

// haproxy reads the server lines of a configuration: of backends and of listen
// sections that are not of HTTP. A name that several sections use for different
// addresses (a, b in each) names nobody: those servers are known by address.
func (r *reader) haproxy(file string, src []byte) {
	var all, section []proxyServer
	var made, templates []claims.Place // of templates, whose servers only DNS knows
	kind, name, usualMode, mode := "", "", "tcp", "tcp"
	end := func() {
		if mode != "http" {
			all = append(all, section...)
			made = append(made, templates...)
		}
		section, templates = nil, nil
	}
	for i, line := range strings.Split(string(src), "\n") {
		place := claims.Place{Where: file, Line: i + 1}
		words, ok := proxyWords(line)
		if !ok {
			r.fault(place, "a quote is not closed")
			continue
		}
		switch {
		case len(words) == 0:
		case slices.Contains(proxySections, words[0]):
			end()
			kind, name, mode = words[0], strings.Join(words[1:min(2, len(words))], ""), usualMode
			if kind == "defaults" {
				mode, usualMode = "tcp", "tcp"
			}
		case words[0] == "mode" && len(words) > 1:
			if mode = words[1]; kind == "defaults" {
				usualMode = mode
			}
		case words[0] == "server" && (kind == "backend" || kind == "listen"): // a server of peers is a HAProxy
			if len(words) < 3 {
				r.fault(place, "server wants a name and an address")
				continue
			}
			section = append(section, proxyServer{words[1], words[2], name, place})
		case words[0] == "server-template" && (kind == "backend" || kind == "listen"):
			if len(words) < 4 {
				r.fault(place, "server-template wants a prefix, a number and an address")
				continue
			}
			templates = append(templates, place)
		}
	}
	end()
	if len(made) > 0 {
		r.why = fmt.Sprintf("%s: server-template has its servers from DNS", made[0])
	}
	at, several := map[string]string{}, map[string]bool{}
	for _, s := range all {
		if was, ok := at[s.name]; ok && was != s.address {
			several[s.name] = true
		}
		at[s.name] = s.address
	}
	for _, s := range all {
		r.proxyServer(s, several[s.name])
	}
}

// proxyServer claims one server. Without a port it takes the client's, and
// +1 adds to that: only the host is known.
func (r *reader) proxyServer(s proxyServer, byAddress bool) {
	kind := r.subject(claims.Instance)
	address := strings.TrimPrefix(strings.TrimPrefix(s.address, "ipv4@"), "ipv6@")
	host, port, err := net.SplitHostPort(address)
	isFull := err == nil && (isNumber(port) || isTemplate(port))
	isLocal := strings.HasPrefix(address, "/") || strings.Contains(address, "@") || strings.HasPrefix(address, "$")
	if byAddress {
		if isFull && !isTemplate(address) {
			r.say(claims.Subject{Kind: kind, Name: address}, "", "", s.place)
		}
		return
	}
	subject := claims.Subject{Kind: kind, Name: s.name}
	r.say(subject, "", "", s.place)
	switch {
	case isTemplate(address):
		r.say(subject, "address", address, s.place)
	case isLocal:
		r.hide(subject, "address", "a socket", s.place)
	case isFull:
		r.value(subject, "address", address, s.place)
	case kind == claims.Instance:
		if err != nil {
			host = strings.Trim(address, "[]")
		}
		r.say(subject, "host", host, s.place)
	default:
		r.value(subject, "address", strings.Trim(address, "[]"), s.place)
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
