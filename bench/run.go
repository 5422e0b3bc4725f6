package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stowage/bench/disk"
	"stowage/bench/result"
	"stowage/farm"
)

// Order is what is to be measured.
type Order struct {
	Profile Profile
	Size    int64  // of the data file, bytes; 0: what fits profile and space
	Seed    uint64 // of the order of runs
	Version string // of Stowage
	Command []string
	// Previous is a result that was cut short, to be continued; nil begins anew.
	Previous *result.Result
	// Save keeps the result, which has not come to its end yet; called after every run. Nil keeps nothing.
	Save func(*result.Result) error
	Tell func(Progress)
	// Round, when above 0, is one visit of many to a file system that is made anew for each: files are laid out and every step is run once, as
	// this round. There is no A/A pair, and Previous may have been measured on another device.
	Round int
	// Bed says what is below, where whoever calls has made it; nil: it is found out.
	Bed *Bed
}

// Progress is one thing that happened.
type Progress struct {
	Text        string        // what was found or done; empty after a run
	Step        string        // that was run
	IOPS        float64       // of this run
	Round       int           // from 1
	Done, Total int           // runs; Total is as many as there will be at least
	Left        time.Duration // estimated
}

// runner is one session.
type runner struct {
	order   Order
	fio     *fio
	machine machine
	place   *place
	files   files
	claim   *disk.Claim // the device that is measured itself; nil: a directory
	device  string      // what is compared with fio; empty: nothing
	why     string      // why it is empty
	bed     *Bed        // nil: others may use the device as well
	result  *result.Result
	began   time.Time
	before  time.Duration // that earlier sessions took
	taken   time.Duration // by runs, in this session
	meant   time.Duration // that these were to take
	runs    int           // in this session
}

// Run measures dir and returns the result, which is also returned, not complete, with an error that came later. It leaves
// nothing in dir. Errors: farm.ErrInput for a directory or a machine that cannot be measured, farm.ErrRefused where
// another bench runs or foreign files lie, farm.ErrInterrupted when ctx ended.
func Run(ctx context.Context, dir string, o Order) (*result.Result, error) {
	r, err := open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	return r.run(ctx)
}

// run measures what is open, and closes it.
func (r *runner) run(ctx context.Context) (res *result.Result, err error) {
	defer func() { err = errors.Join(err, r.place.close()) }()
	err = r.measureAll(ctx)
	r.finish(ctx, err == nil)
	return r.result, errors.Join(err, r.save())
}

// open takes the directory for a run. Without an error the place has to be closed.
func open(ctx context.Context, dir string, o Order) (*runner, error) {
	if _, err := checkDirectory(dir); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, &farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	r := newRunner(o)
	return r, r.open(ctx, dir)
}

func newRunner(o Order) *runner {
	r := &runner{order: o, machine: machine{root: "/"}, bed: o.Bed, began: time.Now()}
	if r.order.Tell == nil {
		r.order.Tell = func(Progress) {}
	}
	return r
}

// open makes the place of the run in a directory, and the document.
func (r *runner) open(ctx context.Context, dir string) (err error) {
	if r.fio, err = findFio(ctx); err != nil {
		return err
	}
	var swept int64
	if r.place, swept, err = openPlace(dir); err != nil {
		return err
	}
	if swept > 0 {
		r.say("removed %d MiB that a killed run had left", swept/mib)
	}
	prepare := r.prepareDirectory
	if r.claim != nil {
		prepare = r.prepareDevice
	}
	env, engine, err := prepare(ctx, dir)
	if err == nil {
		err = r.begin(ctx, env, engine)
	}
	if err != nil {
		return errors.Join(err, r.place.close())
	}
	return nil
}

func (r *runner) say(format string, args ...any) {
	r.order.Tell(Progress{Text: fmt.Sprintf(format, args...)})
}

func (r *runner) save() error {
	if r.order.Save == nil {
		return nil
	}
	if r.order.Round == 0 {
		r.result.Judge() // whoever reads it before its end, or after a kill, sees what is known, and that it is not whole
	}
	return r.order.Save(r.result)
}

// prepareDirectory learns what is below a directory, and how large its files may be.
func (r *runner) prepareDirectory(ctx context.Context, dir string) (env result.Environment, engine string, err error) {
	if err := checkDirect(r.place.dir); err != nil {
		return env, "", err
	}
	if engine, err = r.fio.engine(ctx, r.place.dir, fileProbe); err != nil {
		return env, "", err
	}
	env, at, err := r.environment(dir)
	if err != nil {
		return env, "", err
	}
	r.files, err = sizes(r.asked(), r.order.Profile.Name, int64(at.Bavail)*at.Bsize, dir)
	return env, engine, err
}

// asked is the size that was asked for, or that a result was begun with.
func (r *runner) asked() int64 {
	if r.order.Previous != nil {
		return r.order.Previous.Settings.Size
	}
	return r.order.Size
}

// begin makes the document from everything that shapes the result.
func (r *runner) begin(ctx context.Context, env result.Environment, engine string) error {
	env.Fio, env.Stowage, env.Arch = r.fio.version, r.order.Version, runtime.GOARCH
	if r.bed != nil {
		env.Device = r.machine.bed(r.bed)
	}
	if env.Device != nil {
		r.device = env.Device.Name
	}
	p := r.order.Profile
	r.result = &result.Result{
		FormatVersion: result.FormatVersion, Profile: p.Name, Environment: env,
		Settings: result.Settings{
			Size: r.files.data, LogSize: r.files.log, Runtime: p.Runtime.Seconds(), Warmup: p.Warmup.Seconds(), MinRuns: p.MinRuns, MaxRuns: p.MaxRuns,
			Target: p.Target, Budget: p.Budget.Seconds(), Seed: r.order.Seed, Engine: engine, Direct: true, Buffers: "random, refilled for every write", Fill: "none",
			ChosenByTime: p.LayoutLimit > 0 && r.order.Size == 0,
		},
		Noise: result.Noise{Load: env.Load},
	}
	for _, s := range p.Steps {
		r.result.Settings.Steps = append(r.result.Settings.Steps, s.ID)
		r.result.Steps = append(r.result.Steps, r.rows(s)...)
	}
	if r.device != "" {
		r.thermal(ctx, 0)
	}
	if r.order.Previous != nil {
		if err := r.takeUp(r.order.Previous); err != nil {
			return err
		}
	}
	r.result.Sessions = append(r.result.Sessions, result.Session{Began: r.began.UTC(), Ended: r.began.UTC(), Command: r.order.Command})
	return nil
}

// environment looks at machine, file system and device as they are now.
func (r *runner) environment(dir string) (env result.Environment, at unix.Statfs_t, err error) {
	if at, err = checkDirectory(dir); err != nil {
		return env, at, err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return env, at, &farm.Error{Op: "measure", Subject: dir, Err: err}
	}
	env, r.why = r.machine.facts(dir, st.Dev, at)
	env.Fio, env.Stowage, env.Arch = r.fio.version, r.order.Version, runtime.GOARCH
	if r.device = ""; env.Device != nil {
		r.device = env.Device.Name
	}
	return env, at, nil
}

// rows are the places in the document for a step: one, or two where a load runs beside it.
func (r *runner) rows(s Step) []*result.Step {
	engine := r.result.Settings.Engine
	row := func(id string, l Load) *result.Step {
		return &result.Step{
			ID: id, Answers: s.Answers, Pattern: l.Pattern, Op: l.Op, Block: l.Block, Outstanding: l.Q, Threads: l.T, Durable: l.Durable,
			Engine: engineOf(l, engine),
		}
	}
	out := []*result.Step{row(s.ID, s.Load)}
	if s.Beside != nil {
		beside := row(s.besideID(), *s.Beside)
		beside.Answers = "the pages beside the commits of " + s.ID
		out = append(out, beside)
	}
	return out
}

// takeUp continues with a result that was cut short, when it was made here and in the same way.
func (r *runner) takeUp(old *result.Result) error {
	now := r.result
	wasQueue, isQueue := queues(old.Environment.Device, now.Environment.Device)
	if r.order.Round > 0 { // a visit's devices get other numbers every time, and more rounds may be asked for
		wasQueue, isQueue = "", ""
		old.Settings.MinRuns, old.Settings.MaxRuns = now.Settings.MinRuns, now.Settings.MaxRuns
	}
	for _, x := range []struct{ what, was, is string }{
		{"profile", old.Profile, now.Profile},
		{"directory", old.Environment.Directory, now.Environment.Directory},
		{"host", old.Environment.Host, now.Environment.Host},
		{"kernel", old.Environment.Kernel, now.Environment.Kernel},
		{"fio", old.Environment.Fio, now.Environment.Fio},
		{"mount options", old.Environment.MountOptions, now.Environment.MountOptions},
		{"device or queue settings", wasQueue, isQueue},
		{"steps and times", shape(old.Settings), shape(now.Settings)},
	} {
		if x.was != x.is {
			return &farm.Error{Op: "resume", Subject: old.Environment.Directory, Err: fmt.Errorf("%w: the result was begun with another %s: %s, now %s", farm.ErrRefused, x.what, x.was, x.is),
				Hint: "name another file with --save, or start with the same options as before"}
		}
	}
	if r.order.Size > 0 && r.order.Size/mib*mib != old.Settings.Size {
		return &farm.Error{Op: "resume", Subject: old.Environment.Directory, Err: fmt.Errorf("%w: the result was begun with a size of %d bytes", farm.ErrRefused, old.Settings.Size), Hint: "leave --size out, or give another file to --save"}
	}
	for _, s := range old.Sessions {
		r.before += s.Ended.Sub(s.Began)
	}
	r.files.data, r.files.log = old.Settings.Size, old.Settings.LogSize
	r.order.Seed = old.Settings.Seed
	r.result = old
	if r.order.Round > 0 {
		r.result.Environment.Device, r.result.Environment.Mount = now.Environment.Device, now.Environment.Mount
		return nil
	}
	r.say("continuing with the result that was begun at %s: %d runs are done", old.Sessions[0].Began.Format(time.DateTime), r.count())
	return nil
}

// queues are the settings of two devices that differ, each as name=value.
func queues(a, b *result.Device) (was, is string) {
	if a == nil || b == nil {
		return fmt.Sprint(a != nil), fmt.Sprint(b != nil)
	}
	from, to := []string{a.Name}, []string{b.Name}
	for _, name := range slices.Sorted(maps.Keys(b.Queue)) {
		if a.Queue[name] != b.Queue[name] {
			from, to = append(from, name+"="+a.Queue[name]), append(to, name+"="+b.Queue[name])
		}
	}
	return strings.Join(from, " "), strings.Join(to, " ")
}

func shape(s result.Settings) string {
	return fmt.Sprint(s.Steps, s.Runtime, s.Warmup, s.MinRuns, s.MaxRuns, s.Engine)
}

// count is how many runs the result has.
func (r *runner) count() int {
	most := 0
	for _, s := range r.result.Steps {
		for _, x := range s.Samples {
			most = max(most, x.Seq)
		}
	}
	return most
}

// finish closes the document.
func (r *runner) finish(ctx context.Context, complete bool) {
	r.result.Complete = complete
	if complete && r.device != "" {
		r.thermal(ctx, 1)
	}
	r.result.Labels = r.labels()
	r.result.Sessions[len(r.result.Sessions)-1].Ended = time.Now().UTC()
	r.result.Judge()
}

// labels are what has to be said beside the figures.
func (r *runner) labels() []string {
	out := append([]string(nil), r.order.Profile.Labels...)
	e := r.result.Environment
	if r.files.data < e.Memory {
		out = append(out, fmt.Sprintf("the file (%d MiB) is smaller than this machine's memory: caches below the operating system (controller, hypervisor, disk) are not excluded", r.files.data/mib))
	}
	if r.claim != nil {
		out = append(out, "the device itself was measured, without a file system; what was on it is gone")
	}
	if r.device == "" {
		out = append(out, "not compared with the kernel's counts: "+r.why)
	}
	if p := r.result.Precondition; p != nil && p.Random != nil && !p.Random.Settling.Steady {
		out = append(out, "the device did not reach a steady state in the time allowed")
	}
	if e.Filesystem == "zfs" || e.Filesystem == "overlay" {
		out = append(out, e.Filesystem+" may answer O_DIRECT from memory")
	}
	return out
}
