package main

import (
	"context"
	"errors"
	"time"

	"stowage/farm"
	"stowage/report"
	"stowage/roll"
	"stowage/roll/agenda"
	"stowage/serve"
	"stowage/session"
	"stowage/store"
)

// rollFacts are what is known of the newest roll, over all runs of its plan; nil where no host was rolled.
func rollFacts(d *session.Session, w *roll.Watch) (*report.RollFacts, roll.Progress, error) {
	p, err := w.Of(d.Store)
	if errors.Is(err, store.ErrNone) {
		return nil, p, nil
	}
	if err != nil {
		return nil, p, err
	}
	newest := p.Runs[len(p.Runs)-1]
	f := &report.RollFacts{Plan: p.Plan, Run: newest.ID, State: stateOf(d.Workspace, newest), Runs: len(p.Runs), Started: p.Started, Ended: p.Ended, Takes: p.Takes, Now: time.Now()}
	for _, s := range p.Work.Steps {
		f.Work = append(f.Work, s.String())
	}
	planned := plannedBegins(d, p)
	stands := map[farm.HostName]roll.Standing{}
	for _, h := range p.Hosts {
		stands[h.Host] = h
	}
	for _, h := range d.Farm.Hosts {
		x := report.RollHost{Name: h.Name, Rack: h.Labels[agenda.RackLabel], Stand: report.RollNone}
		if s, has := stands[h.Name]; has {
			x = rolledHost(x, s)
			x.Planned = planned[h.Name]
		}
		f.Hosts = append(f.Hosts, x)
	}
	for _, r := range p.Runs {
		of, err := firstMinutes(d, r)
		if err != nil {
			return nil, p, err
		}
		f.Minutes = append(f.Minutes, of...)
	}
	for _, x := range p.Pauses {
		f.Pauses = append(f.Pauses, report.RollPause{At: x.At, Host: x.Host, Pair: x.Pair, Side: x.Side, Step: x.Step, Millis: x.Millis})
	}
	return f, p, nil
}

// plannedBegins are when the plan wants hosts to leave, where its file is still the one that was rolled.
func plannedBegins(d *session.Session, p roll.Progress) map[farm.HostName]time.Time {
	out := map[farm.HostName]time.Time{}
	plan, err := d.Roll(p.Plan)
	if err != nil || plan.Made != p.Made {
		return out
	}
	for _, turn := range plan.Schedule(p.Started) {
		for _, h := range turn.Hosts {
			out[h] = turn.Begin
		}
	}
	return out
}

func rolledHost(x report.RollHost, s roll.Standing) report.RollHost {
	x.Stand, x.Step, x.Doing, x.Text, x.Holds, x.Since, x.Out, x.Back = report.RollStand(s.Stand), s.Step, s.Doing, s.Text, s.Holds, s.Since, s.Out, s.Back
	for _, i := range s.Sides {
		x.Sides = append(x.Sides, report.RollSide{Pair: i.Pair, Side: i.Side, Role: string(i.Role), Twin: i.Twin})
	}
	for _, d := range s.Done {
		did := report.RollDid{What: d.What, Failed: d.Failed, Noted: d.Noted, Remedied: s.IsRemedied(d.Step)}
		if c := d.Command; c != nil {
			if did.Runs = c.Runs; c.Unknown == "" {
				did.Code = &c.Code
			}
		}
		x.Did = append(x.Did, did)
	}
	if a := s.Advised; a != nil {
		x.Fresh, x.Gone = a.Fresh, a.Gone
	}
	return x
}

// addRoll adds the newest roll, and how many queries failed meanwhile, where a ledger was asked since.
func addRoll(d *session.Session, facts *report.Facts) error {
	f, _, err := rollFacts(d, &roll.Watch{})
	if f == nil || err != nil {
		return err
	}
	if facts.Roll = f; facts.Proof != nil {
		var proof report.Proof
		if doc, err := d.Store.LatestDocument("proof", "", &proof); err == nil && doc.Made.After(f.Started) {
			f.Failed = append(f.Failed, report.RollFailed{By: "the ledger of the demo's clients, asked " + doc.Made.UTC().Format("2006-01-02 15:04:05 UTC"), Failed: proof.FailedQueries, Again: "stowage demo verify"})
		}
	}
	return nil
}

// rollView is what the page about a roll has as JSON.
type rollView struct {
	FormatVersion int            `json:"format_version"`
	Plan          string         `json:"plan"`
	Run           string         `json:"run"`
	State         string         `json:"state"`
	Hosts         []rollViewHost `json:"hosts"`
}

type rollViewHost struct {
	Host       farm.HostName   `json:"host"`
	Rack       string          `json:"rack,omitempty"`
	Stand      roll.Stand      `json:"stand"`
	Step       string          `json:"step,omitempty"`
	Doing      string          `json:"doing,omitempty"` // the step of the work
	Text       string          `json:"text,omitempty"`
	CommandRC  *int            `json:"command_rc"`
	Runs       int             `json:"runs"`
	SecondsOut float64         `json:"seconds_out"`
	Out        time.Time       `json:"out_at,omitzero"`
	Back       time.Time       `json:"back_at,omitzero"`
	Pairs      []farm.PairName `json:"pairs"`
}

// rolls is how far the newest roll has come.
func (s *shelf) rolls(context.Context) (serve.Roll, error) {
	d, err := s.desk()
	if err != nil {
		return serve.Roll{}, err
	}
	defer d.Close()
	f, p, err := rollFacts(d, &s.rolled)
	if err != nil {
		return serve.Roll{}, err
	}
	if f == nil {
		return serve.Roll{Text: "No host was rolled in this workspace yet: stowage roll --hosts PATTERN --restart writes a plan.", Command: s.line("roll --help")}, nil
	}
	f.Program = s.line()
	out := serve.Roll{Spoken: f.Spoken(), IsOpen: p.Runs[len(p.Runs)-1].State == store.Running, Command: s.line("status")}
	view := rollView{FormatVersion: 1, Plan: f.Plan, Run: f.Run, State: f.State, Hosts: []rollViewHost{}}
	for _, h := range p.Hosts {
		v := rollViewHost{Host: h.Host, Stand: h.Stand, Step: h.Step, Doing: h.Doing, Text: h.Text, SecondsOut: h.SecondsOut(f.Now), Out: h.Out, Back: h.Back, Pairs: h.Pairs}
		if at, has := d.Farm.Host(h.Host); has {
			v.Rack = at.Labels[agenda.RackLabel]
		}
		if code, runs, ok := h.Code(); ok {
			v.CommandRC, v.Runs = &code, runs
		}
		view.Hosts = append(view.Hosts, v)
	}
	out.JSON = view
	out.Board, err = report.NewRollBoard(*f)
	return out, err
}

// rolledHosts is what the report says of the newest roll, below its grid.
func (s *shelf) rolledHosts() (report.Piece, error) {
	d, err := s.desk()
	if err != nil {
		return report.Piece{}, err
	}
	defer d.Close()
	f, _, err := rollFacts(d, &s.rolled)
	if f == nil || err != nil {
		return report.Piece{}, err
	}
	return report.RollPiece(*f)
}
