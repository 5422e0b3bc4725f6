package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/session"
)

// linkLine is a server that clients are sent to and that does not apply what
// the other side of its pair was told.
type linkLine struct {
	Pair    farm.PairName `json:"pair"`
	Side    farm.SideName `json:"side"`
	Address string        `json:"address"`
	Why     string        `json:"why"`
}

const (
	linkWait   = 3 * time.Second // for one server's answer
	linkAtOnce = 16
)

// linksOf are the servers that must replicate by what the routing table says:
// both sides where both serve, and the replicas that reads are sent to, unless one
// takes the writes while its primary is away. The only side in rotation is left out: its twin may be away on purpose.
func linksOf(f *farm.Farm, t *route.Table) []linkLine {
	var out []linkLine
	for _, p := range f.Pairs {
		r := t.Pairs[p.Name]
		if r == nil || !p.HasTwoSides() {
			continue
		}
		var serving []linkLine
		for _, side := range p.SideNames() {
			address := f.Address(p.Sides[side])
			if now, ok := r.Sides[side]; ok && now.Weight > 0 {
				serving = append(serving, linkLine{Pair: p.Name, Side: side, Address: now.Address})
			} else if slices.Contains(r.Replicas, address) && !serves(r, address) {
				out = append(out, linkLine{Pair: p.Name, Side: side, Address: address})
			}
		}
		if len(serving) == 2 {
			out = append(out, serving...)
		}
	}
	return out
}

// serves reports whether clients that write are sent to an address: of a replica, while its primary is away.
func serves(r *route.Pair, address string) bool {
	for _, now := range r.Sides {
		if now.Address == address && now.Weight > 0 {
			return true
		}
	}
	return false
}

// links asks those servers, side by side. What could not be asked is named, once for each.
func (s *moveStatus) links(ctx context.Context, d *session.Session, t *route.Table, open opener) {
	asked := linksOf(d.Farm, t)
	faults := make([]error, len(asked))
	var wait sync.WaitGroup
	tokens := make(chan struct{}, linkAtOnce)
	for i := range asked {
		tokens <- struct{}{}
		wait.Go(func() {
			defer func() { <-tokens }()
			asked[i].Why, faults[i] = whyIdle(ctx, open(farm.InstanceName(fmt.Sprintf("%s/%s", asked[i].Pair, asked[i].Side)), asked[i].Address))
		})
	}
	wait.Wait()
	var unknown []string
	for i, l := range asked {
		switch {
		case faults[i] != nil:
			unknown = append(unknown, fmt.Sprintf("%s side %s: %v", l.Pair, l.Side, faults[i]))
		case l.Why != "":
			s.NotReplicating = append(s.NotReplicating, l)
		}
	}
	s.LinksUnknown = strings.Join(unknown, "; ")
	slices.SortFunc(s.NotReplicating, func(a, b linkLine) int {
		return cmp.Or(cmp.Compare(a.Pair, b.Pair), cmp.Compare(a.Side, b.Side))
	})
}

// whyIdle is why a server does not replicate, "" when it does or is about to.
func whyIdle(ctx context.Context, server *mysql.Server) (string, error) {
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, linkWait)
	defer cancel()
	r, err := server.Replication(ctx)
	if err != nil {
		return "", err
	}
	if broken := r.Ailing(); broken != nil {
		return broken.Error(), nil
	}
	return "", nil
}
