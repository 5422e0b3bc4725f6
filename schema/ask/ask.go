// Package ask reads from servers which tables their shards have.
//
// It answers: "what does each side of each shard have right now?" for package schema, which thinks about it.
//
// Invariants: reads only; a server that does not answer costs its own time and is named, the others are read.
package ask

import (
	"context"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/schema"
)

// Target is a server with the shards it should have.
type Target struct {
	Server *mysql.Server
	Shards []farm.ShardName
}

// atOnce bounds how many servers are asked at the same time; perServer is how long one may take.
const (
	atOnce    = 16
	perServer = 10 * time.Minute
)

// Shards reads all of them. versions are the series of those that answered, like "MariaDB 10.11", with how many have each.
func Shards(ctx context.Context, targets []Target) (seen []schema.Seen, silent []schema.Silent, versions map[string]int) {
	type answer struct {
		seen    []schema.Seen
		version string
		err     error
	}
	all := make([]answer, len(targets))
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for n, t := range targets {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			a := &all[n]
			a.seen, a.version, a.err = one(ctx, t)
		})
	}
	wg.Wait()
	versions = map[string]int{}
	for n, a := range all {
		if a.err != nil {
			silent = append(silent, schema.Silent{Instance: targets[n].Server.Name(), Error: a.err.Error()})
			continue
		}
		versions[a.version]++
		seen = append(seen, a.seen...)
	}
	return seen, silent, versions
}

func one(ctx context.Context, t Target) ([]schema.Seen, string, error) {
	if err := t.Server.Answers(ctx); err != nil {
		return nil, "", err
	}
	flavor, err := t.Server.Flavor(ctx)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, perServer)
	defer cancel()
	names := make([]string, len(t.Shards))
	for n, s := range t.Shards {
		names[n] = string(s)
	}
	tables, err := t.Server.CreatedTables(ctx, names)
	if err != nil {
		return nil, "", err
	}
	v, err := t.Server.Variables(ctx, "lower_case_table_names")
	if err != nil {
		return nil, "", err
	}
	out := make([]schema.Seen, len(t.Shards))
	for n, s := range t.Shards {
		there, has := tables[string(s)]
		out[n] = schema.Seen{Shard: s, Instance: t.Server.Name(), Absent: !has, Lower: v["lower_case_table_names"] == "1", Tables: there}
	}
	return out, Series(flavor), nil
}

// Series is within what servers write a definition alike: vendor and the first two numbers of the version.
func Series(f mysql.Flavor) string { return f.Vendor + " " + schema.Series(f.Version) }
