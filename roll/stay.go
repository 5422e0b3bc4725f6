package roll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"stowage/act"
	"stowage/due"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/packages"
	"stowage/sides"
	"stowage/swing"
)

// stay is one host that is out, or about to be, with all its sides: what the steps of kind Roll act on.
type stay struct {
	act.Task
	roller  *Roller
	order   hostOrder
	members []*sides.Member
	machine host.Host
	rolled  Rolled
	looked  map[int]packages.Report // by step of the work: what the host says of its packages
}

func (r *Roller) stay(c engine.Call, step act.Step, beat func(string)) (*stay, error) {
	s := &stay{roller: r}
	var err error
	if s.Task, err = r.Conductor.Task(c, step, beat, &s.order, nil); err != nil {
		return nil, err
	}
	s.About = farm.Event{Host: s.order.Host}
	if s.rolled, err = rolledOf(r.Store, s.order); err != nil {
		return nil, err
	}
	if s.machine, err = r.Host(s.order.Host); err != nil {
		return nil, err
	}
	for _, o := range s.order.Sides {
		m, err := r.Member(o, &s.Task, s.AtBorder, s.mayDiffer())
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, m)
	}
	return s, nil
}

// mayDiffer are variables, and rules of tune, that may say something else after the work: those that it announces, and those that a person has named since.
func (s *stay) mayDiffer() []string { return slices.Concat(s.order.Work.Announced(), s.rolled.Changed) }

// TheSwing lets the steps of package swing work on all sides of the host.
func (s *stay) TheSwing() swing.Dance {
	var g swing.Group
	for _, m := range s.members {
		g = append(g, m.Dance)
	}
	return g
}

// Remember implements act.Work.
func (*stay) Remember() json.RawMessage { return nil }

// Close implements act.Work.
func (s *stay) Close() {
	for _, m := range s.members {
		m.Close()
	}
}

// Survey implements act.Work: whether every side may leave, and whether the host's owner allows the commands.
func (s *stay) Survey(ctx context.Context) ([]farm.Finding, error) {
	if err := s.roller.Greet(ctx, s.order.Host); err != nil {
		return nil, err
	}
	var found []farm.Finding
	for _, m := range s.members {
		if m.Twin != nil { // its fence is a line in the twin's option file, once the clients are there
			if err := s.roller.Greet(ctx, m.Order.Twin.At.Host); err != nil {
				return nil, err
			}
		}
		of, err := m.Survey(ctx)
		if err != nil {
			return nil, err
		}
		unknown, err := s.unknownOptions(ctx, m)
		if err != nil {
			return nil, err
		}
		found = slices.Concat(found, of, unknown)
	}
	more, err := s.allowed(ctx)
	if err != nil {
		return nil, err
	}
	of, err := s.askPackages(ctx)
	return slices.Concat(found, more, of), err
}

// allowed asks the host whether its owner allows the commands of the work.
func (s *stay) allowed(ctx context.Context) (found []farm.Finding, err error) {
	var on commander
	for n, step := range s.order.Work.Steps {
		for _, argv := range [][]string{step.Command, step.MustPass} {
			if len(argv) == 0 {
				continue
			}
			if on == nil {
				if on, err = s.roller.commands(s.order.Host); err != nil {
					return nil, err
				}
			}
			if _, here := on.(near); here && step.Reboot {
				f := sides.Blocker(string(s.order.Host), "it has no agent: this machine would be rebooted instead", "set up its agent (docs/guide/agents.md), or take it out of the plan")
				f.Check = "command"
				found = append(found, f)
				continue
			}
			err := on.MayCommand(ctx, s.command(n, argv, step).Encode())
			if err != nil && !errors.Is(err, farm.ErrRefused) {
				return nil, err
			}
			if err != nil {
				f := sides.Blocker(string(s.order.Host), err.Error(), farm.Hint(err))
				f.Check = "command"
				found = append(found, f)
			}
		}
	}
	return found, nil
}

// unknownOptions: a server does not start with an option that it does not know.
func (s *stay) unknownOptions(ctx context.Context, m *sides.Member) (found []farm.Finding, err error) {
	for _, step := range s.order.Work.Steps {
		if !step.Apply {
			continue
		}
		is, err := m.Leaves.Variables(ctx, slices.Sorted(maps.Keys(step.Options))...)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(step.Options)) {
			if _, known := is[name]; !known {
				f := sides.Blocker(string(m.Order.Leaves.Name), "it has no variable "+name+", and would not start with that option", "take it out of options in farm.yaml, or of the playbook's step")
				f.Check = "options"
				found = append(found, f)
			}
		}
	}
	return found, nil
}

// awaitWindow waits until the host would be done in time, and says until when.
func (s *stay) awaitWindow(ctx context.Context) error {
	told := ""
	for {
		now := time.Now()
		begin, ok := due.Opens(s.order.Windows, now, s.order.Takes)
		if !ok {
			return &farm.Error{Op: "wait", Subject: string(s.order.Host), Err: fmt.Errorf("%w: no window of the plan is open for %v", farm.ErrRefused, s.order.Takes),
				Hint: "change windows in goals.yaml, and plan again"}
		}
		if !begin.After(now) {
			return nil
		}
		if text := "no window is long enough; the next begins at " + begin.Local().Format("Mon 2 Jan 15:04 MST"); text != told {
			s.Report(farm.Event{Kind: farm.StepWaiting, Text: text})
			told = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Second, time.Until(begin)+time.Millisecond)):
		}
	}
}

// preflight asks everything once more, and keeps what the sides are before they leave.
func (s *stay) preflight(ctx context.Context) error {
	if err := act.MayGoOn(ctx, s); err != nil {
		return err
	}
	if err := s.fetchPackages(ctx); err != nil {
		return err
	}
	errs := make([]error, len(s.members))
	var wg sync.WaitGroup
	for n, m := range s.members {
		wg.Go(func() {
			errs[n] = errors.Join(m.KeepBefore(ctx, s.roller.Store), s.machine.NoteStart(ctx, m.At.Instance))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	logs, files := map[farm.InstanceName]int{}, map[farm.InstanceName]string{}
	for _, m := range s.members {
		path, text, err := s.errorLog(ctx, m)
		logs[m.Order.Leaves.Name], files[m.Order.Leaves.Name] = len(text), path
		if err != nil {
			logs[m.Order.Leaves.Name] = -1
			s.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("the error log of %s cannot be read, and is not compared: %v", m.Order.Leaves.Name, err)})
		}
	}
	if err := s.note(nil, func(x *Rolled) { x.Logs, x.LogFiles = logs, files }); err != nil {
		return err
	}
	return s.lookBefore(ctx)
}

// note keeps what is known of the host by now, where nothing has failed.
func (s *stay) note(err error, change func(*Rolled)) error {
	if err != nil {
		return err
	}
	x := s.rolled
	change(&x)
	x.Run = s.Run
	if err := s.roller.Store.PutDocument(rolledDocument, s.order.key(), time.Now(), x); err != nil {
		return err
	}
	s.rolled = x
	return nil
}

// returned notes that the host serves again: its plan is done with it.
func (s *stay) returned(err error) error {
	err = s.note(err, func(x *Rolled) { x.Back = orNow(x.Back) })
	if err != nil {
		return err
	}
	return s.roller.Store.PutDocument(doneDocument, planKey(s.order.Plan, s.order.Made, s.order.Host), time.Now(), s.rolled.Back)
}
