package farm

import "time"

// Due says how often what comes back is done: see `stowage due`. A zero interval is the default, a negative one is off.
type Due struct {
	Sizes   time.Duration // take an inventory
	Sources time.Duration // compare the sources with each other
	Load    time.Duration // read what servers are asked
	Hosts   time.Duration // read what hosts use
	Reshape time.Duration // compare tenants that are migrated
	Window  time.Duration // for how long load and hosts are read
	// How long series are kept: by the hour, and by the day.
	KeepHours, KeepDays time.Duration
}

// DueDefaults are what holds for what farm.yaml does not say.
var DueDefaults = Due{
	Sizes: 24 * time.Hour, Sources: 24 * time.Hour, Load: time.Hour, Hosts: time.Hour, Reshape: time.Hour, Window: time.Minute,
	KeepHours: 14 * 24 * time.Hour, KeepDays: 400 * 24 * time.Hour,
}

// Filled has the default for each value that is not said.
func (d Due) Filled() Due {
	for _, x := range []struct {
		is  *time.Duration
		def time.Duration
	}{
		{&d.Sizes, DueDefaults.Sizes}, {&d.Sources, DueDefaults.Sources}, {&d.Load, DueDefaults.Load}, {&d.Hosts, DueDefaults.Hosts}, {&d.Reshape, DueDefaults.Reshape}, {&d.Window, DueDefaults.Window},
		{&d.KeepHours, DueDefaults.KeepHours}, {&d.KeepDays, DueDefaults.KeepDays},
	} {
		if *x.is == 0 {
			*x.is = x.def
		}
	}
	return d
}

func (c *checker) due() {
	if c.farm.Due == (Due{}) {
		return
	}
	d := c.farm.Due.Filled()
	for _, every := range []time.Duration{d.Load, d.Hosts} {
		if every > 0 && d.Window > every/2 {
			c.say("due.window", "window of due is %s, more than half of the %s from one to the next", d.Window, every)
			return
		}
	}
}
