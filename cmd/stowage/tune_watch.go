package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/tune"
	"stowage/tune/probe"
)

// Lengths of a watch: below, no interval says anything; above, nobody waits for it.
const (
	shortestWatch = 2 * time.Second
	longestWatch  = time.Hour
)

// asksNoWatch refuses what does not go with --watch.
func (t *tuneFlags) asksNoWatch() error {
	switch {
	case t.watch == 0:
	case t.all || t.plan != "" || t.root != "" || t.fix || t.dryRun || t.revert:
		return fmt.Errorf("--watch looks at this machine while it works: it goes with --rule, --record, --severity and --measured only")
	case t.watch < shortestWatch || t.watch > longestWatch:
		return fmt.Errorf("--watch %v: it is %v to %v", t.watch, shortestWatch, longestWatch)
	}
	return nil
}

// fileCounts asks the instances of farm.yaml on this machine how much they did to each file. What cannot be asked is left out: the rule
// says that the files are not known.
func (a *app) fileCounts(ctx context.Context) map[string]map[string]mysql.FileCount {
	d, err := a.open()
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return nil
	}
	out := map[string]map[string]mysql.FileCount{}
	for name, s := range a.serversHere(ctx, d) {
		if counts, err := s.FileCounts(ctx); err == nil {
			out[string(name)] = counts
		}
		_ = s.Close()
	}
	return out
}

// watchMachine looks at the machine for so long, and returns what each instance did to its files in that time.
func (a *app) watchMachine(ctx context.Context, tree *probe.Tree, length time.Duration) (map[string]map[string]mysql.FileCount, error) {
	a.say("watching this machine for %v", length)
	before := a.fileCounts(ctx)
	tree.Watch(ctx, length)
	if ctx.Err() != nil {
		return nil, &farm.Error{Op: "tune", Err: farm.ErrInterrupted}
	}
	after := a.fileCounts(ctx)
	for name, counts := range after {
		for path, c := range counts {
			b := before[name][path]
			if before[name] == nil || c.Operations <= b.Operations || c.Bytes < b.Bytes { // nothing, or it was restarted
				delete(counts, path)
				continue
			}
			counts[path] = mysql.FileCount{Operations: c.Operations - b.Operations, Bytes: c.Bytes - b.Bytes}
		}
	}
	return after, nil
}

// withFiles adds to servers what they did to their files.
func withFiles(servers []probe.Server, done map[string]map[string]mysql.FileCount) {
	for i, s := range servers {
		for path, c := range done[s.Name] {
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.Variables["datadir"], path)
			}
			servers[i].Files = append(servers[i].Files, tune.FileUse{Path: path, Operations: c.Operations, Bytes: c.Bytes})
		}
		slices.SortFunc(servers[i].Files, func(a, b tune.FileUse) int { return strings.Compare(a.Path, b.Path) })
	}
}
