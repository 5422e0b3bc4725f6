package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// help prints what a verb does, how it is called and its flags, and at the end
// what is looked up most: exit codes and examples. Behind a word that is not a verb
// there is nothing to print.
func (a *app) help(c *cobra.Command, _ []string) {
	if words := c.Flags().Args(); len(words) > 0 && c.HasSubCommands() && (c == c.Root() || c.Args != nil && c.Args(c, words) != nil) {
		a.noVerb = unknownVerb(c, words[0])
		return
	}
	about := aboutText(c)
	example := c.Example
	c.Example = "" // not in the middle
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%s\n\n%s\n%s\n", about, strings.TrimRight(c.UsageString(), "\n")+"\n", exitHelp)
	c.Example = example
	if example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(example, "\n"))
	}
}

// inHelp is a duration as people write it: 1m, not 1m0s.
func inHelp(d time.Duration) string { return strings.Replace(d.String(), "m0s", "m", 1) }

// helpCommand is `stowage help VERB`. Unlike the one that comes with the
// library, it says with its exit code that there is no such verb.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [VERB]",
		Short:   "Show what a verb does",
		Long:    "Shows the same as VERB --help.\n\n" + exitHelp,
		Example: "  stowage help resume",
		RunE: func(c *cobra.Command, given []string) error {
			about, rest, err := c.Root().Find(given)
			if err != nil || len(rest) > 0 {
				return unknownVerb(c.Root(), strings.Join(given, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// addCompletion adds `stowage completion SHELL`, made to behave like our verbs.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Example = "  source <(stowage completion bash)"
		c.Long += "\n\n" + exitHelp
		c.Args = args(cobra.NoArgs)
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = args(cobra.NoArgs)
			shell.Long += "\n" + exitHelp
			shell.Example = "  stowage completion " + shell.Name() + " > FILE"
		}
	}
}

// unknownVerb is the answer to a word that is not a verb of c.
func unknownVerb(c *cobra.Command, word string) error {
	text := fmt.Sprintf("%q is not a verb of %s", word, c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(word); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage(c, fmt.Errorf("%s", text))
}
