package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// argumentNames says what the arguments of each verb name, one after the other. The last counts for all that follow where the verb takes several.
var argumentNames = map[string][]names{
	"agent certs":      {allHosts},
	"agent revoke":     {allHosts},
	"agent status":     {allHosts},
	"alter":            {allAlters.orFiles()},
	"alter show":       {allAlters},
	"backup check":     {allBackups.and(allPairs)},
	"backup list":      {allPairs.and(allInstances)},
	"backup run":       {allPairs.and(allSides)},
	"backup verify":    {allBackups.and(allPairs)},
	"bench compare":    {allResults.orFiles(), allResults.orFiles()},
	"bench csv":        {allResults.orFiles()},
	"bench show":       {allResults.orFiles()},
	"digest compare":   {allDigests.orFiles(), allDigests.orFiles()},
	"digest history":   {allDigests},
	"digest record":    {allInstances},
	"domains":          {allPairs},
	"domains separate": {allPairs},
	"domains undo":     {allPairs},
	"explain":          {allCodes},
	"inventory load":   {allInstances},
	"move":             {allPlans},
	"move instance":    {allSides},
	"move shard":       {allShards},
	"plan compare":     {allPlans, allPlans},
	"plan explain":     {allHosts.and(allPairs).and(allInstances)},
	"plan show":        {allPlans},
	"reshape":          {allSpecs},
	"reshape status":   {allSpecs},
	"reshape apply":    {allSpecs},
	"restore":          {allPairs.and(allInstances).and(allBackups)},
	"roll":             {allRolls.and(allPlaybooks)},
	"roll announce":    {allRolls},
	"roll in":          {allHosts},
	"roll show":        {allRolls},
	"routing open":     {allPairs, sideLetters},
	"schema diff":      {allShards},
	"schema drift":     {allShards},
	"schema pull":      {allShards},
	"side in":          {allSides},
	"side out":         {allSides},
}

// flagNames says what flags name, wherever there is no other word for the verb in verbFlagNames.
var flagNames = map[string]names{
	"fail":     allHosts,
	"frozen":   allPairs,
	"host":     allHosts,
	"hosts":    allHosts,
	"instance": allInstances,
	"lane":     allPairs.and(allSides).and(allShards),
	"run":      allRuns,
	"shard":    allShards,
	"shards":   allShards,
	"side":     sideLetters,
	"spec":     allSpecs,
	"without":  allHostTypes.and(allHosts),
}

// verbFlagNames are flags whose name means something else with each verb.
var verbFlagNames = map[string]names{
	"backup verify --to":   allHosts,
	"backup window --plan": allPlans,
	"capacity --plan":      allPlans,
	"digest --explain":     allInstances,
	"move instance --to":   allHosts,
	"move shard --to":      allPairs.and(allInstances),
	"plan explain --plan":  allPlans,
	"replay --against":     allInstances,
	"replay --to":          allInstances,
	"restore --to":         allHosts,
	"tune --plan":          allPlans,
}

// completeNames lets the shell complete what the workspace has names for. Only the verb by which shells ask needs it: registering takes
// a sixth of the time in which all verbs are made.
func completeNames(a *app, root *cobra.Command) {
	_ = eachVerb(root, func(c *cobra.Command) error {
		verb := verbPath(c)
		if of := argumentNames[verb]; of != nil {
			c.ValidArgsFunction = a.completeArguments(of, takesSeveral(c))
		}
		for flag, of := range flagsNamed(c) {
			_ = c.RegisterFlagCompletionFunc(flag, a.completeFlag(of)) // the flag is there
		}
		return nil
	})
}

// flagsNamed are the flags of a verb whose values are names.
func flagsNamed(c *cobra.Command) map[string]names {
	out := map[string]names{}
	for flag, of := range flagNames {
		if f := c.Flags().Lookup(flag); f != nil && strings.HasPrefix(f.Value.Type(), "string") {
			out[flag] = of
		}
	}
	path := verbPath(c)
	for key, of := range verbFlagNames {
		if verb, flag, _ := strings.Cut(key, " --"); verb == path {
			out[flag] = of
		}
	}
	return out
}

// verbPath is a verb as people type it behind the program's name.
func verbPath(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

func takesSeveral(c *cobra.Command) bool { return strings.Contains(c.Use, "...") }

func (a *app) completeArguments(of []names, several bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n := len(given)
		if several {
			n = min(n, len(of)-1)
		}
		if n >= len(of) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.complete(of[n], begun)
	}
}

// completeFlag completes the last of several values: db001,db0.
func (a *app) completeFlag(of names) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n := strings.LastIndexByte(begun, ',') + 1
		out, directive := a.complete(of, begun[n:])
		for i, name := range out {
			out[i] = begun[:n] + name
		}
		return out, directive
	}
}

// complete is what the workspace has that begins so; nothing, and no word of why, where it cannot be read.
func (a *app) complete(of names, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	from := newNameSource(a.dir)
	defer from.close()
	directive := cobra.ShellCompDirectiveNoFileComp
	if of.files {
		directive = cobra.ShellCompDirectiveDefault
	}
	return slices.DeleteFunc(of.read(from), func(name string) bool { return !strings.HasPrefix(name, begun) }), directive
}
