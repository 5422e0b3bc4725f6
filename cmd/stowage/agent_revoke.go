package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"stowage/agent"
	"stowage/farm"
	"stowage/session"
)

func (a *app) agentRevokeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke HOST",
		Short: "Accept no certificate of a host any more",
		Long: `Puts every certificate that was made for the host on the farm's list of revoked
ones: its key is in the hands of others, or may be. From then on programs here,
also those that run, ask nothing of the host and refuse what it answers. Other
agents refuse copies from and to it from their next call on; 'stowage agent
status' tells them at once. The engine refuses it when it next reads the list.

Nothing is stopped on the host, and accounts of servers that it knew stay valid:
change them. A revoked certificate stays revoked. When the host can be trusted
again, 'stowage agent certs --renew HOST' makes another. docs/reference/security.md.

` + exitHelp,
		Example: "  stowage agent revoke db017 --reason 'disk sent back to its maker'\n  stowage agent status",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, given []string) error {
			s, err := a.revoke(farm.HostName(given[0]), reason)
			if err != nil {
				return err
			}
			return a.emit(s, s.text, a.cmd("agent status"))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why: shown in the list, and to programs that it refuses")
	return cmd
}

// revokeSummary is what stowage agent revoke prints.
type revokeSummary struct {
	FormatVersion int                `json:"format_version"`
	Host          farm.HostName      `json:"host"`
	List          string             `json:"list"`
	Added         int                `json:"added"`
	Certificates  []agent.Revocation `json:"certificates"`
}

func (a *app) revoke(name farm.HostName, reason string) (revokeSummary, error) {
	d, err := a.open()
	if err != nil {
		return revokeSummary{}, err
	}
	defer d.Close()
	ca, err := agent.ReadAuthority(d.Certificates())
	if err != nil {
		return revokeSummary{}, err
	}
	of, added, err := ca.Revoke(name, reason, time.Now())
	if err != nil {
		return revokeSummary{}, err
	}
	return revokeSummary{FormatVersion: 1, Host: name, List: ca.RevokedPath(), Added: added, Certificates: of}, nil
}

func (s revokeSummary) text(w io.Writer) error {
	var errs error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		errs = errors.Join(errs, err)
	}
	if s.Added == 0 {
		say("%s: nothing new to revoke, %d revoked before (%s)", s.Host, len(s.Certificates), s.List)
		return errs
	}
	say("%s: revoked, with every certificate that was made for it: %d (%s)", s.Host, s.Added, s.List)
	for _, c := range s.Certificates {
		say("  %s  since %s  %s", c.Serial, c.Date, c.Reason)
	}
	say("other agents learn it from stowage agent status; change the accounts that the host knew (docs/reference/security.md)")
	return errs
}

// revokedHosts are the hosts whose newest certificate is revoked, and all
// revocations by host.
func revokedHosts(d *session.Session, names []farm.HostName) (out map[farm.HostName]agent.Revocation, all []agent.Revocation, err error) {
	ca, err := agent.ReadAuthority(d.Certificates())
	if err != nil {
		return nil, nil, err
	}
	if all, err = ca.Revoked(); err != nil {
		return nil, nil, err
	}
	out = map[farm.HostName]agent.Revocation{}
	for _, x := range all {
		if !slices.Contains(names, x.Host) {
			continue
		}
		if now, err := ca.IsRevoked(x.Host); err != nil {
			return nil, nil, err
		} else if now {
			out[x.Host] = x
		}
	}
	return out, all, nil
}

// tell gives the agents that answered the list of revoked certificates, and
// returns the hosts whose agents do not know it.
func tell(ctx context.Context, board *agent.Switchboard, states []agentState, want int) (untold []farm.HostName) {
	ctx, cancel := context.WithTimeout(ctx, session.AgentAnswer)
	defer cancel()
	for i := range states {
		if states[i].Error != "" || states[i].Revoked != nil {
			continue
		}
		if n, err := board.Host(states[i].Host).Tell(ctx); err != nil || n < want {
			untold = append(untold, states[i].Host)
		}
	}
	return untold
}
