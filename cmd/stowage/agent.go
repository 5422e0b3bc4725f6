package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stowage/agent"
	"stowage/command"
	"stowage/farm"
	"stowage/host"
	"stowage/packages"
	"stowage/record"
	"stowage/session"
	"stowage/survey"
)

// agentFlags are what an agent is told.
type agentFlags struct {
	host, engine, listen, advertise, data, certificates, namespace string
	allow                                                          string
	units                                                          bool
}

func (a *app) agentCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent --host NAME --engine HOST:PORT",
		Short: "Run the worker of one database host",
		Long: `Runs on a database host and carries out what moves ask of it: make an instance,
start, stop, back up, copy data to and from other agents, record traffic. It serves the queue
host.NAME of the engine, waits for an engine that is down, and obeys only calls that the
controller's certificate has signed. When the agent stops, databases go on running.

'stowage agent certs', where the farm is moved from, makes the directory of
certificates; copy it here and name it with --certificates.

` + exitHelp,
		Example: "  stowage agent --host db017 --engine 10.0.0.5:7233 --listen 10.0.1.17:7234\n  stowage agent certs\n  stowage agent status",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return a.runAgent(c.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.host, "host", "", "the host's name in farm.yaml")
	fl.StringVar(&f.engine, "engine", "", "host:port of the engine: agents.engine of farm.yaml, or a Temporal cluster")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7234", "address and port where other agents fetch copies")
	fl.StringVar(&f.advertise, "advertise", "", "what other agents dial, when it is not --listen")
	fl.StringVar(&f.data, "data", "/var/lib/stowage-agent", "the agent's own directory: lock, audit log")
	fl.StringVar(&f.certificates, "certificates", "/etc/stowage/certificates", "directory with ca.crt, own.crt and own.key")
	fl.StringVar(&f.namespace, "namespace", "", "Temporal namespace, for a cluster of your own")
	fl.BoolVar(&f.units, "units", false, "run instances as systemd units mariadb@NAME, instead of as its own child processes")
	fl.StringVar(&f.allow, "allow", "", "list of the commands that 'stowage roll' may run here, docs/guide/roll.md; without it none")
	cmd.AddCommand(a.certsCommand(), a.agentRevokeCommand(), a.agentStatusCommand(), a.carryCommand(), a.packagesCommand())
	return cmd
}

func (a *app) runAgent(ctx context.Context, f agentFlags) error {
	for _, x := range []struct{ flag, value string }{{"--host", f.host}, {"--engine", f.engine}} {
		if x.value == "" {
			return &farm.Error{Op: "start agent", Err: fmt.Errorf("%w: %s is missing", farm.ErrInput, x.flag), Hint: "stowage agent --help"}
		}
	}
	level := slog.LevelInfo
	if a.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	id, err := agent.ReadIdentity(f.certificates, time.Now())
	if err != nil {
		return err
	}
	machine, err := host.NewLocal(log)
	if err != nil {
		return err
	}
	machine.KeepNotes(filepath.Join(f.data, "starts"))
	machine.KeepSpool(filepath.Join(f.data, "binlogs"))
	machine.Dumps(session.Dumper(log))
	if f.units {
		if err := machine.UseUnits(); err != nil {
			return err
		}
	}
	station := &record.Station{Dir: filepath.Join(f.data, "record"), Log: log, Border: a.border}
	commands := a.commands(filepath.Join(f.data, "commands"))
	if f.allow != "" {
		commands.Allow = command.Allowed(f.allow)
		if _, err := commands.Allow.Read(); err != nil {
			return err
		}
	}
	x, err := agent.New(agent.Options{Host: farm.HostName(f.host), Engine: f.engine, Listen: f.listen, Advertise: f.advertise, Data: f.data,
		Namespace: f.namespace, Version: stamp(), Identity: id, Machine: machine, Recorder: station, Looker: survey.Station{Here: survey.Here{Machine: machine}}, Commander: commands, Log: log})
	if err != nil {
		return err
	}
	mending, stop := context.WithCancel(ctx)
	var mended sync.WaitGroup
	mended.Go(func() { station.Mend(mending) })
	mended.Go(func() {
		if err := packages.Mend(mending); err != nil && mending.Err() == nil {
			log.Error("packages", "error", err)
		}
	})
	defer mended.Wait()
	defer stop()
	return x.Run(ctx)
}

// certsSummary is what stowage agent certs prints.
type certsSummary struct {
	FormatVersion int               `json:"format_version"`
	Dir           string            `json:"dir"`
	Expires       time.Time         `json:"authority_expires"`
	Certificates  []hostCertificate `json:"certificates"`
}

// hostCertificate is a certificate, and what goes to its host with it.
type hostCertificate struct {
	agent.Issued
	Directories bool `json:"directories_changed,omitempty"` // the list of what its agent may touch is longer than it was
}

func (a *app) certsCommand() *cobra.Command {
	var renew bool
	cmd := &cobra.Command{
		Use:   "certs [HOST...]",
		Short: "Make and show the farm's certificates",
		Long: `Makes what is missing: a certificate authority of the farm's own, certificates for
this program and its engine, and one for each host that has an agent (agents in
farm.yaml) or is named. Shows when each expires. Copy hosts/NAME to /etc/stowage/certificates on
that host. Files can be read by their owner only; ca.key is needed here alone.

` + exitHelp,
		Example: "  stowage agent certs\n  stowage agent certs --renew db017",
		Args:    args(cobra.ArbitraryArgs),
		RunE: func(_ *cobra.Command, given []string) error {
			s, err := a.certs(given, renew)
			if err != nil {
				return err
			}
			return a.emit(s, s.text, a.cmd("agent status"))
		},
	}
	cmd.Flags().BoolVar(&renew, "renew", false, "renew those of the named hosts; without names all that are not revoked, this program's too")
	return cmd
}

func (a *app) certs(given []string, renew bool) (certsSummary, error) {
	d, err := a.open()
	if err != nil {
		return certsSummary{}, err
	}
	defer d.Close()
	names, err := hostsWithAgents(d.Farm, given)
	if err != nil {
		return certsSummary{}, err
	}
	now := time.Now()
	s := certsSummary{FormatVersion: 1, Dir: d.Certificates()}
	ca, err := agent.OpenAuthority(s.Dir, now)
	if err != nil {
		return s, err
	}
	s.Expires = ca.Expires()
	own := renew && len(given) == 0
	for _, make := range []func() (agent.Issued, error){
		func() (agent.Issued, error) { return ca.Controller(now, own) },
		func() (agent.Issued, error) { return ca.Engine(now, own) },
	} {
		issued, err := make()
		if err != nil {
			return s, err
		}
		s.Certificates = append(s.Certificates, hostCertificate{Issued: issued})
	}
	for _, h := range names {
		issued, err := ca.Host(h, now, false)
		if err == nil && renew && !issued.New && (len(given) > 0 || !issued.Revoked) {
			issued, err = ca.Host(h, now, true)
		}
		if err != nil {
			return s, err
		}
		added, err := ca.Directories(h, directoriesOn(d, h))
		if err != nil {
			return s, err
		}
		s.Certificates = append(s.Certificates, hostCertificate{issued, added})
	}
	return s, nil
}

// directoriesOn is what farm.yaml names on a host: where new instances are made, where each one is, and where backups and binary logs are kept.
func directoriesOn(d *session.Session, name farm.HostName) (out []string) {
	if h, ok := d.Farm.Host(name); ok && h.Dir != "" {
		out = append(out, d.Path(h.Dir))
	}
	kept := []string{d.Farm.Backup.Dir}
	if d.Farm.Backup.On(name) == name {
		kept = append(kept, d.Farm.Backup.PasswordFile, d.Farm.Backup.EnvFile)
		if path.IsAbs(d.Farm.Backup.Restic) {
			kept = append(kept, d.Farm.Backup.Restic)
		}
	}
	for _, p := range kept {
		if p != "" {
			out = append(out, p)
		}
	}
	for _, p := range d.Farm.Pairs {
		for _, side := range p.SideNames() {
			x := p.Sides[side]
			if x.Host != name {
				continue
			}
			config := x.Config
			if config == "" {
				config = filepath.Join(filepath.Dir(x.Datadir), "my.cnf")
			}
			if own := filepath.Dir(d.Path(x.Datadir)); own == filepath.Dir(d.Path(config)) && farm.CheckPlace("", d.Path(x.Datadir), d.Path(config)) == nil {
				out = append(out, own)
				continue
			}
			out = append(out, d.Path(x.Datadir), d.Path(config))
		}
	}
	return out
}

// hostsWithAgents are the named hosts, or all that farm.yaml gives an agent.
func hostsWithAgents(f *farm.Farm, given []string) ([]farm.HostName, error) {
	var names []farm.HostName
	for _, g := range given {
		if _, ok := f.Host(farm.HostName(g)); !ok {
			return nil, &farm.Error{Op: "find host", Subject: g, Err: fmt.Errorf("%w: farm.yaml has no such host", farm.ErrInput)}
		}
		names = append(names, farm.HostName(g))
	}
	if len(given) > 0 {
		return names, nil
	}
	for _, h := range f.Hosts {
		if f.Agents.On(h.Name) {
			names = append(names, h.Name)
		}
	}
	return names, nil
}

func (s certsSummary) text(w io.Writer) error {
	var errs error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		errs = errors.Join(errs, err)
	}
	say("authority in %s, until %s", s.Dir, s.Expires.Format(time.DateOnly))
	for _, c := range s.Certificates {
		state := ""
		switch {
		case c.New:
			state = "  new"
		case c.Revoked:
			state = "  REVOKED: stowage agent certs --renew " + c.Name + " makes another"
		case c.Left <= 0:
			state = "  EXPIRED: stowage agent certs --renew"
		case c.Left < agent.WarnBefore:
			state = fmt.Sprintf("  expires in %d days: stowage agent certs --renew", days(c.Left))
		}
		if c.Directories && !c.New {
			state += "  directories have changed: copy it to the host again"
		}
		say("%-10s  %-16s  until %s  %s%s", c.Role, c.Name, c.Expires.Format(time.DateOnly), c.Dir, state)
	}
	return errs
}

func days(left time.Duration) int { return int(left.Hours() / 24) }

// agentState is one host in stowage agent status.
type agentState struct {
	agent.Meeting
	DaysLeft int               `json:"certificate_days_left"`
	Error    string            `json:"error,omitempty"`
	Revoked  *agent.Revocation `json:"revoked,omitempty"`
}

func (a *app) agentStatusCommand() *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "status [HOST...]",
		Short: "Ask every agent who it is",
		Long: `Asks the agents of the named hosts, or of all, who they are: version, where they
serve copies, when their certificate expires. Starts the engine for it when none
runs, and waits until all have found it. Tells them which certificates are revoked.
An agent that does not answer is a finding, and so is a host that is revoked.

` + exitHelp,
		Example: "  stowage agent status\n  stowage agent status db017",
		Args:    args(cobra.ArbitraryArgs),
		RunE: func(c *cobra.Command, given []string) error {
			return a.agentStatus(c.Context(), given, patience)
		},
	}
	cmd.Flags().StringVar(&a.engine, "engine", "", "host:port of a Temporal cluster; default: that of farm.yaml")
	cmd.Flags().DurationVar(&patience, "wait", session.AgentPatience, "how long agents may take to answer")
	cmd.Flags().Lookup("wait").DefValue = inHelp(session.AgentPatience)
	return cmd
}

func (a *app) agentStatus(ctx context.Context, given []string, patience time.Duration) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if !d.Farm.Agents.Used() {
		return &farm.Error{Op: "ask agents", Subject: "farm.yaml", Err: fmt.Errorf("%w: it has no agents", farm.ErrInput), Hint: "docs/guide/agents.md"}
	}
	names, err := hostsWithAgents(d.Farm, given)
	if err != nil {
		return err
	}
	board, err := d.Board(ctx)
	if err != nil {
		return err
	}
	revoked, all, err := revokedHosts(d, names)
	if err != nil {
		return err
	}
	m := d.Handshakes(ctx, patience)
	states, missing := askAgents(ctx, m, names, revoked)
	if len(all) > 0 {
		if untold := tell(ctx, board, states, len(all)); len(untold) > 0 {
			a.log.Warn("agents do not know the revoked certificates yet; agents of an older version cannot learn them", "hosts", session.HostList(untold))
		}
	}
	shown := map[string]any{"format_version": 1, "agents": states, "revoked": all}
	next := "inventory"
	if missing > 0 {
		next = "doctor"
	}
	err = a.emit(shown, func(w io.Writer) error { return printAgents(w, states) }, a.cmd(next))
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d agents do not answer: %w", missing, farm.ErrFindings)
	}
	return err
}

// askAgents asks all but those whose certificate is revoked.
func askAgents(ctx context.Context, m *session.Handshakes, names []farm.HostName, revoked map[farm.HostName]agent.Revocation) (states []agentState, missing int) {
	var asked []farm.HostName
	for _, name := range names {
		if _, is := revoked[name]; !is {
			asked = append(asked, name)
		}
	}
	m.Gather(ctx, asked)
	for _, name := range names {
		if x, is := revoked[name]; is {
			states = append(states, agentState{Meeting: agent.Meeting{Host: name}, Revoked: &x})
			missing++
			continue
		}
		met, err := m.Wait(ctx, name)
		s := agentState{Meeting: met, DaysLeft: days(time.Until(met.Expires))}
		if err != nil {
			s.Host, s.Error, s.DaysLeft = name, err.Error(), 0
			missing++
		}
		states = append(states, s)
	}
	return states, missing
}

func printAgents(w io.Writer, states []agentState) error {
	var errs error
	for _, s := range states {
		said := ""
		switch {
		case s.Revoked != nil:
			said = fmt.Sprintf("REVOKED since %s  %s", s.Revoked.Date, s.Revoked.Reason)
		case s.Error != "":
			said = "does not answer: " + s.Error
		default:
			said = fmt.Sprintf("%-12s  copies at %s  certificate until %s (%d days)", s.Version, s.Address, s.Expires.Format(time.DateOnly), s.DaysLeft)
			if time.Until(s.Expires) < agent.WarnBefore {
				said += "  EXPIRES SOON: stowage agent certs --renew " + string(s.Host)
			}
		}
		_, err := fmt.Fprintf(w, "%-16s  %s\n", s.Host, strings.TrimRight(said, " "))
		errs = errors.Join(errs, err)
	}
	return errs
}
