package roll

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/act"
	"stowage/command"
	"stowage/due"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/roll/agenda"
	"stowage/sides"
	"stowage/store"
	"stowage/swing"
)

// Roll is the name of the kind: hosts are rolled, one after the other, as a plan says.
const Roll = "roll"

// Roller is the carrying out of runs of kind Roll in a session.
type Roller struct {
	sides.Opener
	// Local runs commands for a host that has no agent: on this machine.
	Local func(farm.HostName) *command.Station
}

// NewRoller makes rolling hosts what an act carries out, in a session that is prepared.
func NewRoller(bare *act.Act, settings swing.Settings, local func(farm.HostName) *command.Station) *Roller {
	r := &Roller{sides.Opener{Act: bare, Settings: settings, Editor: &host.Editor{}}, local}
	r.Kind = RollKind(r)
	return r
}

// The runbooks of a roll differ in what the step work does, and so in the borders at which it can be killed.
const (
	ByCommand  = "command"
	ByRestart  = "restart"
	ByPlaybook = "playbook"
	ByPackages = "packages"
)

// OneWriter ends the name of a runbook for hosts that carry a primary: its clients go and return by a cutover.
const OneWriter = "-one-writer"

// RollKind is rolling hosts. That of a Roller that is nil can be looked at and not carried out.
func RollKind(r *Roller) act.Kind {
	var books []act.Runbook
	for _, with := range []struct {
		suffix  string
		out, in []string
	}{{"", swing.OutPhases, swing.InPhases}, {OneWriter, swing.StepdownOut, swing.StepdownIn}} {
		book := func(name string, phases []string) {
			books = append(books, act.NewRunbook(name+with.suffix, hostSteps(phases, with.out, with.in),
				func(c engine.Call, s act.Step, beat func(string)) (*stay, error) { return r.stay(c, s, beat) }))
		}
		book(ByCommand, command.Phases)
		book(ByRestart, restartPhases)
		book(ByPackages, packagePhases)
		book(ByPlaybook, slices.Concat(command.Phases, optionPhases, restartPhases))
	}
	return act.Kind{
		Name: Roll, Runbooks: books, Part: "host",
		Stuck: "the host stays out, its twins serve all clients, and no other host begins; look at the host, remedy the cause, then: stowage roll in HOST",
	}
}

// bookFor is the runbook that a piece of work on a host follows.
func bookFor(w agenda.Work, h agenda.Host) string {
	if slices.ContainsFunc(h.Instances, func(i agenda.Instance) bool { return i.Role == agenda.Primary }) {
		return byWork(w) + OneWriter
	}
	return byWork(w)
}

func byWork(w agenda.Work) string {
	switch {
	case len(w.Steps) == 1 && len(w.Steps[0].Command) > 0:
		return ByCommand
	case len(w.Steps) == 1 && w.Steps[0].Restart:
		return ByRestart
	case len(w.Steps) == 1 && len(w.Steps[0].Packages) > 0:
		return ByPackages
	}
	return ByPlaybook
}

// hostOrder is what the part of one host says.
type hostOrder struct {
	Runbook string        `json:"runbook"`
	Plan    string        `json:"plan"`
	Made    string        `json:"made"` // the plan's: another plan may get its name
	Host    farm.HostName `json:"host"`
	Sides   []sides.Order `json:"sides"`
	Work    agenda.Work   `json:"work"`
	Windows []due.Window  `json:"windows,omitempty"`
	Takes   time.Duration `json:"takes_ns,omitempty"` // as the plan thinks
	// Number is unlike that of any other run of any workspace: orders on the host's disk bear it. A run that continues with what another has left has the same.
	Number string `json:"number"`
}

func (o hostOrder) key() string { return o.Number + "/" + string(o.Host) }

// Begin rolls the hosts of a plan that it has not rolled yet, after everything was asked. The zero Run: all are.
func (r *Roller) Begin(ctx context.Context, p agenda.Plan) (store.Run, []farm.Finding, error) {
	if err := r.NothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	if differ := agenda.Drift(p, r.Farm); len(differ) > 0 {
		return store.Run{}, nil, act.Refused(Roll, p.Name, fmt.Errorf("the farm has changed since the plan was made: %s", farm.Some(differ)),
			"look at the difference and plan again")
	}
	pending, err := r.pending(p)
	if err != nil {
		return store.Run{}, nil, err
	}
	return r.Act.Begin(ctx, act.Proposal{
		Name: p.Name, Subject: p.Name,
		Job: func(run string) (engine.Job, uint32, error) {
			job, err := r.job(run, p, pending)
			return job, 0, err
		},
		Survey: r.SurveyJob, Remedy: "remedy them; nothing was changed",
	})
}

// pending are the hosts of a plan that it has not rolled yet, in its order.
func (r *Roller) pending(p agenda.Plan) (out []agenda.Host, err error) {
	for _, h := range p.Hosts {
		done, err := r.isRolled(p.Name, p.Made, h.Name)
		if err != nil {
			return nil, err
		}
		if !done {
			out = append(out, h)
		}
	}
	return out, nil
}

// job is a lane for each host. What may be out at once are tokens that a lane holds: of the farm, its rack, its feed, and each pair that it has a side of.
func (r *Roller) job(run string, p agenda.Plan, hosts []agenda.Host) (engine.Job, error) {
	job := engine.Job{ID: run, Kind: Roll, Budgets: map[string]int{act.WholeFarm: max(1, p.Limits.Hosts)}}
	number := strings.ToLower(rand.Text())[:16]
	for _, h := range hosts {
		book, _ := r.Kind.Runbook(bookFor(p.Work, h))
		o := hostOrder{Runbook: book.Name, Plan: p.Name, Made: p.Made, Host: h.Name, Work: p.Work.For(h), Windows: p.Windows, Takes: p.HostTakes(), Number: number, Sides: []sides.Order{}}
		lane := engine.Lane{Name: string(h.Name), Holds: []string{act.WholeFarm}}
		hold := func(token string, n int) {
			job.Budgets[token] = n
			lane.Holds = append(lane.Holds, token)
		}
		hold("host "+string(h.Name), 1)
		if p.Limits.PerRack > 0 {
			hold("rack-out "+h.Rack, p.Limits.PerRack)
		}
		if p.Limits.PerFeed > 0 {
			hold("power-out "+h.Feed, p.Limits.PerFeed)
		}
		for _, i := range h.Instances {
			side, err := r.Order(i.Pair, i.Side)
			if err != nil {
				return job, err
			}
			o.Sides = append(o.Sides, side)
			hold("pair "+string(i.Pair), 1)
		}
		args, err := json.Marshal(o)
		if err != nil {
			return job, err
		}
		lane.Parts = []engine.Part{{Subject: string(h.Name), Args: args, Steps: book.EngineSteps()}}
		job.Lanes = append(job.Lanes, lane)
	}
	return job, nil
}

// commands is what runs commands on a host: its agent, or a station on this machine.
func (r *Roller) commands(name farm.HostName) (commander, error) {
	h, err := r.Host(name)
	if err != nil {
		return nil, err
	}
	if far, ok := h.(commander); ok {
		return far, nil
	}
	return near{r.Local(name)}, nil
}

// commander runs commands on one host; *agent.Remote is one.
type commander interface {
	MayCommand(ctx context.Context, order []byte) error
	Command(ctx context.Context, order []byte, told func(string)) ([]byte, error)
}

// near is a station of this machine.
type near struct{ *command.Station }

func (n near) MayCommand(_ context.Context, order []byte) error {
	_, err := n.May(order)
	return err
}

func (n near) Command(ctx context.Context, order []byte, told func(string)) ([]byte, error) {
	out, _, err := n.Run(ctx, order, told)
	return out, err
}

// Took is how long hosts were out in earlier rolls of the same work: the median. What was never rolled is assumed.
func Took(s *store.Store, w agenda.Work) (agenda.Took, error) {
	docs, err := s.Documents(rolledDocument)
	if err != nil {
		return agenda.Assumed, err
	}
	var all []float64
	for _, d := range docs {
		var x Rolled
		if err := json.Unmarshal(d.Body, &x); err == nil && x.Work == fingerprint(w) && !x.Back.IsZero() && !x.Out.IsZero() {
			all = append(all, x.Back.Sub(x.Out).Seconds())
		}
	}
	if len(all) == 0 {
		return agenda.Assumed, nil
	}
	return agenda.Took{Seconds: farm.Rank(all, 0.5), From: fmt.Sprintf("as measured on %s", farm.Counted(len(all), "host"))}, nil
}

// fingerprint is the same for the same work.
func fingerprint(w agenda.Work) string {
	steps := slices.Clone(w.Steps)
	for n := range steps {
		if steps[n].HostOptions { // each host has its own
			steps[n].Options, steps[n].Apply = nil, false
		}
	}
	return w.Playbook + " " + fmt.Sprint(steps)
}
