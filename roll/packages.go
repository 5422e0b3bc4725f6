package roll

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stowage/command"
	"stowage/farm"
	"stowage/packages"
	"stowage/packages/pin"
	"stowage/roll/agenda"
	"stowage/sides"
)

// packagePhases are the parts of a step that brings packages to other versions, and WayBackPhases those of its way back.
var (
	packagePhases = []string{"stop", "install", "start", "upgrade"}
	WayBackPhases = []string{"stop-again", "install-old", "start-old"}
)

// backing is a way back that has begun: nothing of the step is tried again.
type backing struct {
	Why string `json:"why"`
	// Was are the processes that ran with the packages which are taken back.
	Was map[farm.InstanceName]int `json:"was"`
	// Ran is the installation that is taken back.
	Ran *command.Outcome `json:"ran,omitempty"`
}

// changePackages stops all instances of the host, has the packages installed, starts the instances, runs their upgrade step and looks whether they are well. When
// they are not, and the step says so, the old packages are installed again. Either way the step has failed then.
func (s *stay) changePackages(ctx context.Context, n int, step agenda.Step) (Did, error) {
	d, set := Did{Step: n, What: step.String()}, s.rolled.Packages[n]
	if set.IsDone() {
		s.Report(farm.Event{Kind: farm.StepProgress, Text: "the host has these packages already"})
		var err error
		d.Failed, err = s.checked(ctx, n, step)
		return d, err
	}
	back, going := s.rolled.Backing[n]
	if !going {
		var err error
		if d.Command, d.Failed, err = s.bringForward(ctx, n, step, set); err != nil || d.Failed == "" {
			return d, err
		}
		if step.WayBack != agenda.OldPackages || d.Command.Unknown != "" {
			return d, nil
		}
		if back, err = s.turnBack(ctx, n, d); err != nil {
			return d, err
		}
	}
	return s.bringBack(ctx, n, step, set, d, back)
}

// bringForward is a step up to the first failure.
func (s *stay) bringForward(ctx context.Context, n int, step agenda.Step, set packages.Report) (ran *command.Outcome, failed string, err error) {
	was, err := s.foundFirst(ctx, n)
	if err != nil {
		return nil, "", err
	}
	if err := s.Phase(ctx, packagePhases[0], func(ctx context.Context) error { return s.stopThose(ctx, was) }); err != nil {
		return nil, "", err
	}
	var out command.Outcome
	err = s.Phase(ctx, packagePhases[1], func(ctx context.Context) (err error) {
		out, failed, err = s.install(ctx, n, step, s.installing(n, step, set), set.Goal())
		return err
	})
	if err != nil || failed != "" {
		return &out, failed, err
	}
	err = s.Phase(ctx, packagePhases[2], func(ctx context.Context) (err error) {
		failed, err = s.startAll(ctx)
		return err
	})
	if err != nil || failed != "" {
		return &out, failed, err
	}
	err = s.Phase(ctx, packagePhases[3], func(ctx context.Context) (err error) {
		failed, err = s.upgrade(ctx, n, step)
		return err
	})
	if err == nil && failed == "" {
		failed, err = s.areWell(ctx, set.Goal())
	}
	if err == nil && failed == "" {
		failed, err = s.checked(ctx, n, step)
	}
	return &out, failed, err
}

// install has packages installed, once. When what carries the order was killed nobody knows the end of apt, but dpkg knows what is installed.
func (s *stay) install(ctx context.Context, n int, step agenda.Step, o command.Order, pins []pin.Pin) (out command.Outcome, failed string, err error) {
	if out, err = s.run(ctx, o); err != nil {
		return out, "", err
	}
	if out.Unknown == "" {
		return out, failure(out), nil
	}
	why := out.Unknown
	settled, err := s.run(ctx, s.settling(n, step, pins))
	if err != nil || settled.Unknown != "" || settled.TimedOut {
		return out, failure(out), err
	}
	out.Unknown, out.Code = "", settled.Code
	if failed = failure(settled); failed != "" {
		failed = fmt.Sprintf("the installation was cut short (%s), and the packages are missing: %s", why, failed)
	}
	return out, failed, nil
}

// failure is why a command that has run has not done what it was to do; "": it has.
func failure(out command.Outcome) string {
	if out.Unknown == "" && out.Code == 0 && !out.TimedOut {
		return ""
	}
	text := out.String()
	if said := strings.TrimSpace(out.Output); said != "" {
		text += "; it printed:\n" + said
	}
	return text
}

// startAll starts all instances; failed: one does not take connections, and its host says so.
func (s *stay) startAll(ctx context.Context) (failed string, err error) {
	var all []string
	for _, m := range s.members {
		err := s.machine.StartAgain(ctx, m.At.Instance, startLimit)
		if err == nil {
			continue
		}
		if _, gone := s.machine.Running(ctx, m.At.Instance); gone != nil { // its host does not answer: nothing is known of the server
			return "", err
		}
		all = append(all, err.Error())
	}
	return strings.Join(all, "; "), nil
}

// upgrade runs mariadb-upgrade where a server needs it.
func (s *stay) upgrade(ctx context.Context, n int, step agenda.Step) (failed string, err error) {
	sockets, err := s.upgraded(ctx, step)
	switch {
	case err != nil && ctx.Err() == nil: // it took connections a moment ago
		return err.Error(), nil
	case err != nil || len(sockets) == 0:
		return "", err
	}
	out, err := s.run(ctx, s.upgrading(n, step, sockets))
	return failure(out), err
}

// settles is how long a server that takes connections may take until it is well: it replicates again.
const settles = 2 * time.Minute

// areWell is what is asked of the servers before the step counts as done: their version, replication, variables and error logs.
func (s *stay) areWell(ctx context.Context, is []pin.Pin) (failed string, err error) {
	for _, m := range s.members {
		within, cancel := context.WithTimeout(ctx, settles)
		err := s.isWell(within, m, is)
		cancel()
		if ctx.Err() != nil {
			return "", err
		}
		if err != nil {
			return err.Error(), nil //nolint:nilerr // it is what the step has failed by
		}
	}
	return "", nil
}

func (s *stay) isWell(ctx context.Context, m *sides.Member, is []pin.Pin) error {
	if err := m.ComeBack(ctx); err != nil {
		return err
	}
	if err := runsVersion(ctx, m, is); err != nil {
		return err
	}
	if err := s.replicates(ctx, m); err != nil {
		return err
	}
	if err := m.CheckVariables(ctx); err != nil {
		return err
	}
	return s.logIsQuiet(ctx, m)
}

// runsVersion: the server is the one that was installed. One that was not restarted would run on with a file that is gone.
func runsVersion(ctx context.Context, m *sides.Member, is []pin.Pin) error {
	for _, p := range is {
		if !strings.Contains(p.Name, "server") {
			continue
		}
		got, err := m.Leaves.Variables(ctx, "version")
		if err != nil {
			return err
		}
		if want := digits(pin.Upstream(p.Version)); digits(got["version"]) != want {
			return &farm.Error{Op: "check", Subject: string(m.Order.Leaves.Name), Err: fmt.Errorf("%w: its version is %s, and %s is installed", farm.ErrRefused, got["version"], p)}
		}
		return nil
	}
	return nil
}

// digits is a version up to the first that is neither a digit nor a dot.
func digits(version string) string {
	return version[:len(version)-len(strings.TrimLeft(version, "0123456789."))]
}

// replicates waits until the server does so again, where it is to.
func (s *stay) replicates(ctx context.Context, m *sides.Member) error {
	if m.Twin == nil {
		return nil
	}
	for {
		now, err := m.Leaves.Replication(ctx)
		if err != nil || !now.Follows(m.Twin.Address()) || now.Running() {
			return err
		}
		if broken := now.Broken(); broken != nil {
			return &farm.Error{Op: "check", Subject: string(m.Order.Leaves.Name), Err: broken}
		}
		select {
		case <-ctx.Done():
			return &farm.Error{Op: "check", Subject: string(m.Order.Leaves.Name), Err: fmt.Errorf("it does not replicate yet: %s: %w", now.IOError, ctx.Err())}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// turnBack notes that the old packages are installed again, and why. What the error logs have got until now has been told.
func (s *stay) turnBack(ctx context.Context, n int, d Did) (backing, error) {
	was, err := s.processes(ctx)
	if err != nil {
		return backing{}, err
	}
	b := backing{Why: d.Failed, Was: was, Ran: d.Command}
	logs := map[farm.InstanceName]int{}
	for _, m := range s.members {
		name := m.Order.Leaves.Name
		if logs[name] = s.rolled.Logs[name]; logs[name] < 0 {
			continue
		}
		if raw, err := m.At.ReadFile(ctx, s.rolled.LogFiles[name]); err == nil {
			logs[name] = len(raw)
		}
	}
	s.Report(farm.Event{Kind: farm.StepProgress, Text: "going back to the old packages: " + d.Failed})
	return b, s.note(nil, func(x *Rolled) { x.Backing, x.Logs = withStep(x.Backing, n, b), logs })
}

// bringBack installs the packages of before again and starts the instances. The step has failed in any case.
func (s *stay) bringBack(ctx context.Context, n int, step agenda.Step, set packages.Report, d Did, back backing) (Did, error) {
	if err := s.Phase(ctx, WayBackPhases[0], func(ctx context.Context) error { return s.stopThose(ctx, back.Was) }); err != nil {
		return d, err
	}
	var failed string
	d.Command = back.Ran
	err := s.Phase(ctx, WayBackPhases[1], func(ctx context.Context) error {
		out, why, err := s.install(ctx, n, step, s.goingBack(n, step, set), set.Before())
		if failed = why; failed != "" || d.Command == nil {
			d.Command = &out
		}
		return err
	})
	if err == nil && failed == "" {
		err = s.Phase(ctx, WayBackPhases[2], func(ctx context.Context) (err error) {
			failed, err = s.startAll(ctx)
			return err
		})
	}
	if err == nil && failed == "" {
		failed, err = s.areWell(ctx, set.Before())
	}
	if err != nil {
		return d, err
	}
	if d.Failed = back.Why + "\nthe old packages are installed again, and its servers run with them"; failed != "" {
		d.Failed = back.Why + "\nand the way back failed as well, rebuild its sides from their twins (stowage move instance): " + failed
	}
	return d, nil
}
