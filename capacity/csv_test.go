package capacity

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
)

func twoHosts() *farm.Farm {
	return &farm.Farm{
		HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.Disk: 1000e9, farm.Memory: 100e9, farm.CPU: 8}, Watts: 200, Price: 10}},
		Hosts:     []farm.Host{{Name: "h1", Type: "t", Reserved: farm.Resources{farm.Memory: 10e9}}, {Name: "h2", Type: "t"}, {Name: "both", Type: "t"}},
		Pairs: []farm.Pair{{Name: "both", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1"}, farm.B: {Host: "h2"}},
			Shards: []farm.Shard{{Name: "s1", Needs: farm.Resources{farm.Disk: 300e9}, Growth: 1e9}, {Name: "s2", Needs: farm.Resources{farm.Disk: 100e9}}}}},
	}
}

func TestSeriesFromCSV(t *testing.T) {
	all, err := ReadCSV("x.csv", strings.NewReader("\ufeffresource,time,name,value,limit\ndisk,2026-11-22,h1,48GB,\ndisk,2026-11-23T10:00:00Z,h1,49e9,\ncpu,1795424148,pair:both,1.5,6\n"), twoHosts())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || len(all[0].Samples) != 2 || all[0].Samples[0].Value != 48e9 || all[0].Kind != OfHost || all[1].Kind != OfPair || *all[1].Limit != 6 {
		t.Errorf("%+v", all)
	}
}

func TestABadLineIsRefusedWithItsNumber(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "x.csv:1: ",
		"time,name,value\n": "the column resource is missing",
		"time,host\n":       `no column is called "host"`,
		"time,name,resource,value\nyesterday,h1,disk,1\n":                        `x.csv:2: `,
		"time,name,resource,value\n2026-01-01,h1,disk,1\n2026-01-02,h9,disk,1\n": `x.csv:3: `,
		"time,name,resource,value\n2026-01-01,both,disk,1\n":                     "write host:both",
		"time,name,resource,value\n2026-01-01,h1,disk,NaN\n":                     "cannot be NaN",
		"time,name,resource,value\n2026-01-01,h1,disk,10Gbit\n":                  "disk wants bytes",
		"time,name,resource,value\n2026-01-01,h1,disk\n":                         "x.csv:2: ",
		"time,name,resource,value\n2026-01-01,shard:h1,disk,1\n":                 `no shard "h1"`,
	} {
		if _, err := ReadCSV("x.csv", strings.NewReader(text), twoHosts()); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add("time,name,resource,value,limit\n2026-11-22,h1,disk,48GB,1TB\n")
	f.Add("time,name,resource,value\n\"2026\",h1,cpu,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadCSV("x", strings.NewReader(text), twoHosts())
		if err != nil && !errors.Is(err, farm.ErrInput) {
			t.Errorf("%v is no error of the input", err)
		}
		Assess(twoHosts(), all)
	})
}

func TestAssess(t *testing.T) {
	f := twoHosts()
	rows := Assess(f, nil)
	if len(rows) != 2 || rows[0].Days != nil || *rows[0].DeclaredDays != 600 || rows[0].Reason != "not measured" {
		t.Errorf("%+v", rows)
	}
	s := Of(f)
	if s.Hosts != 2 || s.Disk != 2000e9 || s.MemoryLeast != 90e9 || s.MemoryMost != 100e9 || s.Watts != 400 || s.DeclaredDays != 600 || s.WholeDays != 600 {
		t.Errorf("%+v", s)
	}
}

// An instance gets what its shards ask for, or its part of what the host has for all.
func TestMemoryOfInstances(t *testing.T) {
	for _, c := range []struct {
		asked []float64
		has   float64
		want  []float64
	}{
		{[]float64{10, 20}, 90, []float64{10, 20}},
		{[]float64{60, 120}, 90, []float64{30, 60}},
		{[]float64{0, 0}, 90, []float64{45, 45}},
		{[]float64{10, 20}, math.Inf(1), []float64{10, 20}},
		{[]float64{0}, math.Inf(1), []float64{0}},
	} {
		l := hostLoad{asked: c.asked, used: farm.Resources{}}
		for _, v := range c.asked {
			l.used[farm.Memory] += v
		}
		if got := l.memory(c.has); !slices.Equal(got, c.want) {
			t.Errorf("%v of %v: %v, not %v", c.asked, c.has, got, c.want)
		}
	}
}

// A pair has the room that its fuller host leaves it, whatever else lives there.
func TestAPairGrowsIntoTheRoomOfItsHosts(t *testing.T) {
	f := twoHosts()
	f.Pairs = append(f.Pairs, farm.Pair{Name: "p2", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h2"}},
		Shards: []farm.Shard{{Name: "s3", Needs: farm.Resources{farm.Disk: 500e9}}}})
	all, err := ReadCSV("x", strings.NewReader("time,name,resource,value\n2026-01-01,pair:both,disk,400e9\n"), f)
	if err != nil {
		t.Fatal(err)
	}
	rows := Assess(f, all)
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Kind == OfPair })
	if i < 0 || rows[i].Limit != 500e9 { // h2 has 900 of 1,000 GB in use
		t.Errorf("%+v", rows)
	}
}
