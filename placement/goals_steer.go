package placement

import (
	"fmt"
	"strings"
	"time"
)

// Budgets are how much of the farm moves may use at once, for as long as
// clients do not notice.
type Budgets struct {
	// StreamsPerHost, PerRack and PerNetwork are how many sides may be on
	// their way to one host, or to hosts with one value of the labels rack and
	// network; 0: two a host, no limit.
	StreamsPerHost    int `json:"streams_per_host,omitempty"`
	StreamsPerRack    int `json:"streams_per_rack,omitempty"`
	StreamsPerNetwork int `json:"streams_per_network,omitempty"`
	// DiskWrite is what copies may write on one host, bytes a second; 0: no
	// limit.
	DiskWrite float64 `json:"disk_write,omitempty"`
	// Lag is how far anything in rotation may fall behind before copies are
	// slowed down; 0: 5 s.
	Lag time.Duration `json:"lag_ns,omitempty"`
	// HostsOut, PerRack and PerPower are how many hosts `stowage roll` may have out
	// at once, in all and with one value of the labels rack and power; 0: one host,
	// no limit.
	HostsOut         int `json:"hosts_out,omitempty"`
	HostsOutPerRack  int `json:"hosts_out_per_rack,omitempty"`
	HostsOutPerPower int `json:"hosts_out_per_power,omitempty"`
}

func (c *goalCheck) steering() {
	b := c.goals.Budgets
	for _, n := range []struct {
		key string
		v   int
	}{{"streams_per_host", b.StreamsPerHost}, {"streams_per_rack", b.StreamsPerRack}, {"streams_per_network", b.StreamsPerNetwork},
		{"hosts_out", b.HostsOut}, {"hosts_out_per_rack", b.HostsOutPerRack}, {"hosts_out_per_power", b.HostsOutPerPower}} {
		if n.v < 0 {
			c.say("budgets."+n.key, "%s is %d: it must be 1 or more, or left out", n.key, n.v)
		}
	}
	c.amount("budgets.disk_write", "disk_write", b.DiskWrite)
	if b.Lag < 0 {
		c.say("budgets.lag", "lag is %s: it must not be negative", b.Lag)
	}
	if a := c.goals.AfterFailure; a != "" && a != GoOnAfterFailure && a != StopAfterFailure {
		c.say("after_failure", "after_failure is %q; it is go-on or stop", a)
	}
	for i, w := range c.goals.Windows {
		if err := w.Check(); err != nil {
			c.say(fmt.Sprintf("windows[%d]", i), "window number %d: %v", i+1, err)
		}
	}
	for _, step := range c.goals.ApproveBefore {
		if step == "" || strings.HasPrefix(step, "before-") {
			c.say("approve_before", "%q is not the name of a step: write out or retire", step)
		}
	}
}

// Ramp is how much worse than on its twin the clients of a side that comes back may be served; see swing.Limits. What is zero has the
// default there.
type Ramp struct {
	Latency    float64       `json:"latency,omitempty"` // times as long as on the twin
	Floor      time.Duration `json:"floor_ns,omitempty"`
	Errors     float64       `json:"errors,omitempty"` // 0 to 1
	Statements int           `json:"statements,omitempty"`
	Longest    time.Duration `json:"longest_ns,omitempty"`
}
