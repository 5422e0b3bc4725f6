package catalogue

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

func twoPairs(cfg farm.Backup) *farm.Farm {
	f := &farm.Farm{Name: "f", Backup: cfg}
	for _, p := range []farm.PairName{"p1", "p2"} {
		f.Pairs = append(f.Pairs, farm.Pair{Name: p, Topology: farm.ActiveActive})
	}
	return f
}

func checks(r Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		out = append(out, f.Check)
	}
	slices.Sort(out)
	return out
}

func TestStatus(t *testing.T) {
	plain := farm.Backup{Dir: "/srv/b", Host: "v", Binlogs: -1}
	of2 := func(b Backup) Backup {
		b.ID, b.Pair, b.Instance = strings.Replace(b.ID, "p1", "p2", 1), "p2", "p2a"
		b.Base = strings.Replace(b.Base, "p1", "p2", 1)
		return b
	}
	proof := days(0.5)
	good := func(n float64) Backup { return with(full(n), func(b *Backup) { b.ProvenAt = &proof }) }
	both := []Backup{good(0), of2(good(0))}
	for name, x := range map[string]struct {
		cfg  farm.Backup
		now  float64
		all  []Backup
		want []string
	}{
		"all is well":         {plain, 1, both, []string{}},
		"nothing is there":    {plain, 1, nil, []string{"backup-none"}},
		"one has none":        {plain, 1, both[:1], []string{"backup-none"}},
		"old":                 {plain, 1.3, both, []string{"backup-old"}},
		"not old yet":         {plain, 1.2, both, []string{}},
		"weekly ones":         {farm.Backup{Dir: "/srv/b", Host: "v", Binlogs: -1, Incremental: -1}, 6, both, []string{}},
		"unproven":            {plain, 1, []Backup{full(0), of2(good(0))}, []string{"backup-unproven"}},
		"proven long ago":     {farm.Backup{Dir: "/srv/b", Host: "v", Binlogs: -1, Incremental: -1, Full: 60 * day}, 20, both, []string{"backup-unproven"}},
		"proven enough":       {farm.Backup{Dir: "/srv/b", Host: "v", Binlogs: -1, Incremental: -1, Full: 60 * day, Verify: -1}, 20, both, []string{}},
		"damaged":             {plain, 1, append([]Backup{with(full(-3), func(b *Backup) { b.Damaged = "x" })}, both...), []string{"backup-damaged"}},
		"only a damaged one":  {plain, 1, []Backup{with(good(0), func(b *Backup) { b.Damaged = "x" }), of2(good(0))}, []string{"backup-damaged", "backup-none"}},
		"beside its server":   {plain, 1, []Backup{with(good(0), func(b *Backup) { b.Host = "h1" }), of2(good(0))}, []string{"backup-place-own-host"}},
		"an older one beside": {plain, 1, append([]Backup{with(good(-1), func(b *Backup) { b.Host = "h1" })}, both...), []string{}},
		"restic elsewhere": {plain, 1, []Backup{with(good(0), func(b *Backup) { b.Host, b.Place.Dir, b.Place.Restic = "h1", "", "sftp:x:/y" }), of2(good(0))},
			[]string{}},
		"restic beside": {plain, 1, []Backup{with(good(0), func(b *Backup) { b.Host, b.Place.Dir, b.Place.Restic = "h1", "", "/srv/restic" }), of2(good(0))},
			[]string{"backup-place-own-host"}},
		"in the future":          {plain, -2, both, []string{"backup-clock"}},
		"restic has logs, too":   {farm.Backup{Restic: "s3:x", PasswordFile: "/p"}, 1, both, []string{"binlogs-behind"}},
		"restic without logs":    {farm.Backup{Restic: "s3:x", PasswordFile: "/p", Binlogs: -1}, 1, both, []string{}},
		"logs, and none is kept": {farm.Backup{Dir: "/srv/b", Host: "v"}, 1, both, []string{"binlogs-behind"}},
	} {
		r := Status(days(x.now), twoPairs(x.cfg), x.all, nil)
		if got := checks(r); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v: %v", name, got, x.want, r.Findings)
		}
		for _, f := range r.Findings {
			if f.Remedy == "" || f.Text == "" || f.Subject == "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if _, err := json.Marshal(r); err != nil || len(r.Pairs) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyPairsAreOneLine: what is wrong with many is said once, with all names.
func TestManyPairsAreOneLine(t *testing.T) {
	f := &farm.Farm{Name: "f", Backup: farm.Backup{Dir: "/srv/b"}}
	for i := range 7 {
		f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName("p" + string(rune('1'+i)))})
	}
	r := Status(noon, f, nil, nil)
	if len(r.Findings) != 1 || len(r.Findings[0].Names) != 7 || r.Findings[0].Subject != "7 pairs" || !strings.Contains(r.Findings[0].Text, "p1, p2, p3 and 4 more") {
		t.Errorf("%+v", r.Findings)
	}
}

func TestRestorableUpTo(t *testing.T) {
	f := twoPairs(farm.Backup{Dir: "/srv/b", Host: "v"})
	f.Pairs = f.Pairs[:1]
	proof := noon
	all := []Backup{full(-8), with(full(-1), func(b *Backup) { b.ProvenAt = &proof })}
	logs := func(from, upto float64, gaps ...float64) Archived {
		a := Archived{Farm: "f", Pair: "p1", Instance: "p1a", From: days(from), Until: days(upto), Position: gtid(upto)}
		for i := 0; i < len(gaps); i += 2 {
			a.Gaps = append(a.Gaps, Gap{Last: days(gaps[i]), Has: gtid(gaps[i]), Next: gtid(gaps[i+1])})
		}
		return a
	}
	for name, x := range map[string]struct {
		archived []Archived
		upto     float64
		want     []string
		isGap    bool // that ends them
	}{
		"no logs":                        {nil, -1, []string{"binlogs-behind"}, false},
		"up to now":                      {[]Archived{logs(-9, 0)}, 0, []string{}, false},
		"they begin behind the backup":   {[]Archived{logs(-0.5, 0)}, -1, []string{"binlogs-gap"}, false},
		"they stopped":                   {[]Archived{logs(-9, -0.5)}, -0.5, []string{"binlogs-behind"}, false},
		"they stopped before it":         {[]Archived{logs(-9, -3)}, -1, []string{"binlogs-behind"}, false},
		"a gap behind the backup":        {[]Archived{logs(-9, 0, -0.5, -0.4)}, -0.5, []string{"binlogs-gap"}, true},
		"a gap before it":                {[]Archived{logs(-9, 0, -3, -2.9)}, 0, []string{"binlogs-gap"}, false},
		"a gap before all":               {[]Archived{logs(-20, 0, -12, -11)}, 0, []string{}, false},
		"a gap that the twin fills":      {[]Archived{logs(-9, 0, -0.5, -0.4), logs(-9, 0)}, 0, []string{}, false},
		"a backup was taken in the gap":  {[]Archived{logs(-9, 0, -1.5, -0.4)}, -1, []string{"binlogs-gap"}, false},
		"another pair's":                 {[]Archived{{Farm: "f", Pair: "p2", From: days(-9), Until: noon}}, -1, []string{"binlogs-behind"}, false},
		"the other instance's":           {[]Archived{{Farm: "f", Pair: "p1", Instance: "p1b", From: days(-9), Until: noon, Position: gtid(0)}}, -1, []string{"binlogs-behind"}, false},
		"a gap that is not understood":   {[]Archived{{Farm: "f", Pair: "p1", Instance: "p1a", From: days(-9), Until: noon, Gaps: []Gap{{Last: days(-3), Next: "uuid:1-5"}}}}, -1, []string{"binlogs-gap"}, false},
		"a gap in both, at other times":  {[]Archived{logs(-9, 0, -0.5, -0.4), logs(-9, 0, -0.3, -0.2)}, -0.3, []string{}, true},
		"a twin that stopped in the gap": {[]Archived{logs(-9, 0, -0.5, -0.4), logs(-9, -0.45)}, -0.45, []string{"binlogs-gap"}, false},
		"a gap in both, at once":         {[]Archived{logs(-9, 0, -0.5, -0.3), logs(-9, 0, -0.4, -0.2)}, -0.4, []string{"binlogs-gap"}, true},
	} {
		r := Status(noon, f, all, x.archived)
		upto := days(x.upto)
		if x.isGap { // more may have been written in the second before it
			upto = upto.Add(-time.Second)
		}
		if s := r.Pairs[0]; s.Upto == nil || !s.Upto.Equal(upto) || !s.From.Equal(days(-8)) {
			t.Errorf("%s: from %v up to %v", name, s.From, s.Upto)
		}
		if got := checks(r); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
	if s := Status(noon, f, nil, nil).Pairs[0]; s.Upto != nil || s.Newest != nil || s.Age != nil || s.Backups != 0 {
		t.Errorf("%+v", s)
	}
}
