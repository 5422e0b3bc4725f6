package act

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/pace"
)

// sight looks at servers for all copies together: each at most once a second,
// however many copies run beside it.
type sight struct {
	servers func(...farm.HostName) []*mysql.Server // in rotation there

	mu   sync.Mutex
	seen map[string]*seen // by address
}

// seen is what is known of one server. It stays for as long as the run, so that
// a second copy is compared with the time before the first.
type seen struct {
	mu      sync.Mutex
	last    mysql.Pressure
	err     error
	at      time.Time
	usual   load // before any copy of this run touched it
	now     load
	samples int
	asked   float64 // statements a second
	working int     // statements of clients in flight, where few are asked
	felt    felt
}

// load is how busy a server is, smoothed.
type load struct{ running, answer float64 }

func newSight(servers func(...farm.HostName) []*mysql.Server) *sight {
	return &sight{servers: servers, seen: map[string]*seen{}}
}

// watched are the servers one copy is looked at beside.
type watched struct {
	sight   *sight
	servers []*mysql.Server
	ours    []*mysql.Server // opened for this, to be closed
}

// watch looks at servers; feel: and at what their clients feel.
func (s *sight) watch(servers []*mysql.Server, hosts []farm.HostName, feel bool) *watched {
	w := &watched{sight: s, servers: servers}
	known := map[string]bool{}
	for _, server := range servers {
		known[server.Address()] = true
	}
	for _, server := range s.servers(hosts...) {
		w.ours = append(w.ours, server)
		if !known[server.Address()] {
			known[server.Address()] = true
			w.servers = append(w.servers, server)
		}
	}
	for _, server := range w.servers {
		v := s.of(server)
		v.mu.Lock()
		v.felt.wanted = v.felt.wanted || feel
		v.mu.Unlock()
	}
	return w
}

// settle looks until it is known what is usual, or that nobody is there to be disturbed. It returns the last reading.
func (w *watched) settle(ctx context.Context) pace.Reading {
	r := w.read(ctx)
	for n := 0; n < usualLooks && !r.Quiet; n++ {
		if !pause(ctx, time.Second) {
			break
		}
		r = w.read(ctx)
	}
	return r
}

// relearn takes what clients feel now for usual.
func (w *watched) relearn() {
	for _, server := range w.servers {
		v := w.sight.of(server)
		v.mu.Lock()
		v.felt.relearn()
		v.mu.Unlock()
	}
}

func (w *watched) close() {
	for _, s := range w.ours {
		_ = s.Close() // nothing is lost with a connection
	}
}

// read is the worst of what is seen now.
func (w *watched) read(ctx context.Context) pace.Reading {
	r := pace.Reading{Load: 1, Quiet: len(w.servers) > 0}
	var all sync.WaitGroup
	found := make([]*seen, len(w.servers))
	for i, server := range w.servers {
		all.Go(func() { found[i] = w.sight.look(ctx, server) })
	}
	all.Wait()
	for i, server := range w.servers {
		found[i].worsen(&r, string(server.Name()))
	}
	return r
}

// of is what is known of a server.
func (s *sight) of(server *mysql.Server) *seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.seen[server.Address()]
	if v == nil {
		v = &seen{err: errUnread}
		s.seen[server.Address()] = v
	}
	return v
}

func (s *sight) look(ctx context.Context, server *mysql.Server) *seen {
	v := s.of(server)
	v.mu.Lock()
	defer v.mu.Unlock()
	since := time.Since(v.at)
	if since < 800*time.Millisecond {
		return v
	}
	before := v.last
	v.last, v.err = server.Pressure(ctx)
	v.at = time.Now()
	if v.err == nil {
		v.err = v.felt.look(ctx, server, v.samples <= usualLooks)
	}
	if v.err == nil {
		if v.asked = math.Inf(1); v.samples > 0 {
			v.asked = math.Max(0, float64(v.last.Asked)-float64(before.Asked)) / since.Seconds()
		}
		if v.asked < noiseAsked {
			v.working, v.err = server.AtWork(ctx)
		}
	}
	if v.err == nil {
		v.take(v.last)
	}
	return v
}

// isQuiet reports whether the server has no clients that could be disturbed.
func (v *seen) isQuiet() bool {
	return v.samples > 1 && v.asked < noiseAsked && v.working == 0
}

// The signs of load: how many of the first looks are taken for usual, how much
// a look counts, and what is noise on any server.
const (
	usualLooks   = 3
	weight       = 0.3
	noiseRunning = 4    // threads at work that mean nothing
	noiseAnswer  = 0.03 // seconds that an answer may take at any time
	noiseAsked   = 20   // statements a second, of whoever watches the servers
)

// take smooths, and learns what is usual from the first looks: a copy has
// barely begun then.
func (v *seen) take(p mysql.Pressure) {
	is := load{float64(p.Running), p.Answer.Seconds()}
	if v.samples == 0 {
		v.now = is
	}
	v.samples++
	v.now.running += weight * (is.running - v.now.running)
	v.now.answer += weight * (is.answer - v.now.answer)
	if v.samples <= usualLooks {
		v.usual = load{max(v.usual.running, is.running), max(v.usual.answer, is.answer)}
	}
}

// worsen puts a server into a reading if it is the worst so far.
func (v *seen) worsen(r *pace.Reading, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.Quiet = r.Quiet && v.err == nil && v.isQuiet()
	if v.err != nil {
		// Half-way to too much: nothing is made faster on no news. Its death is
		// noticed by the step itself.
		r.Lag = max(r.Lag, 0)
		r.Load = max(r.Load, 2.5)
		if r.LoadOf == "" {
			r.LoadOf, r.LoadText = name, "no answer"
		}
		return
	}
	if v.last.Lag > r.Lag {
		r.Lag, r.LagOf = v.last.Lag, name
	}
	running := v.now.running / math.Max(noiseRunning, v.usual.running)
	answer := v.now.answer / math.Max(noiseAnswer, v.usual.answer)
	if running > r.Load {
		r.Load, r.LoadOf, r.LoadText = running, name, fmt.Sprintf("%.0f statements in flight, usually %.0f", v.now.running, v.usual.running)
	}
	if answer > r.Load {
		r.Load, r.LoadOf, r.LoadText = answer, name, fmt.Sprintf("answers in %.0f ms, usually %.0f", 1000*v.now.answer, 1000*v.usual.answer)
	}
	v.felt.worsen(r, name)
}
