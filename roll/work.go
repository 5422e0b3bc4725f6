package roll

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stowage/command"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/roll/agenda"
	"stowage/sides"
)

// work does the steps of the plan's work on the host, one after the other. What was done already, before a kill or a resume, is written down and not done
// again; the host itself has the outcome of each command.
func (s *stay) work(ctx context.Context) error {
	for n, step := range s.order.Work.Steps {
		d, known, ok := s.rolled.did(n)
		if ok {
			continue
		}
		var err error
		if known && (len(step.Command) > 0 || len(step.Packages) > 0) { // a command is not asked twice: it has failed, and would answer the same
			return s.stays(n, step, d)
		}
		if d, err = s.one(ctx, n, step); err != nil {
			return err
		}
		if d.Failed == "" && len(step.Packages) == 0 { // those are checked where there is a way back
			if d.Failed, err = s.checked(ctx, n, step); err != nil {
				return err
			}
		}
		d.Noted = d.Failed != "" && step.OnFailure == agenda.GoOn && (d.Command == nil || d.Command.Unknown == "")
		if d.Failed == "" || d.Command != nil || d.Noted { // a restart that failed is tried again
			if err := s.note(nil, func(x *Rolled) { *x = x.with(d) }); err != nil {
				return err
			}
		}
		if d.Failed != "" && !d.Noted {
			return s.stays(n, step, d)
		}
	}
	return nil
}

// stays is why the host stays out.
func (s *stay) stays(n int, step agenda.Step, d Did) error {
	hint := fmt.Sprintf("look at %s; when it is as it should be: stowage roll in %s", s.order.Host, s.order.Host)
	if d.Command != nil && d.Command.Unknown != "" {
		hint = fmt.Sprintf("it is not run a second time; look at %s whether it has done its work, finish that by hand, then: stowage roll in %s", s.order.Host, s.order.Host)
	}
	return &farm.Error{Op: "roll", Subject: string(s.order.Host), Err: fmt.Errorf("%w: step %d, %s: %s; the host stays out", farm.ErrRefused, n+1, step, d.Failed), Hint: hint}
}

// one does one step.
func (s *stay) one(ctx context.Context, n int, step agenda.Step) (Did, error) {
	d := Did{Step: n, What: step.String()}
	s.Report(farm.Event{Kind: farm.StepProgress, Text: step.String()})
	switch {
	case len(step.Packages) > 0:
		return s.changePackages(ctx, n, step)
	case step.Restart:
		return d, s.restart(ctx, n, step)
	case len(step.Options) > 0 && step.Apply:
		return d, s.applyOptions(ctx, n, step)
	case len(step.Options) > 0:
		return d, s.writeOptions(ctx, step.Options)
	}
	out, err := s.run(ctx, s.command(n, step.Command, step))
	if err != nil {
		return d, err
	}
	d.Command = &out
	if out.Unknown != "" || out.Code != 0 || out.TimedOut {
		d.Failed = out.String()
		if said := strings.TrimSpace(out.Output); said != "" {
			d.Failed += "; it printed:\n" + said
		}
	}
	return d, nil
}

// command is the order of one step of the work. It has the same number whenever it is asked for.
func (s *stay) command(n int, argv []string, step agenda.Step) command.Order {
	names := make([]string, len(s.order.Sides))
	for i, side := range s.order.Sides {
		names[i] = string(side.Leaves.Name)
	}
	reboots, limit := step.Reboot && slices.Equal(argv, step.Command), step.Limit // and not its check
	if reboots && limit == 0 {
		limit = agenda.RebootLimit
	}
	return command.Order{ID: fmt.Sprintf("%s.%d", s.order.Number, n+1), Argv: argv, Limit: limit, Repeatable: step.Repeatable, Reboots: reboots,
		Env: map[string]string{"STOWAGE_HOST": string(s.order.Host), "STOWAGE_RUN": s.order.Number, "STOWAGE_INSTANCES": strings.Join(names, " ")}}
}

// run has a command run on the host, once, and writes what came of it into the trail.
func (s *stay) run(ctx context.Context, o command.Order) (command.Outcome, error) {
	on, err := s.roller.commands(s.order.Host)
	if err != nil {
		return command.Outcome{}, err
	}
	s.WriteDown("command", fmt.Sprintf("on %s, order %s: %s", s.order.Host, o.ID, o), "")
	raw, err := on.Command(ctx, o.Encode(), func(text string) { s.Report(farm.Event{Kind: farm.StepProgress, Text: text}) })
	if err != nil {
		s.WriteDown("command", fmt.Sprintf("on %s, order %s", s.order.Host, o.ID), err.Error())
		return command.Outcome{}, err
	}
	out, err := command.ReadOutcome(raw)
	if err != nil {
		return out, err
	}
	said := out.String()
	if text := strings.TrimSpace(out.Output); text != "" {
		said += "; it printed:\n" + text
	}
	s.WriteDown("command", fmt.Sprintf("on %s, order %s: %s", s.order.Host, o.ID, said), "")
	s.Report(farm.Event{Kind: farm.StepProgress, Text: o.String() + ": " + out.String()})
	return out, nil
}

// checked runs the check of a step; failed is why it is not as it must be. A check may run again: each time it is an order of its own.
func (s *stay) checked(ctx context.Context, n int, step agenda.Step) (failed string, err error) {
	if len(step.MustPass) == 0 {
		return "", nil
	}
	o := s.command(n, step.MustPass, step)
	o.ID, o.Repeatable = o.ID+".check."+strings.ToLower(rand.Text())[:8], true
	out, err := s.run(ctx, o)
	if err != nil || out.Code == 0 && out.Unknown == "" && !out.TimedOut {
		return "", err
	}
	return fmt.Sprintf("its check %q: %s\n%s", o, out, strings.TrimSpace(out.Output)), nil
}

// restartPhases are the parts of a restart, and optionPhases that of writing options.
var (
	restartPhases = []string{"stop", "start"}
	optionPhases  = []string{"options"}
)

// stopLimit is how long an instance has to stop cleanly, and startLimit to take connections, where the step has no limit of its own. A large buffer pool
// takes minutes to be written, and recovery as long.
const (
	stopLimit  = 15 * time.Minute
	startLimit = 15 * time.Minute
)

// restart stops all instances of the host and starts them again. What was restarted is known by its process: it is another than the one that was found first.
func (s *stay) restart(ctx context.Context, n int, step agenda.Step) error {
	if step.Limit > 0 {
		bounded, cancel := context.WithTimeout(ctx, step.Limit)
		defer cancel()
		ctx = bounded
	}
	was, err := s.foundFirst(ctx, n)
	if err != nil {
		return err
	}
	if err := s.Phase(ctx, restartPhases[0], func(ctx context.Context) error { return s.stopThose(ctx, was) }); err != nil {
		return err
	}
	return s.Phase(ctx, restartPhases[1], func(ctx context.Context) error {
		return s.each(func(m *sides.Member) error { return s.machine.StartAgain(ctx, m.At.Instance, startLimit) })
	})
}

// foundFirst are the processes that a step found when it began, also after a kill.
func (s *stay) foundFirst(ctx context.Context, n int) (map[farm.InstanceName]int, error) {
	if was, known := s.rolled.Restarting[n]; known {
		return was, nil
	}
	was, err := s.processes(ctx)
	if err != nil {
		return nil, err
	}
	return was, s.note(nil, func(x *Rolled) { x.Restarting = withStep(x.Restarting, n, was) })
}

// withStep is a map, and an entry more. The map itself stays: what was noted before may have it.
func withStep[T any](all map[int]T, n int, v T) map[int]T {
	out := maps.Clone(all)
	if out == nil {
		out = map[int]T{}
	}
	out[n] = v
	return out
}

// processes are those of all instances of the host; 0: it does not run.
func (s *stay) processes(ctx context.Context) (map[farm.InstanceName]int, error) {
	out := map[farm.InstanceName]int{}
	for _, m := range s.members {
		pid, err := s.machine.Running(ctx, m.At.Instance)
		if err != nil {
			return nil, err
		}
		out[m.Order.Leaves.Name] = pid
	}
	return out, nil
}

// stopThose stops every instance that still is the process it was. Its appliers end first: MariaDB 10.11 can wait for ever in a shutdown that meets one in the middle of a transaction. They start with the server,
// or with Rejoin.
func (s *stay) stopThose(ctx context.Context, was map[farm.InstanceName]int) error {
	return s.each(func(m *sides.Member) error {
		pid, err := s.machine.Running(ctx, m.At.Instance)
		if err != nil || pid == 0 || pid != was[m.Order.Leaves.Name] {
			return err
		}
		if err := m.Leaves.StopAllReplicating(ctx); err != nil {
			s.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s is stopped while it applies: %v", m.Order.Leaves.Name, err)})
		}
		return s.machine.Stop(ctx, m.At.Instance, stopLimit)
	})
}

// each does something to every instance, one after the other, and says what is wrong with each.
func (s *stay) each(do func(*sides.Member) error) error {
	var errs []error
	for _, m := range s.members {
		errs = append(errs, do(m))
	}
	return errors.Join(errs...)
}

// writeOptions writes options into the option file of every instance. They hold from its next start on. The fence is taken out for the edit and put back:
// what stood between its lines would go with it.
func (s *stay) writeOptions(ctx context.Context, values map[string]string) error {
	return s.Phase(ctx, optionPhases[0], func(ctx context.Context) error {
		return s.each(func(m *sides.Member) error {
			i := m.At.Instance
			return s.roller.Editor.Edit(ctx, m.At.Host, i, func(text string) string { return withOptions(i, text, values) })
		})
	})
}

// applyOptions writes options, sets those that the servers can change while they run, and restarts all of them where one cannot.
func (s *stay) applyOptions(ctx context.Context, n int, step agenda.Step) error {
	if err := s.writeOptions(ctx, step.Options); err != nil {
		return err
	}
	_, restarting := s.rolled.Restarting[n]
	if !restarting {
		err := s.each(func(m *sides.Member) error {
			needs, err := s.setOptions(ctx, m, step.Options)
			restarting = restarting || needs
			return err
		})
		if err != nil {
			return err
		}
	}
	if !restarting {
		return nil
	}
	return s.restart(ctx, n, step)
}

// setOptions sets what differs and the server can change; restart: there is more.
func (s *stay) setOptions(ctx context.Context, m *sides.Member, want map[string]string) (restart bool, err error) {
	names := slices.Sorted(maps.Keys(want))
	slices.SortStableFunc(names, func(a, b string) int { // innodb_io_capacity_max first: a server raises it by itself otherwise
		return cmp.Compare(len(b)-len(strings.TrimSuffix(b, "_max")), len(a)-len(strings.TrimSuffix(a, "_max")))
	})
	is, err := m.Leaves.Variables(ctx, names...)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if now, known := is[name]; known && farm.OptionHolds(name, now, want[name]) {
			continue
		}
		err := m.Leaves.SetSetting(ctx, name, farm.PlainOption(want[name]))
		switch {
		case err == nil:
			s.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s: %s was %s, is %s", m.Order.Leaves.Name, name, is[name], want[name])})
		case mysql.IsFixedVariable(err):
			s.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s: %s is %s, and becomes %s by a restart", m.Order.Leaves.Name, name, is[name], want[name])})
			restart = true
		default:
			return false, err
		}
	}
	return restart, nil
}

func withOptions(i host.Instance, text string, values map[string]string) string {
	own := host.UnfenceOptions(i, text)
	is := host.RewriteOptions(own, i.Group(own), values)
	if host.IsFenced(i, text) {
		is = host.FenceOptions(i, is)
	}
	return is
}

// comeBack starts what does not run, and waits until every server answers and replicates.
func (s *stay) comeBack(ctx context.Context) error {
	return s.each(func(m *sides.Member) error {
		if err := s.machine.StartAgain(ctx, m.At.Instance, startLimit); err != nil {
			return err
		}
		return m.ComeBack(ctx)
	})
}
