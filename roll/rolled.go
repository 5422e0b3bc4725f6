package roll

import (
	"errors"
	"slices"
	"time"

	"stowage/command"
	"stowage/farm"
	"stowage/packages"
	"stowage/store"
)

// Rolled is what happened to one host of a run, so far. It is kept in the store, a newer one beside the older.
type Rolled struct {
	Run   string          `json:"run"`
	Plan  string          `json:"plan"`
	Made  string          `json:"plan_made"`
	Host  farm.HostName   `json:"host"`
	Pairs []farm.PairName `json:"pairs"`
	Work  string          `json:"work"` // a fingerprint: the same for the same work
	// Out is when the last of its sides had left, Back when the last served again; zero: not yet.
	Out  time.Time `json:"out,omitzero"`
	Back time.Time `json:"back,omitzero"`
	// Done are the steps of the work that are, and what came of their commands; one that failed is the last.
	Done []Did `json:"done,omitempty"`
	// Restarting are the processes that a restart which is under way has found, by step.
	Restarting map[int]map[farm.InstanceName]int `json:"restarting,omitempty"`
	// Packages are, by step, what packages were before the host left, and are to be.
	Packages map[int]packages.Report `json:"packages,omitempty"`
	// Backing are the steps whose packages of before are installed again.
	Backing map[int]backing `json:"backing,omitempty"`
	// Logs are how long the error logs were before the host left; -1: nobody could read them.
	Logs map[farm.InstanceName]int `json:"logs,omitempty"`
	// LogFiles are where they lie: of a server that does not start nobody can ask it.
	LogFiles map[farm.InstanceName]string `json:"log_files,omitempty"`
	// Advised is what tune found on the host after the work and not before, and the other way round; nil: not compared yet, or not at all.
	Advised *Advised `json:"advised,omitempty"`
	// Accepted are steps that failed, and that a person has remedied.
	Accepted []int `json:"accepted,omitempty"`
	// Changed are variables that a person has changed meanwhile, and rules of tune whose findings are as they should be.
	Changed []string `json:"changed,omitempty"`
}

// Advised are findings of tune that differ before and after, in words.
type Advised struct {
	Fresh []string `json:"fresh,omitempty"` // announced or not
	Gone  []string `json:"gone,omitempty"`
}

// Did is one step of the work on one host.
type Did struct {
	Step    int              `json:"step"` // from 0
	What    string           `json:"what"`
	Command *command.Outcome `json:"command,omitempty"`
	Failed  string           `json:"failed,omitempty"`
	Noted   bool             `json:"noted,omitempty"` // it failed, and the host goes on: on_failure says so
}

// rolledDocument has what happened to a host, under the number of its run.
const rolledDocument = "rolled host"

// doneDocument has the hosts that a plan has rolled.
const doneDocument = "rolled by plan"

func planKey(plan, made string, h farm.HostName) string { return plan + " " + made + " " + string(h) }

func (r *Roller) isRolled(plan, made string, h farm.HostName) (bool, error) {
	var at time.Time
	_, err := r.Store.LatestDocument(doneDocument, planKey(plan, made, h), &at)
	if errors.Is(err, store.ErrNone) {
		return false, nil
	}
	return err == nil, err
}

// rolledOf reads what happened to the host of an order; the zero Rolled when nothing has.
func rolledOf(s *store.Store, o hostOrder) (Rolled, error) {
	var x Rolled
	_, err := s.LatestDocument(rolledDocument, o.key(), &x)
	if errors.Is(err, store.ErrNone) {
		err = nil
	}
	x.Plan, x.Made, x.Host, x.Work = o.Plan, o.Made, o.Host, fingerprint(o.Work)
	x.Pairs = []farm.PairName{}
	for _, side := range o.Sides {
		x.Pairs = append(x.Pairs, side.Pair)
	}
	return x, err
}

// did is what is known of a step of the work; ok: it need not be done any more.
func (x Rolled) did(step int) (d Did, known, ok bool) {
	n := slices.IndexFunc(x.Done, func(d Did) bool { return d.Step == step })
	if n < 0 {
		return Did{}, false, false
	}
	d = x.Done[n]
	return d, true, d.Failed == "" || d.Noted || x.IsRemedied(step)
}

// IsRemedied reports whether a step of the work failed and a person has seen to it.
func (x Rolled) IsRemedied(step int) bool { return slices.Contains(x.Accepted, step) }

// with is what is known, and one step more.
func (x Rolled) with(d Did) Rolled {
	x.Done = append(slices.DeleteFunc(slices.Clone(x.Done), func(o Did) bool { return o.Step == d.Step }), d)
	return x
}

// Failed is the step of the work that keeps the host out, and whether there is one.
func (x Rolled) Failed() (Did, bool) {
	for _, d := range x.Done {
		if _, _, ok := x.did(d.Step); !ok {
			return d, true
		}
	}
	return Did{}, false
}

// Code is the exit code of the last command that ran on the host, and Runs how often commands were begun at most; ok: one was.
func (x Rolled) Code() (code, runs int, ok bool) {
	for _, d := range x.Done {
		if d.Command == nil {
			continue
		}
		if !ok || d.Command.Code != 0 || d.Command.Unknown != "" { // the first that failed says more than those after it
			if !ok || code == 0 {
				code = d.Command.Code
			}
		}
		runs, ok = max(runs, d.Command.Runs), true
	}
	return code, runs, ok
}

// IsOut reports whether the host is out of rotation: all its sides have left, and not all serve again.
func (x Rolled) IsOut() bool { return !x.Out.IsZero() && x.Back.IsZero() }

// SecondsOut is how long the host was out, or is by now.
func (x Rolled) SecondsOut(now time.Time) float64 {
	switch {
	case x.Out.IsZero():
		return 0
	case x.Back.IsZero():
		return now.Sub(x.Out).Seconds()
	}
	return x.Back.Sub(x.Out).Seconds()
}
