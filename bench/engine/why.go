package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/bench/engine/flame"
	"stowage/bench/engine/sheet"
	"stowage/farm"
)

// Picture is where the flame graph of a row goes; it returns the name of the file.
type Picture func(row string, g *flame.Graph, sub string) (string, error)

// Why runs each row four times: untouched, which its figures are of; under a profiler; with its system calls counted; and on a server whose own instruments
// are on. Nothing of one is in the figures of another. What this machine does not allow is named in the document.
func Why(ctx context.Context, dir string, o Order, draw Picture) (*sheet.Why, error) {
	o.Mode, o.Ratios = sheet.Engines, o.Ratios[:1]
	w := &sheet.Why{FormatVersion: sheet.FormatVersion, Kind: sheet.KindWhy, Settings: o.settings(), Unmeasured: []sheet.Gap{}}
	err := within(dir, o, func(b *bencher) error {
		b.points = slices.DeleteFunc(b.points, func(p point) bool { return p.row.Again })
		w.Environment = b.result.Environment
		if err := b.load(ctx); err != nil {
			return err
		}
		w.Server = b.result.Server
		perf := newProfiler(b.ground.Dir)
		for i, p := range b.points {
			b.say("%d of %d: %s", i+1, len(b.points), p.row.ID)
			r, err := b.whyOf(ctx, p, perf, draw)
			if err != nil {
				return err
			}
			w.Rows = append(w.Rows, r)
		}
		for _, c := range b.result.Cells {
			if c.Missing != "" {
				w.Unmeasured = append(w.Unmeasured, sheet.Gap{What: "cell " + c.ID, Why: "it is not there", How: c.Missing})
			}
			if c.Engine == sheet.MyRocks && c.Missing == "" {
				w.Labels = append(w.Labels, "RocksDB's own locks have no instruments in the server: of MyRocks they are only in the futex calls and in the flame graph")
			}
		}
		w.Unmeasured = append(w.Unmeasured, perf.gaps...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.Labels = append(w.Labels, "a run of seconds with everything else that this machine does: compare rows with each other, not with another day's")
	return w, nil
}

// whyOf measures one row.
func (b *bencher) whyOf(ctx context.Context, p point, perf *profiler, draw Picture) (*sheet.WhyRow, error) {
	r := &sheet.WhyRow{ID: p.row.ID, Cell: p.cell.ID, Load: p.load.ID, Durability: p.cell.Durability, Ratio: p.row.Ratio}
	s := b.stores[p.stores[0]]
	err := b.underLoad(ctx, s, p, nil, func(s *server, crews []*crew) error {
		untouched := func() error {
			from, err := s.times()
			if err != nil {
				return err
			}
			n, took, err := b.transactions(ctx, crews)
			if err != nil {
				return err
			}
			to, err := s.times()
			if err != nil {
				return err
			}
			user, system := (to.user - from.user).Seconds(), (to.system - from.system).Seconds()
			r.TPS, r.CPUs = float64(n)/took.Seconds(), (user+system)/took.Seconds()
			r.CPU, r.User = 1e6*(user+system)/max(float64(n), 1), user/max(user+system, 1e-9)
			r.Queued = 1e6 * (to.queued - from.queued).Seconds() / max(float64(n), 1)
			return nil
		}
		if err := untouched(); err != nil {
			return err
		}
		var graph *flame.Graph
		if _, err := perf.beside(ctx, crews, func(c context.Context) { graph = perf.record(c, s.pid(), b.order.Runtime) }); err != nil {
			return err
		}
		if graph != nil && graph.Samples > 0 {
			r.Samples, r.Unnamed, r.Modules, r.Functions = graph.Samples, graph.Unnamed(), graph.Modules(), graph.Functions()
			if r.Unnamed > 0.2 {
				perf.gap("functions of "+r.ID, fmt.Sprintf("%.0f %% of its samples are in functions without a symbol", 100*r.Unnamed), "install the server's debug symbols: apt-get install mariadb-server-core-dbgsym, from Debian's debian-debug archive")
			}
			if draw != nil {
				sub := fmt.Sprintf("%s in %v; %.0f us of processor time a transaction, %.1f processors; %s, data/cache %.2g", farm.Counted(graph.Samples, "sample"), b.order.Runtime, r.CPU, r.CPUs, r.Durability, r.Ratio)
				var err error
				if r.Flame, err = draw(r.ID, graph, sub); err != nil {
					return err
				}
			}
		}
		rate, err := perf.beside(ctx, crews, func(c context.Context) { r.Calls = perf.calls(c, s.pid(), b.order.Runtime) })
		for i := range r.Calls {
			n := max(rate*b.order.Runtime.Seconds(), 1)
			r.Calls[i].PerTx /= n
			r.Calls[i].Micros /= n
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, b.waitsOf(ctx, s, p, r)
}

// instruments are what a server is started with whose locks are to be seen. They cost a transaction a tenth and more, so that nothing else is measured then.
var instruments = []string{"performance_schema=1", "performance-schema-instrument='wait/synch/%=ON'", "performance-schema-consumer-global-instrumentation=ON", "performance-schema-consumer-thread-instrumentation=ON"}

// waitsOf asks a server what its threads waited for, lock by lock.
func (b *bencher) waitsOf(ctx context.Context, s *server, p point, r *sheet.WhyRow) error {
	return b.underLoad(ctx, s, p, instruments, func(s *server, crews []*crew) error {
		if err := s.exec(ctx, "TRUNCATE TABLE performance_schema.events_waits_summary_global_by_event_name"); err != nil {
			return err
		}
		n, _, err := b.transactions(ctx, crews)
		if err != nil {
			return err
		}
		rows, err := s.pairs(ctx, "SELECT event_name, CONCAT(count_star, ' ', sum_timer_wait) FROM performance_schema.events_waits_summary_global_by_event_name WHERE event_name LIKE 'wait/synch/%' AND count_star > 0 AND event_name NOT LIKE 'wait/synch/cond/%'")
		if err != nil {
			return err
		}
		for name, text := range rows {
			taken, waited, _ := strings.Cut(text, " ")
			times, err1 := strconv.ParseFloat(taken, 64)
			picos, err2 := strconv.ParseFloat(waited, 64)
			if errors.Join(err1, err2) != nil {
				return s.fail("read waits of", fmt.Errorf("%s has %q", name, text))
			}
			r.Waits = append(r.Waits, sheet.Wait{Name: strings.TrimPrefix(name, "wait/synch/"), PerTx: times / max(float64(n), 1), Micros: picos / 1e6 / max(float64(n), 1)})
		}
		slices.SortFunc(r.Waits, func(x, y sheet.Wait) int {
			if x.Micros != y.Micros {
				if x.Micros > y.Micros {
					return -1
				}
				return 1
			}
			return strings.Compare(x.Name, y.Name)
		})
		return nil
	})
}

// underLoad starts a server with options of its own, warms it, and has something measured.
func (b *bencher) underLoad(ctx context.Context, s *server, p point, options []string, measure func(*server, []*crew) error) error {
	defer s.kill()
	if err := s.start(ctx, p.row.Cache, options...); err != nil {
		return err
	}
	crews, err := b.crews(ctx, []*server{s}, p, b.order.Seed)
	if err != nil {
		return err
	}
	defer func() {
		for _, w := range crews {
			w.close()
		}
	}()
	if err := b.warm(ctx, []*server{s}, crews, p); err != nil {
		return err
	}
	if err := measure(s, crews); err != nil {
		return err
	}
	return errors.Join(s.exec(ctx, s.family().reset), s.stop())
}

// transactions runs the load once and counts its transactions.
func (b *bencher) transactions(ctx context.Context, crews []*crew) (uint64, time.Duration, error) {
	took, err := drive(ctx, crews, b.order.Runtime)
	if err != nil {
		return 0, 0, err
	}
	n := uint64(0)
	for _, w := range crews {
		h, _ := w.times()
		n += h.N
	}
	return n, took, nil
}

// times is processor time of the server, outside of the kernel and in it, and how long its threads could have run and had no processor.
type times struct{ user, system, queued time.Duration }

func (s *server) times() (times, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid()))
	if err != nil {
		return times{}, s.fail("read processor time of", err)
	}
	_, rest, _ := bytes.Cut(raw, []byte(") "))
	f := strings.Fields(string(rest))
	if len(f) < 13 {
		return times{}, s.fail("read processor time of", fmt.Errorf("/proc has %q", raw))
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	if errors.Join(err1, err2) != nil {
		return times{}, s.fail("read processor time of", fmt.Errorf("/proc has %q", raw))
	}
	t := times{user: time.Duration(user) * tick, system: time.Duration(system) * tick}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.pid())) // the pattern is right
	for _, path := range threads {
		raw, err := os.ReadFile(path)
		if f := strings.Fields(string(raw)); err == nil && len(f) > 1 { // otherwise the thread has ended
			ns, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes numbers
			t.queued += time.Duration(ns)
		}
	}
	return t, nil
}

// IsWhyPossible says before anything starts what an order cannot ask why of.
func IsWhyPossible(o Order) error {
	if o.Mode != sheet.Engines {
		return &farm.Error{Op: "ask why", Err: fmt.Errorf("%w: --why is of one server at a time", farm.ErrInput), Hint: "leave --n-instances and --replication out"}
	}
	return o.Check()
}
