package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/inventory"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/session"
	"stowage/workspace"
)

// tool is a program that some verbs start on this machine.
type tool struct {
	names   []string // any of them will do
	verbs   string
	remedy  string
	isLocal bool // only where this machine plays hosts: with agents it is theirs
}

// tools are looked for in this order.
var tools = []tool{
	{[]string{"mariadbd", "mysqld"}, "demo, bench engine, and moves of hosts without an agent", "apt-get install mariadb-server", true},
	{[]string{"mariadb-backup", "mariabackup"}, "moves of hosts without an agent", "apt-get install mariadb-backup", true},
	{[]string{"mbstream"}, "moves of hosts without an agent", "apt-get install mariadb-backup", true},
	{[]string{"fio"}, "bench", "apt-get install fio", false},
	{[]string{"smartctl"}, "tune, which reads the wear of drives", "apt-get install smartmontools", false},
	{[]string{"xfs_info"}, "tune, of XFS", "apt-get install xfsprogs", false},
	{[]string{"dumpe2fs"}, "tune, of ext4", "apt-get install e2fsprogs", false},
}

// doctorAnswer is what `stowage doctor` prints.
type doctorAnswer struct {
	FormatVersion int               `json:"format_version"`
	Workspace     string            `json:"workspace"` // empty: none
	Tools         map[string]string `json:"tools"`     // where each was found
	Instances     int               `json:"instances"` // that were asked
	Agents        int               `json:"agents"`
	Findings      []farm.Finding    `json:"findings"`
}

// next: the first finding is explained; a farm where nothing is missing is asked, and without one there is one to try.
func (o doctorAnswer) next(a *app) []string {
	switch next := a.explainFirst(o.Findings); {
	case next != nil:
		return next
	case o.Workspace == "":
		return []string{"stowage demo"}
	}
	return []string{a.cmd("inventory")}
}

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Name what is missing: tools here, rights of accounts, settings of servers, agents that do not answer",
		Long: `Looks for the programs that verbs start on this machine, reads the accounts file, logs in to every instance of
farm.yaml and compares the rights of its account with docs/reference/privileges.md, asks whether load can be measured and how far
clocks are apart, and greets the agents. Names what is missing with its remedy. Outside of a workspace it looks at this
machine alone. Reads only; agents are greeted through the engine, which is started for that when none runs.

Exit code 1 with a blocker or a warning, 0 with notes alone. 'stowage explain CODE' says more of each.

` + exitHelp,
		Example: "  stowage doctor\n  stowage -C farm doctor --json | jq .findings",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := a.doctor(c.Context())
			if err != nil {
				return err
			}
			if err := a.emit(out, out.text, out.next(a)...); err != nil {
				return err
			}
			if hasGrave(out.Findings) {
				return farm.ErrFindings
			}
			return nil
		},
	}
	return cmd
}

func (a *app) doctor(ctx context.Context) (doctorAnswer, error) {
	out := doctorAnswer{FormatVersion: 1, Tools: map[string]string{}, Findings: []farm.Finding{}}
	ws, wsErr := workspace.Open(a.dir)
	var f *farm.Farm
	if wsErr == nil {
		var err error
		if f, err = ws.Farm(); errors.Is(err, farm.ErrRefused) {
			wsErr = err
		} else if err != nil {
			return out, err
		}
		out.Workspace = ws.Dir
	} else if a.dir != "." && !errors.Is(wsErr, farm.ErrRefused) {
		return out, wsErr // it was named
	}
	out.findTools(f)
	if errors.Is(wsErr, farm.ErrRefused) {
		out.wrong("workspace-open", farm.Blocker, a.dir, wsErr)
	}
	if f == nil {
		return out, nil
	}
	d, err := a.look()
	if err != nil {
		return out, err
	}
	defer d.Close()
	defer a.doing("asking servers and agents")()
	if err := d.Login(); err != nil {
		out.wrong("account-missing", farm.Blocker, "accounts", err)
	} else {
		out.askServers(ctx, d)
	}
	if f.Agents.Used() {
		return out, a.askDoctorAgents(ctx, f, &out)
	}
	return out, ctx.Err()
}

// wrong adds a finding made of an error, with the error's own advice.
func (o *doctorAnswer) wrong(check string, severity farm.Severity, subject string, err error) {
	remedy := farm.Hint(err)
	if remedy == "" {
		remedy = "stowage explain " + check
	}
	o.Findings = append(o.Findings, farm.Finding{Check: check, Severity: severity, Subject: subject, Text: err.Error(), Remedy: remedy})
}

func (o *doctorAnswer) findTools(f *farm.Farm) {
	const name = "stowage-engine"
	if path, err := engine.Binary(); err == nil {
		o.Tools[name] = path
	} else {
		severity := farm.Warning
		if f == nil {
			severity = farm.Note
		}
		o.Findings = append(o.Findings, farm.Finding{Check: "tool-missing", Severity: severity, Subject: name, Text: "is needed by moves, domains and agents: " + err.Error(), Remedy: "install it beside this program: make build"})
	}
	local := f == nil || slices.ContainsFunc(f.Hosts, func(h farm.Host) bool { return !f.Agents.On(h.Name) })
	for _, t := range tools {
		if t.isLocal && !local {
			continue
		}
		path := ""
		for _, n := range t.names {
			if p, err := host.LookUp(n); err == nil && path == "" {
				path = p
			}
		}
		if path != "" {
			o.Tools[t.names[0]] = path
			continue
		}
		severity := farm.Note
		if t.isLocal && f != nil {
			severity = farm.Warning
		}
		o.Findings = append(o.Findings, farm.Finding{Check: "tool-missing", Severity: severity, Subject: t.names[0], Text: "is not installed here; needed by " + t.verbs, Remedy: t.remedy})
	}
}

// askServers asks all instances, several at a time; one that hangs costs its own time.
func (o *doctorAnswer) askServers(ctx context.Context, d *session.Session) {
	const atOnce = 16
	var found [][]farm.Finding
	var all sync.WaitGroup
	var mu sync.Mutex // guards found, which grows meanwhile
	tokens := make(chan struct{}, atOnce)
	for _, p := range d.Farm.Pairs {
		for _, side := range p.SideNames() {
			i := len(found)
			mu.Lock()
			found = append(found, nil)
			mu.Unlock()
			server := d.Server(p.Instance(side), d.Farm.Address(p.Sides[side]))
			o.Instances++
			all.Add(1)
			tokens <- struct{}{}
			go func() {
				defer all.Done()
				defer server.Close()
				own := diagnose(ctx, server)
				<-tokens
				mu.Lock()
				defer mu.Unlock()
				found[i] = own
			}()
		}
	}
	all.Wait()
	o.Findings = append(o.Findings, slices.Concat(found...)...)
}

// unseenShare of statements that are prepared ones is worth a word.
const unseenShare = 0.05

// diagnose asks one server everything, in a fixed order.
func diagnose(ctx context.Context, server *mysql.Server) []farm.Finding {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	var o doctorAnswer
	name := string(server.Name())
	lacking, err := server.Lacking(ctx)
	if err != nil {
		o.wrong("login", farm.Blocker, name, err)
		return o.Findings
	}
	if !lacking.IsNone() {
		o.Findings = append(o.Findings, farm.Finding{Check: "privileges", Severity: farm.Warning, Subject: name, Names: lacking.Privileges, Text: lacking.Text(), Remedy: lacking.Remedy()})
	}
	r, err := traffic.OpenStatements(ctx, server)
	if err != nil {
		o.wrong("login", farm.Blocker, name, err)
		return o.Findings
	}
	defer r.Close()
	if ahead, give, err := r.Clock(ctx); err != nil {
		o.wrong("login", farm.Blocker, name, err)
	} else if off := max(ahead, -ahead); off > time.Second+give {
		o.Findings = append(o.Findings, farm.Finding{Check: "clock-offset", Severity: farm.Warning, Subject: name, Text: fmt.Sprintf("its clock is %s from ours", off.Round(time.Millisecond)), Remedy: "run chrony or ntpd on both"})
	}
	if _, err := r.Schema(ctx); err != nil {
		o.wrong("performance-schema", farm.Note, name, err)
		return o.Findings
	}
	sums, err := r.Summary(ctx)
	if err != nil {
		o.wrong("performance-schema", farm.Note, name, err)
		return o.Findings
	}
	if sums.Lost > 0 {
		o.Findings = append(o.Findings, farm.Finding{Check: "statements-lost", Severity: farm.Warning, Subject: name, Text: fmt.Sprintf("%s had no room in performance_schema: sums by class are too small", farm.Counted(sums.Lost, "statement")),
			Remedy: "raise performance_schema_digests_size in its option file, and restart it"})
	}
	if share := float64(sums.Prepared) / float64(max(1, sums.Prepared+sums.Total())); share > unseenShare {
		o.Findings = append(o.Findings, farm.Finding{Check: "prepared-unseen", Severity: farm.Note, Subject: name, Text: fmt.Sprintf("%.0f %% of its statements are prepared ones, which it does not add up by class", 100*share),
			Remedy: "the slow log sees them: stowage digest record"})
	}
	return o.Findings
}

// askDoctorAgents greets the agents. That takes the workspace to be written to: the engine's files are there.
func (a *app) askDoctorAgents(ctx context.Context, f *farm.Farm, out *doctorAnswer) error {
	names, err := hostsWithAgents(f, nil)
	if err != nil {
		return err
	}
	out.Agents = len(names)
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Board(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		out.wrong("agent-silent", farm.Blocker, "agents", err)
		return nil
	}
	revoked, _, err := revokedHosts(d, names)
	if err != nil {
		return err
	}
	states, _ := askAgents(ctx, d.Handshakes(ctx, session.AgentPatience), names, revoked)
	for _, s := range states {
		if s.Error != "" {
			out.Findings = append(out.Findings, farm.Finding{Check: "agent-silent", Severity: farm.Blocker, Subject: string(s.Host), Text: s.Error, Remedy: "start it there, or see its journal: docs/guide/agents.md"})
		}
	}
	return nil
}

func (o doctorAnswer) text(w io.Writer) error {
	if o.Workspace == "" {
		fmt.Fprintln(w, "no workspace here: this machine alone")
	} else {
		fmt.Fprintf(w, "%s: %s asked, %s\n", o.Workspace, farm.Counted(o.Instances, "instance"), farm.Counted(o.Agents, "agent"))
	}
	return inventory.WriteFindings(w, o.Findings)
}
