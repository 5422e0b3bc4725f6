package farmtest

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
)

// CheckEnd is checkWhole for every topology.
func (f *LiveFarm) CheckEnd() {
	f.T.Helper()
	if !f.hasOneWriter() {
		f.CheckWhole()
		return
	}
	f.CheckLedger()
}

// CheckServes is checkNow for every topology; of one writer, shardIsAt says it.
func (f *LiveFarm) CheckServes() {
	if !f.hasOneWriter() {
		f.CheckNow()
	}
}

func (f *LiveFarm) hasOneWriter() bool {
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	return fm.Pairs[0].Topology.HasOneWriter()
}

// DryRunSays checks which carrier is chosen, and why.
func (f *LiveFarm) DryRunSays(shard, to, how string, want move.How, why string) {
	f.T.Helper()
	args := []string{"move", "shard", shard, "--to", to, "--dry-run", "--json", "-C", f.Dir}
	if how != "" {
		args = append(args, how)
	}
	p := RunProgram(f.T, "", args...)
	var answer ShardPreview
	if err := json.Unmarshal([]byte(p.Stdout), &answer); err != nil || len(answer.Ways) != 1 {
		f.T.Fatalf("dry run: exit %d %v\n%s%s", p.Code, err, p.Stdout, p.Stderr)
	}
	if way := answer.Ways[0]; way.How != want || !strings.Contains(way.Why, why) {
		f.T.Errorf("chosen: %s, because %s; want %s and %q", way.How, way.Why, want, why)
	}
}

// ServersOf are the sides of a pair.
func (f *LiveFarm) ServersOf(pair farm.PairName) (map[farm.SideName]*mysql.Server, func()) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		f.T.Fatal(err)
	}
	p, _ := fm.Pair(pair)
	out := map[farm.SideName]*mysql.Server{}
	for side, place := range p.Sides {
		out[side] = mysql.Open(p.Instance(side), fm.Address(place), admin, QuietLog())
	}
	return out, func() {
		for _, s := range out {
			_ = s.Close()
		}
	}
}

// PartedCleanly checks that no server has a connection of Stowage's left, nor
// filters in its option file, nor a position noted that its own binary log or
// its twin lacks.
func (f *LiveFarm) PartedCleanly() {
	t := f.T
	t.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		servers, done := f.ServersOf(p.Name)
		for side, s := range servers {
			if links, err := s.Links(t.Context()); err != nil || len(links) > 0 {
				t.Errorf("%s has connections %v (%v)", s.Name(), links, err)
			}
			f.awaitClosed(s)
			if twin := servers[side.Twin()]; twin != nil && !p.Topology.HasOneWriter() {
				goal, err := s.AppliedPosition(t.Context())
				if err == nil {
					err = twin.WaitFor(t.Context(), goal, time.Minute)
				}
				if err != nil {
					t.Errorf("%s never gets what %s has noted as applied: %v", twin.Name(), s.Name(), err)
				}
			}
			config := p.Sides[side].Config
			if config == "" {
				config = strings.TrimSuffix(p.Sides[side].Datadir, "data") + "my.cnf"
			}
			if !strings.HasPrefix(config, "/") {
				config = f.Dir + "/" + config
			}
			if text, err := os.ReadFile(config); err != nil || strings.Contains(string(text), mysql.LinkPrefix) {
				t.Errorf("the option file of %s: %v\n%s", s.Name(), err, text)
			}
		}
		done()
	}
}

// awaitClosed: what is noted as applied is in the server's own binary log.
func (f *LiveFarm) awaitClosed(s *mysql.Server) {
	f.T.Helper()
	applied, err := s.AppliedPosition(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	for range 100 {
		written, err := s.BinlogPosition(f.T.Context())
		if err != nil {
			f.T.Fatal(err)
		}
		if written.Reached(applied) {
			return
		}
		PauseTest()
	}
	f.T.Errorf("%s has noted %s as applied, its binary log is behind", s.Name(), applied)
}
