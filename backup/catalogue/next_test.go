package catalogue

import (
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/vault"
)

func server(change ...func(*Server)) Server {
	s := Server{Farm: "f", Instance: "p1a", On: "h1", Datadir: "/d", ServerID: 7, Version: "10.11.20-MariaDB", LSN: 200000, Host: "v", Place: vault.Place{Dir: "/srv/b", Level: 3}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func TestNext(t *testing.T) {
	f1 := full(0)
	i1 := on(f1, 1)
	chain := []Backup{f1, i1}
	for name, x := range map[string]struct {
		now    float64
		cfg    farm.Backup
		server Server
		all    []Backup
		kind   Kind
		base   string
		due    bool
		why    string
	}{
		"nothing is there":              {0, farm.Backup{}, server(), nil, Full, "", true, "there is no backup of it"},
		"what others have is no backup": {2, farm.Backup{}, server(func(s *Server) { s.Instance = "p1b" }), chain, Full, "", true, "there is no backup of it"},
		"another farm's is none":        {2, farm.Backup{}, server(func(s *Server) { s.Farm = "g" }), chain, Full, "", true, "there is no backup of it"},
		"not yet":                       {1.5, farm.Backup{}, server(), chain, Incremental, i1.ID, false, "12 hours old"},
		"a day later":                   {2.1, farm.Backup{}, server(), chain, Incremental, i1.ID, true, "26 hours old"},
		"a timer that is early":         {1.999, farm.Backup{}, server(), chain, Incremental, i1.ID, true, ""},
		"a week later":                  {7, farm.Backup{}, server(), chain, Full, "", true, "the full backup is 7 days old"},
		"MySQL, a day later":            {2.1, farm.Backup{}, server(func(s *Server) { s.Whole = true }), chain, Full, "", true, "26 hours old, and MySQL has no incremental backups"},
		"MySQL, not yet":                {1.5, farm.Backup{}, server(func(s *Server) { s.Whole = true }), chain, Full, "", false, "MySQL has no"},
		"only full ones":                {2.1, farm.Backup{Incremental: -1}, server(), chain, Full, i1.ID, false, "2 days old"},
		"nothing by itself":             {20, farm.Backup{Incremental: -1, Full: -1}, server(), nil, Full, "", false, "no backup"},
		"damaged":                       {1.5, farm.Backup{}, server(), []Backup{f1, with(i1, func(b *Backup) { b.Damaged = "x" })}, Full, "", true, "cannot be restored"},
		"its base is gone":              {1.5, farm.Backup{}, server(), []Backup{i1}, Full, "", true, "is missing"},
		"damaged, and made anew":        {3.5, farm.Backup{}, server(), []Backup{f1, with(i1, func(b *Backup) { b.Damaged = "x" }), full(3)}, Incremental, full(3).ID, false, ""},
		"moved":                         {1.5, farm.Backup{}, server(func(s *Server) { s.On = "h9" }), chain, Full, "", true, "in /d on h9, and was in /d on h1"},
		"another directory":             {1.5, farm.Backup{}, server(func(s *Server) { s.Datadir = "/e" }), chain, Full, "", true, "in /e on h1"},
		"another server":                {1.5, farm.Backup{}, server(func(s *Server) { s.ServerID = 8 }), chain, Full, "", true, "server_id is 8, and was 7"},
		"seeded since":                  {1.5, farm.Backup{}, server(func(s *Server) { s.IsOther = true }), chain, Full, "", true, "its data was replaced"},
		"LSN behind":                    {1.5, farm.Backup{}, server(func(s *Server) { s.LSN = 100009 }), chain, Full, "", true, "LSN 100009"},
		"another series":                {1.5, farm.Backup{}, server(func(s *Server) { s.Version = "11.4.2-MariaDB" }), chain, Full, "", true, "11.4.2"},
		"another vault":                 {1.5, farm.Backup{}, server(func(s *Server) { s.Place.Dir = "/other" }), chain, Full, "", true, "another place"},
		"another vault's host":          {1.5, farm.Backup{}, server(func(s *Server) { s.Host = "w" }), chain, Full, "", true, "another place"},
		"restarted":                     {2.1, farm.Backup{}, server(func(s *Server) { s.LSN = 100010 }), chain, Incremental, i1.ID, true, ""},
		"LSN not known":                 {2.1, farm.Backup{}, server(func(s *Server) { s.LSN = 0 }), chain, Incremental, i1.ID, true, ""},
		"a clock was ahead":             {2.1, farm.Backup{}, server(), append([]Backup{full(400)}, chain...), Incremental, i1.ID, true, ""},
	} {
		got := Next(days(x.now), x.cfg, x.server, x.all)
		if got.Kind != x.kind || got.Base != x.base || got.Due != x.due || !strings.Contains(got.Why, x.why) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Kind == Incremental && got.Since != 100010 && got.Base == i1.ID {
			t.Errorf("%s: from LSN %d", name, got.Since)
		}
		if got.Due && !got.Next.Equal(days(x.now)) || !got.Due && !got.Next.IsZero() && !got.Next.After(days(x.now)) {
			t.Errorf("%s: next at %s", name, got.Next)
		}
	}
}

// TestBackupsGoOn: a timer that comes every ten minutes makes a full backup a week and an incremental one on each other day, and every chain is whole.
func TestBackupsGoOn(t *testing.T) {
	var all []Backup
	fulls := 0
	for m := 0; m < 70*24*6; m++ {
		now := noon.Add(time.Duration(m) * 10 * time.Minute)
		turn := Next(now, farm.Backup{}, server(), all[max(0, len(all)-20):])
		if !turn.Due {
			continue
		}
		b := full(now.Sub(noon).Hours() / 24)
		if turn.Kind == Incremental {
			b = on(all[len(all)-1], now.Sub(noon).Hours()/24)
			if b.Base != turn.Base || b.FromLSN != turn.Since {
				t.Fatalf("%+v after %+v", turn, all[len(all)-1])
			}
		} else {
			fulls++
		}
		b.Began, b.At = now, now.Add(time.Hour)
		all = append(all, b)
	}
	if fulls != 10 || len(all) != 70 {
		t.Errorf("%d full ones of %d", fulls, len(all))
	}
	for _, c := range Chains(all) {
		if !c.IsWhole() {
			t.Errorf("%s: %v", c.ID, c.Broken)
		}
	}
}
