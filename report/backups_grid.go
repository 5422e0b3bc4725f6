package report

import (
	"strings"
	"time"

	"stowage/backup/catalogue"
)

// pairGrid is all pairs of a farm, in rows by the age of their last proof.
type pairGrid struct {
	Keys []rollKey
	Rows []rollRack
}

// pairBands are the rows, the worst first. Beside the colour stand a sign and a word.
var pairBands = []struct {
	class, sign, name, words string
	stand                    catalogue.Stand
	within                   time.Duration // of the age of the proof; 0: any
}{
	{"none", "\u2715", "no backup", "nothing from which it could be restored", catalogue.None, 0},
	{"unproven", "\u25cb", "unproven", "no backup of it was ever restored and compared", catalogue.Unproven, 0},
	{"late", "\u25d4", "proven too long ago", "longer than farm.yaml asks for", catalogue.Late, 0},
	{"fresh", "\u25cf", "proven within a day", "a backup was restored, and all rows were equal", catalogue.Proven, 24 * time.Hour},
	{"proven", "\u25d1", "proven", "the same, more than a day ago", catalogue.Proven, 0},
}

func newPairGrid(f BackupFacts, now time.Time) *pairGrid {
	g := &pairGrid{}
	var names []string
	rows := make([]rollRack, len(pairBands))
	for _, p := range f.Pairs {
		names = append(names, string(p.Pair))
	}
	short := labels(names, denseLetters)
	for _, p := range f.Pairs {
		n := bandOf(p, p.Stand(f.Asked))
		b := pairBands[n]
		c := rollCell{Name: string(p.Pair), Short: short(string(p.Pair)), Class: b.class, Sign: b.sign, State: b.name}
		title := []string{b.name}
		if p.Proven != nil {
			when := "proven " + ago(now, *p.Proven.ProvenAt)
			c.State = strings.TrimSuffix(when, " ago") // what a cell has room for
			title = []string{when + ": " + p.Proven.ID}
			if b.stand == catalogue.Late {
				title = append(title, b.words)
			}
		}
		if p.Newest != nil {
			title = append(title, "newest backup "+ago(now, p.Newest.At), "restorable up to "+moment(*p.Upto))
		}
		c.Title = c.Name + ": " + strings.Join(title, "; ")
		rows[n].Hosts = append(rows[n].Hosts, c)
	}
	for n, r := range rows {
		if len(r.Hosts) == 0 {
			continue
		}
		b := pairBands[n]
		r.Name, r.Words, r.Dense = b.name, count(len(r.Hosts), "pair"), len(f.Pairs) > mostWords
		g.Rows = append(g.Rows, r)
		g.Keys = append(g.Keys, rollKey{b.class, b.sign, b.name, b.words, len(r.Hosts)})
	}
	return g
}

// bandOf is the row of a pair.
func bandOf(p catalogue.PairStatus, stand catalogue.Stand) int {
	for n, b := range pairBands {
		if b.stand == stand && (b.within == 0 || *p.ProvenAge <= b.within.Seconds()) {
			return n
		}
	}
	return 0
}
