package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"stowage/explain"
	"stowage/farm"
	"stowage/internal/table"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Say what a finding or an exit code means, and what to do about it",
		Long: `Says of a code in a finding (the word in brackets), a rule of tune or an exit code what is wrong, from which
evidence that is known, and the remedy. Without CODE it lists all. docs/reference/codes.md has the same.

` + exitHelp,
		Example: "  stowage explain server-id-spent\n  stowage explain DB-IOCAP\n  stowage explain 3",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return a.emit(map[string]any{"format_version": 1, "codes": explain.Codes()}, listCodes)
			}
			code, ok := explain.Of(given[0])
			if !ok {
				hint := "stowage explain lists all"
				if near := explain.Near(given[0]); len(near) > 0 {
					hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
				}
				return &farm.Error{Op: "explain", Subject: given[0], Err: fmt.Errorf("%w: no finding, rule or exit code has this name", farm.ErrInput), Hint: hint}
			}
			return a.emit(code, code.WriteText)
		},
	}
}

func listCodes(w io.Writer) error {
	t := table.New(w, "CODE\tSAID BY\tCAUSE").Cut("SAID BY", "CAUSE")
	for _, c := range explain.Codes() {
		t.Row("%s\t%s\t%s", c.Code, c.From, c.Cause)
	}
	return t.Flush()
}
