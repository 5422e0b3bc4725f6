package host

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Listener is the process that has a TCP port of this machine.
type Listener struct {
	PID  int    // 0: the process belongs to another user, and only root may see which it is
	Name string // of its program
	User string // whose process it is
	// IsEverywhere says that it has the port on all addresses of this machine.
	IsEverywhere bool
}

func (l Listener) String() string {
	if l.PID == 0 {
		return "a process of user " + l.User
	}
	return fmt.Sprintf("process %d (%s) of user %s", l.PID, l.Name, l.User)
}

// ListenerAt finds the process that takes the connections to ip:port of this
// machine, also one that listens on all addresses. ok is false when /proc has no
// such process: it has ended meanwhile, or runs in another network namespace.
func ListenerAt(at netip.AddrPort) (l Listener, ok bool) {
	var s socket
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // a kernel without IPv6
		}
		if s, ok = listeningSocket(raw, at); ok {
			break
		}
	}
	if !ok {
		return Listener{}, false
	}
	l.User, l.IsEverywhere = s.uid, s.address.IsUnspecified()
	if u, err := user.LookupId(s.uid); err == nil {
		l.User = u.Username
	}
	l.PID = holderOf(s.inode)
	if l.PID != 0 {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", l.PID))
		l.Name = strings.TrimSpace(string(comm))
	}
	return l, true
}

// socket is a line of /proc/net/tcp.
type socket struct {
	address    netip.Addr
	inode, uid string
}

// listeningSocket finds, in the text of /proc/net/tcp or tcp6, the socket that
// takes connections to an address.
// Columns: sl, local_address, rem_address, st (0A: listening), four more, uid,
// timeout, inode (Documentation/networking/proc_net_tcp.rst).
func listeningSocket(raw []byte, at netip.AddrPort) (s socket, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		if local, ok := kernelAddress(f[1]); ok && local.Port() == at.Port() && (local.Addr() == at.Addr() || local.Addr().IsUnspecified()) {
			return socket{local.Addr(), f[9], f[7]}, true
		}
	}
	return socket{}, false
}

// kernelAddress reads 0100007F:1F90. Of each word of four bytes the last byte
// comes first, on the machines that Go's builds of Stowage are for.
func kernelAddress(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(host)%8 != 0 {
		return netip.AddrPort{}, false
	}
	var raw []byte
	for ; host != ""; host = host[8:] {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		raw = append(raw, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), ok
}

// holderOf is the process that has a socket open, 0 when none can be seen.
func holderOf(inode string) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	want := "socket:[" + inode + "]"
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			continue // it has ended, or belongs to another user
		}
		for _, fd := range fds {
			if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil && to == want {
				return pid
			}
		}
	}
	return 0
}
