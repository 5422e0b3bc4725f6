package move

import (
	"context"
	"fmt"

	"stowage/farm"
	"stowage/host"
	"stowage/placement"
)

// afterMoves is how many instances each host has when all of these moves are done.
func afterMoves(now *farm.Farm, moves []placement.Move) map[farm.HostName]int {
	n := map[farm.HostName]int{}
	for _, p := range now.Pairs {
		for _, s := range p.Sides {
			n[s.Host]++
		}
	}
	for _, m := range moves {
		if p, ok := now.Pair(m.Pair); ok {
			n[p.Sides[m.Side].Host]--
		}
		n[m.To.Host]++
	}
	return n
}

// surveyMemory asks whether the caches with which the new instance would start
// fit into its host: it has those of the old one where the host type says
// nothing else.
func (r *replacement) surveyMemory(ctx context.Context) ([]farm.Finding, error) {
	now, err := r.mover.Workspace.Farm()
	if err != nil {
		return nil, err
	}
	model, err := startOptions(ctx, r.oldHost, r.old)
	if err != nil {
		return nil, nil // the question about option files says so
	}
	h, _ := now.Host(r.order.Move.To.Host)
	t, _ := now.HostType(h.Type)
	room, limited := t.Capacity[farm.Memory]
	if room -= h.Reserved[farm.Memory]; !limited {
		return nil, nil
	}
	text := host.RewriteOptions(model, host.ServerGroup(model), r.order.Options)
	if size := farm.CacheOptions(func(name string) string { v, _ := host.Option(text, host.ServerGroup(text), name); return v }); size > room {
		return []farm.Finding{blocker(string(r.order.Move.Instance), fmt.Sprintf("its caches would have %s on host %s, which has %s of memory", farm.FormatQuantity(size, farm.KindBytes), h.Name, farm.FormatQuantity(room, farm.KindBytes)),
			"give host type "+string(t.Name)+" of farm.yaml its own: options: {innodb_buffer_pool_size: 70%}")}, nil
	}
	return nil, nil
}
