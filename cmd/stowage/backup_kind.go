package main

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/farm"
)

// kindOf is the kind of backup that the flags ask for; empty: what is due.
func (f backupFlags) kindOf(c *cobra.Command) (catalogue.Kind, error) {
	asked := map[catalogue.Kind]bool{catalogue.Full: f.full, catalogue.Incremental: f.incremental}
	if f.kind != "" {
		if k := catalogue.Kind(f.kind); k != catalogue.Full && k != catalogue.Incremental && k != catalogue.Logical {
			return "", usage(c, fmt.Errorf("--kind %s: give full, incremental or logical", f.kind))
		}
		asked[catalogue.Kind(f.kind)] = true
	}
	var out catalogue.Kind
	for k, is := range asked {
		if is && out != "" {
			return "", usage(c, errors.New("--full, --incremental and --kind exclude each other"))
		}
		if is {
			out = k
		}
	}
	return out, nil
}

// shardsOf are the shards that the patterns mean, by pair. A logical backup has these and no others of their pairs.
func (f backupFlags) shardsOf(c *cobra.Command, now *farm.Farm, w *backup.Wish) (map[farm.PairName]bool, error) {
	pairs := map[farm.PairName]bool{}
	for _, pattern := range slices.Concat(f.shards, f.single) {
		found := false
		for _, p := range now.Pairs {
			for _, s := range p.Shards {
				fits, err := path.Match(pattern, string(s.Name))
				if err != nil {
					return nil, usage(c, fmt.Errorf("%q is not a pattern: use * for any characters and ? for one", pattern))
				}
				if !fits {
					continue
				}
				found, pairs[p.Name] = true, true
				if w.Kind == catalogue.Logical {
					w.Shards[p.Name] = append(w.Shards[p.Name], s.Name)
				}
			}
		}
		if !found {
			return nil, usage(c, fmt.Errorf("farm.yaml has no shard %q", pattern))
		}
	}
	return pairs, nil
}
