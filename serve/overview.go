package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"stowage/farm"
)

// home is the overview.
type home struct {
	Tiles []tile
	Bench []Bench // the newest
	Plan  *Plan   // the newest
	Farm  Farm
	Proof Shown
}

// tile is one figure of a strip, and where what it rests on is.
type tile struct {
	Name, Link    string
	Before, After string
	Note          string
	IsBad         bool
}

// IsLong reports whether the figure needs smaller type to fit.
func (t tile) IsLong() bool { return len(t.Before)+len(t.After) > 13 }

// newestBenches is how many results the overview lists.
const newestBenches = 5

func (s *Server) fillOverview(_ *http.Request, p *page) error {
	f, err := s.Sources.Farm()
	if err != nil {
		return err // newPage has taken it already
	}
	p.Title, p.Command = "Farm "+f.Name, s.OverviewCommand
	plans, err := s.Plans()
	p.take(err)
	for _, x := range plans {
		if x.BeingRead != "" {
			p.reads(x.BeingRead)
		}
	}
	for i := range plans {
		if len(p.Reading) > 0 {
			break // it may be the newest
		}
		if plans[i].Fault == "" {
			p.Home.Plan = &plans[i]
			break
		}
		p.Faults = append(p.Faults, fault{Text: plans[i].Fault})
	}
	benches, err := s.Benches()
	p.take(err)
	p.Home.Bench = benches[:min(len(benches), newestBenches)]
	p.Digests, err = s.Digests()
	p.take(err)
	proof, err := s.Proof()
	p.take(err)
	p.Home.Farm, p.Home.Proof = f, proof
	p.Home.Tiles = append(farmTiles(f, p.Home.Plan), benchTiles(benches)...)
	if proof.Verdict != "" {
		p.Home.Tiles = append(p.Home.Tiles, tile{Name: "queries, before and after", Link: "/proof", After: proof.Verdict, Note: proof.Note, IsBad: proof.Verdict == "slower"})
	}
	p.Home.Tiles = append(p.Home.Tiles, tile{Name: "saved digests", Link: "/proof", After: fmt.Sprint(len(p.Digests)), Note: newestDigest(p.Digests)})
	return nil
}

func farmTiles(f Farm, plan *Plan) []tile {
	hosts := tile{Name: "hosts in use", Link: "/plan", After: fmt.Sprint(f.Hosts), Note: "no plan yet"}
	if f.Spare > 0 {
		hosts.Note = fmt.Sprintf("no plan yet; %d more carry nothing", f.Spare)
	}
	if plan != nil {
		hosts.Note = "by farm.yaml; plan " + plan.Name + ": " + fmt.Sprintf("%d to %d", plan.HostsBefore, plan.HostsUsed)
		if f.Hosts == plan.HostsBefore && plan.HostsBefore != plan.HostsUsed {
			hosts.Name, hosts.Before, hosts.After, hosts.Note = "hosts, now and after", fmt.Sprint(f.Hosts), fmt.Sprint(plan.HostsUsed), "plan "+plan.Name
		}
	}
	out := []tile{hosts, {Name: "servers", Link: "/plan", After: fmt.Sprint(f.Instances), Note: fmt.Sprintf("%s in %d pairs", farm.Counted(f.Shards, "shard"), f.Pairs)}}
	if plan != nil && plan.WattsBefore > 0 {
		out = append(out, tile{Name: "power, now and after", Link: "/plan", Before: fmt.Sprintf("%.0f", plan.WattsBefore), After: fmt.Sprintf("%.0f W", plan.Watts), Note: "plan " + plan.Name})
	}
	return out
}

// moveTiles are how far the newest move is. They are on the overview and above the lanes.
func moveTiles(m Move) []tile {
	if m.State == "" || m.State == "none" {
		return []tile{{Name: "newest run", Link: "/moves", After: "none", Note: "none has been begun"}}
	}
	state := tile{Name: "newest run, " + m.Plan, Link: "/moves", After: m.State, Note: m.Run, IsBad: m.State == "failed" || m.State == "interrupted"}
	if n := len(m.Waits); n > 0 {
		state.Note = fmt.Sprintf("waiting for a person: %d", n)
	}
	out := []tile{state, {Name: cmp.Or(m.Parts, "sides") + " done", Link: "/moves", After: fmt.Sprintf("%d of %d", m.Done, m.Sides), Note: "begun " + stamp(m.Started)}}
	gate := tile{Name: "longest gate", Link: "/moves", After: "none yet", Note: "no gate was closed"}
	if m.Gates > 0 {
		gate.After, gate.Note = farm.Millis(m.LongestGate), fmt.Sprintf("of %d that were closed", m.Gates)
	}
	return append(out, gate)
}

// benchTiles are the newest result that was measured, in the first words of its verdict.
func benchTiles(all []Bench) []tile {
	for _, b := range all {
		if b.Fault == "" && !b.IsJudged {
			words, _, _ := strings.Cut(b.Verdict, ".")
			return []tile{{Name: "newest bench", Link: "/bench", After: strings.ToLower(words), Note: b.File, IsBad: b.IsBad}}
		}
	}
	return nil
}

func newestDigest(all []Kept) string {
	if len(all) == 0 {
		return "none yet"
	}
	return "newest: " + all[0].Name
}

// Overview is what the first page has as JSON.
type Overview struct {
	FormatVersion int `json:"format_version"`
	Farm
	Plan    *Plan   `json:"plan,omitempty"`    // the newest
	Move    any     `json:"move"`              // the newest run, as stowage status --json
	Benches []Bench `json:"benches"`           // the newest
	Digests []Kept  `json:"digests"`           // that are saved, newest first
	Traffic string  `json:"traffic,omitempty"` // the verdict of the newest comparison of digests
}

func (s *Server) overviewFacts(r *http.Request) (any, error) {
	out := Overview{FormatVersion: 1}
	p := &page{Move: s.look(r.Context()).move}
	if err := s.fillOverview(r, p); err != nil {
		return nil, err
	}
	h := p.Home
	out.Farm, out.Plan, out.Move, out.Benches, out.Digests, out.Traffic = h.Farm, h.Plan, p.Move.JSON, h.Bench, p.Digests, h.Proof.Verdict
	return out, nil
}
