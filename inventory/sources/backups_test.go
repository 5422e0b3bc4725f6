package sources

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/inventory/claims"
)

// TestBackupsAreASource: a pair without a backup that could be restored is a finding, one with such a backup is none, and the source has no say in which pairs there
// are.
func TestBackupsAreASource(t *testing.T) {
	f := &farm.Farm{Name: "f", Hosts: []farm.Host{{Name: "h1", Address: "10.0.0.1"}, {Name: "h2", Address: "10.0.0.2"}}}
	for _, p := range []farm.PairName{"p1", "p2", "p3"} {
		f.Pairs = append(f.Pairs, farm.Pair{Name: p, Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1", Port: 3306 + len(f.Pairs)}, farm.B: {Host: "h2", Port: 3306 + len(f.Pairs)}}})
	}
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	backup := func(pair farm.PairName, id string, hours int, damaged string) catalogue.Backup {
		return catalogue.Backup{ID: id, Farm: "f", Pair: pair, Instance: farm.InstanceName(pair) + "b", Kind: catalogue.Full, At: noon.Add(time.Duration(hours) * time.Hour), Damaged: damaged}
	}
	all := []catalogue.Backup{backup("p1", "p1b/1", 0, ""), backup("p1", "p1b/2", 24, ""), backup("p1", "p1b/3", 48, "x"), backup("p2", "p2b/1", 0, "x"), backup("gone", "goneb/1", 0, "")}
	r := &reader{}
	r.backups(f, all)
	var said []string
	for _, c := range r.claims {
		said = append(said, c.Subject.Name+" "+c.Value+" "+c.Place.Where)
	}
	if want := []string{"p1 2026-03-05 p1b/2", "p2 never stowage backup list", "p3 never stowage backup list"}; !slices.Equal(said, want) || !r.claims[0].At.Equal(noon.Add(24*time.Hour)) {
		t.Errorf("%q, want %q", said, want)
	}
	set, faults, err := Collect(t.Context(), World{Dir: t.TempDir(), Farm: f, Line: func(string) int { return 1 }, Backups: all}, []claims.Spec{{Name: "backups", Kind: "backups"}})
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	report := claims.Reconcile(set, claims.Rules{}, noon)
	var found []string
	for _, c := range report.Conflicts {
		found = append(found, c.Check+" "+c.Subject)
		if !strings.Contains(c.Reason, "backups knows of none") {
			t.Errorf("%+v", c)
		}
	}
	if want := []string{"no-backup p2a", "no-backup p3a"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
}
