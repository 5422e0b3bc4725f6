package farm

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Agents says which hosts are reached through an agent of their own, and how.
// The zero value: none, this machine plays every host.
type Agents struct {
	// Engine is where the engine listens and agents dial it, host:port.
	Engine string
	// Certificates is the directory of the farm's certificates, relative to
	// the workspace; "" is DefaultCertificates.
	Certificates string
	// Hosts have agents; none named means all.
	Hosts []HostName
}

// DefaultCertificates is where certificates are kept, in the workspace.
const DefaultCertificates = ".stowage/certificates"

// Used reports whether any host has an agent.
func (a Agents) Used() bool { return a.Engine != "" }

// On reports whether a host is reached through an agent.
func (a Agents) On(h HostName) bool {
	return a.Used() && (len(a.Hosts) == 0 || slices.Contains(a.Hosts, h))
}

// Dir is where certificates are kept, relative to the workspace.
func (a Agents) Dir() string {
	if a.Certificates == "" {
		return DefaultCertificates
	}
	return a.Certificates
}

// Same reports whether both say the same.
func (a Agents) Same(b Agents) bool {
	return a.Engine == b.Engine && a.Certificates == b.Certificates && slices.Equal(a.Hosts, b.Hosts)
}

func (c *checker) agents() {
	a := c.farm.Agents
	if !a.Used() {
		if a.Certificates != "" || len(a.Hosts) > 0 {
			c.say("agents", "agents has no engine: the host:port where the engine listens and agents dial it")
		}
		return
	}
	host, port, err := net.SplitHostPort(a.Engine)
	if n, numErr := strconv.Atoi(port); err != nil || numErr != nil || n < 1 || n > 65535 || net.ParseIP(host) == nil {
		c.say("agents.engine", "engine of agents is %q: it is an IP address of this machine and a port, like 10.0.0.5:7233", a.Engine)
	}
	for i, h := range a.Hosts {
		if _, ok := c.farm.Host(h); !ok {
			c.say(fmt.Sprintf("agents.hosts[%d]", i), "agents names %s, which is not a host", h)
		}
	}
}
