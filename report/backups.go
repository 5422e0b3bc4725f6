package report

import (
	"fmt"
	"strings"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/window"
	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory/graph"
)

// BackupFacts are what is known of the backups of a farm.
type BackupFacts struct {
	catalogue.Report
	Asked    farm.Backup // what farm.yaml asks for
	Verified map[farm.PairName]BackupProof
	// Run is the newest run that has made backups, and Made what it made; empty: none has.
	Run  string
	Made []catalogue.Backup
	// Paper is a full backup of all pairs on paper, with Rate for one backup.
	Paper window.Window
	Rate  capacity.CopyRate
	// Plan is the one that the report is about, Before and After the same on paper on both sides of it; "" and nil: none.
	Plan          string
	Before, After *window.Window
}

// BackupProof is the newest time that a backup of a pair was restored and compared with the live server.
type BackupProof struct {
	At      time.Time
	Backup  string
	Rows    int64 // that were compared
	Differ  int   // parts of tables that differ; 0: none
	Seconds float64
}

// NewBackupsDocument is from what each pair can be restored, and who has ever tried.
func NewBackupsDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Backups"}
	b := f.Backups
	if b == nil {
		return d
	}
	n := map[catalogue.Stand]int{}
	for _, p := range b.Pairs {
		n[p.Stand(b.Asked)]++
	}
	bad := n[catalogue.None] + n[catalogue.Unproven] + n[catalogue.Late]
	d.Verdict, d.Lead = "Proven.", fmt.Sprintf("A backup of each of %s was restored and compared row by row, within what farm.yaml asks for.", count(len(b.Pairs), "pair"))
	switch {
	case bad == len(b.Pairs) && n[catalogue.None] == bad:
		d.Verdict, d.Lead = "No backup.", "No pair has a backup from which it could be restored. Take them: stowage backup run. Then restore them: stowage backup verify."
	case bad > 0:
		d.Verdict = fmt.Sprintf("%s of %s without a fresh proof.", whole(float64(bad)), count(len(b.Pairs), "pair"))
		d.Lead = standsText(n) + "."
	}
	d.IsBad = bad > 0 || len(b.Findings) > 0
	d.Tiles = b.tiles(f.Made, n, bad)
	d.Sections = []planSection{{ID: "proof", Name: "Pairs by age of the last proof", Grid: newPairGrid(*b, f.Made)}, b.pairSection(f.Made), b.laneSection()}
	if b.Before != nil && b.After != nil {
		d.Sections = append(d.Sections, b.planSection())
	}
	d.Sections = append(d.Sections, planSection{ID: "found", Name: "Findings", Findings: b.Findings, Looked: true})
	return d
}

// standsText counts pairs by how they stand, the worst first.
func standsText(n map[catalogue.Stand]int) string {
	var out []string
	for _, s := range []catalogue.Stand{catalogue.None, catalogue.Unproven, catalogue.Late, catalogue.Proven} {
		if n[s] > 0 {
			out = append(out, fmt.Sprintf("%s: %s", s, whole(float64(n[s]))))
		}
	}
	return strings.Join(out, ", ")
}

func (b BackupFacts) tiles(now time.Time, n map[catalogue.Stand]int, bad int) []tile {
	var bytes int64
	var sets int
	var oldest *time.Time
	for _, p := range b.Pairs {
		bytes += p.Bytes
		sets += p.Backups
		if p.Upto != nil && (oldest == nil || p.Upto.Before(*oldest)) {
			oldest = p.Upto
		}
	}
	upto := tile{Name: "Every backed-up pair up to", Link: "#pairs", After: "nothing", Note: "archived binary logs lead on from backups"}
	if oldest != nil {
		upto.After, upto.Note = ago(now, *oldest), moment(*oldest)
	}
	w := tile{Name: "A full backup takes", Link: "#window", After: span(seconds(b.Paper.Seconds)), Note: "all pairs, on paper, at " + amount(b.Rate.PerSecond, farm.KindByteRate) + " each"}
	return []tile{
		{Name: "Proven pairs", Link: "#proof", After: fmt.Sprintf("%s of %s", whole(float64(n[catalogue.Proven])), whole(float64(len(b.Pairs)))), Note: "restored and compared lately", IsBad: bad > 0},
		{Name: "Backups", Link: "#pairs", After: size(bytes), Note: count(sets, "backup") + " in vaults", IsBad: n[catalogue.None] > 0},
		upto, w,
	}
}

// ago is how old something is.
func ago(now, at time.Time) string {
	switch age := graph.Age(now, at); {
	case at.Sub(now) > time.Minute:
		return "in the future"
	case age == "now":
		return "just now"
	default:
		return age + " ago"
	}
}

func (b BackupFacts) pairSection(now time.Time) planSection {
	s := planSection{ID: "pairs", Name: "From what can this be restored?"}
	t := planTable{Caption: "Pairs", Head: columns("pair", "newest backup", "where", "proven", "#rows compared", "#took", "restorable from", "restorable up to", "#backups", "#size")}
	for _, p := range b.Pairs {
		newest, where, proven, rows, took, from, upto := "none", "", "never", "", "", "", ""
		if x := p.Newest; x != nil {
			newest, where = ago(now, x.At)+": "+x.ID, string(x.Host)+":"+x.Place.Dir
			if x.Place.Restic != "" {
				where = x.Place.Restic
			}
			from, upto = moment(*p.From), moment(*p.Upto)
		}
		if p.Proven != nil {
			proven = ago(now, *p.Proven.ProvenAt) + ": " + p.Proven.ID
		}
		if v, has := b.Verified[p.Pair]; has {
			rows = whole(float64(v.Rows))
			if v.Seconds > 0 {
				took = span(seconds(v.Seconds))
			}
			if v.Differ > 0 {
				proven = fmt.Sprintf("%s; %s did not hold: %s, %s", proven, v.Backup, count(v.Differ, "difference"), ago(now, v.At))
			}
		}
		t.Rows = append(t.Rows, cells(string(p.Pair), newest, where, proven, rows, took, from, upto, whole(float64(p.Backups)), size(p.Bytes)))
	}
	s.Tables = []planTable{t.fold()}
	s.Notes = []string{"Proven: restored into a throw-away server, brought up to the live one, every row compared. Rows are those of the newest time that this was done, and the time is counted from the start of the restore. What is in the vaults was not looked at for this: stowage backup check does."}
	return s
}
