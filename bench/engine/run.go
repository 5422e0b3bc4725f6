package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stowage/bench"
	"stowage/bench/engine/sheet"
	"stowage/bench/result"
	"stowage/farm"
	"stowage/host"
)

// bencher is one session.
type bencher struct {
	order    Order
	ground   *bench.Ground
	programs host.Programs
	plugins  string
	servers  string // the directory of them all
	ids      int
	all      []*server
	stores   map[string]*server
	points   []point
	result   *sheet.Result
	began    time.Time
	taken    time.Duration // by runs, in this session
	runs     int           // in this session
}

// Run measures in dir and returns the result, which is also returned, not complete, with an error that came later. It leaves nothing in dir.
// Errors: farm.ErrInput for a directory or a machine that cannot be measured, farm.ErrRefused where another bench runs, foreign files
// lie, or memory would not do, farm.ErrInterrupted when ctx ended.
func Run(ctx context.Context, dir string, o Order) (res *sheet.Result, err error) {
	err = within(dir, o, func(b *bencher) error {
		res = b.result
		err := b.measureAll(ctx)
		b.result.Complete = err == nil
		b.result.Sessions[len(b.result.Sessions)-1].Ended = time.Now().UTC()
		b.result.Labels = b.labels()
		b.result.Judge()
		return errors.Join(err, b.save())
	})
	return res, err
}

// within takes the place in dir, prepares what an order asks for, has it measured, and leaves nothing in dir.
func within(dir string, o Order, measure func(*bencher) error) error {
	b, err := occupy(dir, o)
	if err != nil {
		return err
	}
	return errors.Join(measure(b), b.close())
}

// occupy takes the place in dir and prepares what an order asks for. The bencher is to be closed.
func occupy(dir string, o Order) (b *bencher, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	b = &bencher{order: o, stores: map[string]*server{}, began: time.Now()}
	if b.order.Tell == nil {
		b.order.Tell = func(Progress) {}
	}
	if b.programs, err = host.FindPrograms(); err != nil {
		return nil, err
	}
	if b.programs.IsMySQL && o.Mode == sheet.Apply {
		return nil, &farm.Error{Op: "measure", Subject: b.programs.Server, Err: fmt.Errorf("%w: it is MySQL, and what a replica follows is measured on MariaDB alone", farm.ErrInput), Hint: "put a MariaDB in front of the PATH"}
	}
	ground, swept, err := bench.Occupy(dir, bench.MadeByEngine)
	if err != nil {
		return nil, err
	}
	b.ground = ground
	if err := b.programs.CanReach(filepath.Dir(ground.Dir)); err != nil {
		return nil, errors.Join(&farm.Error{Op: "measure", Subject: dir, Err: err, Hint: "name a directory that everybody may enter, or open the one that is named"}, b.close())
	}
	if swept > 0 {
		b.say("removed %d MiB that a killed run had left", swept>>20)
	}
	if err := b.prepare(); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// close kills the servers and removes everything that is ours.
func (b *bencher) close() error {
	for _, s := range b.all {
		s.kill()
	}
	return b.ground.Close()
}

func (b *bencher) say(format string, args ...any) {
	b.order.Tell(Progress{Text: fmt.Sprintf(format, args...)})
}

func (b *bencher) save() error {
	if b.order.Save == nil {
		return nil
	}
	return b.order.Save(b.result)
}

// prepare learns what shapes the result, makes its document, and refuses what would not fit.
func (b *bencher) prepare() error {
	b.servers = filepath.Join(b.ground.Dir, bench.Servers)
	if b.programs.Account != nil { // servers must be able to walk through
		if err := os.Chmod(b.ground.Dir, 0o711); err != nil {
			return &farm.Error{Op: "prepare", Subject: b.ground.Dir, Err: err}
		}
	}
	if err := os.Mkdir(b.servers, 0o711); err != nil {
		return &farm.Error{Op: "prepare", Subject: b.ground.Dir, Err: err}
	}
	b.plugins = rocksPlugin()
	o := b.order
	cells, points := o.points(func(c sheet.Cell) string {
		if why := b.family().lacks(c); why != "" {
			return why
		}
		if c.Engine == sheet.MyRocks && b.plugins == "" {
			return rocksHint
		}
		return ""
	})
	b.points = points
	env := b.ground.Environment
	env.Stowage = o.Version
	b.result = &sheet.Result{FormatVersion: sheet.FormatVersion, Kind: sheet.Kind, Mode: o.Mode, Profile: o.Profile, Settings: o.settings(), Environment: env, Cells: cells,
		BytesFrom: "process", Noise: result.Noise{Load: env.Load}}
	if b.ground.Own {
		b.result.BytesFrom = "device " + env.Device.Name
	}
	if len(points) == 0 {
		for _, c := range cells {
			if c.Missing != "" {
				return &farm.Error{Op: "measure", Subject: c.ID, Err: fmt.Errorf("%w: %s", farm.ErrInput, c.Missing)}
			}
		}
		return &farm.Error{Op: "measure", Subject: o.Cells[0].ID, Err: fmt.Errorf("%w: none of these loads can be run on these cells", farm.ErrInput), Hint: "write and rw need transactions; try --loads point,update"}
	}
	b.result.Base = points[0].cell.ID
	for _, p := range points {
		if p.row.FlushesFrom = "server"; b.ground.Own {
			p.row.FlushesFrom = "device"
		}
		b.result.Rows = append(b.result.Rows, p.row)
	}
	if o.Previous != nil {
		if err := b.takeUp(o.Previous); err != nil {
			return err
		}
	}
	b.result.Sessions = append(b.result.Sessions, result.Session{Began: b.began.UTC(), Ended: b.began.UTC(), Command: o.Command})
	if err := b.fits(); err != nil {
		return err
	}
	stores := len(b.wantedStores())
	runs, length := sheet.Estimate(b.result.Settings, len(points), stores)
	most := length
	if o.MaxRuns > o.MinRuns {
		all := b.result.Settings
		all.MinRuns = o.MaxRuns
		_, most = sheet.Estimate(all, len(points), stores)
	}
	b.say("%s: %s, %s, at least %s, about %s%s; %d KiB of rows in each of %d data directories", o.Profile, farm.Counted(len(cells), "cell"), farm.Counted(len(points), "row"), farm.Counted(runs, "run"), hours(length), upTo(length, most), sheet.DataBytes(o.Rows)>>10, stores)
	return nil
}

// upTo says what all rounds that there may be would take; nothing where these are all.
func upTo(least, most time.Duration) string {
	if most <= least {
		return ""
	}
	return ", up to " + hours(most) + " where intervals stay wide"
}

// hours is a length of time for people.
func hours(d time.Duration) string {
	if d < time.Hour {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f hours", d.Hours())
}

// wantedStores are the data directories that the rows need.
func (b *bencher) wantedStores() []string {
	names := map[string]bool{}
	for _, p := range b.points {
		for _, s := range p.stores {
			names[s] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// fits holds the servers that run at once, and all data, against what this machine has.
func (b *bencher) fits() error {
	var worst sheet.Need
	stores := len(b.wantedStores())
	for _, p := range b.points {
		var atOnce []int64
		for range p.stores {
			atOnce = append(atOnce, p.cell.Memory(p.row.Cache))
		}
		n := sheet.NeedOf(sheet.DataBytes(b.order.Rows), stores, atOnce)
		if n.Memory > worst.Memory {
			worst = n
		}
	}
	memory, disk := b.ground.Available()
	return worst.Check(b.ground.Environment.Directory, memory, disk)
}

// takeUp continues with a result that was cut short, when it was made here and in the same way. Data is loaded anew.
func (b *bencher) takeUp(old *sheet.Result) error {
	now := b.result
	shape := func(r *sheet.Result) string {
		s := r.Settings
		s.Seed = 0
		return fmt.Sprintf("%s %s %+v", r.Mode, r.Profile, s)
	}
	for _, x := range []struct{ what, was, is string }{
		{"host", old.Environment.Host, now.Environment.Host},
		{"kernel", old.Environment.Kernel, now.Environment.Kernel},
		{"directory", old.Environment.Directory, now.Environment.Directory},
		{"mount options", old.Environment.MountOptions, now.Environment.MountOptions},
		{"cells, loads and times", shape(old), shape(now)},
	} {
		if x.was != x.is {
			return &farm.Error{Op: "resume", Subject: old.Environment.Directory, Err: fmt.Errorf("%w: the result was begun with another %s: %s, now %s", farm.ErrRefused, x.what, x.was, x.is),
				Hint: "name another file with --save, or start with the same options as before"}
		}
	}
	b.points = slices.DeleteFunc(b.points, func(p point) bool { // engines that did not load then
		c := old.Cell(p.cell.ID)
		return c != nil && c.Missing != ""
	})
	for i, p := range b.points {
		row := old.Row(p.row.ID)
		if row == nil {
			return &farm.Error{Op: "resume", Subject: p.row.ID, Err: fmt.Errorf("%w: the result that was begun has no such row", farm.ErrRefused), Hint: "give another file to --save"}
		}
		b.points[i].row = row
	}
	b.order.Seed = old.Settings.Seed
	b.result = old
	b.say("continuing with the result that was begun at %s: %d runs are done", old.Sessions[0].Began.Format(time.DateTime), b.count())
	return nil
}

// count is how many runs the result has.
func (b *bencher) count() int {
	n := 0
	for _, r := range b.result.Rows {
		n += len(r.Samples)
	}
	return n
}

// measureAll loads the data and runs rounds until the intervals are narrow enough or the limit is reached.
func (b *bencher) measureAll(ctx context.Context) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	for round := 1; round <= b.order.MaxRuns; round++ {
		wanted := b.wanted(round)
		rnd := rand.New(rand.NewPCG(b.order.Seed, uint64(round)))
		rnd.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
		for i, p := range wanted {
			if has(p.row, round) {
				continue // an earlier session did it
			}
			if err := b.measure(ctx, p, round, undone(wanted[i:], round)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted are the rows that a round runs: all at first, then those whose interval is too wide.
func (b *bencher) wanted(round int) []point {
	var out []point
	for _, p := range b.points {
		if round <= b.order.MinRuns || has(p.row, round) || !p.row.IsTight(b.order.Target) {
			out = append(out, p)
		}
	}
	return out
}

// undone is how many of some rows a round has not run: of one that was cut short an earlier session did others.
func undone(rows []point, round int) int {
	n := 0
	for _, p := range rows {
		if !has(p.row, round) {
			n++
		}
	}
	return n
}

func has(r *sheet.Row, round int) bool {
	return slices.ContainsFunc(r.Samples, func(x sheet.Sample) bool { return x.Round == round })
}

// measure runs a row once and keeps what came of it. left is how many runs this round still has, this one among them.
func (b *bencher) measure(ctx context.Context, p point, round, left int) error {
	began := time.Now()
	seed := b.order.Seed + uint64(1000*b.count()+round)
	run := b.runCell
	if b.order.Mode == sheet.Apply {
		run = b.runApply
	}
	sample, latency, err := run(ctx, p, seed)
	if err != nil {
		return err
	}
	sample.Seq, sample.Round, sample.Began = b.count()+1, round, began.UTC()
	p.row.Add(sample, latency, b.order.Target)
	b.runs++
	b.taken += time.Since(began)
	total := sample.Seq + left - 1 + max(0, b.order.MinRuns-round)*len(b.points)
	each := b.taken / time.Duration(b.runs)
	b.order.Tell(Progress{Row: p.row.ID, TPS: sample.TPS, Round: round, Done: sample.Seq, Total: total, Left: time.Duration(total-sample.Seq) * each})
	b.result.Sessions[len(b.result.Sessions)-1].Ended = time.Now().UTC()
	return b.save()
}

// labels are what has to be said beside the figures.
func (b *bencher) labels() []string {
	var out []string
	if b.order.Profile == "quick" {
		out = append(out, "quick: runs of seconds show bursts; compaction, checkpoints and a full log come later")
	}
	if !b.ground.Own {
		out = append(out, "bytes are those of the servers' processes (/proc/PID/io), flushes those the servers count: the directory is not the mount point of a device of its own, and what the file system writes for itself is left out")
	}
	if !b.ground.Own && b.programs.IsMySQL {
		out = append(out, "MySQL does not count how often it syncs the binary log: flushes by transaction leave that out, and cannot be compared with MariaDB's")
	}
	if slices.ContainsFunc(b.result.Rows, func(r *sheet.Row) bool { return r.Runs < 3 }) {
		out = append(out, "some rows have fewer than three runs: their intervals say little")
	}
	seen := map[sheet.Engine]bool{}
	for _, p := range b.points {
		if p.cell.ThroughPageCache() && !seen[p.cell.Engine] {
			seen[p.cell.Engine] = true
			out = append(out, p.cell.ID+" reads through the page cache of the operating system, which is a second cache: its ratio of data to cache says little about reads")
		}
	}
	for _, c := range b.result.Cells {
		for _, s := range c.Skipped {
			out = append(out, c.ID+" was not run with "+s)
		}
	}
	return out
}
