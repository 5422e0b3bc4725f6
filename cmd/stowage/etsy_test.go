package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"stowage/internal/turns"

	"stowage/backup/window"
	"stowage/farm"
	"stowage/placement"
	"stowage/workspace"
)

const etsyDir = "../../examples/etsy-2016"

// etsyHead is what is above the hosts in the example's farm.yaml.
const etsyHead = `# The farm of 2016: 120 servers in 60 pairs, 960 logical shards. README.md tells the story.
#
# The hosts, pairs and shards below follow from a few formulas, so that every number can be checked by hand:
#   pair i (1 to 60)   its disks are 55 % + (7 i mod 31) % full: 55 % to 85 %
#   shard j of n       80 % to 120 % of the mean of its pair, in even steps
#   growth             (2 + i mod 4) hundredths of a percent of its size a day: 7 % to 18 % a year
#   memory             5.91 GB of buffer pool a shard: 130 GB for an instance of 22; cpu, iops and network alike for all
#   reserved           9 GB of the old servers' 96, so that 87 GB are left for the instance
# Prices, cores, IOPS and the memory of the old servers are assumptions; see README.md.
farm: etsy-2016
next_server_id: 1121
host_types:
  # 2.17 TiB and 1.09 TiB, which df prints as 2.2T and 1.1T
  platter-2.2: {cores: 16, memory: 96GB, disk: 2390GB, iops: 1800, network: 1Gbit, watts: 200, price: 4000}
  platter-1.1: {cores: 16, memory: 96GB, disk: 1195GB, iops: 1800, network: 1Gbit, watts: 200, price: 4000}
  # the servers that were bought
  dense: {cores: 56, memory: 512GB, disk: 14TB, iops: 300000, network: 20Gbit, watts: 267, price: 14000, max_instances: 6}
  # the same with one SSD of 7.68 TB, for the question whether that would have done
  dense-7.68: {cores: 56, memory: 512GB, disk: 7680GB, iops: 300000, network: 20Gbit, watts: 267, price: 12000, max_instances: 6}
`

// etsyFarm is the example's farm.yaml from its formulas.
func etsyFarm() string {
	var b strings.Builder
	b.WriteString(etsyHead)
	b.WriteString("hosts:\n")
	for h := range 120 {
		kind := "platter-2.2"
		if h >= 60 {
			kind = "platter-1.1"
		}
		fmt.Fprintf(&b, "  - {name: db%03d, type: %s, address: 10.0.0.%d, labels: {rack: r%02d, power: %s}, reserved: {memory: 9GB}}\n", h+1, kind, h+1, h%12+1, []string{"a", "b"}[h%2])
	}
	b.WriteString("pairs:\n")
	shard := 0
	for i := 1; i <= 60; i++ {
		n, disk := 22, 2390.0
		if i > 30 {
			n, disk = 10, 1195.0
		}
		fmt.Fprintf(&b, "  - name: dbshard%03d\n    topology: active-active\n    sides:\n", i)
		for s, side := range []string{"a", "b"} {
			dir := fmt.Sprintf("/var/lib/mysql/dbshard%03d%s", i, side)
			fmt.Fprintf(&b, "      %s: {host: db%03d, port: 3306, datadir: %s/data, config: %s/my.cnf}\n", strings.ToUpper(side), 2*i-1+s, dir, dir)
		}
		b.WriteString("    shards:\n")
		full := 0.55 + float64(7*i%31)/100
		for j := range n {
			shard++
			size := full * disk / float64(n) * (0.8 + 0.4*float64(j)/float64(n-1))
			grows := size * 1000 * float64(2+i%4) / 10000
			fmt.Fprintf(&b, "      - {name: etsy_shard_%03d, disk: %.1fGB, growth: %.0fMB/day, memory: 5.91GB, cpu: 0.3, iops: 55, network: 8Mbit}\n", shard, size, grows)
		}
	}
	return b.String()
}

// TestEtsyFarmFollowsFromItsFormulas: the committed file is what its head says.
// `go test ./cmd/stowage -run TestEtsyFarm -update` writes it again.
func TestEtsyFarmFollowsFromItsFormulas(t *testing.T) {
	path, want := filepath.Join(etsyDir, "farm.yaml"), etsyFarm()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what its head says; write it with -update and review", path)
	}
	if len(got) > 400_000 {
		t.Errorf("%s has %d bytes: more than a person can review", path, len(got))
	}
}

// etsyCopy is a workspace of its own with the example in it; old and new are
// replaced in goals.yaml.
func etsyCopy(t *testing.T, replacements ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"farm.yaml", "goals.yaml"} {
		raw, err := os.ReadFile(filepath.Join(etsyDir, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if name == "goals.yaml" {
			text = strings.NewReplacer(replacements...).Replace(text)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stowageIn runs the program in dir and returns what it printed.
func stowageIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), append([]string{"-C", dir}, args...), &out, &errOut, nil); code != exitFine {
		t.Fatalf("stowage %s: exit code %d\n%s", strings.Join(args, " "), code, errOut.String())
	}
	return out.String()
}

// TestEtsyIsPlannedBothWays: 30 hosts for instances and 28 for shards, proved,
// on the hosts of the story and on those with one SSD each.
func TestEtsyIsPlannedBothWays(t *testing.T) {
	for _, kind := range []string{"dense", "dense-7.68"} {
		dir := etsyCopy(t, "onto: [dense]", "onto: ["+kind+"]", "  dense: {most", "  "+kind+": {most")
		for _, want := range []struct {
			unit         string
			hosts, moves int
			watts        float64
		}{{"instance", 30, 120, 8010}, {"shard", 28, 1920, 7476}} {
			var p placement.Plan
			if err := json.Unmarshal([]byte(stowageIn(t, dir, "plan", "--unit", want.unit, "--json")), &p); err != nil {
				t.Fatal(err)
			}
			if p.HostsBefore != 120 || p.HostsUsed != want.hosts || p.LowerBound != want.hosts || p.Gap != 0 || len(p.Certificates) == 0 {
				t.Errorf("%s, %s: %d hosts, at least %d (%s), %d certificates; want %d, proved", kind, want.unit, p.HostsUsed, p.LowerBound, p.BoundMethod, len(p.Certificates), want.hosts)
			}
			if len(p.Moves) != want.moves || p.WattsBefore != 24000 || p.Watts != want.watts {
				t.Errorf("%s, %s: %d moves, %v to %v watts", kind, want.unit, len(p.Moves), p.WattsBefore, p.Watts)
			}
			fullest := 0.0
			for _, h := range p.Hosts {
				fullest = max(fullest, h.Use[farm.Disk]/0.85)
				if string(h.Type) != kind || want.unit == "instance" && h.Shards != 60 && h.Shards != 66 && kind == "dense" {
					t.Errorf("%s: %d shards on %s, a %s", kind, h.Shards, h.Name, h.Type)
				}
			}
			if kind == "dense" && fullest > 0.6 || kind == "dense-7.68" && fullest < 0.9 {
				t.Errorf("%s: the fullest disk is at %v of its limit", kind, fullest)
			}
		}
	}
}

// TestEtsyVolumeSays28: what the proof of 30 is better than, reckoned from the
// files without the solver.
func TestEtsyVolumeSays28(t *testing.T) {
	ws, err := workspace.Open(etsyCopy(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ws.Farm()
	if err != nil {
		t.Fatal(err)
	}
	g, err := ws.GoalsFor(f)
	if err != nil {
		t.Fatal(err)
	}
	sum, shards := farm.Resources{}, 0
	for _, p := range f.Pairs {
		shards += len(p.Shards)
		for range farm.SideNames {
			sum.Add(g.Overhead)
			for _, s := range p.Shards {
				sum.Add(g.Needs(s))
			}
		}
	}
	dense, _ := f.HostType("dense")
	most := 0.0
	for n, v := range sum {
		most = max(most, math.Ceil(v/(dense.Capacity[n]*(1-g.Headroom[n]))))
	}
	if most != 28 || shards != 960 || len(f.Pairs) != 60 || len(f.Hosts) != 120 {
		t.Errorf("volume fills %v hosts, %d shards, %d pairs, %d hosts", most, shards, len(f.Pairs), len(f.Hosts))
	}
}

// TestEtsyDocumentTellsTheStory: the figures of the story stand in both forms
// of the document.
func TestEtsyDocumentTellsTheStory(t *testing.T) {
	turns.OneOf(t, 0, 2)
	dir := etsyCopy(t)
	stowageIn(t, dir, "plan", "--name", "instances")
	stowageIn(t, dir, "plan", "show", "instances", "--html", "i.html", "--markdown", "i.md")
	text, err := os.ReadFile(filepath.Join(dir, "i.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "i.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Plan instances: 120 hosts would become 30\n", "**Proved optimal.** No plan for these goals uses fewer than 30 hosts",
		"| shards on a host | 10 or 22 | 60 or 66 | of 960 |", "| disk in all hosts | 215 TB | 420 TB |", "| watts | 24,000 | 8,010 |",
		"| before | platter-2.2 | 22 | 60 | 96 GB | 4.36 GB |", "| before | platter-1.1 | 10 | 60 | 96 GB | 9.6 GB |",
		"| after | dense | 66 | 20 | 512 GB | 7.76 GB |", "| after | dense | 60 | 10 | 512 GB | 8.53 GB |",
		"| 28 | a plan was found |", "The independent checker, which shares no code with the solver,", "It found nothing wrong.",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document does not say %q", want)
		}
	}
	for _, want := range []string{"120 hosts would become 30", "60 or 66", "215 TB", "420 TB", "24,000", "8,010", "7.76 GB", "8.53 GB"} {
		if !strings.Contains(strings.ReplaceAll(string(page), "\u00a0", " "), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

var quoted = regexp.MustCompile("(?s)```\n(\\$ stowage .*?)```\n")

// TestEtsyReadmeQuotesTheProgram runs every command that README.md quotes with
// what it prints, in order, in one workspace. -update writes what is printed now.
func TestEtsyReadmeQuotesTheProgram(t *testing.T) {
	turns.OneOf(t, 1, 2)
	path, dir := filepath.Join(etsyDir, "README.md"), etsyCopy(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	got := quoted.ReplaceAllStringFunc(string(raw), func(block string) string {
		var b strings.Builder
		b.WriteString("```\n")
		for line := range strings.Lines(block) {
			command, is := strings.CutPrefix(line, "$ stowage ")
			if !is {
				continue
			}
			commands++
			b.WriteString(line)
			command, lines, cut := strings.Cut(strings.TrimSpace(command), " | head -")
			out := strings.SplitAfter(stowageIn(t, dir, strings.Fields(command)...), "\n")
			if n, err := strconv.Atoi(lines); cut && err == nil {
				out = out[:n]
			}
			b.WriteString(strings.Join(out, ""))
		}
		return b.String() + "```\n"
	})
	if commands < 4 {
		t.Fatalf("README.md quotes %d commands: has its form changed?", commands)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(raw) {
		a, b := strings.Split(string(raw), "\n"), strings.Split(got, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("README.md, line %d (write it with -update and review):\nquotes  %s\nprinted %s", i+1, a[i], b[i])
			}
		}
		t.Fatal("README.md quotes less, or more, than is printed")
	}
}

// TestEtsyLastsThousandsOfDays: what the story says: 215 TB became 420, 24 kW became 8, an instance of 22 shards has 130 GB instead of
// 87, and all disks together last for thousands of days.
func TestEtsyLastsThousandsOfDays(t *testing.T) {
	dir := etsyCopy(t)
	stowageIn(t, dir, "plan", "--name", "first")
	var c capacityAnswer
	if err := json.Unmarshal([]byte(stowageIn(t, dir, "capacity", "--plan", "first", "--json")), &c); err != nil {
		t.Fatal(err)
	}
	if math.Round(c.Now.Disk/1e12) != 215 || math.Round(c.After.Disk/1e12) != 420 || c.Now.Watts != 24000 || c.After.Watts != 8010 {
		t.Errorf("%.0f to %.0f bytes, %v to %v watts", c.Now.Disk, c.After.Disk, c.Now.Watts, c.After.Watts)
	}
	if gb := func(v float64) float64 { return math.Round(v / 1e9) }; gb(c.Now.MemoryMost) != 87 || gb(c.After.MemoryMost) != 130 || gb(c.Now.MemoryLeast) != 59 || gb(c.After.MemoryLeast) != 59 {
		t.Errorf("memory for an instance: %.1f to %.1f GB, then %.1f to %.1f", c.Now.MemoryLeast/1e9, c.Now.MemoryMost/1e9, c.After.MemoryLeast/1e9, c.After.MemoryMost/1e9)
	}
	if c.After.DeclaredDays < 1000 || c.After.DeclaredDays < 2*c.Now.DeclaredDays || c.After.WholeDays < 2000 {
		t.Errorf("days until the first disk is full: %.0f, then %.0f; until all are: %.0f", c.Now.DeclaredDays, c.After.DeclaredDays, c.After.WholeDays)
	}
}

// TestEtsyBackupsTakeAnHourInsteadOfNine: what the story says, from the networks of farm.yaml and what clients use of them. Both are within 5 % of the
// bound, which the network sets before and one stream afterwards.
func TestEtsyBackupsTakeAnHourInsteadOfNine(t *testing.T) {
	dir := etsyCopy(t)
	stowageIn(t, dir, "plan", "--name", "first")
	var w backupWindow
	if err := json.Unmarshal([]byte(stowageIn(t, dir, "backup", "window", "--plan", "first", "--json")), &w); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		when  string
		w     window.Window
		hours float64
		binds string
	}{{"before", w.Now, 9, "network of db04"}, {"after", *w.After, 1, "one backup of dbshard022"}} {
		if math.Round(x.w.Seconds/3600) != x.hours || x.w.Seconds > 1.05*x.w.Bound || x.w.Bound <= 0 || !strings.HasPrefix(x.w.Binding.Names[0], x.binds) || len(x.w.Backups) != 60 {
			t.Errorf("%s: %.2f hours, at least %.2f, because of %q, for %d pairs", x.when, x.w.Seconds/3600, x.w.Bound/3600, x.w.Binding.Names, len(x.w.Backups))
		}
	}
	// By hand: 2390 GB at 85 %, over what is left of 1 Gbit/s.
	if by := 0.85 * 2390e9 / ((1e9*0.6 - 22*8e6/2) / 8); math.Abs(by/w.Now.Seconds-1) > 0.001 {
		t.Errorf("%.0f s, and %.0f by hand", w.Now.Seconds, by)
	}
}

// TestEtsyBackupsThroughRacks: hosts that a plan buys stand in the racks that goals.yaml gives them. A rack has some eight backups, and the last of them cannot fill its links
// alone: that is farther from the bound.
func TestEtsyBackupsThroughRacks(t *testing.T) {
	dir := etsyCopy(t, "host: 240MB/s}", "host: 240MB/s, rack: 1GB/s, rack_label: rack}")
	stowageIn(t, dir, "plan", "--name", "first")
	var w backupWindow
	if err := json.Unmarshal([]byte(stowageIn(t, dir, "backup", "window", "--plan", "first", "--json")), &w); err != nil {
		t.Fatal(err)
	}
	if name := w.After.Binding.Names[0]; !strings.HasPrefix(name, "links out of rack n") || w.After.Bound < 75.5e12/10/1e9 || w.After.Seconds > 1.15*w.After.Bound {
		t.Errorf("%.0f s, at least %.0f, by %q", w.After.Seconds, w.After.Bound, w.After.Binding.Names)
	}
}
