package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/due"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/inventory"
	"stowage/session"
	"stowage/store"
)

// duty is one task that comes back. To add one, add a row to duties and a key to due in farm.yaml.
type duty struct {
	due.Task
	does string
	do   func(context.Context, *session.Session) (found, error)
}

// found is what a task has to say. Whatever of it is kept is kept with the note that the task is done, or not at all.
type found struct {
	said     string
	findings []farm.Finding
	yield    store.Yield
	// isEarly: there was nothing yet to do it to. It stays due.
	isEarly bool
}

// duties are all tasks, in the order in which they are done: the cheap ones first.
func (a *app) duties(f *farm.Farm) []duty {
	d := f.Due.Filled()
	return append([]duty{
		{due.Task{Name: "sizes", Every: d.Sizes}, "take an inventory and keep the sizes", a.dueSizes},
		{due.Task{Name: "sources", Every: d.Sources}, "compare the sources with each other", a.dueSources},
		{due.Task{Name: "load", Every: d.Load}, "read for " + inHelp(d.Window) + " what servers are asked", a.dueLoad},
		{due.Task{Name: "hosts", Every: d.Hosts}, "read for " + inHelp(d.Window) + " what hosts use", a.dueHosts},
	}, a.backupDuties(f)...)
}

// dueAnswer is what `stowage due` prints.
type dueAnswer struct {
	FormatVersion int            `json:"format_version"`
	Farm          string         `json:"farm"`
	At            time.Time      `json:"at"`
	Tasks         []dueTask      `json:"tasks"`
	Findings      []farm.Finding `json:"findings"`
}

type dueTask struct {
	Task    string     `json:"task"`
	State   string     `json:"state"` // done, failed, busy, due, not due, off
	Does    string     `json:"does"`
	Text    string     `json:"text"` // what it found, or why it failed
	Remedy  string     `json:"remedy,omitempty"`
	Seconds float64    `json:"seconds"`
	DoneAt  *time.Time `json:"done_at"` // when it was last done
	Next    *time.Time `json:"next"`
}

// next: what failed is looked into. Cron would mail whatever else is said.
func (o dueAnswer) next(a *app, dry bool) []string {
	failed := slices.ContainsFunc(o.Tasks, func(t dueTask) bool { return t.State == "failed" })
	switch {
	case failed:
		return []string{a.cmd("doctor")}
	case dry && slices.ContainsFunc(o.Tasks, func(t dueTask) bool { return t.State == "due" }):
		return []string{a.forReal()}
	}
	return nil
}

func (a *app) dueCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "due",
		Short: "Do what is due: measure sizes, check sources, read what servers are asked; for cron or a timer",
		Long: `Does what is due, once, and ends: takes an inventory and keeps the sizes, compares the sources of
inventory.yaml with each other, reads for a minute what servers are asked and what hosts use. Intervals are in farm.yaml
under 'due'; without it: sizes and sources once a day, load and hosts once an hour. Call it more often than the
shortest interval, from cron or the timer in packaging/.

A task that fails does not stop the others, and is due again at the next call; so is one that was killed: nothing
of it is kept. Two calls at once do nothing twice. What was measured is kept in .stowage/stowage.db, by the hour for 14
days and by the day for 400: stowage capacity, stowage digest farm and stowage metrics read it. Where farm.yaml has 'backup',
it archives binary logs, takes the backups that are due, and verifies one. From servers it only reads. docs/guide/due.md.

` + exitHelp,
		Example: "  stowage due\n  stowage due --dry-run\n  */10 * * * * stowage -C /srv/farm due >> /var/log/stowage-due.log 2>&1",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			answer, err := a.due(c.Context(), dry)
			if answer.FormatVersion != 0 {
				err = errors.Join(a.emit(answer, answer.text, answer.next(a, dry)...), err)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what is due, and do nothing")
	return cmd
}

func (a *app) due(ctx context.Context, dry bool) (dueAnswer, error) {
	open := a.open
	if dry {
		open = a.look
	}
	d, err := open()
	if err != nil {
		return dueAnswer{}, err
	}
	defer d.Close()
	out := dueAnswer{FormatVersion: 1, Farm: d.Farm.Name, At: time.Now().UTC(), Tasks: []dueTask{}, Findings: []farm.Finding{}}
	failed := 0
	for _, task := range append(a.duties(d.Farm), a.reshapeDuties(d)...) {
		was, err := d.Store.Duties()
		if err != nil {
			return dueAnswer{}, err
		}
		row := dueTask{Task: task.Name, Does: task.does}
		turn := task.Of(was[task.Name].DoneAt, time.Now())
		row.stands(turn, was[task.Name])
		if turn.IsDue() && !dry {
			f, err := a.doDuty(ctx, d, task, &row)
			if ctx.Err() != nil {
				return dueAnswer{}, &farm.Error{Op: "due", Subject: task.Name, Err: fmt.Errorf("%w: %w", farm.ErrInterrupted, ctx.Err()), Hint: "nothing of it is kept; the next call does it"}
			}
			if err != nil {
				failed++
			}
			out.Findings = append(out.Findings, f.findings...)
		}
		out.Tasks = append(out.Tasks, row)
	}
	switch {
	case failed > 0:
		return out, &farm.Error{Op: "due", Err: fmt.Errorf("tasks that failed: %d", failed), Hint: "see why above; each is done again at the next call"}
	case hasGrave(out.Findings):
		return out, farm.ErrFindings
	}
	return out, nil
}

func hasGrave(fs []farm.Finding) bool {
	for _, f := range fs {
		if f.Severity != farm.Note {
			return true
		}
	}
	return false
}

// stands says of a task how it is before anything is done.
func (r *dueTask) stands(turn due.Turn, was store.Duty) {
	r.State, r.DoneAt = "not due", instantOf(was.DoneAt)
	if !turn.Next.IsZero() {
		r.Next = &turn.Next
	}
	switch turn.Why {
	case due.Off:
		r.State, r.Text = "off", "due in farm.yaml switches it off"
	case due.Due:
		r.State = "due"
	case due.Late:
		r.State, r.Text = "due", "it is late: last done "+was.DoneAt.Format(time.DateTime)+" UTC"
	case due.Back:
		r.State, r.Text = "due", "it was last done at "+was.DoneAt.Format(time.DateTime)+" UTC, which is still to come: the clock was put back"
	}
	if turn.IsDue() && !was.IsDone && was.Said != "" {
		r.Text = "the attempt before failed: " + was.Said
	}
}

func instantOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// doDuty does one task, unless another process does or just did, and keeps how it ended.
func (a *app) doDuty(ctx context.Context, d *session.Session, task duty, row *dueTask) (found, error) {
	release, busy, err := d.Alone(task.Name)
	if err != nil {
		row.State, row.Text, row.Remedy = "failed", err.Error(), farm.Hint(err)
		return found{}, err
	}
	if busy != nil {
		row.State, row.Text = "busy", fmt.Sprintf("process %d has been doing it since %s", busy.PID, busy.Since.UTC().Format(time.TimeOnly))
		return found{}, nil
	}
	defer release()
	begun := time.Now().UTC()
	was, err := d.Store.Duties() // another process may have done it since we looked
	if turn := task.Of(was[task.Name].DoneAt, begun); err == nil && !turn.IsDue() {
		*row = dueTask{Task: task.Name, Does: task.does}
		row.stands(turn, was[task.Name])
		return found{}, nil
	}
	a.say("%s: %s", task.Name, task.does)
	f, err := task.do(ctx, d)
	if ctx.Err() != nil {
		return found{}, ctx.Err()
	}
	if err == nil && f.isEarly {
		row.Text = f.said
		return f, nil
	}
	note := store.Duty{Task: task.Name, Begun: begun, Ended: time.Now().UTC(), IsDone: err == nil, Said: f.said}
	if err != nil {
		note.Said, f.yield = err.Error(), store.Yield{Seen: f.yield.Seen} // that it was not measured is a measurement
	}
	keep := d.Farm.Due.Filled()
	if kept := d.Store.PutDuty(note, f.yield, store.Keep{Hours: keep.KeepHours, Days: keep.KeepDays}); kept != nil {
		err = errors.Join(err, kept)
	}
	row.Seconds = note.Ended.Sub(begun).Seconds()
	if err != nil {
		row.State, row.Text, row.Remedy = "failed", err.Error(), farm.Hint(err)
		return f, err
	}
	next := task.Of(begun, note.Ended)
	row.State, row.Text, row.DoneAt, row.Next = "done", f.said, &begun, &next.Next
	return f, nil
}

func (o dueAnswer) text(w io.Writer) error {
	t := table.New(w, "TASK\tSTATE\tTOOK\tNEXT (UTC)\tTEXT")
	for _, r := range o.Tasks {
		next, took := "-", "-"
		if r.Next != nil {
			next = r.Next.UTC().Format(time.DateTime)
		}
		if r.State == "due" {
			next = "now"
		}
		if r.State == "failed" {
			next = "next call"
		}
		if r.Seconds > 0 {
			took = fmt.Sprintf("%.1fs", r.Seconds)
		}
		text := r.Text
		if text == "" {
			text = r.Does
		}
		t.Row("%s\t%s\t%s\t%s\t%s", r.Task, r.State, took, next, text)
		if r.Remedy != "" {
			t.Row("\t\t\t\t-> %s", r.Remedy)
		}
	}
	if err := t.Flush(); err != nil || len(o.Findings) == 0 {
		return err
	}
	return inventory.WriteFindings(w, o.Findings)
}
