package survey

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/inventory/shardload"
)

// Server is what Watch asks of a server; mysql.Server is one.
type Server interface {
	Load(ctx context.Context, pages bool) (shardload.Server, error)
	Sessions(ctx context.Context) ([]shardload.Connection, error)
}

// Target is an instance to watch.
type Target struct {
	shardload.Window // Instance, Host, Pair and Shards
	Server           Server
	Where            host.Instance
}

// Group are the instances of a host, and who reads its counters.
type Group struct {
	Host    farm.HostName
	Place   Place          // nil: nobody
	Why     shardload.Lack // of that
	IsFar   bool
	Targets []*Target
}

// Options of a measurement.
type Options struct {
	For   time.Duration
	Pages bool                             // read buffer pools however large they are
	Tell  func(format string, args ...any) // nil: nobody is told
}

const (
	// atOnce is how many servers are asked side by side.
	atOnce = 16
	// tickHere and tickFar are how often threads are looked at: a session shorter than that is not seen. Through an agent each
	// look is a call of the engine.
	tickHere = time.Second
	tickFar  = 5 * time.Second
	// patience is how long a server or an agent may take for one answer.
	patience = 30 * time.Second
)

// Watch reads all counters, waits, and reads them again. It ends early, and with what it has, when ctx does.
func Watch(ctx context.Context, groups []Group, o Options) []shardload.Window {
	w := &watcher{o: o, room: make(chan struct{}, atOnce)}
	var all sync.WaitGroup
	for n := range groups {
		all.Go(func() { w.group(ctx, &groups[n]) })
	}
	all.Wait()
	var out []shardload.Window
	for _, g := range groups {
		for _, t := range g.Targets {
			out = append(out, t.Window)
		}
	}
	return out
}

type watcher struct {
	o    Options
	room chan struct{}
}

// group is one host from beginning to end.
func (w *watcher) group(ctx context.Context, g *Group) {
	w.each(g, func(t *Target) { t.read(ctx, &t.First, false) })
	w.usage(ctx, g, func(t *Target) **shardload.Process { return &t.Begin })
	began := time.Now()
	tick := tickHere
	if g.IsFar {
		tick = tickFar
	}
	w.look(ctx, g)
	for left := w.o.For; left > 0 && ctx.Err() == nil; left = w.o.For - time.Since(began) {
		select {
		case <-ctx.Done():
		case <-time.After(min(left, tick)):
		}
		w.look(ctx, g)
	}
	ended := context.WithoutCancel(ctx) // what was measured until now counts
	w.usage(ended, g, func(t *Target) **shardload.Process { return &t.End })
	w.each(g, func(t *Target) { t.read(ended, &t.Last, w.o.Pages) })
}

// each asks the servers of a host that have answered so far.
func (w *watcher) each(g *Group, ask func(*Target)) {
	var all sync.WaitGroup
	for _, t := range g.Targets {
		if t.Silent != "" {
			continue
		}
		all.Go(func() {
			w.room <- struct{}{}
			defer func() { <-w.room }()
			ask(t)
		})
	}
	all.Wait()
}

func (t *Target) read(ctx context.Context, into *shardload.Server, pages bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := t.Server.Load(ctx, pages)
	if err != nil {
		t.Silent = err.Error()
		return
	}
	*into = s
}

// answering are the instances of a host whose servers answer.
func (g *Group) answering() (out []host.Instance) {
	for _, t := range g.Targets {
		if t.Silent == "" {
			out = append(out, t.Where)
		}
	}
	return out
}

func (w *watcher) usage(ctx context.Context, g *Group, into func(*Target) **shardload.Process) {
	if g.Place == nil {
		for _, t := range g.Targets {
			t.NoProcess = g.Why
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := g.Place.Usage(ctx, g.answering())
	if err != nil {
		w.tell("%s: its counters could not be read: %v", g.Host, err)
	}
	for _, t := range g.Targets {
		p, ok := a.Usage[t.Instance]
		switch {
		case ok:
			*into(t) = &p
		case err != nil:
			t.NoProcess = shardload.Lack{Why: err.Error(), Remedy: "stowage agent status"}
		default:
			t.NoProcess = shardload.Lack{Why: a.Faults[t.Instance], Remedy: "run stowage, or an agent, on its host with the right to read /proc of its process"}
		}
	}
}

// look is one tick: sessions, then threads.
func (w *watcher) look(ctx context.Context, g *Group) {
	if g.Place == nil || ctx.Err() != nil {
		return
	}
	ticks := make(map[farm.InstanceName]*shardload.Tick, len(g.Targets))
	for _, t := range g.Targets {
		ticks[t.Instance] = &shardload.Tick{}
	}
	w.each(g, func(t *Target) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if found, err := t.Server.Sessions(ctx); err == nil {
			ticks[t.Instance].Connections = found
		}
	})
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := g.Place.Threads(within, g.answering())
	if err != nil {
		return
	}
	for _, t := range g.Targets {
		x := ticks[t.Instance]
		if x.Connections == nil || len(a.Threads[t.Instance]) == 0 {
			continue
		}
		x.Threads = a.Threads[t.Instance]
		t.Ticks = append(t.Ticks, *x)
	}
}

func (w *watcher) tell(format string, args ...any) {
	if w.o.Tell != nil {
		w.o.Tell(format, args...)
	}
}

// Describe says what a measurement will do, for people who wait.
func (o Options) Describe(groups []Group) string {
	n := 0
	for _, g := range groups {
		n += len(g.Targets)
	}
	return fmt.Sprintf("measuring %s on %s for %v", farm.Counted(n, "instance"), farm.Counted(len(groups), "host"), o.For)
}
