package farmtest

import (
	"stowage/host"
	"stowage/internal/netlab"
)

// Machine is where a server runs.
func (f *NetFarm) Machine(i host.Instance) *netlab.Machine {
	for _, m := range f.Hosts {
		if m.Address == i.Address {
			return m
		}
	}
	panic("no machine has the address " + i.Address)
}
