package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/mysql"
	"stowage/roll/agenda"
	"stowage/session"
)

func (a *app) rollOptionsCommand() *cobra.Command {
	var f rollFlags
	cmd := &cobra.Command{
		Use: "options", Short: "Bring running servers to the options of their host types", Args: args(cobra.NoArgs),
		Long: `Plans a roll of the hosts whose servers run with something else than options of their host
type in farm.yaml. On each host, while it is out: the option files are written, what the
servers can change while they run is set, and they are restarted where something needs it.
Hosts whose servers have everything already are left alone.

` + exitHelp,
		Example: "  stowage roll options\n  stowage roll options --hosts 'ssd*' --yes",
		RunE:    func(c *cobra.Command, _ []string) error { return a.rollOptions(c.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.hosts, "hosts", nil, "names and patterns of hosts; default: all")
	f.ofPlan(fl)
	a.engineFlag(fl)
	a.reasonFlag(fl)
	return cmd
}

func (a *app) rollOptions(ctx context.Context, f rollFlags) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return err
	}
	if len(f.hosts) == 0 {
		f.hosts = []string{"*"}
	}
	asked, none, err := agenda.Matching(d.Farm, f.hosts)
	if err == nil && len(none) > 0 {
		err = fmt.Errorf("%w: no host of farm.yaml is called %s", farm.ErrInput, none[0])
	}
	if err != nil {
		return &farm.Error{Op: "plan a roll", Subject: strings.Join(f.hosts, ","), Err: err, Hint: "stowage inventory lists the hosts"}
	}
	stray, typed := a.strayHosts(ctx, d, asked)
	switch {
	case typed == 0:
		return &farm.Error{Op: "plan a roll", Subject: strings.Join(f.hosts, ","), Err: fmt.Errorf("%w: no host type of these hosts has options", farm.ErrInput),
			Hint: "host_types: X: options: {innodb_buffer_pool_size: 70%} in farm.yaml; docs/reference/farm.yaml.md"}
	case len(stray) == 0:
		a.say("the servers of %s run with the options of their host types: nothing to do", farm.Counted(typed, "host"))
		a.then(a.cmd("inventory"))
		return nil
	}
	work := agenda.Work{Hosts: stray, Takes: f.takes, Downtime: f.down, Steps: []agenda.Step{{HostOptions: true}}}
	p, path, err := rollPlan(d, work, f.name)
	if err != nil {
		return err
	}
	if f.yes {
		_ = p.WriteText(a.stderr) // what comes next is said on standard output
		return a.rollPlan(ctx, d, p.Name)
	}
	a.say("wrote %s; review it", path)
	return a.emit(p, p.WriteText, a.afterRollPlan(p.Name)...)
}

// strayHosts are the hosts with a server that runs with something else than its host type says, or does not answer; typed is how many have options at all and
// carry servers.
func (a *app) strayHosts(ctx context.Context, d *session.Session, hosts []farm.HostName) (stray []string, typed int) {
	type server struct {
		instance *mysql.Server
		host     farm.HostName
	}
	on := map[farm.HostName]int{}
	var servers []server
	for _, p := range d.Farm.Pairs {
		for side, at := range p.Sides {
			on[at.Host]++
			if slices.Contains(hosts, at.Host) {
				servers = append(servers, server{d.Server(p.Instance(side), d.Farm.Address(at)), at.Host})
			}
		}
	}
	var mu sync.Mutex
	is := map[farm.HostName]bool{}
	room := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			defer s.instance.Close()
			holds, err := optionsHold(ctx, s.instance, d.Farm.OptionsOn(s.host, on[s.host]))
			if err != nil {
				a.say("%s did not say with which options it runs, so its host is in the plan: %v", s.instance.Name(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			is[s.host] = is[s.host] || err != nil || !holds
		})
	}
	wg.Wait()
	for _, h := range hosts {
		if on[h] == 0 || len(d.Farm.OptionsOn(h, on[h])) == 0 {
			continue
		}
		typed++
		if is[h] {
			stray = append(stray, string(h))
		}
	}
	return stray, typed
}

// optionsHold reports whether a server runs with all of these options. One that it does not show is asked about when the roll begins.
func optionsHold(ctx context.Context, s *mysql.Server, want map[string]string) (bool, error) {
	if len(want) == 0 {
		return true, nil
	}
	is, err := s.Variables(ctx, slices.Sorted(maps.Keys(want))...)
	if err != nil {
		return false, err
	}
	for name, value := range want {
		if now, known := is[name]; !known || !farm.OptionHolds(name, now, value) {
			return false, nil
		}
	}
	return true, nil
}
