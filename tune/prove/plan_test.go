package prove

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/tune"
)

// TestEveryRuleIsProvedOrRefused, and refused for one reason.
func TestEveryRuleIsProvedOrRefused(t *testing.T) {
	said := map[string]int{}
	for _, id := range provable {
		said[id]++
	}
	for _, r := range refusals {
		for _, id := range r.rules {
			said[id]++
		}
	}
	for _, r := range tune.Rules() {
		if said[r.ID] != 1 {
			t.Errorf("%s is spoken of %d times", r.ID, said[r.ID])
		}
		err := refuse(r)
		if slices.Contains(provable, r.ID) {
			if err != nil || r.Prove == "" {
				t.Errorf("%s: %v, step %q", r.ID, err, r.Prove)
			}
			continue
		}
		if !errors.Is(err, farm.ErrRefused) || !strings.Contains(farm.Hint(err), "e") || strings.Contains(farm.Hint(err), "RULE") {
			t.Errorf("%s: %v, hint %q", r.ID, err, farm.Hint(err))
		}
		delete(said, r.ID)
	}
	for id := range said {
		if !slices.Contains(provable, id) {
			t.Errorf("%s is not a rule", id)
		}
	}
}

// TestRefusalsAreDocumented: docs/measuring/tune.md names for each rule that cannot be proved the reason and what to do instead, in the same words.
func TestRefusalsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "measuring", "tune.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refusals {
		row := fmt.Sprintf("\n| `%s` | %s | %s |\n", strings.Join(r.rules, "`, `"), r.why, r.instead)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/measuring/tune.md lacks the row%s", row)
		}
	}
}

func disk(name string, queue ...string) tune.Disk {
	d := tune.Disk{Name: name, Kind: tune.Real, Size: 1 << 40, Queue: map[string]string{}}
	for i := 0; i < len(queue); i += 2 {
		d.Queue[queue[i]] = queue[i+1]
	}
	return d
}

func mount(device, dir string) tune.Mount {
	return tune.Mount{Device: "/dev/" + device, Dir: dir, Type: "ext4", Options: []string{"rw"}}
}

const bfq = "none mq-deadline [bfq]"

// TestPlan: which setting, where, by which step.
func TestPlan(t *testing.T) {
	ssd := func(name string) tune.Disk { return disk(name, "scheduler", bfq, "rotational", "0") }
	loop := ssd("loop0")
	loop.Kind = tune.Loop
	guest := disk("vda", "scheduler", "[none] mq-deadline", "rotational", "1")
	array := tune.Disk{Name: "md0", Kind: tune.Stacked, Slaves: []string{"sda", "sdb"}, Queue: map[string]string{}}
	tests := []struct {
		name, rule, dir string
		facts           tune.Facts
		want            string // DIR STEP: changes; one line a trial. Or what the refusal says.
	}{
		{"where the data lies", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{ssd("sda")}, Mounts: []tune.Mount{mount("sda", "/data")}},
			"/data RND16K-RW70-Q32T4: sda bfq -> none"},
		{"of two filesystems the one with an instance", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{{Name: "sda", Kind: tune.Real, Queue: ssd("sda").Queue, Parts: []tune.Partition{{Name: "sda1"}, {Name: "sda2"}}}},
			Mounts: []tune.Mount{mount("sda1", "/"), mount("sda2", "/var/lib/mysql")}, Instances: []tune.Instance{{Datadir: "/var/lib/mysql/a"}}},
			"/var/lib/mysql RND16K-RW70-Q32T4: sda bfq -> none"},
		{"of two filesystems nobody knows which", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{{Name: "sda", Kind: tune.Real, Queue: ssd("sda").Queue, Parts: []tune.Partition{{Name: "sda1"}, {Name: "sda2"}}}},
			Mounts: []tune.Mount{mount("sda1", "/"), mount("sda2", "/srv")}},
			"sda has several filesystems: /, /srv"},
		{"nothing mounted", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{ssd("sda")}}, "no filesystem on sda is mounted"},
		{"all disks of an array at once", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{array, ssd("sda"), ssd("sdb")}, Mounts: []tune.Mount{mount("md0", "/data")}},
			"/data RND16K-RW70-Q32T4: sda bfq -> none, sdb bfq -> none"},
		{"two directories, two trials", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{ssd("sda"), ssd("sdb")}, Mounts: []tune.Mount{mount("sda", "/a"), mount("sdb", "/b")}},
			"/a RND16K-RW70-Q32T4: sda bfq -> none\n/b RND16K-RW70-Q32T4: sdb bfq -> none"},
		{"only what was named", "BLK-SCHED", "/b/c", tune.Facts{Disks: []tune.Disk{ssd("sda"), ssd("sdb")}, Mounts: []tune.Mount{mount("sda", "/a"), mount("sdb", "/b")}},
			"/b/c RND16K-RW70-Q32T4: sdb bfq -> none"},
		{"a loop device is storage when it is named", "BLK-SCHED", "/l", tune.Facts{Disks: []tune.Disk{loop}, Mounts: []tune.Mount{mount("loop0", "/l")}},
			"/l RND16K-RW70-Q32T4: loop0 bfq -> none"},
		{"and not otherwise", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{loop}, Mounts: []tune.Mount{mount("loop0", "/l")}}, ""},
		{"a guest's disk is measured when it is named", "BLK-SCHED", "/v", tune.Facts{Disks: []tune.Disk{guest}, Mounts: []tune.Mount{mount("vda", "/v")}},
			"/v RND16K-RW70-Q32T4: vda none -> mq-deadline"},
		{"and not otherwise", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{guest}, Mounts: []tune.Mount{mount("vda", "/v")}}, ""},
		{"each setting by its own step", "BLK-MICRO", "", tune.Facts{Disks: []tune.Disk{disk("sda", "iostats", "1", "nomerges", "2", "rq_affinity", "0", "max_sectors_kb", "64", "max_hw_sectors_kb", "2048")},
			Mounts: []tune.Mount{mount("sda", "/data")}},
			"/data SEQ16K-R-Q32T1: sda 2 -> 0\n/data RND16K-R-Q32T4: sda 0 -> 1\n/data SEQ1M-R-Q8T1: sda 64 -> 1280"},
		{"what is not counted cannot be measured", "BLK-MICRO", "", tune.Facts{Disks: []tune.Disk{disk("sda", "iostats", "0")}, Mounts: []tune.Mount{mount("sda", "/data")}},
			"with iostats off the kernel counts nothing"},
		{"processors, where the data lies", "CPU-GOV", "", tune.Facts{Governors: []tune.Governor{{Driver: "acpi-cpufreq", Name: "ondemand", Policies: []string{"policy0", "policy1"}, Offered: []string{"ondemand", "performance"}}},
			Mounts: []tune.Mount{mount("sda1", "/"), mount("sda2", "/data")}, Instances: []tune.Instance{{Datadir: "/data/a"}, {Datadir: "/data/b"}}},
			"/data LOG4K-FDS-Q1T1: processors ondemand -> performance, processors ondemand -> performance"},
		{"processors, and nobody knows where", "CPU-GOV", "", tune.Facts{Governors: []tune.Governor{{Driver: "acpi-cpufreq", Name: "ondemand", Policies: []string{"policy0"}, Offered: []string{"performance"}}}},
			"no instance's data directory is known"},
		{"processors that cannot be set", "CPU-GOV", "/data", tune.Facts{Governors: []tune.Governor{{Driver: "acpi-cpufreq", Name: "ondemand", Policies: []string{"policy0"}}}}, ""},
		{"followed", "BLK-SCHED", "", tune.Facts{Disks: []tune.Disk{disk("sda", "scheduler", "[none] bfq", "rotational", "0")}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, _ := tune.Only(tune.Rules(), []string{tt.rule})
			if tt.dir != "" {
				tt.facts.Claim(tt.dir)
			}
			trials, err := Plan(rules[0], tune.Audit(&tt.facts, rules).Findings, &tt.facts, tt.dir)
			if err != nil {
				if !errors.Is(err, farm.ErrRefused) || tt.want == "" || !strings.Contains(err.Error(), tt.want) || farm.Hint(err) == "" {
					t.Errorf("%v (%s), want %s", err, farm.Hint(err), tt.want)
				}
				return
			}
			var said []string
			for _, x := range trials {
				var changes []string
				for i, c := range x.Changes {
					changes = append(changes, fmt.Sprintf("%s %s -> %s", x.Subjects[min(i, len(x.Subjects)-1)], c.From, c.To))
				}
				said = append(said, fmt.Sprintf("%s %s: %s", x.Directory, x.Step, strings.Join(changes, ", ")))
			}
			if got := strings.Join(said, "\n"); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}
