package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/bench"
	"stowage/bench/engine/sheet"
	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
)

// load makes every data directory that some row still needs. An engine that turns out not to be there takes its rows away.
func (b *bencher) load(ctx context.Context) error {
	names := b.wantedStores()
	for i, name := range names {
		p := b.pointOf(name)
		if p == nil {
			continue
		}
		template, err := b.template(ctx, p.cell.PageSize)
		if err != nil {
			return err
		}
		began := time.Now()
		s := b.server(name, p.cell)
		if err := b.found(ctx, s, template); err != nil {
			return err
		}
		err = b.fillStore(ctx, s, p.row.Cache)
		if errors.Is(err, errNoEngine) {
			b.withdraw(p.cell, s)
			continue
		}
		if err != nil {
			return err
		}
		b.stores[name] = s
		b.say("loaded %s (%d of %d) in %v: %d MiB on disk", name, i+1, len(names), time.Since(began).Round(100*time.Millisecond), s.loaded>>20)
	}
	if len(b.points) == 0 {
		return &farm.Error{Op: "measure", Subject: b.order.Cells[0].ID, Err: errors.Join(farm.ErrInput, errNoEngine), Hint: rocksHint}
	}
	return nil
}

// pointOf is the first row that needs a data directory, or nil.
func (b *bencher) pointOf(store string) *point {
	for i, p := range b.points {
		for _, s := range p.stores {
			if s == store {
				return &b.points[i]
			}
		}
	}
	return nil
}

// withdraw takes a cell out whose engine the server does not have after all.
func (b *bencher) withdraw(c sheet.Cell, s *server) {
	why := "the server does not have the engine; its log says: " + strings.TrimSpace(s.tail(1))
	if cell := b.result.Cell(c.ID); cell != nil {
		cell.Missing = why
	}
	var points []point
	var rows []*sheet.Row
	for _, p := range b.points {
		if p.cell.ID != c.ID {
			points, rows = append(points, p), append(rows, p.row)
		}
	}
	b.points, b.result.Rows = points, rows
	if b.result.Base == c.ID && len(points) > 0 {
		b.result.Base = points[0].cell.ID // there is no A/A cell of it
	}
	b.say("%s: not available: %s", c.ID, why)
}

func (b *bencher) fillStore(ctx context.Context, s *server, cache int64) error {
	if err := s.start(ctx, cache); err != nil {
		return err
	}
	defer s.kill()
	version, err := s.value(ctx, "SELECT VERSION()")
	if err != nil {
		return err
	}
	version = s.family().prefix + version
	if was := b.result.Server; was != "" && was != version {
		return &farm.Error{Op: "resume", Subject: b.result.Environment.Directory, Err: fmt.Errorf("%w: the result was begun with another server: %s, now %s", farm.ErrRefused, was, version),
			Hint: "give another file to --save, or put that server in front of the PATH"}
	}
	b.result.Server = version
	if err := s.hasEngine(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, b.order.Rows, b.order.Seed); err != nil {
		return err
	}
	if _, err := s.settle(ctx, b.order.SettleLimit); err != nil {
		return err
	}
	s.loaded = s.size()
	return s.stop()
}

// runCell runs a row once: servers up, caches warm, nothing owed; then the load, and what it left to be written.
func (b *bencher) runCell(ctx context.Context, p point, seed uint64) (x sheet.Sample, h stat.Histogram, err error) {
	var servers []*server
	for _, name := range p.stores {
		s := b.stores[name]
		servers = append(servers, s)
		defer s.kill()
		if err := s.start(ctx, p.row.Cache); err != nil {
			return x, nil, err
		}
		x.Size.Loaded += s.loaded
	}
	crews, err := b.crews(ctx, servers, p, seed)
	if err != nil {
		return x, nil, err
	}
	defer func() {
		for _, w := range crews {
			w.close()
		}
	}()
	if err := b.warm(ctx, servers, crews, p); err != nil {
		return x, nil, err
	}
	noise, foreign, err := b.listen(ctx, servers)
	if err != nil {
		return x, nil, err
	}
	from, err := b.usage(ctx, servers)
	if err != nil {
		return x, nil, err
	}
	took, err := drive(ctx, crews, b.order.Runtime)
	if err != nil {
		return x, nil, err
	}
	to, err := b.usage(ctx, servers)
	if err != nil {
		return x, nil, err
	}
	h = b.account(&x, crews, p.load, took)
	x.ServerCPU, x.ClientCPU, x.During = (to.cpu - from.cpu).Seconds(), (to.own-from.own).Seconds()/took.Seconds(), b.moved(from, to)
	x.Noise = disturbance(noise, foreign, x.During, from, to, took)
	for _, s := range servers {
		x.RSS += s.rss()
		x.Size.After += s.size()
	}
	x.Size.Settled, x.IsSettled = x.Size.After, true
	if p.load.Writes {
		if err := b.payUp(ctx, servers, to, &x); err != nil {
			return x, nil, err
		}
	}
	for _, s := range servers {
		if err := errors.Join(s.exec(ctx, s.family().reset), s.stop()); err != nil {
			return x, nil, err
		}
	}
	return x, h, nil
}

// slack is what others may move in a run, or we must move, before anybody is called disturbed: a log, a journal.
const slack = 1 << 20

// disturbance is what went on around a run. Others who used the device matter where the run did: foreign is the bytes a second that
// they moved while we did nothing, and it is compared with all that was moved during the run.
func disturbance(d result.Disturbance, foreign float64, ours sheet.Moved, from, to usage, took time.Duration) result.Disturbance {
	d.Steal = bench.Steal(from.device, to.device)
	total := float64(to.device.Read - from.device.Read + to.device.Written - from.device.Written)
	if theirs := foreign * took.Seconds(); theirs > slack && ours.Read+ours.Written > slack && total > 0 {
		d.Foreign = min(1, theirs/total)
	}
	return d
}

// crews connects the clients of every server.
func (b *bencher) crews(ctx context.Context, servers []*server, p point, seed uint64) ([]*crew, error) {
	var out []*crew
	for i, s := range servers {
		w, err := newCrew(ctx, s, b.result.Settings, p.load, seed+uint64(i)<<32)
		if err != nil {
			for _, w := range out {
				w.close()
			}
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// warm fills the caches, runs the load unmeasured, and lets the servers pay what that left.
func (b *bencher) warm(ctx context.Context, servers []*server, crews []*crew, p point) error {
	for _, s := range servers {
		if err := s.scan(ctx); err != nil {
			return err
		}
	}
	if b.order.Warmup > 0 {
		if _, err := drive(ctx, crews, b.order.Warmup); err != nil {
			return err
		}
	}
	if !p.load.Writes || b.order.Warmup == 0 {
		return nil // nothing is owed
	}
	for _, s := range servers {
		if _, err := s.settle(ctx, b.order.SettleLimit); err != nil {
			return err
		}
		// Compaction has written new files, of which no block is in MyRocks' cache: without this its run begins cold, and all others' warm.
		if err := s.scan(ctx); err != nil {
			return err
		}
	}
	return nil
}

// listen is the pause before a run. What our servers moved meanwhile is not others'.
func (b *bencher) listen(ctx context.Context, servers []*server) (result.Disturbance, float64, error) {
	from, err := b.usage(ctx, servers)
	if err != nil {
		return result.Disturbance{}, 0, err
	}
	began := time.Now()
	d, foreign := b.ground.Listen(func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	})
	to, err := b.usage(ctx, servers)
	ours := float64(to.read-from.read+to.written-from.written) / time.Since(began).Seconds()
	return d, max(0, foreign-ours), err
}

// account takes in what the clients counted.
func (b *bencher) account(x *sheet.Sample, crews []*crew, load sheet.Load, took time.Duration) stat.Histogram {
	var all stat.Times
	for _, w := range crews {
		h, retries := w.times()
		all.Merge(&h)
		x.Retries += retries
		if len(crews) > 1 {
			lat := latencyOf(&h)
			x.Instances = append(x.Instances, sheet.InstanceShare{TPS: float64(h.N) / took.Seconds(), P99: lat.P99})
		}
	}
	x.Seconds, x.Transactions = took.Seconds(), int64(all.N)
	x.TPS = float64(all.N) / took.Seconds()
	x.Lat, x.Changed = latencyOf(&all), int64(all.N)*load.Changed()
	return all.Histogram()
}

func latencyOf(h *stat.Times) result.Latency {
	if h.N == 0 {
		return result.Latency{}
	}
	return result.LatencyOf(h.Histogram(), float64(h.Least), float64(h.Sum)/float64(h.N), float64(h.Most))
}

// payUp settles and counts what that wrote.
func (b *bencher) payUp(ctx context.Context, servers []*server, from usage, x *sheet.Sample) error {
	began := time.Now()
	x.Size.Settled = 0
	for _, s := range servers {
		done, err := s.settle(ctx, b.order.SettleLimit)
		if err != nil {
			return err
		}
		x.IsSettled = x.IsSettled && done
		x.Size.Settled += s.size()
	}
	x.SettleTook = time.Since(began).Seconds()
	to, err := b.usage(ctx, servers)
	x.Settling = b.moved(from, to)
	return err
}
