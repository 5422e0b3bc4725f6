package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
	"stowage/workspace"
)

// claimOf is what a job touches: the pairs that its lanes are about, the hosts on which they live and go to, and how much of the budgets
// that all runs share it may use at once. A lane that is about no pair of the farm claims all: what it makes may touch anything, but for one that works beside what is there. One that holds no token
// touches nothing: it waits for a person.
func claimOf(run store.Run, job engine.Job, now *farm.Farm, purpose string) workspace.Claim {
	c := workspace.Claim{Run: run.ID, Purpose: purpose, Uses: map[string]int{}}
	hosts := map[farm.HostName]bool{}
	pairs := map[farm.PairName]bool{}
	for _, lane := range job.Lanes {
		if len(lane.Holds) == 0 {
			continue
		}
		var names []string
		if !lane.Beside {
			names = append(names, lane.Name)
		}
		for _, token := range lane.Holds {
			kind, name, _ := strings.Cut(token, " ")
			switch kind {
			case "pair":
				names = append(names, name)
			case "host":
				hosts[farm.HostName(name)] = true
			default:
				c.Uses[token]++
			}
		}
		for _, name := range names {
			p, known := now.Pair(farm.PairName(name))
			if _, isHost := now.Host(farm.HostName(name)); !known && isHost { // a host that is rolled
				hosts[farm.HostName(name)] = true
				continue
			}
			if !known {
				c.Whole = true
				continue
			}
			pairs[p.Name] = true
			for _, s := range p.Sides {
				hosts[s.Host] = true
			}
		}
	}
	for token, lanes := range c.Uses {
		c.Uses[token] = min(lanes, job.Budgets[token])
	}
	c.Pairs, c.Hosts = sorted(pairs), sorted(hosts)
	return c
}

func sorted[K ~string](set map[K]bool) []K {
	var out []K
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// others are the claims of runs that have not ended, without one's own. A claim that a program left which was killed before its run
// had begun is removed.
func others(ws *workspace.Workspace, s *store.Store, own string) ([]workspace.Claim, error) {
	open, err := Open(s)
	if err != nil {
		return nil, err
	}
	claims, err := ws.Claims()
	if err != nil {
		return nil, err
	}
	var out []workspace.Claim
	for _, c := range claims {
		begun := slices.ContainsFunc(open, func(r store.Run) bool { return r.ID == c.Run })
		switch {
		case c.Run == own:
		case begun || c.Live:
			out = append(out, c)
		default:
			if err := ws.Forget(c.Run); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range open {
		known := slices.ContainsFunc(claims, func(c workspace.Claim) bool { return c.Run == r.ID })
		if !known && r.ID != own { // begun before there were claims
			out = append(out, workspace.Claim{Run: r.ID, PID: r.PID, Since: r.Started, Purpose: r.Subject, Whole: true})
		}
	}
	return out, nil
}

// refuseOverlap refuses a claim that has something in common with that of another run.
func refuseOverlap(mine workspace.Claim, all []workspace.Claim, kind, subject string) error {
	for _, c := range all {
		common := mine.Common(c)
		if common == "" {
			continue
		}
		hint := "wait until that run ends (stowage status --run " + c.Run + ")"
		if !c.Live {
			hint = "finish it first: stowage resume --run " + c.Run
		}
		return Refused(kind, subject, fmt.Errorf("run %s of %s has not ended and has claimed %s", c.Run, c.Since.Local().Format(time.DateTime), common), hint)
	}
	return nil
}

// shareBudgets leaves a job what other runs do not use of the budgets of the farm. parallel is how many lanes goals.yaml allows all runs
// together; 0: as many as the job has.
func shareBudgets(job *engine.Job, all []workspace.Claim, parallel int, kind, subject string) error {
	for token, mine := range job.Budgets {
		used, by := 0, ""
		for _, c := range all {
			if n := c.Uses[token]; n > 0 {
				used, by = used+n, c.Run
			}
		}
		if used == 0 {
			continue
		}
		limit := mine
		if token == WholeFarm && parallel > 0 {
			limit = parallel
		}
		left := min(mine, limit-used)
		if left <= 0 {
			return Refused(kind, subject, fmt.Errorf("run %s may have %d on their way at once, which is all that goals.yaml allows for %s", by, used, token),
				"wait until it ends (stowage status --run "+by+"), or raise parallel in goals.yaml")
		}
		job.Budgets[token] = left
	}
	return nil
}

// claim takes what a new run touches, beside all others.
func (a *Act) claim(run store.Run, job *engine.Job) error {
	now, err := a.Workspace.Farm()
	if err != nil {
		return err
	}
	mine := claimOf(run, *job, now, a.Kind.Name+" "+run.Subject)
	all, err := others(a.Workspace, a.Store, run.ID)
	if err == nil {
		err = refuseOverlap(mine, all, a.Kind.Name, run.Subject)
	}
	if err == nil {
		err = shareBudgets(job, all, a.Parallel, a.Kind.Name, run.Subject)
	}
	if err != nil || a.Dry {
		return err
	}
	a.taken, err = a.Session.Claim(claimOf(run, *job, now, a.Kind.Name+" "+run.Subject))
	return err
}

// TakeOn takes the claim of a run that has not ended, from a process that has died. While another holds it, it tells wait once whom
// it waits for; wait nil: it does not, and the error holds a *workspace.Held.
func (a *Act) TakeOn(ctx context.Context, run store.Run, wait func(*workspace.Held)) error {
	c, err := a.Workspace.ClaimOf(run.ID)
	if errors.Is(err, fs.ErrNotExist) {
		c, err = workspace.Claim{Run: run.ID, Whole: true}, nil // begun before there were claims, or it has just ended
	}
	if err != nil {
		return err
	}
	c.Purpose = "resume of " + run.ID
	for told := false; ; told = true {
		a.taken, err = a.Session.Claim(c)
		var held *workspace.Held
		if err == nil || wait == nil || !errors.As(err, &held) {
			return err
		}
		if !told {
			wait(held)
		}
		select {
		case <-ctx.Done():
			return &farm.Error{Op: "resume", Subject: run.ID, Err: farm.ErrInterrupted}
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Carrier is the process that carries a run out, 0 for none. The claim decides, whose lock ends with its process: another process may
// have got the old number. Where there is no claim to look at (the run began before there were claims, or is another user's) the number
// is all there is; our own tells of a program that had it before.
func Carrier(ws *workspace.Workspace, run store.Run) int {
	if run.State != store.Running {
		return 0
	}
	c, err := ws.ClaimOf(run.ID)
	if err == nil && c.Live {
		return cmp.Or(c.PID, run.PID)
	}
	if err == nil || run.PID == 0 || run.PID == os.Getpid() {
		return 0
	}
	if err := syscall.Kill(run.PID, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return 0
	}
	return run.PID
}

// MayNote says which pairs' routing is this run's to write down: all but those that others have claimed.
func (a *Act) MayNote(run store.Run) (func(farm.PairName) bool, error) {
	all, err := others(a.Workspace, a.Store, run.ID)
	return func(pair farm.PairName) bool {
		return !slices.ContainsFunc(all, func(c workspace.Claim) bool { return c.Whole || slices.Contains(c.Pairs, pair) })
	}, err
}

// Open are the runs that have not ended, newest first.
func Open(s *store.Store) ([]store.Run, error) {
	runs, err := Runs(s)
	return slices.DeleteFunc(runs, func(r store.Run) bool { return r.State != store.Running }), err
}

// Choose is the run that is meant: the one of that name, or, where none is named, the only one that has not ended, or the newest. Where
// several have not ended the name is asked for.
func Choose(s *store.Store, name, verb string) (store.Run, error) {
	runs, err := Runs(s)
	if err != nil {
		return store.Run{}, err
	}
	if name != "" {
		n := slices.IndexFunc(runs, func(r store.Run) bool { return r.ID == name })
		if n < 0 {
			return store.Run{}, &farm.Error{Op: verb, Subject: name, Err: fmt.Errorf("%w: there is no run of that name", farm.ErrInput), Hint: "stowage runs lists them"}
		}
		return runs[n], nil
	}
	open := slices.DeleteFunc(slices.Clone(runs), func(r store.Run) bool { return r.State != store.Running })
	switch {
	case len(open) == 1:
		return open[0], nil
	case len(open) > 1:
		var ids []string
		for _, r := range open {
			ids = append(ids, r.ID)
		}
		return store.Run{}, Refused(verb, "", fmt.Errorf("%d runs have not ended: %s", len(open), farm.Some(ids)), fmt.Sprintf("say which: stowage %s --run %s", verb, ids[0]))
	case len(runs) == 0:
		return store.Run{}, store.ErrNone
	}
	return runs[0], nil
}
