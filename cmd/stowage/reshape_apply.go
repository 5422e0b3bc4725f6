package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) reshapeApplyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "apply [SPEC]", Short: "Keep the carried columns current behind the clients (keep: applier), until it is stopped",
		Long: `Reads the binary log of each pair and writes the columns of the latest child onto its parent,
on the side that serves the tenant, shortly after the client's own write. It runs all the time,
for example under systemd. It may be killed at any moment, and continues where it was.

While it is at most max_lag behind, it renews a lease in the table stowage_latest of each
shard. The application reads carried columns only where the tenant is active and the lease of
its server is valid; otherwise it reads the children. So no tenant reads columns older than
max_lag, even when this program stops.

After a purged binary log, or a changed table definition, it fills in all migrated tenants of
the shard again, and renews no lease until that is done.

` + exitHelp,
		Example: "  stowage reshape apply latest-version",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			d, going, s, err := a.reshaping(strings.Join(given, ""))
			if err != nil {
				return err
			}
			defer d.Close()
			a.then(a.cmd("reshape status"))
			return going.Apply(c.Context(), s, a.sayOnce())
		},
	}
}
