package host

import (
	"strings"
	"testing"
)

func TestFenceOptions(t *testing.T) {
	for _, text := range []string{
		"[mysqld]\ndatadir = /d\nread_only = OFF\n",
		"[mariadb]\ndatadir=/d\nevent-scheduler=ON\n# read_only = ON\n[client]\nuser = x\n",
		"!includedir /etc/mysql/conf.d\n[server]\ndatadir=/d\n",
	} {
		i := Instance{}
		fenced := FenceOptions(i, text)
		group := ServerGroup(text)
		for key, want := range map[string]string{"read_only": "ON", "event_scheduler": "OFF"} {
			if got, _ := Option(fenced, group, key); got != want {
				t.Errorf("%q fenced: %s is %q, want %q", text, key, got, want)
			}
		}
		if !IsFenced(i, fenced) || IsFenced(i, text) || FenceOptions(i, fenced) != fenced {
			t.Errorf("%q: it does not know what is fenced, or fences twice", text)
		}
		if got := UnfenceOptions(i, fenced); got != text {
			t.Errorf("taken out again:\n%q\nwas\n%q", got, text)
		}
		// The file's owner may add to it meanwhile.
		if got := UnfenceOptions(i, fenced+"[mysqld]\nport = 1\n"); got != text+"[mysqld]\nport = 1\n" {
			t.Errorf("what was added is gone: %q", got)
		}
	}
}

func TestLinkOptions(t *testing.T) {
	for _, text := range []string{"[mariadb]\ndatadir=/d\n", "[mysqld]\ndatadir = /d\n[client]\nuser = x"} {
		i := Instance{}
		one := LinkOptions(i, text, []string{"x.replicate_do_db = a", "x.replicate_do_table = a.t"})
		if got, _ := Option(one, ServerGroup(text), "x.replicate_do_db"); got != "a" {
			t.Errorf("%q: the filter is %q", one, got)
		}
		two := LinkOptions(i, one, []string{"x.replicate_do_db = b"})
		if got, _ := Option(two, ServerGroup(text), "x.replicate_do_db"); got != "b" || strings.Contains(two, "a.t") {
			t.Errorf("other filters in their place: %q", two)
		}
		both := FenceOptions(i, two)
		if got := LinkOptions(i, UnfenceOptions(i, both), nil); got != text {
			t.Errorf("taken out again:\n%q\nwas\n%q", got, text)
		}
		if got := UnfenceOptions(i, LinkOptions(i, both, nil)); got != text {
			t.Errorf("taken out in the other order:\n%q\nwas\n%q", got, text)
		}
	}
}

// TestFenceOfOneFencesItsNeighbourToo: servers that start with one file are
// fenced one by one, in whatever order, and the file comes back byte for byte.
func TestFenceOfOneFencesItsNeighbourToo(t *testing.T) {
	one, ten := Instance{GroupSuffix: "1"}, Instance{GroupSuffix: "10"}
	for _, text := range []string{
		"[mysqld]\nsync_binlog = 1\n[mysqld1]\ndatadir = /1\n[mysqld10]\ndatadir = /10\n",
		"[mysqld1]\ndatadir = /1\n[mysqld10]\ndatadir = /10", // its last line has no end
		"[mysqld1]\r\ndatadir = /1\r\n",
		"",
	} {
		a := FenceOptions(one, text)
		for _, group := range []string{"mysqld", "mysqld10", "mariadbd"} {
			if v, ok := Option(a, group, "read_only"); ok {
				t.Errorf("%q: [%s] has read_only %s, which another server reads", a, group, v)
			}
		}
		if v, _ := Option(a, "mysqld1", "read_only"); v != "ON" {
			t.Errorf("%q: [mysqld1] has read_only %q", a, v)
		}
		both := FenceOptions(ten, a)
		if !IsFenced(one, both) || !IsFenced(ten, both) {
			t.Errorf("%q: not both are fenced", both)
		}
		if got := UnfenceOptions(ten, both); got != a {
			t.Errorf("the second taken out:\n%q\nwas\n%q", got, a)
		}
		left := UnfenceOptions(one, both)
		if v, _ := Option(left, "mysqld10", "read_only"); v != "ON" || IsFenced(one, left) {
			t.Errorf("the first taken out, left is %q", left)
		}
		if got := UnfenceOptions(ten, left); got != text {
			t.Errorf("both taken out:\n%q\nwas\n%q", got, text)
		}
	}
}

func TestDomainOptions(t *testing.T) {
	for _, text := range []string{"", "[mysqld]\nserver_id = 3\ngtid_domain_id = 0", "[client]\nuser = a\n\n[mariadbd]\ndatadir = /d\n# the end\n"} {
		one := DomainOptions(Instance{}, text, []string{"gtid_domain_id = 7", "slave_parallel_threads = 0"})
		if v, ok := Option(one, ServerGroup(one), "gtid_domain_id"); !ok || v != "7" {
			t.Errorf("gtid_domain_id is %q in\n%s", v, one)
		}
		two := DomainOptions(Instance{}, one, []string{"gtid_domain_id = 7", "gtid_strict_mode = ON"})
		if _, ok := Option(two, ServerGroup(two), "slave_parallel_threads"); ok || strings.Count(two, domainBegins) != 1 {
			t.Errorf("the earlier lines are left:\n%s", two)
		}
		if got := DomainOptions(Instance{}, FenceOptions(Instance{}, two), nil); UnfenceOptions(Instance{}, got) != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
}

// A replica that takes writes for a while starts with that, whatever its file says; fences and these lines come and go in any order, and the file is its owner's
// again, byte for byte.
func TestServeOptions(t *testing.T) {
	for _, text := range []string{"", "[mysqld]\nread_only = ON\n", "[mysqld]\nread_only=1", "# no end\n[mysqld]\nx=1\n!includedir /etc/mysql/conf.d/", "[mysqld]\r\nread_only=ON\r\n"} {
		for _, i := range []Instance{{Name: "p1b"}, {Name: "p1b", GroupSuffix: "7"}} {
			serving := ServeOptions(i, text)
			if v, _ := Option(serving, i.Group(text), "read_only"); v != "OFF" || ServeOptions(i, serving) != serving {
				t.Errorf("%q: read_only is %q in\n%s", text, v, serving)
			}
			if got := UnserveOptions(i, serving); got != text {
				t.Errorf("%q came back as %q", text, got)
			}
			fenced := FenceOptions(i, UnserveOptions(i, serving))
			if got := UnserveOptions(i, UnfenceOptions(i, ServeOptions(i, fenced))); got != text {
				t.Errorf("%q: fenced, served and free again: %q", text, got)
			}
			if got := UnfenceOptions(i, UnserveOptions(i, ServeOptions(i, fenced))); got != text {
				t.Errorf("%q: fenced, served and free again, in the other order: %q", text, got)
			}
		}
	}
}
