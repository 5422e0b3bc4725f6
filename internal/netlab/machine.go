package netlab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// spaces is where ip(8) keeps the names of network namespaces.
const spaces = "/run/netns"

// Machine is one of a Lab.
type Machine struct {
	Name    string
	Address string
	space   string // its namespace
	port    string // its end of the line at the bridge
}

// Do runs f inside the machine: what f starts lives there, and what it dials
// is dialled from there. That holds for f's own goroutine only.
func (m *Machine) Do(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, and nobody else gets it
		space, err := os.Open(filepath.Join(spaces, m.space))
		if err == nil {
			err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET)
			space.Close()
		}
		if err != nil {
			done <- fmt.Errorf("enter machine %s: %w", m.Name, err)
			return
		}
		done <- f()
	}()
	return <-done
}

// Cut takes the machine off the network: what is sent either way vanishes.
func (m *Machine) Cut() error { return command("ip", "link", "set", m.port, "down") }

// Heal puts it back.
func (m *Machine) Heal() error { return command("ip", "link", "set", m.port, "up") }

// Slow holds what the machine sends to a rate, as tc(8) writes it: 20mbit.
func (m *Machine) Slow(rate string) error {
	return command("tc", "-n", m.space, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "400ms")
}

// Hurry ends Slow.
func (m *Machine) Hurry() error {
	return command("tc", "-n", m.space, "qdisc", "del", "dev", "eth0", "root")
}
