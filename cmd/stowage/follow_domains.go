package main

import (
	"context"
	"fmt"

	"stowage/farm"
)

// countsApart refuses a pair both of whose sides write one GTID domain: a position there names the last transaction of either side, and says nothing of what the other has.
func (p *shardPlaces) countsApart(ctx context.Context, name farm.PairName) error {
	f, err := p.session.Workspace.Farm()
	if err != nil {
		return err
	}
	if pair, ok := f.Pair(name); !ok || pair.Topology != farm.ActiveActive {
		return nil
	}
	all, _, err := p.Servers(ctx, name)
	if err != nil {
		return err
	}
	of := map[string]farm.InstanceName{}
	var last error
	for _, s := range all {
		flavor, err := s.Flavor(ctx)
		if err != nil {
			last = err // it is away: what it was begun with stands
			continue
		}
		if !flavor.HasGTIDDomains() {
			return nil
		}
		domain, err := s.Setting(ctx, "gtid_domain_id")
		if err != nil {
			return err
		}
		if other, twice := of[domain]; twice && other != s.Name() { // during a move an instance is at two places
			return &farm.Error{Op: "follow", Subject: string(p.shard), Err: fmt.Errorf("%w: %s and %s both write GTID domain %s: a position does not say what each of them has written", farm.ErrRefused, other, s.Name(), domain),
				Hint: "stowage domains separate " + string(name)}
		}
		of[domain] = s.Name()
	}
	if len(of) == 0 {
		return last
	}
	return nil
}
