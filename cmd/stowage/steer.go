package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stowage/act"
	"stowage/alter"
	"stowage/farm"
	"stowage/reshape"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// steered is what a steering verb prints.
type steered struct {
	FormatVersion int            `json:"format_version"`
	Run           string         `json:"run"`
	Verb          string         `json:"verb"`
	Text          string         `json:"text"`
	Approved      []act.Approval `json:"approved,omitempty"`
	// Forward are parts that go on without a way back.
	Forward []act.LostWay `json:"forward,omitempty"`
	PID     int           `json:"pid,omitempty"` // of the process that carries the run out
	Back    *act.Back     `json:"back,omitempty"`
}

func (s steered) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n", s.Run, s.Text)
	writeBack(w, s.Back, "")
	return err
}

// steerGroup is where the verbs that steer stand in the help.
const steerGroup = "steer"

// steeringCommands are the verbs by which a person steers whatever runs, from
// any terminal on the machine, while it runs and after it was killed.
func (a *app) steeringCommands() []*cobra.Command {
	resume := &cobra.Command{
		Use: "resume", Short: "Continue with a run that was cut short, or paused", Args: args(cobra.NoArgs),
		Long: `Continues with the run that has not ended; with --run where there are several. When another process is carrying it out,
waits for that one and takes over if it dies. Takes a pause back, and tries a lost way back
once more. When another process carries that run out, that process goes on.
Nothing to continue is fine.

` + exitHelp,
		Example: "  stowage resume",
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := a.resume(c.Context())
			return a.ended(out, err)
		},
	}
	a.repairFlag(resume.Flags())
	abort, undo := a.abortCommand(), a.undoCommand()
	for _, c := range []*cobra.Command{resume, abort, undo} {
		a.engineFlag(c.Flags())
	}
	said := []*cobra.Command{a.pauseCommand(), resume, a.throttleCommand(), a.approveCommand(), abort, undo}
	for _, c := range said {
		a.reasonFlag(c.Flags())
	}
	status := a.statusCommand()
	for _, c := range append([]*cobra.Command{status}, said...) {
		c.Flags().StringVar(&a.run, "run", "", "this run (stowage runs lists them); default: the one that has not ended, or the newest")
	}
	return slices.Concat([]*cobra.Command{status, a.topCommand()}, said, []*cobra.Command{a.logCommand(), a.runsCommand()})
}

func (a *app) engineFlag(fs *pflag.FlagSet) {
	fs.StringVar(&a.engine, "engine", "", "host:port of a Temporal cluster; default: an engine of our own")
}

func (a *app) reasonFlag(fs *pflag.FlagSet) {
	fs.StringVar(&a.terms.Reason, "reason", "", "why, for those who read the log and the status later")
}

func (a *app) repairFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&a.repair, "repair", false, "correct differing rows in the new copy, then compare again; servers in rotation are never touched")
}

func (a *app) pauseCommand() *cobra.Command {
	copies := false
	cmd := &cobra.Command{
		Use: "pause", Short: "Let no new step of a run begin", Args: args(cobra.NoArgs),
		Long: `Lets no new step begin in any lane, until 'stowage resume'. Steps that run go on to
their end, so that no gate of clients stays closed; copies that run, too, unless --copies
has them stand still (a copy that stands for long may have to begin again).

Works from another terminal while a move runs, and after it was killed. A pause outlives
both; 'stowage status' shows who, when and why.

` + exitHelp,
		Example: `  stowage pause --reason "sale starts at nine"` + "\n  stowage resume",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.steerOpen(func(d *session.Session) (steered, error) {
				run, err := act.Pause(d.Store, a.run, copies, a.terms.Reason)
				text := "paused: no new step begins; running steps end by themselves"
				return steered{Run: run.ID, Verb: "pause", Text: text, PID: act.Carrier(d.Workspace, run)}, err
			})
		},
	}
	cmd.Flags().BoolVar(&copies, "copies", false, "running copies stand still, too")
	return cmd
}

func (a *app) throttleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "throttle N|off", Short: "Limit all copies of a run together, in MB/s", Args: args(cobra.ExactArgs(1)),
		Long: `Limits what all running copies write together, in MB a second; within a second. 0 stops
them, off takes the limit away. Besides, copies slow down by themselves when servers in
rotation become slow or fall behind; 'stowage status' says why.

` + exitHelp,
		Example: "  stowage throttle 40\n  stowage throttle off",
		RunE: func(c *cobra.Command, given []string) error {
			bytes, err := throttleOf(given[0])
			if err != nil {
				return usage(c, err)
			}
			return a.steerOpen(func(d *session.Session) (steered, error) {
				run, err := act.Limit(d.Store, a.run, bytes, a.terms.Reason)
				text := fmt.Sprintf("copies write no more than %g MB/s together", float64(bytes)/1e6)
				if bytes < 0 {
					text = "no limit on copies but their own"
				}
				return steered{Run: run.ID, Verb: "throttle", Text: text, PID: act.Carrier(d.Workspace, run)}, err
			})
		},
	}
}

// throttleOf reads MB/s, with or without the unit; -1 is off.
func throttleOf(word string) (int64, error) {
	if word == "off" {
		return -1, nil
	}
	mb, err := strconv.ParseFloat(strings.TrimSuffix(word, "MB/s"), 64)
	if err != nil || !(mb >= 0 && mb <= 1e6) { // NaN is neither
		return 0, fmt.Errorf("throttle %q: give MB a second from 0 to 1000000, such as 40 or 0.5, or off", word)
	}
	return int64(mb * 1e6), nil
}

func (a *app) abortCommand() *cobra.Command {
	return &cobra.Command{
		Use: "abort", Short: "End a run safely: undo what can be undone, finish the rest", Args: args(cobra.NoArgs),
		Long: `Ends the move: sides before their point of no return (retire) are put back as they were,
sides behind it are finished, no other begins. What was moved before stays moved. Copies
that run are broken off at once. Refused where undo is: while a way back is lost.

While another process carries the move out, that one does it and ends with 4; abort says
so and returns. When nobody does, because it was killed, abort does it itself: 0 when all
is as asked.

` + exitHelp,
		Example: `  stowage abort --reason "disks of ssd03 fail"`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.end(c.Context(), func(d *session.Session) (store.Run, error) { return act.Abort(d.Store, a.run, a.terms.Reason) })
		},
	}
}

func (a *app) undoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "undo", Short: "Take a run back, as far as it goes, and plan the rest", Args: args(cobra.NoArgs),
		Long: `Takes back the run that has not ended, or the newest one. Sides before their point of no
return (retire) are put back as they were, lane by lane, the last begun first. With a soak
in goals.yaml that is possible for as long as it lasts.

Refused while a shard waits whose way back is lost: what was written at its new place
would be lost. Decide about that first: 'stowage approve --without-way-back'.

Sides behind it are moved for good: for them, and for a move that has ended, a plan in the
other direction is written, plans/undo-NAME.json. Nothing is touched: review it, and
'stowage move undo-NAME'. For an alter that has ended a script is written,
alters/undo-NAME.sql, where no value is lost by it.

` + exitHelp,
		Example: "  stowage undo\n  stowage plan show undo-first\n  stowage move undo-first",
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := a.openRun()
			if err != nil {
				return err
			}
			run, err := act.Choose(d.Store, a.run, "undo")
			d.Close()
			switch {
			case errors.Is(err, store.ErrNone):
				return &farm.Error{Op: "undo", Err: fmt.Errorf("%w: no run has begun in this workspace", farm.ErrRefused), Hint: "stowage status"}
			case err != nil:
				return err
			case run.State != store.Running:
				return a.planBack(run)
			}
			return a.end(c.Context(), func(d *session.Session) (store.Run, error) {
				return run, act.Undo(d.Store, run, a.terms.Reason)
			})
		},
	}
}

// planBack writes the plan that takes an ended move back.
func (a *app) planBack(run store.Run) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	ended, err := a.actOf(d, run.Kind)
	if err == nil && ended.WayBack == nil {
		hint := "stowage log --run " + run.ID + " says what it did"
		if run.Kind == reshape.Name {
			hint = "stowage reshape off TENANT has a tenant read from its children again; " + hint
		}
		err = act.Refused("undo", run.ID, fmt.Errorf("a %s that has ended is not taken back", run.Kind), hint)
	}
	if err != nil {
		return err
	}
	back, err := ended.WayBack(run)
	if err != nil {
		return err
	}
	if err := d.Store.PutOrder(store.Order{Run: run.ID, At: time.Now(), Who: act.Who(), Verb: "undo", Why: a.terms.Reason}); err != nil {
		return err
	}
	s := steered{FormatVersion: 1, Run: run.ID, Verb: "undo", Back: back, Text: "it has ended; farm.yaml shows nothing where it moved it, so there is nothing to take back"}
	if back != nil {
		s.Text = "it has ended; what it moved is behind its point of no return"
	}
	if run.Kind == alter.Name {
		s.Text = "it has ended; change the tables back by another alter"
	}
	return a.emit(s, s.writeText, a.allWithin(wayBack(back))...)
}

// wayBack are the commands by which what was moved for good comes back.
func wayBack(b *act.Back) []string {
	switch {
	case b == nil:
		return []string{"stowage report"}
	case b.Plan != "":
		return []string{"stowage plan show " + b.Plan, "stowage move " + b.Plan + " --dry-run"}
	case len(b.Commands) > 0:
		return b.Commands
	}
	return []string{"stowage plan"}
}

// writeBack says how what was moved for good is taken back.
func writeBack(w io.Writer, b *act.Back, none string) {
	if none != "" {
		fmt.Fprintf(w, "what was moved for good stays: no plan back: %s\n", none)
	}
	if b == nil {
		return
	}
	if b.Plan != "" {
		fmt.Fprintf(w, "moved for good: %s; the way back is a plan: %s\n", farm.Counted(b.Sides, "side"), b.Path)
	}
	if b.Script != "" {
		fmt.Fprintf(w, "the way back is a script: %s\n  review it, then: %s\n", b.Script, b.Commands[0])
		return
	}
	if len(b.Commands) > 0 {
		fmt.Fprintf(w, "moved for good; the way back is the same move in the other direction:\n  %s\n", strings.Join(b.Commands, "\n  "))
	}
	if len(b.Lost) > 0 {
		fmt.Fprintf(w, "moved for good, from pairs that are retired: %v\n  plan their new place: stowage plan\n", b.Lost)
	}
	if len(b.InTheWay) > 0 {
		fmt.Fprintf(w, "  first remove or rename the old instances' directories, if they are still there:\n    %s\n", strings.Join(b.InTheWay, "\n    "))
	}
}

// steerOpen opens the workspace for one order.
func (a *app) steerOpen(order func(*session.Session) (steered, error)) error {
	d, err := a.openRun()
	if err != nil {
		return err
	}
	defer d.Close()
	s, err := order(d)
	if err != nil {
		return err
	}
	if s.FormatVersion = 1; s.PID == 0 {
		s.Text += "\n  no program carries it out"
		if s.Verb == "pause" {
			s.Text = "paused; no program carries it out"
		}
	}
	next := []string{a.cmd("status")}
	if s.PID == 0 || s.Verb == "pause" {
		next = []string{a.cmd("resume --run %s", s.Run), a.cmd("status --run %s", s.Run)}
	}
	return a.emit(s, s.writeText, next...)
}

// end gives an order that ends the run, and carries it out when nobody else
// does.
func (a *app) end(ctx context.Context, order func(*session.Session) (store.Run, error)) error {
	d, err := a.openRun()
	if err != nil {
		return err
	}
	defer d.Close()
	run, err := order(d)
	if err != nil {
		return err
	}
	going, err := a.actOf(d, run.Kind)
	if err != nil {
		return err
	}
	if err = d.Share(); err == nil {
		err = going.TakeOn(ctx, run, nil)
	}
	var held *workspace.Held
	if errors.As(err, &held) {
		s := steered{FormatVersion: 1, Run: run.ID, Verb: "end", PID: held.PID,
			Text: fmt.Sprintf("process %d was asked to stop; it takes back what can be taken back", held.PID)}
		return a.emit(s, s.writeText, a.cmd("status --run %s", run.ID))
	}
	if err != nil {
		return err
	}
	// It may have ended between the order and the claim.
	if run, err = act.Choose(d.Store, run.ID, "abort"); err != nil || run.State != store.Running {
		return errors.Join(err, a.ended(a.endOf(d, run)))
	}
	s, err := a.carry(ctx, going, run)
	if s.Outcome != nil && s.Outcome.EndedAsAsked() {
		err = nil
		s.State = "ended-as-asked"
	}
	return a.ended(s, err)
}

// unpause takes a pause back, and has ways back tried again that were lost. When
// another process carries the run out that is all there is to do.
func (a *app) unpause(d *session.Session, run store.Run) (goesOn bool, err error) {
	if run.State != store.Running {
		return false, nil
	}
	now, err := act.SteeringOf(d.Store, run.ID)
	lost := slices.ContainsFunc(now.Lost, act.LostWay.IsOpen)
	if err != nil || now.Paused == nil && !lost {
		return false, err
	}
	if err := act.Resume(d.Store, run, a.terms.Reason); err != nil {
		return false, err
	}
	if now.Paused != nil {
		a.say("no longer paused (it was, %s)", now.Paused)
	}
	if lost {
		a.say("the lost way back is tried once more")
	}
	pid := act.Carrier(d.Workspace, run)
	if pid == 0 {
		return false, nil
	}
	s := steered{FormatVersion: 1, Run: run.ID, Verb: "resume", PID: pid, Text: fmt.Sprintf("process %d goes on", pid)}
	return true, a.emit(s, s.writeText, a.cmd("status --run %s", run.ID))
}

// steered reads what people said about the run.
func (s *moveStatus) steered(from *store.Store) error {
	now, err := act.SteeringOf(from, s.Run)
	if err != nil {
		return err
	}
	s.Steering = &now
	if s.State != string(store.Running) && s.State != "interrupted" {
		return nil
	}
	if w := now.Waiting(); len(w) > 0 {
		s.Waiting = w
	}
	next := []string{}
	if now.Paused != nil {
		next = append(next, s.ofRun("stowage resume"))
	}
	if len(s.Waiting) > 0 && s.State != "interrupted" {
		next = append(next, s.ofRun("stowage approve"))
	}
	if slices.ContainsFunc(now.Lost, act.LostWay.IsOpen) && s.State != "interrupted" {
		next = append(next, s.ofRun("stowage approve --without-way-back"))
	}
	s.NextSteps = append(next, s.NextSteps...)
	return nil
}

// ofRun is a command that steers the run: it names it where several have not ended.
func (s moveStatus) ofRun(command string) string {
	if len(s.AlsoOpen) > 0 {
		command += " --run " + s.Run
	}
	return command
}

// approval is the command by which a part goes on that waits for a person.
func (s moveStatus) approval(g act.Approval) string {
	if run := (store.Run{ID: s.Run, Kind: s.kind.Name, Subject: s.Plan}); s.State == stateHeld {
		return kindOf(run).letsGoOn(run)[0]
	}
	return s.ofRun("stowage approve " + g.Step + " --lane " + shellWord(g.Part))
}

func (s moveStatus) writeSteering(w io.Writer) {
	now := s.Steering
	if now == nil {
		return
	}
	writeForward(w, now.Lost)
	for _, text := range s.said() {
		fmt.Fprintf(w, "  %s\n", text)
	}
	for _, g := range s.Waiting {
		fmt.Fprintf(w, "  A PERSON DECIDES: %s before %s, for %v: %s\n", g.Part, g.Step, time.Since(g.Since).Round(time.Second), inWorkspace(s.dir, s.approval(g)))
	}
	if s.State != string(store.Running) && s.State != "interrupted" {
		return
	}
	for _, l := range now.Lost {
		switch {
		case l.IsOpen():
			fmt.Fprintf(w, "  %s: %s, for %v: %s\n    it serves at its new place and lacks nothing; undo and abort are refused: they would lose what was written there\n    a person decides: %s\n",
				act.LostWords, l.Part, time.Since(l.Since).Round(time.Second), l.Why, inWorkspace(s.dir, s.ofRun("stowage approve --without-way-back --reason WHY")))
		case l.Again:
			fmt.Fprintf(w, "  the way back of %s, lost since %s, is tried once more: %s\n", l.Part, l.Since.Local().Format("15:04:05"), l.Why)
		}
	}
}
