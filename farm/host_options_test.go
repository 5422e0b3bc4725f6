package farm_test

import (
	"fmt"
	"strings"
	"testing"

	"stowage/farm"
)

func dense(options ...farm.HostOption) *farm.Farm {
	return &farm.Farm{Name: "f", HostTypes: []farm.HostType{{Name: "dense", Capacity: farm.Resources{farm.CPU: 32, farm.Memory: 512 << 30, farm.IOPS: 70000}, Options: options}},
		Hosts: []farm.Host{{Name: "ssd01", Type: "dense", Address: "10.0.0.1", Reserved: farm.Resources{farm.Memory: 12 << 30}}}}
}

// Shares are of what the host has, less what is reserved, divided by its instances.
func TestSharesAreDividedByTheInstances(t *testing.T) {
	f := dense(farm.HostOption{Name: "innodb_buffer_pool_size", Share: 0.8}, farm.HostOption{Name: "innodb_io_capacity", Share: 0.5}, farm.HostOption{Name: "innodb_read_io_threads", Share: 0.1},
		farm.HostOption{Name: "innodb_flush_neighbors", Value: "0"})
	for n, want := range map[int]string{
		1: "map[innodb_buffer_pool_size:409600M innodb_flush_neighbors:0 innodb_io_capacity:35000 innodb_read_io_threads:3]",
		4: "map[innodb_buffer_pool_size:102400M innodb_flush_neighbors:0 innodb_io_capacity:8750 innodb_read_io_threads:1]",
		7: "map[innodb_buffer_pool_size:58514M innodb_flush_neighbors:0 innodb_io_capacity:5000 innodb_read_io_threads:1]",
	} {
		if got := fmt.Sprint(f.OptionsOn("ssd01", n)); got != want {
			t.Errorf("%d instances: %s, want %s", n, got, want)
		}
	}
	if problems := f.Check(); len(problems) > 0 {
		t.Error(problems)
	}
	for n := 1; n < 60; n++ { // rounded down: never more than there is
		if over := f.Overfilled(map[farm.HostName]int{"ssd01": n}); len(over) > 0 {
			t.Errorf("%d instances: %v", n, over)
		}
	}
}

func TestSizesLimitTheInstancesOfAHost(t *testing.T) {
	f := dense(farm.HostOption{Name: "innodb_buffer_pool_size", Value: "96G"}, farm.HostOption{Name: "key_buffer_size", Share: 0.1})
	kind := f.HostTypes[0]
	if got := kind.Most(nil); got != 4 { // 460.8 GiB of 96 each
		t.Errorf("at most %d instances, want 4", got)
	}
	kind.MaxInstances = 3
	if got := kind.Most(nil); got != 3 {
		t.Errorf("max_instances is 3, and %d may be there", got)
	}
	over := f.Overfilled(map[farm.HostName]int{"ssd01": 6, "gone": 9})
	if len(over) != 1 || !strings.Contains(over["ssd01"], "6 instances with innodb_buffer_pool_size = 96G, key_buffer_size = ") {
		t.Errorf("%v", over)
	}
}

// What Most allows is never said to be too much, and one more always is.
func TestMostLooksAtWhatIsReserved(t *testing.T) {
	fixed, share := farm.HostOption{Name: "innodb_buffer_pool_size", Value: "64G"}, farm.HostOption{Name: "key_buffer_size", Share: 0.9}
	for _, x := range []struct {
		options  []farm.HostOption
		reserved float64
		want     int
	}{
		{[]farm.HostOption{fixed}, 0, 8},
		{[]farm.HostOption{fixed}, 8 << 30, 7},
		{[]farm.HostOption{fixed}, 480 << 30, 0},
		{[]farm.HostOption{fixed}, 600 << 30, 0},
		{[]farm.HostOption{{Name: "innodb_buffer_pool_size", Value: "8G"}, share}, 32 << 30, 6},
		{[]farm.HostOption{{Name: "innodb_buffer_pool_size", Value: "8G"}, share}, 33 << 30, 5},
		{[]farm.HostOption{share}, 600 << 30, 0},
	} {
		f := dense(x.options...)
		f.Hosts[0].Reserved = farm.Resources{farm.Memory: x.reserved}
		kind := f.HostTypes[0]
		most := kind.Most(f.Hosts[0].Reserved)
		if none := kind.HoldsNone(f.Hosts[0].Reserved); most != x.want || none != (most == 0 && x.options[0].Value != "") {
			t.Errorf("%v with %v reserved: at most %d instances (none: %v), want %d", x.options, x.reserved, most, none, x.want)
		}
		if x.options[0].Value == "" {
			continue
		}
		if over := f.Overfilled(map[farm.HostName]int{"ssd01": most}); len(over) != 0 {
			t.Errorf("%d instances: %v", most, over)
		}
		if over := f.Overfilled(map[farm.HostName]int{"ssd01": most + 1}); len(over) != 1 {
			t.Errorf("%d instances fit", most+1)
		}
	}
}

func TestOptionsThatAHostTypeMustNotSet(t *testing.T) {
	for _, x := range []struct {
		option farm.HostOption
		want   string
	}{
		{farm.HostOption{Name: "server_id", Value: "7"}, "each instance has its own"},
		{farm.HostOption{Name: "replicate_do_db", Value: "x"}, "both sides of a pair must have the same"},
		{farm.HostOption{Name: "sync_binlog", Value: "0"}, "both sides of a pair must have the same"},
		{farm.HostOption{Name: "read_only", Value: "1"}, "a move sets it"},
		{farm.HostOption{Name: "innodb_buffer_pool_size", Value: "64GB"}, "write a size as the server reads it"},
		{farm.HostOption{Name: "innodb_buffer_pool_size", Value: "600G"}, "one instance of host type dense would have 600GiB"},
		{farm.HostOption{Name: "sort_buffer_size", Share: 0.1}, "Stowage does not know of what"},
	} {
		problems := dense(x.option).Check()
		if len(problems) != 1 || !strings.Contains(problems[0].Text, x.want) {
			t.Errorf("%s = %s: %v, want %q", x.option.Name, x.option, problems, x.want)
		}
	}
	both := dense(farm.HostOption{Name: "innodb_buffer_pool_size", Share: 0.7}, farm.HostOption{Name: "key_buffer_size", Share: 0.4})
	if problems := both.Check(); len(problems) != 1 || !strings.Contains(problems[0].Text, "more than all of it") {
		t.Errorf("70%% and 40%%: %v", problems)
	}
}

func TestSameOption(t *testing.T) {
	for _, same := range [][2]string{{"64M", "67108864"}, {"ON", "1"}, {"off", "0"}, {"O_DIRECT", "o_direct"}, {"true", "ON"}} {
		if !farm.SameOption(same[0], same[1]) {
			t.Errorf("%q and %q are said to differ", same[0], same[1])
		}
	}
	for _, differ := range [][2]string{{"64M", "64"}, {"ON", "OFF"}, {"1", "2"}, {"", "0"}} {
		if farm.SameOption(differ[0], differ[1]) {
			t.Errorf("%q and %q are said to be the same", differ[0], differ[1])
		}
	}
}
