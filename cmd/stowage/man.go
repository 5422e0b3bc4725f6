//go:build man

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"stowage/farm"
)

// Manual pages are for those who make packages (`make man`). What makes them begins with work of its own, which everybody
// else would wait for at every start: it is not part of the program that is shipped.
func init() { extras = append(extras, (*app).manCommand) }

// manCommand writes the manual pages.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Hidden: true,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if err := os.MkdirAll(given[0], 0o755); err != nil {
				return &farm.Error{Op: "write manual pages", Subject: given[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
			}
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Title: "STOWAGE", Section: "1"}, given[0])
		},
	}
}
