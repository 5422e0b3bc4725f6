package farmtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Socket is a port that a process of Stowage has open, as /proc says.
type Socket struct {
	PID  int
	What string // mariadbd, stowage-engine, or the verb of the program
	Net  string // tcp, udp
	Addr netip.AddrPort
}

// Sockets are those of all processes that were started for a directory, because they name it or because one that does has started them.
func Sockets(dir string) (out []Socket, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	parents, named := map[int]int{}, map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue // it has ended
		}
		parents[pid], named[pid] = parentOf(pid), strings.Contains(string(raw), dir)
	}
	for pid := range parents {
		for p, depth := pid, 0; p > 1 && depth < 100; p, depth = parents[p], depth+1 {
			if !named[p] {
				continue
			}
			of, err := socketsOf(pid)
			if err != nil {
				return nil, err
			}
			out = append(out, of...)
			break
		}
	}
	slices.SortFunc(out, func(a, b Socket) int { return a.Addr.Compare(b.Addr) })
	return out, nil
}

func parentOf(pid int) (parent int) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if end := strings.LastIndexByte(string(raw), ')'); end > 0 {
		if f := strings.Fields(string(raw[end+1:])); len(f) > 1 {
			parent, _ = strconv.Atoi(f[1])
		}
	}
	return parent
}

// Listening are the TCP ports on which a process listens.
func Listening(pid int) (out []string, err error) {
	all, err := socketsOf(pid)
	for _, s := range all {
		if s.Net == "tcp" {
			out = append(out, s.Addr.String())
		}
	}
	return out, err
}

// socketsOf are the listening TCP ports and the open UDP ports of a process. One that has ended has none.
func socketsOf(pid int) (out []Socket, err error) {
	inodes, what := map[string]bool{}, whatIs(pid)
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes[strings.Trim(to, "socket:[]")] = true
		}
	}
	for file, state := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} { // of the process's own network
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			continue // no IPv6, or it has ended
		}
		for _, line := range strings.Split(string(raw), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != state || !inodes[f[9]] {
				continue
			}
			address, err := kernelAddress(f[1])
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", file, what, err)
			}
			out = append(out, Socket{pid, what, file[:3], address})
		}
	}
	return out, nil
}

// whatIs names a process by its program, and the program itself by its verb.
func whatIs(pid int) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
	what := filepath.Base(args[0])
	if args[0] == "" { // it is about to end
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		what = strings.TrimSpace(string(raw))
	}
	if (what == "stowage" || what == "stowage-live") && len(args) > 1 {
		return args[1]
	}
	return what
}

// kernelAddress reads 0100007F:1F90, whose words of four bytes have the last byte first.
func kernelAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(host)%8 != 0 {
		return netip.AddrPort{}, fmt.Errorf("address %q: %w", text, err)
	}
	var raw []byte
	for ; len(host) > 0; host = host[8:] {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, err
		}
		raw = append(raw, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("address %q", text)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), nil
}
