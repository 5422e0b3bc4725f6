package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/turns"
)

// reshapedFarm are facts on so many shards with so many tenants each. By turns a tenant is not migrated, migrated, active, active and timed, or wrong.
func reshapedFarm(shards, tenants int) KnowFacts {
	f := ReshapeFacts{Spec: "<lb>"}
	for i := range shards {
		s := ReshapeShard{Shard: farm.ShardName(fmt.Sprintf("fs%03d", i)), Pair: "p1", SeenAt: knownAt.Add(-time.Duration(i+5) * time.Minute)}
		for n := range tenants {
			t := ReshapeTenant{ID: fmt.Sprintf("%d", i*tenants+n+1)}
			at := knownAt.Add(-time.Duration(3+n) * time.Minute)
			switch n % 5 {
			case 0:
				t.Stand = ReshapeWaiting
			case 1:
				t.Stand, t.IsMigrated, t.VerifiedAt, t.Rows = ReshapeMigrated, true, &at, 12345
			case 2, 3:
				t.Stand, t.IsMigrated, t.IsActive, t.VerifiedAt, t.Rows = ReshapeActive, true, true, &at, int64(100*(n+1))
				if n%5 == 3 {
					t.Denormalised = float64(t.Rows) / 100
					t.Normalised = t.Denormalised * float64(2+n%10)
				}
			case 4:
				t.Stand, t.VerifiedAt, t.Rows, t.Wrong, t.Keys = ReshapeWrong, &at, 777, "2 of its 777 rows differ", []string{"4711", "<?>"}
			}
			s.Tenants = append(s.Tenants, t)
		}
		f.Shards = append(f.Shards, s)
	}
	f.Waves = []ReshapeWave{
		{Run: "reshape-x-2", State: "running", Began: knownAt.Add(-90 * time.Second), Tenants: 10},
		{Run: "reshape-x-1", State: "done", Began: knownAt.Add(-time.Hour), Ended: knownAt.Add(-50 * time.Minute), Tenants: 1, Right: 1, Rows: 54321},
	}
	return KnowFacts{Made: knownAt, Reshapes: []ReshapeFacts{f}}
}

// TestTenantsByFlag: each tenant is one cell, in the row of its shard, with a sign and a word beside the colour, up to hundreds of them; thousands are bars, as
// wide as so many tenants.
func TestTenantsByFlag(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	for _, tenants := range []int{5, 200, 600, 25000} { // in each of two shards
		d := NewReshapeDocument(reshapedFarm(2, tenants))
		p, err := d.Piece()
		if err != nil {
			t.Fatal(err)
		}
		text := string(p.Body)
		if !p.IsBad || p.Verdict != count(2*tenants/5, "tenant")+" wrong." || !strings.Contains(p.Lead, whole(float64(4*tenants/5))+" active") {
			t.Errorf("%d tenants: %q %q", tenants, p.Verdict, p.Lead)
		}
		isMap := 2*tenants > mostTenantCells
		for n, s := range reshapeStands {
			want := []int{2, 2, 4, 2}[n] * tenants / 5
			cells := regexp.MustCompile(`<li class="rollhost `+s.class+`" title="fs00[01]/[0-9]+: `+string(s.Stand)+`[^"]*"><i aria-hidden="true">`+s.sign+`</i><b>[0-9]+</b> <span>`+string(s.Stand)+`</span></li>`).FindAllString(text, -1)
			if isMap {
				want = 0
			}
			if len(cells) != want {
				t.Errorf("%d tenants: %d cells are %s, want %d", tenants, len(cells), s.Stand, want)
			}
		}
		if strings.Contains(text, `class="hosts dense"`) != (2*tenants > mostWords && !isMap) || strings.Contains(text, `id="chart-tenants-t"`) != isMap {
			t.Errorf("%d tenants: cells with words, without or a picture?", tenants)
		}
		if isMap {
			mapped(t, d.Sections[0].Chart, tenants)
		}
		if len(text) > 3<<20 {
			t.Errorf("%d tenants: %d bytes", tenants, len(text))
		}
		for _, want := range []string{"fs000/5", "4711, &lt;?&gt;", "read from its children", "reshape-x-2", "not ended", "54,321", "1 min 30 s", "10 min 0 s", "between 2026-11-24 11:54:00 UTC and 2026-11-24 11:55:00 UTC"} {
			if !strings.Contains(p.Lead+text, want) {
				t.Errorf("%d tenants: it does not say %q", tenants, want)
			}
		}
	}
}

// mapped: bars take up as much room as tenants stand so, none is on another, and each wrong tenant has its own.
func mapped(t *testing.T, c *planChart, tenants int) {
	t.Helper()
	room, wrong := map[string]float64{}, 0
	ends := map[float64]float64{}
	if len(c.Bands) > 0 { // one area for each shard and stand
		if len(c.Bars) > 0 || len(c.Bands) != 8 {
			t.Errorf("%d bars beside %d areas", len(c.Bars), len(c.Bands))
		}
		for n, share := range []int{1, 1, 2, 1} {
			b := c.Bands[n]
			if want := fmt.Sprintf("fs000: %s %s", whole(float64(share*tenants/5)), reshapeStands[n].Stand); b.Title != want || strings.Count(b.Path, "M") < share*tenants/5/2 {
				t.Errorf("%q has %d cells, want %q", b.Title, strings.Count(b.Path, "M"), want)
			}
		}
		return
	}
	for _, b := range c.Bars {
		room[b.Class] += (b.W + 1) / 9
		if b.Class == "wrong" {
			wrong++
			if !strings.Contains(b.Title, ": wrong; 2 of its 777 rows differ") {
				t.Errorf("a wrong tenant says %q", b.Title)
			}
		}
		at := round1(b.Y + b.H) // cells of a line stand on one ground
		if b.X < ends[at]-0.01 {
			t.Errorf("%s is on another", b.Title)
		}
		ends[at] = b.X + b.W
	}
	for class, share := range map[string]int{"waiting": 2, "migrated": 2, "active": 4, "wrong": 2} {
		if math.Abs(room[class]-float64(share*tenants/5)) > 0.01*room[class] {
			t.Errorf("%d tenants: room for %v that are %s", tenants, room[class], class)
		}
	}
	if wrong != 2*tenants/5 || len(c.YTicks) != 2 || len(c.Keys) != 4 {
		t.Errorf("%d wrong bars, %d shards, %d keys", wrong, len(c.YTicks), len(c.Keys))
	}
}

// TestSnapshotTimes: medians and the median ratio are those of the tenants, by size and of all; the picture has two marks a tenant, at their places.
func TestSnapshotTimes(t *testing.T) {
	t.Parallel()
	f := reshapedFarm(1, 20) // timed: rows 400, 900, 1400 and 1900; 4, 9, 14 and 19 ms instead of 20, 90, 70 and 190
	d := NewReshapeDocument(f)
	if x := d.Tiles[3]; x.Before != millis(80) || x.After != millis(11.5) || !strings.Contains(x.Note, "7.50\u00d7 as fast") {
		t.Errorf("%+v", x)
	}
	s := d.Sections[3]
	if s.ID != "times" || len(s.Chart.Lines) != 8 || len(s.Tables[0].Rows) != 2 {
		t.Fatalf("%+v", s)
	}
	var rows []string
	for _, r := range s.Tables[0].Rows {
		text := ""
		for _, c := range r {
			text += c.Text + "|"
		}
		rows = append(rows, text)
	}
	want := fmt.Sprintf("100 to 1k|2|%s|%s|7.50\u00d7|,1k to 10k|2|%s|%s|7.50\u00d7|", millis(55), millis(6.5), millis(130), millis(16.5))
	if got := strings.Join(rows, ","); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if first := s.Chart.Lines[0]; first.Class != "dot lb" || !strings.Contains(first.Title, "tenant 4, 400 rows: normalised in "+millis(20)) {
		t.Errorf("%+v", first)
	}
	if s := NewReshapeDocument(reshapedFarm(1, 5000)).Sections[3]; len(s.Chart.Lines) != 2*mostDots || !strings.Contains(s.Chart.Caption, "300 of 1,000 tenants") {
		t.Errorf("%d marks; %s", len(s.Chart.Lines), s.Chart.Caption)
	}
	for i := range f.Reshapes[0].Shards[0].Tenants {
		f.Reshapes[0].Shards[0].Tenants[i].Normalised = 0
	}
	if d := NewReshapeDocument(f); len(d.Tiles) != 3 || len(d.Sections) != 4 {
		t.Error("times that are not known have a section")
	}
}

// TestReshapeVerdicts: what is wrong, or compared too long ago, is bad; that one is wrong and still active is said.
func TestReshapeVerdicts(t *testing.T) {
	t.Parallel()
	of := func(tenants ...ReshapeTenant) *KnowDocument {
		return NewReshapeDocument(KnowFacts{Made: knownAt, Reshapes: []ReshapeFacts{{Spec: "s", Shards: []ReshapeShard{{Shard: "fs1", Pair: "p", SeenAt: knownAt.Add(-time.Minute), Tenants: tenants}}}}})
	}
	now, old := knownAt.Add(-time.Hour), knownAt.Add(-9*24*time.Hour)
	good := ReshapeTenant{ID: "1", Stand: ReshapeActive, IsMigrated: true, IsActive: true, VerifiedAt: &now, Rows: 7}
	late, never, wrong := good, good, good
	late.VerifiedAt, never.VerifiedAt = &old, nil
	wrong.Stand, wrong.Wrong = ReshapeWrong, "one row"
	back, found := wrong, knownAt.Add(-time.Second) // flags were read before it was found, and sent back
	back.VerifiedAt = &found
	for _, x := range []struct {
		d                *KnowDocument
		bad              bool
		verdict, lead, u string
	}{
		{of(good), false, "1 of 1 tenant active.", "1 active. Flags are those that the servers had 1 min ago", "60 min ago"},
		{of(good, late), true, "2 of 2 tenants active.", "2 active", "9 days ago"},
		{of(never), true, "1 of 1 tenant active.", "", "never"},
		{of(good, wrong), true, "1 tenant wrong.", "Of the wrong ones 1 was still active: stowage reshape off.", "60 min ago"},
		{of(good, back), true, "1 tenant wrong.", "at 2026-11-24 11:59:00 UTC.", "60 min ago"},
		{of(ReshapeTenant{ID: "1", Stand: ReshapeWaiting}), false, "0 of 1 tenant active.", "1 not migrated.", "none"},
	} {
		if strings.Contains(x.d.Lead, "still active") != strings.Contains(x.lead, "still active") || x.d.IsBad != x.bad || x.d.Verdict != x.verdict || !strings.Contains(x.d.Lead, x.lead) || x.d.Tiles[2].After != x.u {
			t.Errorf("%v %q %q %q, want %+v", x.d.IsBad, x.d.Verdict, x.d.Lead, x.d.Tiles[2].After, x)
		}
	}
}

// TestReshapeInReport: it has a section of its own and an entry among the sections, cut to what is read on paper.
func TestReshapeInReport(t *testing.T) {
	t.Parallel()
	k := reshapedFarm(2, 200)
	var b strings.Builder
	if err := Write(&b, Facts{Farm: "f", Made: knownAt, Know: &k}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<li><a href="#reshape">Reshape</a></li>`, `<section id="reshape"><h2>Reshape</h2>`, "80 tenants wrong. 80 not migrated, 80 migrated, 160 active, 80 wrong.", "Reshape: Snapshots before and after", `id="chart-times-t"`, "(60 of 400; stowage serve has all)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
}
