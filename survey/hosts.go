package survey

import (
	"context"
	"sync"
	"time"

	"stowage/farm"
	"stowage/inventory/shardload"
)

// Hosts reads the counters of hosts, waits, and reads them again; no server is asked. It ends early when ctx does: what it has then
// is no window.
func Hosts(ctx context.Context, groups []Group, length time.Duration) []shardload.HostWindow {
	out := make([]shardload.HostWindow, len(groups))
	var all sync.WaitGroup
	for n, g := range groups {
		all.Go(func() {
			w := shardload.HostWindow{Host: g.Host, Lack: g.Why}
			if g.Place != nil {
				w.Begin, w.Lack = g.counters(ctx)
			}
			if w.Lack.Why == "" {
				select {
				case <-ctx.Done():
				case <-time.After(length):
				}
				w.End, w.Lack = g.counters(ctx)
			}
			out[n] = w
		})
	}
	all.Wait()
	return out
}

// counters are those of the instances that run.
func (g Group) counters(ctx context.Context) (map[farm.InstanceName]shardload.Process, shardload.Lack) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := g.Place.Usage(ctx, g.answering())
	if err != nil {
		return nil, shardload.Lack{Why: err.Error(), Remedy: "stowage agent status"}
	}
	if len(a.Usage) == 0 {
		for _, t := range g.Targets {
			if why := a.Faults[t.Instance]; why != "" {
				return nil, shardload.Lack{Why: why, Remedy: "run stowage, or an agent, on its host with the right to read /proc of its process"}
			}
		}
	}
	return a.Usage, shardload.Lack{}
}
