package farm

import (
	"fmt"
	"math"
)

// ProfileName names a shape of the day: office, night, batch.
type ProfileName string

// CustomerName names who owns a shard: the unit in which people speak of an
// outage.
type CustomerName string

// hoursOfDay is the length of a profile.
const hoursOfDay = 24

// Profile is how much of its peak a shard uses in each hour of the day, so
// that peaks which do not coincide need not be added up.
//
// Hours[h] is the share, from 0 to 1, used from h:00 to h:59 UTC: all hosts
// share one clock, whatever the time zones of the users are. It applies to
// rates (ResourceName.IsRate) only: disk and memory stay taken at night.
type Profile struct {
	Name  ProfileName
	Hours [hoursOfDay]float64
}

// IsRate says whether needs of this resource follow the profile of the day:
// cpu, iops and network do. Everything else is held as long as the instance
// runs, a farm's own resources included: nobody knows what those are.
func (r ResourceName) IsRate() bool { return r == CPU || r == IOPS || r == Network }

// Profile finds a profile by name. The empty name is the profile of a shard
// that has none: its peak in every hour.
func (f *Farm) Profile(n ProfileName) (Profile, bool) {
	if n == "" {
		return flat(), true
	}
	for _, p := range f.Profiles {
		if p.Name == n {
			return p, true
		}
	}
	return Profile{}, false
}

func flat() Profile {
	var p Profile
	for h := range p.Hours {
		p.Hours[h] = 1
	}
	return p
}

// After is what the shard needs after so many days: its disk grown by Growth a
// day. It is never below Needs: a plan does not count on data going away.
// The result shares nothing with the shard.
func (s Shard) After(days float64) Resources {
	after := make(Resources, len(s.Needs)+1)
	after.Add(s.Needs)
	if grown := s.Growth * days; grown > 0 {
		after[Disk] += grown
	}
	return after
}

// profiles checks the shapes and returns their names.
func (c *checker) profiles() map[ProfileName]bool {
	known := map[ProfileName]bool{}
	for _, p := range c.farm.Profiles {
		at := "profiles." + string(p.Name)
		c.name(at, "profile", string(p.Name))
		if known[p.Name] {
			c.say(at, "profile %s is there twice", p.Name)
		}
		known[p.Name] = true
		used := 0.0
		for h, v := range p.Hours {
			if math.IsNaN(v) || v < 0 || v > 1 {
				c.say(fmt.Sprintf("%s[%d]", at, h), "profile %s uses %v of its peak at %d:00: it must be from 0 to 1", p.Name, v, h)
			}
			used = max(used, v)
		}
		if used == 0 {
			c.say(at, "profile %s uses nothing all day: at least one hour must be above 0", p.Name)
		}
	}
	return known
}
