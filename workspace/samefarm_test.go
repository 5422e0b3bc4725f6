package workspace

import (
	"reflect"
	"testing"

	"stowage/farm"
)

// fullFarm has something in every field.
func fullFarm() *farm.Farm {
	side := farm.Side{Host: "h", Port: 1, Datadir: "d", Config: "c"}
	return &farm.Farm{
		Name: "f", NextServerID: 1, Accounts: "a", Routing: farm.Routing{Kind: farm.RoutingSQL, Address: "a:1", Database: "d"}, Due: farm.Due{Sizes: 1, Sources: 1, Load: 1, Window: 1, KeepHours: 1, KeepDays: 1},
		Backup: farm.Backup{Dir: "/b", Zstd: 1, Restic: "r", PasswordFile: "/p", EnvFile: "/e", Host: "h", Full: 1, Incremental: 1, Binlogs: 1, Verify: 1, Keep: farm.Keep{Last: 1, Daily: 1, Weekly: 1, Monthly: 1, Yearly: 1, Within: 1}}, Agents: farm.Agents{Engine: "127.0.0.1:1", Certificates: "c", Hosts: []farm.HostName{"h"}},
		HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{"disk": 1}, MaxInstances: 1, Watts: 1, Price: 1, Options: []farm.HostOption{{Name: "innodb_io_capacity", Value: "1"}}}},
		Profiles:  []farm.Profile{{Name: "p", Hours: [24]float64{1}}},
		Hosts:     []farm.Host{{Name: "h", Type: "t", Address: "a", Dir: "d", Labels: map[string]string{"a": "b"}, Reserved: farm.Resources{"disk": 1}}},
		Pairs: []farm.Pair{{
			Name: "p", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: side},
			Shards: []farm.Shard{{Name: "s", Needs: farm.Resources{"disk": 1}, Growth: 1, Profile: "p", Customer: "c"}},
		}},
	}
}

// Whatever is added to a farm must be compared, and so be written: what
// readsBackAs does not see may be lost by an edit.
func TestSameFarmSeesEveryField(t *testing.T) {
	if !sameFarm(fullFarm(), fullFarm()) {
		t.Fatal("a farm is not the same as itself")
	}
	parts := map[string]func(*farm.Farm) reflect.Value{
		"farm":      func(f *farm.Farm) reflect.Value { return reflect.ValueOf(f).Elem() },
		"host type": func(f *farm.Farm) reflect.Value { return reflect.ValueOf(&f.HostTypes[0]).Elem() },
		"profile":   func(f *farm.Farm) reflect.Value { return reflect.ValueOf(&f.Profiles[0]).Elem() },
		"host":      func(f *farm.Farm) reflect.Value { return reflect.ValueOf(&f.Hosts[0]).Elem() },
		"pair":      func(f *farm.Farm) reflect.Value { return reflect.ValueOf(&f.Pairs[0]).Elem() },
		"shard":     func(f *farm.Farm) reflect.Value { return reflect.ValueOf(&f.Pairs[0].Shards[0]).Elem() },
	}
	for name, part := range parts {
		fields := part(fullFarm()).NumField()
		for i := range fields {
			f := fullFarm()
			field := part(f).Field(i)
			if field.IsZero() {
				t.Errorf("%s of a %s is empty: give it something in fullFarm", part(f).Type().Field(i).Name, name)
			}
			field.SetZero()
			if sameFarm(f, fullFarm()) {
				t.Errorf("a %s without %s is taken for one with it", name, part(f).Type().Field(i).Name)
			}
		}
	}
}
