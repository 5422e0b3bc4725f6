package discover

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"stowage/farm"
)

// usualPort is where servers listen that nobody told otherwise.
const usualPort = "3306"

// ParseAddress reads HOST or HOST:PORT into host:port.
func ParseAddress(text string) (string, error) {
	host, port := text, usualPort
	if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil || strings.Contains(host, ":") {
			if net.ParseIP(strings.Trim(text, "[]")) != nil || strings.Contains(host, ":") {
				return "", fmt.Errorf("%q is an IPv6 address, which farm.yaml cannot hold: give the machine's name", text)
			}
			return "", fmt.Errorf("%q is not an address: it is HOST or HOST:PORT, as db001:3306", text)
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	for _, c := range host {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "", fmt.Errorf("%q is not an address: it is HOST or HOST:PORT, as db001:3306", text)
		}
	}
	if host == "" || strings.HasPrefix(host, "-") {
		return "", fmt.Errorf("%q has no host: it is HOST or HOST:PORT, as db001:3306", text)
	}
	return net.JoinHostPort(host, port), nil
}

// ReadAddresses reads one address a line. What follows a # is a comment. All
// lines that are none come in one error, each with file and line.
func ReadAddresses(file string, r io.Reader) ([]string, error) {
	var out, bad []string
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		address, err := ParseAddress(text)
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s:%d: %s", file, n, err))
			continue
		}
		out = append(out, address)
	}
	if err := lines.Err(); err != nil {
		bad = append(bad, fmt.Sprintf("%s: %s", file, err))
	}
	if len(bad) > 0 {
		return nil, &farm.Error{Op: "read addresses", Err: fmt.Errorf("%w: %s", farm.ErrInput, farm.Some(bad)),
			Hint: "one HOST or HOST:PORT a line, and # for comments"}
	}
	return out, nil
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}

func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// isLoopback reports whether a host means the machine that says it.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
