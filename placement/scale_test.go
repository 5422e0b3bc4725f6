package placement_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// generated is a farm of k times the shape of Etsy's in 2016, as gen_farm.py
// makes them, and goals to pack it onto one of its host types.
func generated(t *testing.T, k, seed int) (*farm.Farm, placement.Goals) {
	t.Helper()
	script := "../../shared/conformance/plan/gen_farm.py"
	if folder := os.Getenv("CONFORMANCE"); folder != "" {
		script = filepath.Join(folder, "gen_farm.py")
	}
	if _, err := os.Stat(script); err != nil {
		t.Skip("NOT TESTED: the generator of farms is not here: ", err)
	}
	out := filepath.Join(t.TempDir(), "farm.csv")
	if said, err := exec.Command("/usr/bin/python3", script, strconv.Itoa(k), strconv.Itoa(seed), out).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: python3 with numpy does not run the generator: %v: %s", err, said)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	f := &farm.Farm{
		Name: "generated", NextServerID: 1_000_000,
		HostTypes: []farm.HostType{
			{Name: "old", Capacity: farm.Resources{farm.Disk: 4e12}, Watts: 200, Price: 4000},
			{Name: "ssd7.7", Capacity: farm.Resources{farm.Disk: 7680e9, farm.Memory: 512e9, farm.CPU: 56, farm.IOPS: 300e3, farm.Network: 20e9}, Watts: 450, Price: 14000, MaxInstances: 6},
		},
	}
	byPair := map[string]int{}
	for _, row := range rows[1:] {
		at, known := byPair[row[1]]
		if !known {
			at = len(f.Pairs)
			byPair[row[1]] = at
			p := farm.Pair{Name: farm.PairName(fmt.Sprintf("db%05d", at+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
			for n, side := range farm.SideNames {
				h := farm.Host{Name: farm.HostName(fmt.Sprintf("old%05d", 2*at+n+1)), Type: "old", Address: fmt.Sprintf("10.%d.%d.%d", n, at/250, at%250)}
				f.Hosts = append(f.Hosts, h)
				p.Sides[side] = farm.Side{Host: h.Name, Port: 3306, Datadir: "/var/lib/mysql"}
			}
			f.Pairs = append(f.Pairs, p)
		}
		v := make([]float64, len(row))
		for n := 2; n < len(row); n++ {
			if v[n], err = strconv.ParseFloat(row[n], 64); err != nil {
				t.Fatal(err)
			}
		}
		f.Pairs[at].Shards = append(f.Pairs[at].Shards, farm.Shard{
			Name:   farm.ShardName("shard" + row[0]),
			Needs:  farm.Resources{farm.Disk: v[2] * 1e9, farm.Memory: v[3] * 1e9, farm.CPU: v[4], farm.IOPS: v[5], farm.Network: v[6] * 1e6},
			Growth: v[2] * 1e9 * v[7] / 365,
		})
	}
	g := placement.Defaults()
	g.Onto = []farm.HostTypeName{"ssd7.7"}
	g.Headroom = map[farm.ResourceName]float64{farm.Disk: .15, farm.Memory: .16, farm.CPU: .4, farm.IOPS: .4, farm.Network: .4}
	g.RunwayDays = 365
	g.Overhead = farm.Resources{farm.Disk: 5e9, farm.Memory: 1.5e9, farm.CPU: .1, farm.IOPS: 20, farm.Network: 5e6}
	g.Buy = []placement.Purchase{{Type: "ssd7.7", Most: 32 * k}}
	return f, g
}

// scales are how large the farms of this run are: 1 stands for 120 servers, and
// K asks for one size.
func scales(t *testing.T) []int {
	t.Helper()
	if k, err := strconv.Atoi(os.Getenv("K")); err == nil {
		return []int{k}
	}
	if testing.Short() {
		return []int{1}
	}
	return []int{1, 10}
}

// mostHosts is what a plan may use, on both sides, by scale and unit: what the
// research note found with other solvers, or proved. The farms are those of
// seed 20160101.
var mostHosts = map[int]map[placement.Unit]int{
	1:   {placement.UnitInstance: 28, placement.UnitShard: 28},
	10:  {placement.UnitInstance: 2 * 138, placement.UnitShard: 2 * 135},
	100: {placement.UnitInstance: 2 * 1376, placement.UnitShard: 2 * 1354},
}

func TestScale(t *testing.T) {
	for _, k := range scales(t) {
		f, g := generated(t, k, 20160101)
		for _, unit := range []placement.Unit{placement.UnitInstance, placement.UnitShard} {
			goals := g
			if goals.Unit = unit; unit == placement.UnitShard {
				goals.Overhead = nil
			}
			from := time.Now()
			p, err := placement.Solve(f, goals)
			if err != nil {
				t.Fatal(err)
			}
			solved := time.Since(from)
			findings := check.Plan(f, p)
			t.Logf("k %d, %s: %d hosts, bound %d (%s), %d moves in %d waves and %.0f h; solved in %.1f s, checked in %.1f s",
				k, unit, p.HostsUsed, p.LowerBound, p.BoundMethod, len(p.Moves), p.Waves(), p.MoveSeconds/3600, solved.Seconds(), (time.Since(from) - solved).Seconds())
			if most := mostHosts[k][unit]; most > 0 && p.HostsUsed > most {
				t.Errorf("k %d, %s: %d hosts, at most %d are expected", k, unit, p.HostsUsed, most)
			}
			for n, finding := range findings {
				if n < 3 {
					t.Error(finding)
				}
			}
		}
	}
}
