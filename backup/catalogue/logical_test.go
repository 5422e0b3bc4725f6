package catalogue

import (
	"slices"
	"strings"
	"testing"

	"stowage/farm"
)

func logical(n float64, shards ...farm.ShardName) Backup {
	b := full(n)
	b.ID = strings.Replace(b.ID, "-full", "-"+strings.ReplaceAll(string(slices.Concat([]byte("logical"), []byte(shards[0]))), " ", ""), 1)
	b.Kind, b.Shards, b.ToLSN = Logical, shards, 0
	return b
}

// Logical backups neither keep nor drop physical ones, nor those of other shards; and what comes next of an instance, and its binary logs, go by physical ones.
func TestLogicalBackupsCountByThemselves(t *testing.T) {
	one, two, both := logical(-3, "s1"), logical(-2, "s2"), logical(-1, "s1", "s2")
	newer := logical(-0.5, "s1", "s2")
	physical := full(-30)
	all := []Backup{physical, one, two, both, newer}
	want := map[string]bool{physical.ID: true, one.ID: true, two.ID: true, both.ID: false, newer.ID: true}
	vs := Keep(noon, farm.Keep{Last: 1}, all)
	got := kept(vs)
	for id, keep := range want {
		if got[id] != keep {
			t.Errorf("%s is kept: %v, want %v", id, got[id], keep)
		}
	}
	if from, ok := LogsFrom(vs, "f", "p1a"); !ok || from.ID != physical.ID {
		t.Errorf("logs from %s", from.ID)
	}
	if turn := Next(noon, farm.Backup{}, Server{Farm: "f", Instance: "p1a", On: "h1", Datadir: "/d", ServerID: 7, Version: "10.11.19-MariaDB", Host: "v", Place: physical.Place}, all); turn.Kind != Full || !turn.Due {
		t.Errorf("%+v", turn)
	}
}

func TestNextLogical(t *testing.T) {
	shards := []farm.ShardName{"s1", "s2"}
	cfg := farm.Backup{Dir: "/b", Logical: day}
	for name, x := range map[string]struct {
		cfg farm.Backup
		all []Backup
		due bool
	}{
		"none":                     {cfg, []Backup{full(-0.1)}, true},
		"one of today":             {cfg, []Backup{logical(-0.1, "s1", "s2")}, false},
		"one of another shard set": {cfg, []Backup{logical(-0.1, "s1")}, true},
		"one with more":            {cfg, []Backup{logical(-0.1, "s1", "s2", "s3")}, false},
		"an old one":               {cfg, []Backup{logical(-2, "s1", "s2")}, true},
		"off":                      {farm.Backup{Dir: "/b"}, nil, false},
	} {
		if turn := NextLogical(noon, x.cfg, "f", "p1", shards, x.all); turn.Due != x.due || turn.Kind != Logical || turn.Due != (turn.Next == noon) {
			t.Errorf("%s: %+v", name, turn)
		}
	}
}

func TestStatusOfLogicalBackups(t *testing.T) {
	f := &farm.Farm{Name: "f", Backup: farm.Backup{Dir: "/b", Logical: day, Binlogs: -1}, Pairs: []farm.Pair{{Name: "p1", Shards: []farm.Shard{{Name: "s1"}, {Name: "s2"}}}}}
	checks := func(all ...Backup) (out []string) {
		for _, x := range Status(noon, f, all, nil).Findings {
			out = append(out, string(x.Severity)+" "+x.Check)
		}
		return out
	}
	proven := with(logical(-0.1, "s1", "s2"), func(b *Backup) { at := noon; b.ProvenAt = &at })
	for want, got := range map[string][]string{
		"backup-logical-none":     checks(full(-0.1), logical(-0.1, "s1")),
		"backup-logical-old":      checks(full(-0.1), logical(-3, "s1", "s2")),
		"backup-logical-unproven": checks(full(-0.1), logical(-0.1, "s1", "s2")),
		"backup-none":             checks(proven),
	} {
		if !slices.Contains(got, string(farm.Warning)+" "+want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	if got := checks(full(-0.1), proven); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "logical") }) {
		t.Errorf("found %q", got)
	}
}
