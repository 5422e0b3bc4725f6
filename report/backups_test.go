package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/window"
	"stowage/capacity"
	"stowage/farm"
	"stowage/vault"
)

// backedFarm are facts on a farm of so many pairs. By turns a pair has no backup, an unproven one, one that was proven too long ago, lately, and today.
func backedFarm(pairs int, made bool) KnowFacts {
	f := KnowFacts{Made: knownAt, Farm: &farm.Farm{Name: "f", Backup: farm.Backup{Dir: "/srv/b", Host: "<lb>", Binlogs: -1}}}
	var all []catalogue.Backup
	b := &BackupFacts{Asked: f.Farm.Backup, Verified: map[farm.PairName]BackupProof{}, Rate: capacity.CopyRate{PerSecond: 1e8, Source: "made up"}}
	for i := range pairs {
		name := farm.PairName(fmt.Sprintf("p%04d", i))
		on := farm.HostName(fmt.Sprintf("db%03d", i/4))
		if i%4 == 0 {
			f.Farm.Hosts = append(f.Farm.Hosts, farm.Host{Name: on})
		}
		f.Farm.Pairs = append(f.Farm.Pairs, farm.Pair{Name: name, Topology: farm.Single, Shards: []farm.Shard{{Name: farm.ShardName(name), Needs: farm.Resources{farm.Disk: 6e9 * float64(1+i%3)}}},
			Sides: map[farm.SideName]farm.Side{farm.A: {Host: on, Port: 3306}}})
		if i%5 == 0 {
			continue
		}
		x := catalogue.Backup{ID: fmt.Sprintf("p%04da/20261124T060000Z-full", i), Farm: "f", Pair: name, Side: farm.A, Instance: farm.InstanceName(name + "a"), Kind: catalogue.Full,
			Began: knownAt.Add(-6*time.Hour + time.Duration(i/2)*time.Minute), Seconds: 60, Raw: 6e9, Bytes: 2e9, On: on, Host: "<lb>", Place: vault.Place{Dir: "/srv/b"}}
		x.At = x.Began.Add(time.Minute)
		if i%5 > 1 {
			at := knownAt.Add([]time.Duration{-20 * 24 * time.Hour, -3 * 24 * time.Hour, -3 * time.Hour}[i%5-2])
			x.ProvenAt = &at
			b.Verified[name] = BackupProof{At: at, Backup: x.ID, Rows: 12345, Seconds: 95}
		}
		if i == 1 {
			b.Verified[name] = BackupProof{At: knownAt.Add(-time.Hour), Backup: x.ID, Rows: 777, Differ: 2, Seconds: 5}
		}
		all = append(all, x)
	}
	b.Report = catalogue.Status(knownAt, f.Farm, all, nil)
	b.Paper = window.Of(f.Farm, window.Limits{Stream: 1e8, PerHost: 2, Sink: window.Own})
	if made {
		b.Run, b.Made = "backup-all-1", all
	}
	f.Backups = b
	return f
}

// TestBackupsByAge: each pair is one cell, in the row of its stand, with a sign and a word beside the colour; and one line of the table.
func TestBackupsByAge(t *testing.T) {
	t.Parallel()
	for _, pairs := range []int{10, 400} {
		p, err := NewBackupsDocument(backedFarm(pairs, false)).Piece()
		if err != nil {
			t.Fatal(err)
		}
		text := string(p.Body)
		for class, sign := range map[string]string{"none": "\u2715", "unproven": "\u25cb", "late": "\u25d4", "proven": "\u25d1", "fresh": "\u25cf"} {
			cells := regexp.MustCompile(`<li class="rollhost `+class+`" title="[^"]*"><i aria-hidden="true">`+sign+`</i><b>[p0-9]+</b> <span>[^<]+</span></li>`).FindAllString(text, -1)
			if len(cells) != pairs/5 {
				t.Errorf("%d pairs: %d cells are %s", pairs, len(cells), class)
			}
		}
		if !p.IsBad || p.Verdict != fmt.Sprintf("%d of %d pairs without a fresh proof.", pairs*3/5, pairs) || strings.Count(text, `<th scope="row">p0`) < pairs && strings.Count(text, "<td>p0") < pairs {
			t.Errorf("%d pairs: %q, %v", pairs, p.Verdict, p.IsBad)
		}
		if strings.Contains(text, `class="hosts dense"`) != (pairs > mostWords) {
			t.Errorf("%d pairs: dense or not", pairs)
		}
		for _, want := range []string{"p0004: proven 3 h ago: p0004a/20261124T060000Z-full", "restorable up to 2026-11-24 06:03:00 UTC", "12,345", "1 min 35 s", "p0001a/20261124T060000Z-full did not hold: 2 differences, 60 min ago", "&lt;lb&gt;:/srv/b", "backup-unproven", "they have no backup that can be restored"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d pairs: it does not say %q", pairs, want)
			}
		}
	}
	p, err := NewBackupsDocument(backedFarm(1, false)).Piece()
	if err != nil || p.Verdict != "No backup." || !strings.Contains(p.Lead, "stowage backup run") {
		t.Errorf("without any: %q %q, %v", p.Verdict, p.Lead, err)
	}
}

// TestBackupLanes: bars of one host that run at once do not lie over each other, those of a run that was are at their time, and on paper nothing lacks.
func TestBackupLanes(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{false, true} {
		f := backedFarm(20, made)
		s := f.Backups.laneSection()
		want := 20
		if made {
			want = len(f.Backups.Made)
		}
		if len(s.Chart.Bars) != want || len(s.Chart.YTicks) != 5 || len(s.Tables[0].Rows) != 5 {
			t.Fatalf("made %v: %d bars, %d hosts", made, len(s.Chart.Bars), len(s.Chart.YTicks))
		}
		for i, a := range s.Chart.Bars {
			for _, b := range s.Chart.Bars[i+1:] {
				if a.X < b.X+b.W-0.2 && b.X < a.X+a.W-0.2 && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("made %v: %s lies over %s", made, a.Title, b.Title)
				}
			}
		}
		if made != strings.Contains(s.Text[0], "Run backup-all-1 has made 16 backups, 96 GB, in 10 min 0 s, from 2026-11-24 06:00:00 UTC on.") {
			t.Errorf("made %v: %q", made, s.Text)
		}
		if made && (s.Chart.Bars[0].W*5 < (s.Chart.X1-s.Chart.X0)/2-6 || len(s.Chart.Keys) != 1) {
			t.Errorf("a backup of a minute in ten has %v of %v; keys %v", s.Chart.Bars[0].W, s.Chart.X1-s.Chart.X0, s.Chart.Keys)
		}
	}
	if s := backedFarm(400, false).Backups.laneSection(); len(s.Chart.YTicks) != mostLaneHosts || len(s.Tables[0].Rows) != 100 || !strings.Contains(s.Chart.Caption, "40 hosts of 100") {
		t.Errorf("%d hosts in the picture, %d in the table: %s", len(s.Chart.YTicks), len(s.Tables[0].Rows), s.Chart.Caption)
	}
}

// TestBackupsInReport: they have a section of their own and an entry among the sections, and with a plan the window on both sides of it.
func TestBackupsInReport(t *testing.T) {
	t.Parallel()
	k := backedFarm(10, true)
	faster := k.Backups.Paper
	faster.Seconds /= 2
	k.Backups.Plan, k.Backups.Before, k.Backups.After = "first", &k.Backups.Paper, &faster
	var b strings.Builder
	if err := Write(&b, Facts{Farm: "f", Made: knownAt, Know: &k}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<li><a href="#backups">Backups</a></li>`, `<section id="backups"><h2>Backups</h2>`, `id="chart-window-before-t"`, `id="chart-window-after-t"`, "Backups: The window before and after plan first", "it takes 50\u00a0% less time", "Pairs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
}
