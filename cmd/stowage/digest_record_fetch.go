package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"stowage/agent"
	"stowage/farm"
	"stowage/record"
	"stowage/session"
)

// fetched is what came of a recording whose program was gone.
type fetched struct {
	Result record.Result `json:"result"`
	Save   string        `json:"save,omitempty"` // empty: there was no digest
	Note   string        `json:"note"`
}

func (x fetched) writeText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", x.Result.Instance, x.Note)
	writeRecorded(w, x.Result)
}

// fetchAll fetches what agents keep of recordings that nobody waited for.
func (a *app) fetchAll(ctx context.Context, d *session.Session, names []string, s *restoreSummary) ([]error, error) {
	left, err := record.LedgerOf(recordDir(d.Workspace)).Left()
	if err != nil {
		return nil, &farm.Error{Op: "restore", Err: err}
	}
	left = amongNamed(left, names)
	if len(left) == 0 {
		return nil, nil
	}
	if !d.Farm.Agents.Used() {
		return nil, &farm.Error{Op: "fetch recordings", Subject: "farm.yaml", Err: fmt.Errorf("%w: agents have recorded %s, and farm.yaml no longer has them", farm.ErrInput, listed(left)), Hint: "docs/guide/agents.md"}
	}
	board, err := d.Board(ctx)
	if err != nil {
		return nil, err
	}
	m := d.Handshakes(ctx, session.AgentPatience)
	type one struct {
		fetched
		found bool
	}
	all, errs := make([]one, len(left)), make([]error, len(left))
	record.Each(ctx, left, restoredAtOnce, func(ctx context.Context, i int, n farm.InstanceName) {
		all[i].fetched, all[i].found, errs[i] = a.fetchLeft(ctx, board, m, d, n)
	})
	for i, x := range all {
		if x.found && errs[i] == nil {
			s.Fetched = append(s.Fetched, x.fetched)
		}
	}
	return errs, nil
}

// fetchLeft ends what is left of an instance's recording by its agent, keeps
// its digest under a name of its own and forgets the order. An error means
// that it is still to be done.
func (a *app) fetchLeft(ctx context.Context, board *agent.Switchboard, m *session.Handshakes, d *session.Session, n farm.InstanceName) (x fetched, found bool, err error) {
	e, err := record.LedgerOf(recordDir(d.Workspace)).Reopen(n)
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	}
	if err != nil {
		return x, true, err
	}
	defer e.Close()
	if _, err := m.Wait(ctx, e.Host); err != nil {
		return x, true, err
	}
	res, part, err := record.Fetch(ctx, board.Host(e.Host), e, recordAs(d, e.From, e.Address))
	if err != nil && !e.IsOver(err) {
		return x, true, err
	}
	x = fetched{Result: res, Note: "the server is as before"}
	switch {
	case err != nil:
		x.Note = err.Error()
	case part != nil:
		x.Note = fmt.Sprintf("%s in %.1f s", farm.Counted(res.Events, "event"), res.Seconds)
	}
	if part != nil {
		x.Save = record.KeepFor(e.Save, n, true)
		if err := a.saveDigest(x.Save, part); err != nil {
			return x, true, err
		}
		x.Note += "; kept as " + x.Save
	}
	return x, true, record.Settle(ctx, board.Host(e.Host), e, err)
}
