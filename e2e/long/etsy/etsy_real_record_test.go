package etsy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"stowage/digest"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// What each server is asked in its window, so many times, by a session of its
// own that begins in it: those are never left out.
const (
	etsyAsked   = "SELECT 'asked' AS stowage_etsy_recorded"
	etsyFolded  = "select ? as stowage_etsy_recorded"
	etsyAskedBy = 50
)

// recordAll records two servers of every host at once, each by the agent beside
// it, and holds the one digest that comes of it against what was asked.
func (f *realEtsy) recordAll() {
	t := f.T
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	servers := f.twoOfEach(fm)
	args := []string{"digest", "record", "-C", f.Dir, "--for", "30s", "--save", "recorded", "--max-running", "0", "--max-lag", "0", "--reserve", "1MB", "--json"}
	before := map[string]string{}
	for _, s := range servers {
		args = append(args, s.Name)
		before[s.Name] = s.Settings()
	}
	f.say("recording %d servers by %d agents", len(servers), f.sum.HostsAfter)
	began := time.Now()
	var asking sync.WaitGroup
	for _, s := range servers {
		asking.Go(func() {
			// The slow log of this farm is on all the time, into a file of its own.
			if !s.Comes("SELECT @@GLOBAL.slow_query_log_file LIKE '%stowage-record-%'", "1", 2*time.Minute) {
				t.Errorf("%s: no window opened", s.Name)
				return
			}
			s.Ask(etsyAsked, etsyAskedBy)
		})
	}
	p := farmtest.RunProgram(t, "", args...)
	asking.Wait()
	f.sum.RecordSeconds = time.Since(began).Seconds()
	// Whatever it says: nothing stays changed, and what was recorded counts.
	for _, s := range servers {
		if now := s.Settings(); now != before[s.Name] {
			t.Errorf("%s: before the recording the settings were\n%s\nand are\n%s", s.Name, before[s.Name], now)
		}
	}
	if p.Code != farmtest.ExitFine {
		t.Errorf("recording: exit %d\n%s", p.Code, p.Stderr)
	}
	var said farmtest.RecordAnswer
	if err := json.Unmarshal([]byte(p.Stdout), &said); err != nil {
		t.Errorf("recording: %v\n%s", err, p.Stdout)
		return
	}
	f.sum.RecordedOf, f.sum.RecordedEvents = len(servers), said.Events
	for _, i := range said.Instances {
		if i.Error != "" || i.Events < etsyAskedBy {
			t.Errorf("recording %s: %d events, %s", i.Instance, i.Events, i.Error)
			continue
		}
		f.sum.Recorded++
	}
	if f.sum.Recorded != len(servers) {
		t.Errorf("%d of %d servers were recorded", f.sum.Recorded, len(servers))
	}
	if f.sum.Recorded == 0 {
		return
	}
	shown := farmtest.RunProgram(t, "", "digest", "--json", "-C", f.Dir, "recorded")
	var r digest.Report
	if err := json.Unmarshal([]byte(shown.Stdout), &r); err != nil {
		t.Fatalf("exit %d, %v\n%s", shown.Code, err, shown.Stderr)
	}
	for _, c := range r.Classes {
		if c.Fingerprint == etsyFolded {
			if want := uint64(f.sum.Recorded * etsyAskedBy); c.Count != want {
				t.Errorf("asked %d times, in the digest %d times", want, c.Count)
			}
			return
		}
	}
	t.Errorf("%q is not among the %d classes that were recorded", etsyFolded, len(r.Classes))
}

// twoOfEach are two servers of every host in use, asked through their sockets.
func (f *realEtsy) twoOfEach(fm *farm.Farm) []*farmtest.BehindLine {
	var out []*farmtest.BehindLine
	n := map[farm.HostName]int{}
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			at, name := p.Sides[side], string(p.Instance(side))
			if n[at.Host]++; n[at.Host] > 2 {
				continue
			}
			sockets, err := filepath.Glob(filepath.Join(f.Path(at.Datadir), "mysqld.sock"))
			if err != nil || len(sockets) != 1 {
				f.T.Fatalf("the socket of %s: %v, %v", name, sockets, err)
			}
			out = append(out, f.BehindTheLine(name, sockets[0]))
		}
	}
	return out
}

// recorded is a cell of the table, and a line of the account.
func (s *etsySum) recorded() string {
	if s.RecordedOf == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d servers in %.0f s: %d events", s.Recorded, s.RecordedOf, s.RecordSeconds, s.RecordedEvents)
}
