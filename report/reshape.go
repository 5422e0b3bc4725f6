package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// ReshapeFacts are what is known of the tenants of one spec, without asking a server.
type ReshapeFacts struct {
	Spec   string
	Shards []ReshapeShard // in the order of farm.yaml
	Waves  []ReshapeWave  // newest first
}

// ReshapeShard is one shard. SeenAt is when the flags of its tenants were read.
type ReshapeShard struct {
	Shard   farm.ShardName
	Pair    farm.PairName
	SeenAt  time.Time
	Tenants []ReshapeTenant
}

// ReshapeStand is how a tenant stands. Package reshape has the same words, and serve and report know no act.
type ReshapeStand string

// The stands of a tenant.
const (
	ReshapeWaiting  ReshapeStand = "not migrated"
	ReshapeMigrated ReshapeStand = "migrated"
	ReshapeActive   ReshapeStand = "active"
	ReshapeWrong    ReshapeStand = "wrong"
)

// reshapeStands are all, in the order of a tenant's way, with the sign that is beside the colour, and words for people. High is its height in a picture without signs.
var reshapeStands = []struct {
	Stand       ReshapeStand
	class, sign string
	words       string
	high        float64
}{
	{ReshapeWaiting, "waiting", "\u25cb", "it is read from its children", 0.3},
	{ReshapeMigrated, "migrated", "\u25d1", "its rows were compared; it is still read from its children", 0.65},
	{ReshapeActive, "active", "\u25cf", "the application reads the carried columns", 1},
	{ReshapeWrong, "wrong", "\u2715", "its last comparison found rows that are not right", 1},
}

// ReshapeTenant is one tenant.
type ReshapeTenant struct {
	ID         string
	Stand      ReshapeStand
	IsMigrated bool // its flags, which a wrong tenant loses
	IsActive   bool
	Rows       int64    // that were compared
	Wrong      string   // what the last comparison found; "": nothing
	Keys       []string // of the first rows that are not right
	VerifiedAt *time.Time
	// Normalised and Denormalised are how long the two queries took, in milliseconds; 0: not known.
	Normalised, Denormalised float64
}

// ReshapeWave is one run. Right and Wrong are as the newest comparison of its tenants says, Rows those that it has compared.
type ReshapeWave struct {
	Run, State            string
	Began, Ended          time.Time // Ended is zero while it goes on
	Tenants, Right, Wrong int
	Rows                  int64
}

// oldComparison is for how long a comparison counts: one a week, and a day for being late.
const oldComparison = 8 * 24 * time.Hour

// census of tenants.
type reshapeCount struct {
	by       map[ReshapeStand]int
	tenants  int
	stillOn  int // wrong, and active all the same
	rows     int64
	never    int        // migrated, and never compared
	oldest   *time.Time // comparison of a tenant that is migrated
	from, to time.Time  // when flags were read
	timed    []ReshapeTenant
}

func (c *reshapeCount) add(f ReshapeFacts) {
	for _, s := range f.Shards {
		if c.from.IsZero() || s.SeenAt.Before(c.from) {
			c.from = s.SeenAt
		}
		if s.SeenAt.After(c.to) {
			c.to = s.SeenAt
		}
		for _, t := range s.Tenants {
			c.tenants++
			c.by[t.Stand]++
			if t.isStillOn(s) {
				c.stillOn++
			}
			if t.VerifiedAt != nil {
				c.rows += t.Rows
			}
			if t.IsMigrated || t.IsActive {
				switch {
				case t.VerifiedAt == nil:
					c.never++
				case c.oldest == nil || t.VerifiedAt.Before(*c.oldest):
					c.oldest = t.VerifiedAt
				}
			}
			if t.Normalised > 0 && t.Denormalised > 0 {
				c.timed = append(c.timed, t)
			}
		}
	}
}

// isStillOn reports whether a wrong tenant was seen to be active behind the comparison that found it.
func (t ReshapeTenant) isStillOn(s ReshapeShard) bool {
	return t.Stand == ReshapeWrong && t.IsActive && t.VerifiedAt != nil && s.SeenAt.After(*t.VerifiedAt)
}

func (c *reshapeCount) isOld(now time.Time) bool {
	return c.never > 0 || c.oldest != nil && now.Sub(*c.oldest) > oldComparison
}

// seen says of when the flags are.
func (c *reshapeCount) seen(now time.Time) string {
	if c.to.Sub(c.from) < time.Minute {
		return fmt.Sprintf("Flags are those that the servers had %s, at %s.", ago(now, c.to), moment(c.to))
	}
	return fmt.Sprintf("Flags are those that the servers had at the last look, between %s and %s.", moment(c.from), moment(c.to))
}

// NewReshapeDocument is which tenants are read in the new way, and who has compared them.
func NewReshapeDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Reshape"}
	if len(f.Reshapes) == 0 {
		return d
	}
	all := reshapeCount{by: map[ReshapeStand]int{}}
	for n, x := range f.Reshapes {
		all.add(x)
		suffix, name := "", ""
		if n > 0 {
			suffix = fmt.Sprintf("-%d", n+1)
		}
		if len(f.Reshapes) > 1 {
			name = x.Spec + ": "
		}
		for i, s := range x.sections(f.Made, suffix) {
			if i == 0 && len(f.Reshapes) == 1 {
				s.Text = nil // the lead says of when its flags are
			}
			s.ID, s.Name = s.ID+suffix, name+s.Name
			d.Sections = append(d.Sections, s)
		}
	}
	wrong := all.by[ReshapeWrong]
	d.Verdict = fmt.Sprintf("%s of %s active.", whole(float64(all.by[ReshapeActive])), count(all.tenants, "tenant"))
	if wrong > 0 {
		d.Verdict = count(wrong, "tenant") + " wrong."
	}
	d.Lead = strings.TrimSpace(standsOf(all.by) + ". " + all.seen(f.Made))
	if all.stillOn > 0 {
		d.Lead += fmt.Sprintf(" Of the wrong ones %s still active: stowage reshape off.", areIs(all.stillOn))
	}
	d.IsBad = wrong > 0 || all.isOld(f.Made)
	d.Tiles = all.tiles(f.Made)
	return d
}

// areIs is "1 was", "3 were".
func areIs(n int) string {
	if n == 1 {
		return "1 was"
	}
	return whole(float64(n)) + " were"
}

// standsOf counts tenants by how they stand.
func standsOf(by map[ReshapeStand]int) string {
	var out []string
	for _, s := range reshapeStands {
		if n := by[s.Stand]; n > 0 {
			out = append(out, fmt.Sprintf("%s %s", whole(float64(n)), s.Stand))
		}
	}
	if len(out) == 0 {
		return "no tenant"
	}
	return strings.Join(out, ", ")
}

func (c *reshapeCount) tiles(now time.Time) []tile {
	oldest := tile{Name: "Oldest comparison", Link: "#tenants", After: "none", Note: "no tenant is migrated", IsBad: c.isOld(now)}
	switch {
	case c.never > 0:
		oldest.After, oldest.Note = "never", count(c.never, "tenant")+" migrated and never compared"
	case c.oldest != nil:
		oldest.After, oldest.Note = ago(now, *c.oldest), "of a tenant that is migrated; stowage reshape verify compares all"
	}
	out := []tile{
		{Name: "Active", Link: "#tenants", After: fmt.Sprintf("%s of %s", whole(float64(c.by[ReshapeActive])), whole(float64(c.tenants))), Note: count(c.by[ReshapeMigrated], "tenant") + " more migrated"},
		{Name: "Wrong", Link: "#wrong", After: whole(float64(c.by[ReshapeWrong])), Note: count(int(c.rows), "row") + " compared", IsBad: c.by[ReshapeWrong] > 0},
		oldest,
	}
	if len(c.timed) > 0 {
		s := speedOf(c.timed)
		out = append(out, tile{Name: "Snapshot of a tenant", Link: "#times", Before: millis(s.before), After: millis(s.after), Note: fmt.Sprintf("medians of %s; %s", count(s.tenants, "tenant"), s.words())})
	}
	return out
}

func (f ReshapeFacts) sections(now time.Time, suffix string) []planSection {
	one := reshapeCount{by: map[ReshapeStand]int{}}
	one.add(f)
	grid := planSection{ID: "tenants", Name: "Tenants by flag", Text: []string{one.seen(now)}}
	if one.tenants > mostTenantCells {
		grid.Chart = f.tenantMap("chart-tenants"+suffix, one)
	} else {
		grid.Grid = f.tenantGrid(now, one)
	}
	out := []planSection{grid, f.wrongSection(now), f.waveSection(now)}
	if len(one.timed) > 0 {
		out = append(out, timesSection(one.timed, "chart-times"+suffix))
	}
	return append(out, f.tenantSection(now))
}

// mostTenants is how many tenants the table lists.
const mostTenants = 2000

func (f ReshapeFacts) tenantSection(now time.Time) planSection {
	t := planTable{Caption: "Tenants", Head: columns("tenant", "stands", "#rows compared", "last compared", "#normalised", "#denormalised")}
	all := 0
	for _, s := range f.Shards {
		all += len(s.Tenants)
		for _, x := range s.Tenants[:min(len(s.Tenants), mostTenants-len(t.Rows))] {
			before, after := "", ""
			if x.Denormalised > 0 {
				before, after = millis(x.Normalised), millis(x.Denormalised)
			}
			t.Rows = append(t.Rows, cells(string(s.Shard)+"/"+x.ID, string(x.Stand), x.rows(), x.compared(now), before, after))
		}
	}
	return planSection{ID: "each", Name: "Each tenant", Tables: []planTable{t.firstOf(all).fold()}}
}

// firstOf says that a table does not have all rows.
func (t planTable) firstOf(all int) planTable {
	if all > len(t.Rows) {
		t.Caption += fmt.Sprintf(" (the first %s of %s; stowage reshape status has all)", whole(float64(len(t.Rows))), whole(float64(all)))
	}
	return t
}

func (t ReshapeTenant) rows() string {
	if t.VerifiedAt == nil {
		return ""
	}
	return whole(float64(t.Rows))
}

func (t ReshapeTenant) compared(now time.Time) string {
	if t.VerifiedAt == nil {
		return "never"
	}
	return ago(now, *t.VerifiedAt)
}

// wrongSection names the rows that are not right.
func (f ReshapeFacts) wrongSection(now time.Time) planSection {
	all := 0
	t := planTable{Caption: "Tenants that are wrong", Head: columns("tenant", "flags", "compared", "what is wrong", "keys of the first")}
	for _, s := range f.Shards {
		for _, x := range s.Tenants {
			if x.Stand != ReshapeWrong {
				continue
			}
			if all++; all <= mostTenants {
				flags := "read from its children"
				if x.isStillOn(s) {
					flags = "still active"
				}
				t.Rows = append(t.Rows, cells(string(s.Shard)+"/"+x.ID, flags, x.compared(now), x.Wrong, strings.Join(x.Keys, ", ")))
			}
		}
	}
	t = t.firstOf(all)
	out := planSection{ID: "wrong", Name: "Rows that are not right"}
	if all == 0 {
		out.Text = []string{"The newest comparison of each tenant found none."}
		return out
	}
	out.Text = []string{"The carried columns of these tenants did not say what their latest children have. stowage reshape --tenant TENANT fills them in and compares again."}
	out.Tables = []planTable{t.fold()}
	return out
}

// waveSection are the runs.
func (f ReshapeFacts) waveSection(now time.Time) planSection {
	out := planSection{ID: "waves", Name: "Waves"}
	if len(f.Waves) == 0 {
		out.Text = []string{"No wave has begun: stowage reshape " + f.Spec + " --tenants 1 is the first."}
		return out
	}
	t := planTable{Caption: "Runs, newest first", Head: columns("run", "began", "#took", "ended", "#tenants", "#right", "#wrong", "#rows compared")}
	for _, w := range f.Waves {
		end, state := w.Ended, w.State
		if end.IsZero() {
			end, state = now, "not ended"
		}
		t.Rows = append(t.Rows, cells(w.Run, moment(w.Began), span(end.Sub(w.Began)), state, whole(float64(w.Tenants)), whole(float64(w.Right)), whole(float64(w.Wrong)), whole(float64(w.Rows))))
	}
	out.Tables = []planTable{t.fold()}
	out.Notes = []string{"Right and wrong are the tenants of a wave as they were compared last, in this wave or behind it."}
	return out
}

// medianOf is the middle of some values, which it sorts.
func medianOf(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
