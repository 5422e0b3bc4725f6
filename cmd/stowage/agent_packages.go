package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/packages"
	"stowage/packages/pin"
)

// packagesCommand is what `packages` steps of a roll run on a host, as commands that its owner allows. A person uses settle after a kill.
func (a *app) packagesCommand() *cobra.Command {
	var wayBack bool
	var sockets []string
	cmd := &cobra.Command{Use: "packages", Short: "Bring packages of this host to pinned versions, for 'stowage roll'", Hidden: true}
	verb := func(use, short string, run func(context.Context, *packages.Apt, []pin.Pin) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: args(cobra.ArbitraryArgs), RunE: func(c *cobra.Command, given []string) error {
			pins, err := readPins(given)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGHUP) // and the policy goes back before we end
			defer stop()
			return run(ctx, &packages.Apt{Out: os.Stdout, Border: a.border}, pins)
		}}
		cmd.AddCommand(c)
		return c
	}
	look := verb("look NAME=VERSION...", "Say what installing them would do, and what keeps it from being done", func(ctx context.Context, apt *packages.Apt, pins []pin.Pin) error {
		report, err := apt.Look(ctx, pins, wayBack, sockets)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.stdout, report.Encode())
		return err
	})
	look.Flags().BoolVar(&wayBack, "way-back", false, "the versions that are installed now must be available, too")
	look.Flags().StringSliceVar(&sockets, "socket", nil, "sockets of servers that mariadb-upgrade must get into")
	verb("fetch NAME=VERSION...", "Download them", func(_ context.Context, apt *packages.Apt, pins []pin.Pin) error { return apt.Fetch(pins) })
	verb("install NAME=VERSION...", "Install them; no service is started or stopped", func(ctx context.Context, apt *packages.Apt, pins []pin.Pin) error { return apt.Install(ctx, pins) })
	verb("settle [NAME=VERSION...]", "After a kill: wait for dpkg, put policy-rc.d back, and say whether the packages are installed", func(ctx context.Context, apt *packages.Apt, pins []pin.Pin) error { return apt.Settle(ctx, pins) })
	upgrade := verb("upgrade --socket SOCKET...", "Run mariadb-upgrade where a server needs it", func(ctx context.Context, apt *packages.Apt, _ []pin.Pin) error { return apt.Upgrade(ctx, sockets) })
	upgrade.Flags().StringSliceVar(&sockets, "socket", nil, "sockets of the servers")
	return cmd
}

func readPins(given []string) ([]pin.Pin, error) {
	var out []pin.Pin
	for _, text := range given {
		p, err := pin.Parse(text)
		if err != nil {
			return nil, &farm.Error{Op: "read package", Subject: text, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "a package is NAME=VERSION"}
		}
		out = append(out, p)
	}
	return out, nil
}
