package claims

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var testDay = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// story reads lines of a small story: "source: kind name attribute = value".
// Source names that begin with "live" are servers.
func story(t *testing.T, change func(*Source), lines ...string) (*Set, Rules) {
	t.Helper()
	set, numbers := new(Set), map[string]int{}
	for i, line := range lines {
		name, rest, ok := strings.Cut(line, ": ")
		words, value, _ := strings.Cut(rest, " = ")
		fields := strings.Fields(words)
		if !ok || len(fields) < 2 {
			t.Fatalf("line %q", line)
		}
		if _, known := numbers[name]; !known {
			src := Source{Name: name, Kind: "test", Where: name, At: testDay, IsLive: strings.HasPrefix(name, "live")}
			if change != nil {
				change(&src)
			}
			numbers[name], _ = set.AddSource(src)
		}
		c := Claim{Subject: Subject{Kind(fields[0]), fields[1]}, Value: value, Place: Place{name, i + 1}}
		if len(fields) > 2 {
			c.Attribute = fields[2]
		}
		c.Unknown = value == "{{ x }}"
		set.Add(numbers[name], c)
	}
	return set, Rules{}
}

// brief is a report in a line a conflict.
func brief(r Report) string {
	var out []string
	for _, c := range r.Conflicts {
		sure := ""
		if c.IsSure {
			sure = " surely"
		}
		out = append(out, fmt.Sprintf("%s %s %s.%s: %s%s %v", c.Check, c.Kind, c.Subject, c.Attribute, c.Verdict, sure, c.Culprits))
	}
	return strings.Join(out, "\n")
}

func TestStories(t *testing.T) {
	t.Parallel()
	stale := func(name string) func(*Source) {
		return func(s *Source) { s.IsStale = s.Name == name }
	}
	covers := func(names ...string) func(*Source) {
		return func(s *Source) {
			s.Covers = []Kind{}
			if slices.Contains(names, s.Name) {
				s.Covers = []Kind{Instance}
			}
		}
	}
	for _, test := range []struct {
		name   string
		change func(*Source)
		rules  Rules
		lines  []string
		want   string
	}{
		{name: "one place in many words", lines: []string{
			"a: host db1 address = 10.0.0.1", "a: instance x host = DB1", "a: instance x port = 3306",
			"b: host db1.example.com address = 10.0.0.1/24", "b: instance x address = 10.0.0.1", "c: instance x address = db1.example.com.:3306"}},
		{name: "one amount in many words", lines: []string{
			"a: host db1 memory = 96GB", "b: host db1 memory = 96 GiB", "c: host db1 memory = 96G", "d: host db1 cores = 16", "a: host db1 cores = 16.0"}},
		{name: "roles and releases", lines: []string{
			"a: instance x role = master", "b: instance x role = Primary", "a: instance x version = 10.11.6-MariaDB-log", "b: instance x version = MariaDB 10.11.6"}},
		{name: "a tie", lines: []string{"a: instance x host = db1", "b: instance x host = db2"}, want: "conflict instance x.host: tie []"},
		{name: "what is a template is no value", lines: []string{"a: instance x host = db1", "b: instance x host = {{ x }}"}},
		{name: "majority is no proof", lines: []string{"a: instance x server_id = 7", "b: instance x server_id = 7", "c: instance x server_id = 1"},
			want: "conflict instance x.server_id: stale or wrong [c]"},
		{name: "the server knows", lines: []string{"a: instance x server_id = 7", "b: instance x server_id = 7", "live: instance x server_id = 1"},
			want: "conflict instance x.server_id: wrong surely [a b]"},
		{name: "a server that is down has no vote and no fault", change: stale("live"), lines: []string{
			"a: instance x server_id = 7", "b: instance x server_id = 7", "live: instance x server_id = 1"}},
		{name: "a declared authority that is confirmed", rules: Rules{Authorities: map[string][]string{"instance.address": {"a"}}},
			lines: []string{"a: instance x host = db1", "b: instance x host = db1", "c: instance x host = db2"}, want: "conflict instance x.host: wrong surely [c]"},
		{name: "a declared authority alone with one other", rules: Rules{Authorities: map[string][]string{"host": {"a"}}},
			lines: []string{"a: instance x host = db1", "c: instance x host = db2"}, want: "conflict instance x.host: stale or wrong [c]"},
		{name: "a declared authority alone against two", rules: Rules{Authorities: map[string][]string{"*": {"a"}}},
			lines: []string{"a: instance x host = db1", "b: instance x host = db2", "c: instance x host = db2"}, want: "conflict instance x.host: stale or wrong []"},
		{name: "the second authority decides where the first is silent", rules: Rules{Authorities: map[string][]string{"instance.host": {"z", "b"}}},
			lines: []string{"a: instance x host = db1", "b: instance x host = db2", "c: instance x host = db2", "z: instance y host = db2", "a: instance y host = db2"}, want: "conflict instance x.host: wrong surely [a]"},
		{name: "a copy counts once", change: func(s *Source) {
			if s.Name == "b" || s.Name == "c" {
				s.CopyOf = "a"
			}
		}, lines: []string{"a: instance x server_id = 7", "b: instance x server_id = 7", "c: instance x server_id = 7", "d: instance x server_id = 1", "e: instance x server_id = 1"},
			want: "conflict instance x.server_id: stale or wrong [a]"},
		{name: "a copy that is not equal", change: func(s *Source) {
			if s.Name == "b" {
				s.CopyOf = "a"
			}
		}, lines: []string{"a: instance x server_id = 7", "b: instance x server_id = 1", "c: instance x server_id = 7"},
			want: "conflict instance x.server_id: wrong surely [b]"},
		{name: "a copy alone against its origin", change: func(s *Source) {
			if s.Name == "b" {
				s.CopyOf = "a"
			}
		}, rules: Rules{Authorities: map[string][]string{"*": {"a"}}}, lines: []string{"a: instance x host = db1", "b: instance x host = db2"}, want: "conflict instance x.host: wrong surely [b]"},
		{name: "an address that two have, and one has another, too", lines: []string{"a: instance x address = 10.0.0.1:3306", "b: instance x address = 10.0.0.2:3306", "a: instance y address = 10.0.0.2:3306",
			"a: instance x pair = p", "a: instance y pair = q", "a: pair p", "a: pair q", "a: shard s pair = q", "c: shard s address = 10.0.0.2:3306"}, want: "conflict instance x.address: tie []"},
		{name: "one source says both", lines: []string{"a: instance x host = db1", "a: instance x host = db2", "b: instance x host = db1"},
			want: "twice instance x.host: wrong surely [a]"},
		{name: "a reference that is misspelt", lines: []string{"a: host dbalpha address = 10.0.0.1", "a: instance x host = dbalpha", "b: instance x host = dbaplha"},
			want: "conflict instance x.host: wrong surely [b]"},
		{name: "what is not an address", lines: []string{"a: host x address = 10.0.0.77", "b: host x address = 10..00.77"}, want: "conflict host x.address: wrong surely [b]"},
		{name: "what is not a number", lines: []string{"a: instance x server_id = 1l18", "b: instance x server_id = 1118"}, want: "conflict instance x.server_id: wrong surely [a]"},
		{name: "the neighbour is no slip", lines: []string{"a: host db12 address = 10.0.0.12", "a: instance x host = db12", "b: instance x host = db13"},
			want: "conflict instance x.host: tie []"},
		{name: "missing", change: covers("a", "b", "c"), lines: []string{"a: instance x", "b: instance x", "c: instance y", "a: instance y", "b: instance y"},
			want: "missing instance x.listed: stale or wrong [c]"},
		{name: "unknown", change: covers("a", "b", "c"), lines: []string{"a: instance x", "b: instance x", "c: instance x", "c: instance new"},
			want: "unknown instance new.listed: stale or wrong [c]"},
		{name: "an instance that nobody lists", change: covers("a", "b"), lines: []string{"a: instance x", "b: instance x", "live: instance 10.0.0.9:3306 alive = yes", "live: instance 10.0.0.9:3306 server_id = 9"},
			want: "missing instance 10.0.0.9:3306.listed: wrong surely [a b]"},
		{name: "a server that does not let us in may be anybody's", change: covers("a", "b"), lines: []string{"a: instance x", "b: instance x", "live: instance 10.0.0.9:3306 alive = yes"}},
		{name: "a server that is silent proves nobody wrong", lines: []string{"a: instance x alive = yes", "live: instance x alive = no"}, want: "conflict instance x.alive: tie []"},
		{name: "nor where an authority is confirmed", rules: Rules{Authorities: map[string][]string{"instance.alive": {"live"}}},
			lines: []string{"a: instance x alive = yes", "b: instance x alive = no", "live: instance x alive = no"}, want: "conflict instance x.alive: wrong [a]"},
		{name: "a server that answers is surely alive", lines: []string{"a: instance x alive = no", "live: instance x alive = yes"}, want: "conflict instance x.alive: wrong surely [a]"},
		{name: "we asked, and nobody answered", change: covers("a", "b"), lines: []string{"a: instance x", "b: instance x", "live: instance 10.0.0.9:3306 alive = no"}},
		{name: "what was read in part lacks nothing", change: func(s *Source) {
			covers("a", "b", "c")(s)
			s.IsPart = s.Name == "c"
		}, lines: []string{"a: instance x", "b: instance x", "c: instance y", "a: instance y", "b: instance y"}},
		{name: "a name misspelt", change: covers("a", "b", "c"), lines: []string{"a: instance dbshard012", "b: instance dbshard012", "c: instance dbshrad012",
			"a: instance dbshard021", "b: instance dbshard021", "c: instance dbshard021"}, want: "name instance dbshard012.name: wrong surely [c]"},
		{name: "a host misspelt by one of two, and named by others", change: func(s *Source) {
			s.Covers = []Kind{}
			if s.Name == "a" || s.Name == "b" {
				s.Covers = []Kind{Host}
			}
		}, lines: []string{
			"a: host db075 address = 10.0.0.75", "b: host bd075 address = 10.0.0.75", "a: instance x host = db075", "c: instance x host = db075", "d: instance x address = 10.0.0.75"},
			want: "name host db075.name: wrong surely [b]"},
		{name: "of two names for an address the one that others use", change: covers(), lines: []string{
			"a: host db075 address = 10.0.0.75", "b: host bd075 address = 10.0.0.75", "a: instance x host = db075", "c: instance x host = db075", "d: instance x address = 10.0.0.75"}},
		{name: "a name of its own at a known address", change: covers("a", "b", "c"), lines: []string{"a: instance x1 address = 10.0.0.1", "b: instance x1 address = 10.0.0.1", "c: instance mysql-main address = 10.0.0.1"},
			want: "name instance x1.name: stale or wrong [c]"},
		{name: "two shards of one pair with names that are near", change: func(s *Source) { s.Covers = []Kind{Shard} }, lines: []string{"a: shard s1 pair = p", "b: shard s2 pair = p", "c: shard s1 pair = p"},
			want: "missing shard s1.listed: stale or wrong [b]\nunknown shard s2.listed: stale or wrong [b]"},
		{name: "exchanged", lines: []string{"a: instance x host = db1", "b: instance x host = db1", "c: instance x host = db2", "a: instance y host = db2", "b: instance y host = db2", "c: instance y host = db1"},
			want: "conflict instance x.host: stale or wrong [c]\nconflict instance y.host: stale or wrong [c]"},
		{name: "two at one address", lines: []string{"a: instance x address = 10.0.0.1:3306", "a: instance y address = 10.0.0.1:3306"},
			want: "address-unique instance x.host: wrong surely [a]"},
		{name: "one server id twice", lines: []string{"a: instance x server_id = 1", "b: instance y server_id = 1", "a: instance z server_id = 2", "a: instance w server_id = 3"},
			want: "server-id-unique instance x.server_id: wrong []"},
		{name: "ids 1 and 2 in each pair", lines: []string{"a: instance xa server_id = 1", "a: instance xa pair = x", "a: instance xb server_id = 2", "a: instance xb pair = x", "a: pair x", "a: pair y", "a: pair z",
			"a: instance ya server_id = 1", "a: instance ya pair = y", "a: instance yb server_id = 2", "a: instance yb pair = y", "a: instance za server_id = 1", "a: instance za pair = z"}},
		{name: "one domain of two writers", lines: []string{"a: pair x topology = active-active", "a: instance xa pair = x", "a: instance xb pair = x", "live: instance xa domain = 0", "live: instance xb domain = 0"},
			want: "gtid-domain-unique instance xa.domain: wrong []"},
		{name: "one domain of one writer", lines: []string{"a: pair x topology = primary-replica", "a: instance xa pair = x", "a: instance xb pair = x", "live: instance xa domain = 0", "live: instance xb domain = 0"}},
		{name: "a name that points nowhere", lines: []string{"a: host db1", "a: instance x host = db9"}, want: "points-nowhere instance x.host: wrong [a]"},
		{name: "a replica of somebody unknown", lines: []string{"a: instance x address = 10.0.0.1:3306", "live: instance x replicates_from = 10.0.0.7:3306"}, want: "points-nowhere instance x.replicates_from: wrong []"},
		{name: "a replica of a dead primary", lines: []string{"a: instance x address = 10.0.0.1:3306", "a: instance y address = 10.0.0.2:3306", "live: instance 10.0.0.2:3306 replicates_from = 10.0.0.1:3306", "live: instance 10.0.0.1:3306 alive = no"},
			want: "dead-primary instance y.replicates_from: wrong []"},
		{name: "a shard on servers of two pairs", lines: []string{"a: instance x address = 10.0.0.1:3306", "a: instance y address = 10.0.0.2:3306", "a: instance x pair = p", "a: instance y pair = q", "a: pair p", "a: pair q",
			"a: shard s pair = p", "b: shard s pair = r", "b: pair r", "live: shard s address = 10.0.0.1:3306", "live: shard s address = 10.0.0.2:3306"},
			want: "two-places shard s.pair: wrong surely [b]"},
		{name: "an address that leads nowhere", lines: []string{"a: instance x address = 10.0.0.1:3306", "a: instance x pair = p", "a: pair p", "b: shard s address = 10.0.0.5:3306"},
			want: "points-nowhere shard s.pair: wrong [b]"},
		{name: "errant transactions", lines: []string{"live: instance x errant = 0-7-12", "live: instance y errant = 0"}, want: "errant instance x.errant: wrong []"},
		{name: "no backup", lines: []string{"a: instance xa pair = x", "a: instance xb pair = x", "a: instance ya pair = y", "a: pair x", "a: pair y", "backups: instance xb backup = 2026-11-20"},
			want: "no-backup instance ya.backup: wrong []"},
		{name: "a wrong pair of one instance is one finding", lines: []string{
			"a: pair p", "a: pair q", "a: instance x pair = q", "a: instance x address = 10.0.0.1:3306",
			"b: shard s1 pair = p", "b: shard s2 pair = p", "c: shard s1 address = 10.0.0.1:3306", "c: shard s2 address = 10.0.0.1:3306"},
			want: "conflict instance x.pair: stale or wrong [a]"},
	} {
		set, _ := story(t, test.change, test.lines...)
		if got := brief(Reconcile(set, test.rules, testDay)); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// TestWrittenLastAndAlone: of equals the newer ones may know of a move.
func TestWrittenLastAndAlone(t *testing.T) {
	t.Parallel()
	set, _ := story(t, func(s *Source) {
		if s.Name == "c" {
			s.At = testDay.Add(48 * time.Hour)
		}
	}, "a: instance x host = db1", "b: instance x host = db1", "c: instance x host = db2")
	r := Reconcile(set, Rules{}, testDay)
	if got := brief(r); got != "conflict instance x.host: stale or wrong []" || !strings.Contains(r.Conflicts[0].Reason, "1 of 3 sources") {
		t.Errorf("got %s: %s", got, r.Conflicts[0].Reason)
	}
}

// TestSourcesThatAreWrongAlike count once, though nobody declared it.
func TestSourcesThatAreWrongAlike(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 5 {
		for _, s := range []string{"a", "b"} {
			lines = append(lines, fmt.Sprintf("%s: instance x%d version = 9.%d", s, i, i))
		}
		lines = append(lines, fmt.Sprintf("live: instance x%d version = 10.%d", i, i))
	}
	lines = append(lines, "a: instance y host = db1", "b: instance y host = db1", "c: instance y host = db2", "d: instance y host = db2", "a: instance z role = primary", "b: instance z role = primary", "c: instance z role = replica")
	set, _ := story(t, nil, lines...)
	r := Reconcile(set, Rules{}, testDay)
	if len(r.Copies) != 1 || r.Copies[0].Source != "b" || r.Copies[0].Of != "a" || r.Copies[0].Declared {
		t.Fatalf("copies %+v", r.Copies)
	}
	for _, want := range []string{"conflict instance y.host: stale or wrong [a b]", "conflict instance z.role: tie []"} {
		if !strings.Contains(brief(r), want) {
			t.Errorf("lacks %q in\n%s", want, brief(r))
		}
	}
}

func TestProposedAuthorities(t *testing.T) {
	t.Parallel()
	set, _ := story(t, nil, "a: instance x host = db1", "b: instance x host = db1", "c: instance x host = db1",
		"a: instance y host = db2", "b: instance y host = db2", "c: instance y host = db1", "b: instance z host = db3",
		"c: instance x server_id = 1", "live: instance x server_id = 1")
	r := Reconcile(set, Rules{Authorities: map[string][]string{"instance.server_id": {"c"}}}, testDay)
	got, err := json.Marshal(r.Authorities)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"attribute":"instance.host","sources":["b"],"declared":false,"evidence":"claims 3; of 2 that two others claim, too, it agrees with them in 1","claims":3,"checked":2,"agreed":1},` +
		`{"attribute":"instance.server_id","sources":["c"],"declared":true,"evidence":"claims 1; of 0 that two others claim, too, it agrees with them in 0","claims":1,"checked":0,"agreed":0}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if unknown := (Rules{Authorities: map[string][]string{"host": {"a", "nobody"}}}).Unknown(set.sources); !slices.Equal(unknown, []string{"nobody"}) {
		t.Errorf("unknown %v", unknown)
	}
}

// TestConflictAsJSON: programs read it by these names.
func TestConflictAsJSON(t *testing.T) {
	t.Parallel()
	set, _ := story(t, func(s *Source) { s.IsStale = s.Name == "d" }, "a: instance x address = 10.0.0.1:3306", "b: instance x address = 10.0.0.2:3306", "d: instance x address = 10.0.0.3:3306")
	raw, err := json.Marshal(Reconcile(set, Rules{}, testDay))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"stale":["d"]`, `"subject":"x","attribute":"address","claims":[{"value":"10.0.0.1:3306","source":"a","place":"a:1","at":"2026-11-20T12:00:00Z"}`, `"authority":"","verdict":"tie","culprits":[],"sure":false`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("lacks %s in %s", want, raw)
		}
	}
}

func TestSlips(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		a, b string
		want bool
	}{
		{"dbshard012", "dbshard013", false}, {"dbshard012", "dbshard021", true}, {"dbshard012", "dbshrad012", true}, {"dbshard012", "dbshard012", false},
		{"10.0.0.12", "10.0.0.1z", true}, {"10.0.0.12", "10.0.0.13", false}, {"db1", "db", false}, {"1118", "11e8", true}, {"", "", false}, {"a", strings.Repeat("a", 500), false},
	} {
		if got := isSlip(x.a, x.b); got != x.want || isSlip(x.b, x.a) != got {
			t.Errorf("isSlip(%q, %q) = %v", x.a, x.b, got)
		}
	}
}

// TestAddressesOfIPv6 are one, however they are written.
func TestAddressesOfIPv6(t *testing.T) {
	for _, same := range [][]string{
		{"fd00::2", "FD00:0::2", "fd00:0000:0:0::0002"},
		{"[fd00::2]:3306", "[FD00:0:0::2]:3306"},
		{"10.0.0.1", "::ffff:10.0.0.1"},
		{"10.0.0.1:3306", "[::ffff:10.0.0.1]:3306"},
	} {
		for _, other := range same {
			if got := plainName(other); got != same[0] {
				t.Errorf("%s is %s", other, got)
			}
		}
	}
	if host, port := splitSpot("[FD00:0::2]:3307"); host != "fd00::2" || port != "3307" {
		t.Error(host, port)
	}
	if host, port := splitSpot("FD00:0::2/64"); host != "fd00::2" || port != "3306" {
		t.Error(host, port)
	}
	for _, no := range []string{"a:b:c", "fd00::2::1", "x"} {
		if got := plainName(no); got != no {
			t.Errorf("%s is %s", no, got)
		}
	}
}
