package netlab

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

// Lab is machines on one bridge, each with an address in a network of 254.
type Lab struct {
	mark     string
	base     netip.Addr
	machines []*Machine
}

// Missing says what is needed to make a lab and is not there, or "".
func Missing() string {
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		return "no machines are wanted"
	}
	if os.Geteuid() != 0 {
		return "network namespaces need root"
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "there is no ip(8)"
	}
	return ""
}

// labs counts: the kernel takes namespaces away some time after they are
// deleted, and their names with them.
var labs atomic.Int32

// Mark is one of this process that no other lab has.
func Mark() string { return fmt.Sprintf("st%d%c", os.Getpid(), 'a'+labs.Add(1)%26) }

// New makes an empty lab. All names of it begin with mark, of at most 10
// letters and digits; base is the address of the network, 10.213.7.0, and must
// end in 0.
func New(mark, base string) (*Lab, error) {
	if len(mark) > 10 {
		return nil, fmt.Errorf("make lab %s: a mark has at most 10 characters, for devices have 15", mark)
	}
	address, err := netip.ParseAddr(base)
	if err != nil || !address.Is4() || address.As4()[3] != 0 {
		return nil, fmt.Errorf("make lab %s: %s is not a network of 254 addresses", mark, base)
	}
	l := &Lab{mark: mark, base: address}
	err = ip(fmt.Sprintf("link add %s type bridge\naddr add %s/24 dev %s\nlink set %s up\n", mark, l.Gateway(), mark, mark))
	return l, err
}

// Gateway is the address of this side: the bridge's.
func (l *Lab) Gateway() string { return l.address(1) }

func (l *Lab) address(last int) string {
	four := l.base.As4()
	four[3] = byte(last)
	return netip.AddrFrom4(four).String()
}

// Next is the address that the next machine will have.
func (l *Lab) Next() string { return l.address(len(l.machines) + 2) }

// Add puts a machine on the bridge.
func (l *Lab) Add(name string) (*Machine, error) {
	n := len(l.machines) + 1
	if n > 253 {
		return nil, fmt.Errorf("add machine %s: the network of %s is full", name, l.mark)
	}
	m := &Machine{Name: name, Address: l.Next(), space: l.mark + "-" + name, port: fmt.Sprintf("%sv%d", l.mark, n)}
	if err := command("ip", "netns", "add", m.space); err != nil {
		return nil, err
	}
	l.machines = append(l.machines, m)
	err := ip(fmt.Sprintf("link add %s type veth peer name eth0 netns %s\nlink set %s master %s up\n", m.port, m.space, m.port, l.mark))
	if err != nil {
		return m, err
	}
	return m, ip(fmt.Sprintf("addr add %s/24 dev eth0\nlink set eth0 up\nlink set lo up\n", m.Address), "-n", m.space)
}

// Remove ends everything that runs in the machines and takes them away.
func (l *Lab) Remove() error { return Clear(l.mark) }

// ip runs ip(8) with a batch of its commands.
func ip(batch string, args ...string) error {
	cmd := exec.Command("ip", append(args, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(batch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s\n%s", err, bytes.TrimSpace(out), batch)
	}
	return nil
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), errors.Join(err, errors.New(string(bytes.TrimSpace(out)))))
	}
	return nil
}
