package claims

import (
	"cmp"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// shape is how values of an attribute are compared.
type shape int

const (
	word    shape = iota // as it is, but for upper case
	number               // 3306 and 3306.0
	amount               // 96GB; without unit, bytes
	place                // a machine: name or address
	spot                 // host:port of an instance
	group                // a pair
	yes                  // yes, true, on, 1
	release              // 10.11.19 of "10.11.19-MariaDB-log"
	path                 // a directory
	role                 // primary or replica
)

// attribute is what is known of one.
type attribute struct {
	shape     shape
	tolerance float64 // two amounts that differ by less than this share are equal
	// moves: a value that is right today may be another one tomorrow, so
	// that the majority may all be late.
	moves bool
	// own: a server that answers knows this of itself, and nobody better.
	own bool
	// reading: it is another value at every look, and nobody is wrong.
	reading bool
}

// attributes are those with more to them than a word. Others may be claimed.
var attributes = map[Kind]map[string]attribute{
	Host: {
		"address": {shape: place, moves: true},
		"cores":   {shape: number}, "iops": {shape: amount, tolerance: 0.02},
		"memory": {shape: amount, tolerance: 0.08}, "disk": {shape: amount, tolerance: 0.12}, // GB and GiB are sold as one
	},
	Instance: {
		"host": {shape: place, moves: true}, "port": {shape: number, moves: true},
		"server_id": {shape: number, own: true}, "domain": {shape: number, own: true},
		"replicates_from": {shape: spot, moves: true, own: true}, "pair": {shape: group, moves: true},
		"role": {shape: role, moves: true}, "alive": {shape: yes, moves: true, own: true}, "version": {shape: release, moves: true, own: true},
		"memory": {shape: amount, tolerance: 0.02, own: true}, "datadir": {shape: path, own: true},
		"read_only": {shape: yes, moves: true, own: true}, "lag": {shape: number, reading: true},
	},
	Pair: {
		"topology": {shape: word}, "primary": {shape: spot, moves: true},
	},
	Shard: {
		"pair": {shape: group, moves: true, own: true}, "disk": {shape: amount, tolerance: 0.25, moves: true},
	},
}

// MostOf names the attributes with rules of their own, for help and docs.
func MostOf(k Kind) []string {
	out := []string{"address"}
	for name := range attributes[k] {
		out = append(out, name)
	}
	return out
}

// listed is the attribute of being there at all.
const listed = "listed"

func ruleOf(k Kind, name string) attribute {
	if name == listed {
		return attribute{shape: word, moves: true}
	}
	return attributes[k][name]
}

// plainName is a name as names are compared.
func plainName(text string) string {
	text = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "."))
	if strings.Count(text, ":") < 2 { // else there may be an address of IPv6, which can be written in many ways
		return text
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Unmap().String()
	}
	if spot, err := netip.ParseAddrPort(text); err == nil {
		return netip.AddrPortFrom(spot.Addr().Unmap(), spot.Port()).String()
	}
	return text
}

func attributeName(text string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", "_")
}

// usualPort is where servers listen that nobody told otherwise.
const usualPort = "3306"

// splitSpot takes host:port apart. Without a port it is the usual one.
func splitSpot(text string) (host, port string) {
	text = strings.TrimSpace(text)
	if ip, _, ok := strings.Cut(text, "/"); ok && net.ParseIP(ip) != nil {
		text = ip // 10.0.0.1/24
	}
	if host, port, err := net.SplitHostPort(text); err == nil {
		return plainName(host), port
	}
	return plainName(strings.Trim(text, "[]")), usualPort
}

// isSpot reports whether a name is rather an address: host:port, or an IP.
func isSpot(name string) bool {
	if net.ParseIP(name) != nil {
		return true
	}
	_, port, err := net.SplitHostPort(name)
	if err != nil {
		return false
	}
	_, err = strconv.Atoi(port)
	return err == nil
}

// plainValue is a value of a shape that needs no other claims to be read.
func plainValue(s shape, text string) string {
	text = strings.TrimSpace(text)
	switch s {
	case number:
		if v, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "0123456789.") == "" {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	case amount:
		if v, ok := amountOf(text); ok {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	case release:
		if v := releases().FindString(text); v != "" {
			return v
		}
	case path:
		return strings.TrimRight(text, "/")
	case role:
		text = strings.ToLower(text)
		return cmp.Or(roles[text], text)
	case yes:
		switch strings.ToLower(text) {
		case "yes", "true", "on", "1", "y", "up":
			return "yes"
		case "no", "false", "off", "0", "n", "down", "":
			return "no"
		}
	}
	return strings.ToLower(text)
}

var (
	releases = lazy.Regexp(`\d+\.\d+(\.\d+)?`)
	roles    = map[string]string{"master": "primary", "slave": "replica", "secondary": "replica", "standby": "replica", "writer": "primary", "reader": "replica"}
)

// amountOf reads 96GB, 96 GB, 96G (a server's own suffix: 2^30) and plain numbers.
func amountOf(text string) (float64, bool) {
	text = strings.ReplaceAll(text, " ", "")
	if text == "" {
		return 0, false
	}
	if i := strings.IndexByte("KMGTP", text[len(text)-1]&^0x20); i >= 0 {
		if v, err := strconv.ParseFloat(text[:len(text)-1], 64); err == nil {
			for range i + 1 {
				v *= 1024
			}
			return v, true
		}
	}
	for _, k := range []farm.Kind{farm.KindPlain, farm.KindBytes, farm.KindBits, farm.KindBytesPerDay} {
		if v, err := farm.ParseQuantity("", text, k); err == nil {
			return v, true
		}
	}
	return 0, false
}
