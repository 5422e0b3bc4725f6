package host

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

// Started is how a server of this machine was started, for who has no farm.yaml
// yet: the option file that it reads last of those that it begins with, and its
// group suffix. ok is false where the server is not on this machine, or cannot
// be told from another.
func Started(ctx context.Context, address, hostname, datadir string) (config, suffix string, ok bool) {
	if ours, err := os.Hostname(); err != nil || ours != hostname || !isOurs(ctx, address) {
		return "", "", false
	}
	l := &Local{}
	pid := l.others(Instance{Datadir: datadir})
	if pid == 0 {
		return "", "", false
	}
	p, err := l.process(ctx, pid, false)
	if err != nil {
		return "", "", false
	}
	for _, file := range p.files {
		if passesOver(p.account, file) == "" {
			config = filepath.Clean(file)
		}
	}
	return config, p.suffix, config != ""
}

// isOurs reports whether host:port is an address of this machine.
func isOurs(ctx context.Context, address string) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	its, err := net.DefaultResolver.LookupIPAddr(ctx, name)
	if err != nil {
		return false
	}
	ours, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, ip := range its {
		if ip.IP.IsLoopback() {
			return true
		}
		for _, a := range ours {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip.IP) {
				return true
			}
		}
	}
	return false
}
