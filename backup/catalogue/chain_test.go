package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/vault"
)

// noon is when the tests begin: nothing depends on which day it is.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func days(n float64) time.Time { return noon.Add(time.Duration(n * float64(day))) }

// gtid is where the log is n days after noon: 100 transactions a day.
func gtid(n float64) string { return fmt.Sprintf("0-1-%d", int64(1000000+100*n)) }

// full is a backup of p1a that stands n days after noon; on is an incremental one on top of another.
func full(n float64) Backup {
	at := days(n)
	return Backup{
		ID: "p1a/" + at.Format("20060102T150405Z") + "-full", Farm: "f", Pair: "p1", Side: farm.A, Instance: "p1a", Kind: Full, Began: at.Add(-time.Minute), At: at, Bytes: 100,
		ToLSN: uint64(100000 + 10*n), Version: "10.11.19-MariaDB", ServerID: 7, GTID: gtid(n), On: "h1", Datadir: "/d", Host: "v", Place: vault.Place{Dir: "/srv/b"},
	}
}

func on(base Backup, n float64) Backup {
	b := full(n)
	b.ID = strings.Replace(b.ID, "-full", "-incremental", 1)
	b.Kind, b.Base, b.FromLSN = Incremental, base.ID, base.ToLSN
	return b
}

func with(b Backup, change func(*Backup)) Backup {
	change(&b)
	return b
}

func TestChains(t *testing.T) {
	f1, f2 := full(0), full(7)
	i1 := on(f1, 1)
	i2, fork := on(i1, 2), on(i1, 2.5)
	j1 := on(f2, 8)
	gone := with(full(-7), func(b *Backup) { at := days(3); b.RemovedAt = &at })
	chains := Chains([]Backup{fork, j1, i2, f2, i1, gone, f1})
	if len(chains) != 2 || chains[0].ID != f1.ID || chains[1].ID != f2.ID || len(chains[0].Backups) != 4 || !chains[0].IsWhole() || chains[0].Bytes() != 400 {
		t.Fatalf("%+v", chains)
	}
	path, err := chains[0].Path(fork.ID)
	var ids []string
	for _, b := range path {
		ids = append(ids, b.ID)
	}
	if err != nil || !slices.Equal(ids, []string{f1.ID, i1.ID, fork.ID}) {
		t.Errorf("%v %v", ids, err)
	}
	if _, err := chains[0].Path(j1.ID); err == nil {
		t.Error("a path to a backup of another chain")
	}
}

func TestBrokenChainsAreNamed(t *testing.T) {
	f1 := full(0)
	i1 := on(f1, 1)
	i2 := on(i1, 2)
	for name, x := range map[string]struct {
		all    []Backup
		broken []string
		why    string
	}{
		"the base is missing":         {[]Backup{i1, i2}, []string{i1.ID, i2.ID}, "its base " + f1.ID + " is missing"},
		"the middle is missing":       {[]Backup{f1, i2}, []string{i2.ID}, "its base " + i1.ID + " is missing"},
		"the full one is damaged":     {[]Backup{with(f1, func(b *Backup) { b.Damaged = "sum differs" }), i1}, []string{f1.ID, i1.ID}, "it is damaged: sum differs"},
		"an incremental is damaged":   {[]Backup{f1, with(i1, func(b *Backup) { b.Damaged = "x" }), i2}, []string{i1.ID, i2.ID}, "it is damaged: x"},
		"pages are missing between":   {[]Backup{f1, with(i1, func(b *Backup) { b.FromLSN++ })}, []string{i1.ID}, "it lacks the pages from LSN 100000 to 100001"},
		"pages twice are fine":        {[]Backup{f1, with(i1, func(b *Backup) { b.FromLSN-- })}, nil, ""},
		"it is of the other side":     {[]Backup{f1, with(i1, func(b *Backup) { b.Instance, b.On = "p1b", "h2" })}, []string{i1.ID}, "is of p1a in /d on h1, but the backup is of p1b in /d on h2"},
		"it is of another directory":  {[]Backup{f1, with(i1, func(b *Backup) { b.Datadir = "/e" })}, []string{i1.ID}, "of p1a in /e"},
		"it is of another server":     {[]Backup{f1, with(i1, func(b *Backup) { b.ServerID++ })}, []string{i1.ID}, "its base"},
		"bases that go round":         {[]Backup{with(i1, func(b *Backup) { b.Base = i2.ID }), i2}, []string{i1.ID, i2.ID}, "is missing"},
		"its own base":                {[]Backup{with(i1, func(b *Backup) { b.Base = i1.ID })}, []string{i1.ID}, "is missing"},
		"a tail on what goes round":   {[]Backup{with(i1, func(b *Backup) { b.Base = i2.ID }), i2, on(i2, 3)}, []string{i1.ID, i2.ID, on(i2, 3).ID}, "is missing"},
		"nothing is wrong, of course": {[]Backup{f1, i1, i2}, nil, ""},
	} {
		byChain := Chains(x.all)
		var got []string
		var why string
		count := 0
		for _, c := range byChain {
			count += len(c.Backups)
			for _, b := range c.Broken {
				if why == "" {
					why = b.Why
				}
				got = append(got, b.ID)
				if _, err := c.Path(b.ID); err == nil {
					t.Errorf("%s: a path to %s", name, b.ID)
				}
			}
		}
		if !slices.Equal(got, x.broken) || !strings.Contains(why, x.why) || count != len(x.all) {
			t.Errorf("%s: %v %q of %d backups", name, got, why, count)
		}
	}
}
