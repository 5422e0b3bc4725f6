package main

import (
	"github.com/spf13/cobra"

	"stowage/command"
)

// carryCommand is the carrier of a command: a process of its own, which goes on when the agent, or the program, ends.
func (a *app) carryCommand() *cobra.Command {
	return &cobra.Command{Use: "carry DIR", Short: "Run the command of one order", Hidden: true, Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, given []string) error { return command.Carry(given[0], nil) }}
}

// commands runs commands on this machine, and keeps them in a directory. The carrier is this program, also where its file has been replaced meanwhile.
func (a *app) commands(dir string) *command.Station {
	return &command.Station{Dir: dir, Carrier: []string{"/proc/self/exe", "agent", "carry"}, Border: a.border}
}
