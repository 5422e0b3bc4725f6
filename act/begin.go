package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
	"stowage/workspace"
)

// Proposal is a run that somebody wants.
type Proposal struct {
	Name    string // in the run's id
	Subject string // for people
	// Job makes the engine's job, for a run of that id, and says which is the first server id that it leaves free (0: it takes
	// none). A job without lanes is done already.
	Job func(run string) (job engine.Job, nextServerID uint32, err error)
	// ApproveBefore are steps before which a person is asked, and Soak is how long what it makes serves before the old is dropped: as the
	// plan has them. A soak of no more than WatchAtMost is part of a step.
	ApproveBefore []string
	Soak          time.Duration
	// Survey asks everything of what the job touches.
	Survey func(context.Context, engine.Job) ([]farm.Finding, error)
	// Blocks reports whether what was found forbids the whole job; nil: any blocker does.
	Blocks func(engine.Job, []farm.Finding) bool
	// Remedy is what to do about blockers.
	Remedy string
}

// Begin asks everything of a proposal, and makes the run durable before anything is touched. Findings come back in any case; an error
// that wraps farm.ErrRefused means that nothing was touched. The run of a job without lanes is the zero Run.
func (a *Act) Begin(ctx context.Context, p Proposal) (store.Run, []farm.Finding, error) {
	if err := a.NothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	defer a.EndTurn() // also where it is refused: the next may begin
	a.hear()
	run := store.Run{ID: a.nextID(p.Name), Kind: a.Kind.Name, Subject: p.Subject, State: store.Running, Started: time.Now(), PID: os.Getpid()}
	job, nextServerID, err := p.Job(run.ID)
	if err != nil || len(job.Lanes) == 0 {
		return store.Run{}, nil, err
	}
	if err := a.claim(run, &job); err != nil {
		return store.Run{}, nil, err
	}
	begun := false
	defer func() {
		if !begun {
			_ = a.taken.Drop() // one that stays is removed by the next run
		}
	}()
	approvals, err := approvalsOf(job, append(slices.Clone(p.ApproveBefore), a.Terms.ApproveBefore...))
	if err != nil {
		return store.Run{}, nil, err
	}
	a.Owner = ownerOf(run)
	findings, err := p.Survey(ctx, job)
	if err != nil {
		return store.Run{}, findings, err
	}
	if p.blocks(job, findings) {
		return store.Run{}, findings, Refused(a.Kind.Name, p.Subject, errors.New("preflight found blockers"), p.Remedy)
	}
	if a.Dry {
		return run, findings, nil
	}
	err = a.write(run, job, approvals, p.Soak, nextServerID)
	begun = err == nil
	return run, findings, err
}

func (p Proposal) blocks(job engine.Job, findings []farm.Finding) bool {
	if p.Blocks != nil {
		return p.Blocks(job, findings)
	}
	return farm.Blocks(findings)
}

// write makes the run durable before anything is touched: its server ids are spent before it is recorded, so that no crash can give them
// out twice. CutShort knows a run that was killed between the two by its job.
func (a *Act) write(run store.Run, job engine.Job, approvals []string, soak time.Duration, nextServerID uint32) error {
	now, err := a.Workspace.Farm()
	if err != nil {
		return err
	}
	job.Format = engine.Format
	if err := a.Store.PutDocument("job", run.ID, run.Started, job); err != nil {
		return err
	}
	if nextServerID > now.NextServerID {
		err := a.Workspace.EditFarm(func(e *workspace.Edit) error {
			e.SetNextServerID(nextServerID)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := a.firstOrders(run, approvals, soak); err != nil {
		return err
	}
	if a.Border != nil {
		if err := a.Border("before run"); err != nil {
			return err
		}
	}
	return a.Store.PutRun(run)
}

// CutShort reports whether a run of that name, the next that would begin, was killed before it was recorded. Nothing was touched, but
// the server ids it was to give are spent.
func (a *Act) CutShort(name string) bool {
	var job engine.Job
	_, err := a.Store.LatestDocument("job", a.nextID(name), &job)
	return err == nil
}

// Refused is the error of what must not be done.
func Refused(op, subject string, err error, hint string) error {
	return &farm.Error{Op: op, Subject: subject, Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: hint}
}

// NothingOpen refuses to begin beside what another verb has begun that goes for all pairs.
func (a *Act) NothingOpen() error {
	if a.Elsewhere == nil {
		return nil
	}
	return a.Elsewhere()
}

// nextID is an id that no run has. The engine takes none with a slash.
func (a *Act) nextID(name string) string {
	name = strings.ReplaceAll(name, "/", "-")
	runs, _ := a.Store.Runs(a.Kind.Name) // unread: PutRun will say so
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s-%s-%d", a.Kind.Name, name, n)
		if !slices.ContainsFunc(runs, func(r store.Run) bool { return r.ID == id }) {
			return id
		}
	}
}
