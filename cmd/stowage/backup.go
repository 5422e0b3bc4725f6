package main

import "github.com/spf13/cobra"

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup", Short: "Back the farm up, and say from what it can be restored",
		Long: `'backup' in farm.yaml says where backups go, how often they are made and which stay.
'status' says from what each pair can be restored, 'list' shows all backups, 'prune' which of them
may go, 'window' how long a backup of the farm takes. docs/backup.md.

` + exitHelp,
		Example: "  stowage backup status\n  stowage backup list dbshard001\n  stowage backup window --plan first",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.backupStatusCommand(), a.backupListCommand(), a.backupPruneCommand(), a.backupWindowCommand())
	return cmd
}
