package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stowage/farm"
	"stowage/internal/manpage"
)

// manCommand writes the manual pages: for those who make packages.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Hidden: true,
		Long:    "Writes a manual page for each verb into a directory, which is made where there is none.\n\n" + exitHelp,
		Example: "  stowage man man1",
		Args:    args(cobra.ExactArgs(1)),
		RunE:    func(c *cobra.Command, given []string) error { return writeManual(c.Root(), given[0]) },
	}
}

func writeManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &farm.Error{Op: "write manual pages", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err)), Hint: "name a directory that is there or can be made"}
	}
	return eachVerb(root, func(c *cobra.Command) error {
		return write(filepath.Join(dir, manName(c)+".1"), manPage(c).Bytes())
	})
}

// eachVerb visits a command and all that are not hidden below it.
func eachVerb(c *cobra.Command, visit func(*cobra.Command) error) error {
	if err := visit(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.Hidden {
			continue
		}
		if err := eachVerb(sub, visit); err != nil {
			return err
		}
	}
	return nil
}

// manName is the name of a verb's page: stowage-plan-show.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the page of a verb. It says what --help says.
func manPage(c *cobra.Command) manpage.Page {
	c.InitDefaultHelpFlag()
	var verbs []manpage.Item
	see := []string{}
	if c.HasParent() {
		see = append(see, manName(c.Parent())+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			verbs = append(verbs, manpage.Item{Term: sub.Name(), Text: sub.Short})
			see = append(see, manName(sub)+"(1)")
		}
	}
	_, codes, _ := strings.Cut(exitHelp, "\n")
	return manpage.Page{
		Name: manName(c), Section: 1, Short: c.Short, Version: version, Date: date,
		Sections: []manpage.Section{
			{Title: "Synopsis", Text: c.UseLine()},
			{Title: "Description", Text: aboutText(c)},
			{Title: "Verbs", Items: verbs},
			{Title: "Options", Items: flagItems(c.NonInheritedFlags())},
			{Title: "Options of all verbs", Items: flagItems(c.InheritedFlags())},
			{Title: "Exit status", Text: codes},
			{Title: "Examples", Text: c.Example},
			{Title: "See also", Text: strings.Join(see, ", ")},
		},
	}
}

// aboutText is what a verb says of itself, without what is the same for all.
func aboutText(c *cobra.Command) string {
	return strings.TrimSpace(strings.ReplaceAll(cmp.Or(c.Long, c.Short), exitHelp, ""))
}

func flagItems(fs *pflag.FlagSet) (out []manpage.Item) {
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if value != "" {
			term += " " + value
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			text += " (default " + f.DefValue + ")"
		}
		out = append(out, manpage.Item{Term: term, Text: text})
	})
	return out
}
