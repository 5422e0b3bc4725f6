package roll

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stowage/command"
	"stowage/farm"
	"stowage/packages"
	"stowage/packages/pin"
	"stowage/roll/agenda"
	"stowage/sides"
)

// packageOrder is a command of a step on the host: `stowage agent packages`, as its owner allows. The part tells orders of one step apart.
func (s *stay) packageOrder(n int, step agenda.Step, part, verb string, args ...string) command.Order {
	o := s.command(n, append([]string{"stowage", "agent", "packages", verb}, args...), step)
	if o.ID += "." + part; step.Limit == 0 {
		o.Limit = agenda.PackagesLimit
	}
	return o
}

// anew is an order that changes nothing, or nothing a second time: each time it is another.
func anew(o command.Order) command.Order {
	o.ID, o.Repeatable = o.ID+"."+strings.ToLower(rand.Text())[:8], true
	return o
}

func words(pins []pin.Pin) (out []string) {
	for _, p := range pins {
		out = append(out, p.String())
	}
	return out
}

// askPackages asks the host about the packages of the work, while it still serves.
func (s *stay) askPackages(ctx context.Context) (found []farm.Finding, err error) {
	for n, step := range s.order.Work.Steps {
		if len(step.Packages) == 0 {
			continue
		}
		of, err := s.askPackagesOf(ctx, n, step)
		if err != nil {
			return nil, err
		}
		for i := range of {
			of[i].Check = "packages"
		}
		found = append(found, of...)
	}
	return found, nil
}

func (s *stay) askPackagesOf(ctx context.Context, n int, step agenda.Step) ([]farm.Finding, error) {
	host := string(s.order.Host)
	on, err := s.roller.commands(s.order.Host)
	if err != nil {
		return nil, err
	}
	if _, here := on.(near); here {
		return []farm.Finding{sides.Blocker(host, "it has no agent: the packages would be installed on this machine", "set up its agent (docs/guide/agents.md), or take it out of the plan")}, nil
	}
	sockets, err := s.upgraded(ctx, step)
	if err != nil {
		return nil, err
	}
	args := words(pin.Of(step.Packages))
	for _, socket := range sockets {
		args = append(args, "--socket="+socket)
	}
	if step.WayBack == agenda.OldPackages {
		args = append(args, "--way-back")
	}
	look := anew(s.packageOrder(n, step, "look", "look", args...))
	if refused, err := mayNot(ctx, on, host, look); len(refused) > 0 || err != nil {
		return refused, err
	}
	raw, err := on.Command(ctx, look.Encode(), nil)
	if err != nil {
		return nil, err
	}
	out, err := command.ReadOutcome(raw)
	if err != nil {
		return nil, err
	}
	if out.Code != 0 || out.Unknown != "" || out.TimedOut {
		return []farm.Finding{sides.Blocker(host, fmt.Sprintf("it did not report what installing the packages would do: %s; it printed: %s", out, strings.TrimSpace(out.Output)), "check that its stowage is of this version and that apt works there")}, nil
	}
	report, err := packages.ReadReport(out.Output)
	if err != nil {
		return []farm.Finding{sides.Blocker(host, err.Error(), "check that its stowage is of this version; the whole report is in "+out.Kept+" there")}, nil
	}
	if s.looked == nil {
		s.looked = map[int]packages.Report{}
	}
	s.looked[n] = report
	var found []farm.Finding
	for _, f := range report.Faults {
		found = append(found, sides.Blocker(host, f.Text, f.Remedy))
	}
	strangers, err := s.strangers(ctx, report)
	if err != nil {
		return nil, err
	}
	for _, p := range strangers {
		found = append(found, sides.Blocker(host, fmt.Sprintf("process %d, %s, is a server that farm.yaml does not have: its files would be replaced below it", p.PID, p.Program), "stop it, or take it into farm.yaml"))
	}
	for _, o := range []command.Order{s.installing(n, step, report), s.goingBack(n, step, report), s.fetching(n, step, report.Goal()), s.settling(n, step, report.Goal()), s.upgrading(n, step, sockets)} {
		if refused, err := mayNot(ctx, on, host, o); len(refused) > 0 || err != nil {
			return append(found, refused...), err // one line of the list allows all, most often
		}
	}
	return found, nil
}

// The orders of a step, in the order in which they are carried out.
func (s *stay) fetching(n int, step agenda.Step, pins []pin.Pin) command.Order {
	return anew(s.packageOrder(n, step, "fetch", "fetch", words(pins)...))
}

func (s *stay) installing(n int, step agenda.Step, r packages.Report) command.Order {
	return s.packageOrder(n, step, "install", "install", words(r.Goal())...)
}

func (s *stay) settling(n int, step agenda.Step, pins []pin.Pin) command.Order {
	return anew(s.packageOrder(n, step, "settle", "settle", words(pins)...))
}

func (s *stay) upgrading(n int, step agenda.Step, sockets []string) command.Order {
	var args []string
	for _, socket := range sockets {
		args = append(args, "--socket="+socket)
	}
	o := s.packageOrder(n, step, "upgrade", "upgrade", args...)
	o.Repeatable = true // mariadb-upgrade may run again
	return o
}

func (s *stay) goingBack(n int, step agenda.Step, r packages.Report) command.Order {
	return s.packageOrder(n, step, "back", "install", words(r.Before())...)
}

// mayNot is why the host's owner does not allow an order; none: he does.
func mayNot(ctx context.Context, on commander, host string, o command.Order) ([]farm.Finding, error) {
	err := on.MayCommand(ctx, o.Encode())
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, farm.ErrRefused):
		return []farm.Finding{sides.Blocker(host, err.Error(), farm.Hint(err))}, nil
	}
	return nil, err
}

// strangers are servers that run on the host and are none of the plan's.
func (s *stay) strangers(ctx context.Context, r packages.Report) ([]packages.Process, error) {
	ours, err := s.processes(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(r.Servers), func(p packages.Process) bool {
		for _, pid := range ours {
			if pid == p.PID {
				return true
			}
		}
		return false
	}), nil
}

// upgraded are the sockets of the servers that may need their upgrade step.
func (s *stay) upgraded(ctx context.Context, step agenda.Step) (sockets []string, err error) {
	if step.Upgrade == agenda.NoUpgrade {
		return nil, nil
	}
	for _, m := range s.members {
		flavor, err := m.Leaves.Flavor(ctx)
		if err != nil {
			return nil, err
		}
		if flavor.UpgradesItself() {
			continue
		}
		is, err := m.Leaves.Variables(ctx, "socket", "datadir")
		if err != nil {
			return nil, err
		}
		socket := is["socket"]
		if !filepath.IsAbs(socket) {
			socket = filepath.Join(is["datadir"], socket)
		}
		sockets = append(sockets, socket)
	}
	return sockets, nil
}

// fetchPackages downloads the packages of the work and of its way back while the host still serves, and notes which versions are installed.
func (s *stay) fetchPackages(ctx context.Context) error {
	for n, step := range s.order.Work.Steps {
		report, asked := s.looked[n]
		if !asked {
			continue
		}
		if err := s.note(nil, func(x *Rolled) { x.Packages = withStep(x.Packages, n, report) }); err != nil {
			return err
		}
		if report.IsDone() {
			continue
		}
		pins := [][]pin.Pin{report.Goal()}
		if step.WayBack == agenda.OldPackages {
			pins = append(pins, report.Before())
		}
		for _, all := range pins {
			out, err := s.run(ctx, s.fetching(n, step, all))
			if err != nil {
				return err
			}
			if out.Code != 0 || out.Unknown != "" || out.TimedOut {
				return &farm.Error{Op: "download packages", Subject: string(s.order.Host), Err: fmt.Errorf("%w: %s; it printed:\n%s", farm.ErrRefused, out, strings.TrimSpace(out.Output)),
					Hint: "the host has not been taken out; check that apt reaches its sources there, then plan again"}
			}
		}
	}
	return nil
}
