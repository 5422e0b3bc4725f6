package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stowage/act"
	"stowage/command"
	"stowage/farm"
	"stowage/placement"
	"stowage/roll"
	"stowage/roll/agenda"
	"stowage/session"
	"stowage/store"
	"stowage/workspace"
)

// rollFlags are what a plan of a roll is made of.
type rollFlags struct {
	hosts   []string
	changed []string
	name    string
	restart bool
	reboot  bool
	yes     bool
	down    bool
	takes   time.Duration
	limit   time.Duration
}

func (a *app) rollCommand() *cobra.Command {
	var f rollFlags
	cmd := &cobra.Command{
		Use:   "roll [PLAN | PLAYBOOK] [--hosts PATTERN] [--restart | --reboot | -- CMD...]",
		Short: "Do something to many hosts, one after the other, while their twins serve",
		Long: `Takes all sides of a host out of rotation, does something to the host, and brings them
back: caught up, checked and warm. Then the next host. No query fails: an active-active
pair is served by the other side, the writes of a primary go to its replica and come back
(two pauses of writes), replicas go before their primaries. A single instance has nobody
to serve for it: --allow-downtime lets its clients wait.

First a plan is written, rolls/NAME.json, and printed: which host when, which of them at
once, how long, and which pairs are served by one side meanwhile. Review it; 'stowage roll NAME'
carries it out as it is, or not at all when the farm has changed. --yes does both at once.

  stowage roll --hosts 'db0*' -- CMD...      a command on each host, exactly once
  stowage roll --hosts 'db0*' --restart      restart the instances of each host
  stowage roll --hosts 'db0*' --reboot       reboot each host
  stowage roll options                       bring servers to the options of their host types
  stowage roll PLAYBOOK                      the steps of rolls/PLAYBOOK.yaml: docs/guide/roll.md
  stowage roll PLAN                          carry a plan out, or on with what is left of it

How many hosts may be out at once is in goals.yaml (budgets: hosts_out, hosts_out_per_rack,
hosts_out_per_power); never both sides of a pair. After the first surprise no new host
begins, and the host that surprised stays out: look at it, then 'stowage roll in HOST'.
Hosts with an agent run only what their owner allows ('stowage agent --allow FILE').

` + exitHelp,
		Example: "  stowage roll --hosts 'db0*' --changed version -- /usr/local/sbin/patch --all\n  stowage roll roll-001\n  stowage roll in db003",
		RunE: func(c *cobra.Command, given []string) error {
			names, argv := given, []string(nil)
			if at := c.ArgsLenAtDash(); at >= 0 {
				names, argv = given[:at], given[at:]
			}
			return a.roll(c, f, names, argv)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.hosts, "hosts", nil, "names and patterns of hosts: 'db0*'")
	fl.BoolVar(&f.restart, "restart", false, "restart the instances of each host")
	fl.BoolVar(&f.reboot, "reboot", false, "reboot each host; it needs an agent")
	fl.StringSliceVar(&f.changed, "changed", nil, "variables that may differ afterwards: version; rules of tune that may find something: MEM-SWAP")
	fl.DurationVar(&f.limit, "time-limit", 0, "how long the command, the restart or the reboot may take on one host")
	f.ofPlan(fl)
	in := &cobra.Command{
		Use: "in HOST", Short: "Bring a host back that a roll has left out, after its trouble was remedied",
		Long: `Continues with the host that a roll has left out, and with the rest of its work. A command
that failed, or whose end is unknown, counts as done: it is not run again.
The host's sides return when they are caught up, healthy and warm. --changed names variables
that you changed on purpose, and rules of tune (MEM-SWAP) whose new findings are as they
should be; error-log lets errors pass that the server has logged meanwhile.

` + exitHelp,
		Example: "  stowage roll in db003\n  stowage roll in db003 --changed max_connections",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			return a.rollIn(c.Context(), farm.HostName(given[0]), f.changed)
		},
	}
	in.Flags().StringSliceVar(&f.changed, "changed", nil, "variables that may differ from what they were; rules of tune that may find something; error-log: new errors in the error log")
	show := &cobra.Command{
		Use: "show PLAN", Short: "Print a plan of a roll", Args: args(cobra.ExactArgs(1)), Long: "Prints a plan as it was written: which host when, and which pairs are served by one side.\n\n" + exitHelp,
		Example: "  stowage roll show roll-001",
		RunE: func(_ *cobra.Command, given []string) error {
			ws, err := workspace.Open(a.dir)
			if err != nil {
				return err
			}
			p, err := ws.Roll(given[0])
			if err != nil {
				return err
			}
			return a.emit(p, p.WriteText, a.afterRollPlan(p.Name)...)
		},
	}
	for _, c := range []*cobra.Command{cmd, in} {
		a.engineFlag(c.Flags())
		a.reasonFlag(c.Flags())
	}
	cmd.AddCommand(in, show, a.rollAnnounceCommand(), a.rollOptionsCommand())
	return cmd
}

// ofPlan adds the flags of every plan of a roll.
func (f *rollFlags) ofPlan(fl *pflag.FlagSet) {
	fl.StringVar(&f.name, "name", "", "name of the plan; default PLAYBOOK-001, roll-001 and so on")
	fl.DurationVar(&f.takes, "takes", 0, "how long you expect one host to be out; default: as long as in earlier rolls")
	fl.BoolVar(&f.down, "allow-downtime", false, "roll hosts of single instances, too: their clients wait at the gate meanwhile")
	fl.BoolVar(&f.yes, "yes", false, "carry the plan out at once")
}

// roll makes a plan, or carries one out.
func (a *app) roll(c *cobra.Command, f rollFlags, names, argv []string) error {
	if len(names) > 1 {
		return usage(c, fmt.Errorf("%s given: give one plan or one playbook; a command comes after --", farm.Counted(len(names), "name")))
	}
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if len(names) == 1 && !d.HasPlaybook(names[0]) {
		if len(argv) > 0 || f.restart || f.reboot || len(f.hosts) > 0 || len(f.changed) > 0 || f.takes != 0 || f.down || f.limit != 0 || f.name != "" {
			return usage(c, fmt.Errorf("there is no playbook %q, and a plan is carried out as it is", names[0]))
		}
		return a.rollPlan(c.Context(), d, names[0])
	}
	work, err := f.work(c, d, names, argv)
	if err != nil {
		return err
	}
	p, path, err := rollPlan(d, work, f.name)
	if err != nil {
		return err
	}
	if f.yes {
		_ = p.WriteText(a.stderr) // what comes next is said on standard output
		return a.rollPlan(c.Context(), d, p.Name)
	}
	a.say("wrote %s; review it", path)
	return a.emit(p, p.WriteText, a.afterRollPlan(p.Name)...)
}

// work is what the person wants done: a playbook, a command, or restarts.
func (f rollFlags) work(c *cobra.Command, d *session.Session, names, argv []string) (agenda.Work, error) {
	var w agenda.Work
	var err error
	switch {
	case len(names) == 1 && (len(argv) > 0 || f.restart || f.reboot):
		return w, usage(c, errors.New("a playbook has its own steps: leave --restart, --reboot and the command out"))
	case len(names) == 1:
		if w, err = d.Playbook(names[0], d.Farm); err != nil {
			return w, err
		}
	case oneOf(f.restart, f.reboot, len(argv) > 0) != 1:
		return w, usage(c, errors.New("say what is to be done to each host: a command behind --, --restart, --reboot, or a playbook"))
	case f.reboot:
		w.Steps = []agenda.Step{{Reboot: true, Command: agenda.RebootCommand, Limit: f.limit}}
	case f.restart:
		w.Steps = []agenda.Step{{Restart: true, Limit: f.limit}}
	default:
		w.Steps = []agenda.Step{{Command: argv, Limit: f.limit}}
	}
	if len(f.hosts) > 0 {
		w.Hosts = f.hosts
	}
	if len(w.Hosts) == 0 {
		return w, usage(c, errors.New("say which hosts: --hosts 'db0*'"))
	}
	if f.takes > 0 {
		w.Takes = f.takes
	}
	w.Changes, w.Downtime = append(w.Changes, f.changed...), f.down
	for _, s := range w.Steps {
		for _, argv := range [][]string{s.Command, s.MustPass} {
			if len(argv) == 0 {
				continue
			}
			if err := (command.Order{Argv: argv, Limit: s.Limit}).Check(); err != nil {
				return w, usage(c, err)
			}
		}
	}
	return w, announcedExist(c, w)
}

// oneOf is how many of these are true.
func oneOf(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// announcedExist refuses a variable that no return compares: it would be a slip of the keyboard.
func announcedExist(c *cobra.Command, w agenda.Work) error {
	for _, name := range w.Changes {
		if !roll.MayAnnounce(name) {
			return usage(c, fmt.Errorf("%q is none of the variables that are compared: %s", name, roll.Announceable()))
		}
	}
	return nil
}

// rollPlan decides the order of the hosts and writes the plan.
func rollPlan(d *session.Session, w agenda.Work, name string) (agenda.Plan, string, error) {
	goals, err := d.GoalsFor(d.Farm)
	if err != nil {
		return agenda.Plan{}, "", err
	}
	took, err := roll.Took(d.Store, w)
	if err != nil {
		return agenda.Plan{}, "", err
	}
	p, problems, err := agenda.Make(d.Farm, w, agenda.Rules{Limits: limitsOf(goals.Budgets), Windows: goals.Windows}, took)
	if err != nil {
		return p, "", &farm.Error{Op: "plan a roll", Subject: strings.Join(w.Hosts, ","), Err: err, Hint: "stowage inventory lists the hosts"}
	}
	if err := d.FarmFaults(problems); err != nil {
		return p, "", err
	}
	p.Name, p.Made = strings.TrimSuffix(name, ".json"), time.Now().UTC().Format(time.RFC3339Nano)
	path, saved, err := d.SaveRoll(p)
	return saved, path, err
}

func limitsOf(b placement.Budgets) agenda.Limits {
	return agenda.Limits{Hosts: max(1, b.HostsOut), PerRack: b.HostsOutPerRack, PerFeed: b.HostsOutPerPower}
}

// rollPlan carries a plan out, or what is left of it.
func (a *app) rollPlan(ctx context.Context, d *session.Session, name string) error {
	p, err := d.Roll(name)
	if err != nil {
		return err
	}
	bare, goals, err := a.bareAct(d)
	if err != nil {
		return err
	}
	rolling := a.newRoller(bare, goals)
	if err := d.Turn(ctx, "roll "+name); err != nil {
		return err
	}
	run, findings, err := rolling.Begin(ctx, p)
	writeFindings(a.stderr, findings)
	if err != nil {
		return err
	}
	if run.ID == "" {
		return a.ended(moveSummary{FormatVersion: 1, Plan: name, State: "nothing-to-do", Hosts: []roll.HostEnd{}, Next: []string{"stowage inventory"}}, nil)
	}
	return a.ended(a.carry(ctx, rolling.Act, run))
}

// rollIn continues with a host that a roll has left out.
func (a *app) rollIn(ctx context.Context, h farm.HostName, changed []string) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	last, err := roll.NewestOf(d.Store, h)
	if errors.Is(err, store.ErrNone) {
		return &farm.Error{Op: "bring back", Subject: string(h), Err: fmt.Errorf("%w: no roll has taken it out", farm.ErrRefused), Hint: "stowage status says where its clients are"}
	}
	if err != nil {
		return err
	}
	bare, goals, err := a.bareAct(d)
	if err != nil {
		return err
	}
	rolling := a.newRoller(bare, goals)
	if err := a.awaitLock(ctx, d); err != nil {
		return err
	}
	run, err := rolling.GoOn(ctx, last, func(h *workspace.Held) { a.say("%v; waiting for it to end", h) })
	if errors.Is(err, store.ErrNone) {
		return &farm.Error{Op: "bring back", Subject: string(h), Err: fmt.Errorf("%w: no roll holds it out", farm.ErrRefused), Hint: "stowage runs lists what has ended, and how"}
	}
	if err != nil {
		return err
	}
	if err := rolling.LetHostIn(run, h, changed); err != nil {
		return err
	}
	return a.ended(a.carry(ctx, rolling.Act, run))
}

// newRoller makes rolling hosts what an act carries out. For hosts without an agent commands run on this machine, and are kept below .stowage, for each host apart:
// one machine may play several.
func (a *app) newRoller(bare *act.Act, goals placement.Goals) *roll.Roller {
	return roll.NewRoller(bare, act.SwingSettings(goals), func(h farm.HostName) *command.Station {
		s := a.commands(bare.StatePath("commands/" + string(h)))
		s.Trusting = true
		return s
	})
}

// writeHosts prints how the hosts of a roll ended.
func (s moveSummary) writeHosts(w io.Writer) error {
	done := 0
	for _, h := range s.Hosts {
		if h.End == "done" {
			done++
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d of %s rolled in %.1f s; %s\n", s.Run, done, farm.Counted(len(s.Hosts), "host"), s.Seconds, s.paused())
	for _, h := range s.Hosts {
		line := fmt.Sprintf("  %-16s %-12s out for %.1f s", h.Host, h.End, h.SecondsOut)
		switch {
		case h.Unknown:
			line += ", the end of its command is unknown"
		case h.CommandRC != nil:
			line += fmt.Sprintf(", command ended with %d", *h.CommandRC)
		}
		if h.Noted > 0 {
			line += fmt.Sprintf(", %s noted", farm.Counted(h.Noted, "failure"))
		}
		_, e := fmt.Fprintln(w, line)
		err = errors.Join(err, e)
	}
	return err
}

// rollNext is what a person does after a roll that has left hosts out: resume tries again what can be tried again, and a command is never that.
func rollNext(d *session.Session, run store.Run, next []string) ([]string, error) {
	if run.Kind != roll.Roll || run.State != store.Failed {
		return next, nil
	}
	ends, err := roll.Ends(d.Store, run, time.Now())
	if err != nil {
		return next, err
	}
	var out []string
	for _, e := range ends {
		if e.End == "stuck" {
			out = append(out, "stowage roll in "+shellWord(string(e.Host)))
		}
	}
	return append(out, next...), nil
}
