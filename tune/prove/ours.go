package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/tune"
)

// Steps that the storage benchmark does not have, because they go through the page cache, or through a server.
const (
	ServerStep = "OLTP-W"    // transactions on a server of our own
	scanStep   = "SCAN16K-R" // a file read from its beginning, as backups and table scans do
	filesStep  = "FILES4K-R" // many small files opened and read, and what that leaves to be written synced
)

func isOurs(step string) bool { return step == ServerStep || step == scanStep || step == filesStep }

// Runner is a load that is run again and again, in one of two states. Run returns so much
// a second. It is to be closed.
type Runner interface {
	Run(ctx context.Context, toB bool) (float64, error)
	Close() error
}

// measureOurs runs a step of ours by turns.
func (p *Prover) measureOurs(ctx context.Context, out *Proof, o bench.Order) (keep bool, err error) {
	r, err := p.open(ctx, out, o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var seen looks
	var a, b []float64
	inB := false
	for turn := range 2 * o.Profile.MaxRuns {
		toB := turn%4 == 1 || turn%4 == 2 // A B B A
		if toB != inB {
			if err := p.turn(ctx, out, toB); err != nil {
				return false, err
			}
			inB = toB
		}
		value, err := r.Run(ctx, toB)
		if ctx.Err() != nil {
			return false, errors.Join(err, farm.ErrInterrupted)
		}
		if err != nil {
			return false, err
		}
		if toB {
			b = append(b, value)
		} else {
			a = append(a, value)
		}
		if o.Tell != nil {
			o.Tell(bench.Progress{Text: fmt.Sprintf("%d of %d at most: %s %.1f %s, %s", turn+1, 2*o.Profile.MaxRuns, out.Step, value, out.Unit, map[bool]string{true: "with", false: "without"}[toB])})
		}
		if turn%4 == 3 && len(a) >= o.Profile.MinRuns && seen.enough(judge(out.Step, a, b).Verdict) {
			break
		}
	}
	c := judge(out.Step, a, b)
	out.Compared, out.Times = &c, [2]int{len(a), len(b)}
	keep, out.Why = seen.decide(c, nil)
	return keep, nil
}

func judge(step string, a, b []float64) result.Compared {
	return result.Compared{ID: step, A: middle(a), B: middle(b), Judgement: stat.Judge(a, b, stat.Rule{Tolerance: result.Tolerance})}
}

// middle is the geometric mean, as ratios are made of.
func middle(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

func (p *Prover) open(ctx context.Context, out *Proof, o bench.Order) (Runner, error) {
	switch out.Step {
	case ServerStep:
		out.Unit = "transactions/s"
		var options [2][]string
		for _, c := range out.Options {
			if c.From != "" {
				options[0] = append(options[0], c.Variable+"="+c.From)
			}
			options[1] = append(options[1], c.Variable+"="+c.To)
		}
		return p.Serve(ctx, out.Directory, options, o)
	case scanStep:
		out.Unit = "MB/s"
		return openFiles(out.Directory, o, false)
	}
	out.Unit = "files/s"
	return openFiles(out.Directory, o, true)
}

// files are those that our steps read through the page cache.
type files struct {
	ground *bench.Ground
	dir    string
	names  []string
	length time.Duration
}

const (
	smallFiles = 2000
	scanSize   = 64 << 20
	readSize   = 16 << 10
)

// openFiles takes the directory as a bench of engines does, and lays the files out: many small ones, or one large one.
func openFiles(dir string, o bench.Order, small bool) (_ *files, err error) {
	g, _, err := bench.Occupy(dir, bench.MadeByEngine)
	if err != nil {
		return nil, err
	}
	f := &files{ground: g, dir: filepath.Join(g.Dir, bench.Servers), length: o.Profile.Runtime}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	count, size := 1, int64(scanSize)
	if o.Size > 0 {
		size = min(size, o.Size)
	}
	if small {
		count, size = smallFiles, 4<<10
	}
	if _, free := g.Available(); free < 2*int64(count)*size {
		return nil, errors.Join(&farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: %d MiB are needed", farm.ErrInput, 2*int64(count)*size>>20), Hint: "free some space first, or give a --size"}, g.Close())
	}
	for n := range count {
		name := filepath.Join(f.dir, fmt.Sprintf("%05d", n))
		if err := fill(name, size, byte(n)); err != nil {
			return nil, errors.Join(err, g.Close())
		}
		f.names = append(f.names, name)
	}
	return f, f.sync()
}

// fill writes what no device takes for zeros.
func fill(name string, size int64, seed byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	block := make([]byte, min(size, 1<<20))
	for i := range block {
		block[i] = byte(i*i>>3) ^ seed
	}
	for at := int64(0); at < size && err == nil; at += int64(len(block)) {
		_, err = f.Write(block)
	}
	return errors.Join(err, f.Close())
}

// sync writes out all that the file system of the files owes.
func (f *files) sync() error {
	d, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}

func (f *files) Run(ctx context.Context, _ bool) (float64, error) {
	if len(f.names) == 1 {
		return f.scan(ctx)
	}
	return f.readAll(ctx)
}

// scan reads the file from its beginning, again and again, each time from the disk: so many MB a second.
func (f *files) scan(ctx context.Context) (float64, error) {
	in, err := os.Open(f.names[0])
	if err != nil {
		return 0, err
	}
	defer in.Close()
	read, buffer := int64(0), make([]byte, readSize)
	began := time.Now()
	for time.Since(began) < f.length && ctx.Err() == nil {
		if err := unix.Fadvise(int(in.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return 0, err
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		for time.Since(began) < f.length && ctx.Err() == nil {
			n, err := in.Read(buffer)
			read += int64(n)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return float64(max(read, 1)) / 1e6 / time.Since(began).Seconds(), nil
}

// readAll opens and reads every file, syncs, and begins again: so many files a second. What times of access leave to be
// written is paid in it.
func (f *files) readAll(ctx context.Context) (float64, error) {
	if err := f.sync(); err != nil { // what another state has left is not ours
		return 0, err
	}
	time.Sleep(10 * time.Millisecond) // times of access have the kernel's tick, 4 ms
	buffer, n := make([]byte, 4<<10), 0
	began := time.Now()
	for time.Since(began) < f.length && ctx.Err() == nil {
		for _, name := range f.names {
			in, err := os.Open(name)
			if err == nil {
				_, err = in.Read(buffer)
				err = errors.Join(err, in.Close())
			}
			if err != nil {
				return 0, err
			}
			n++
		}
		if err := f.sync(); err != nil {
			return 0, err
		}
	}
	return float64(max(n, 1)) / time.Since(began).Seconds(), nil
}

func (f *files) Close() error { return f.ground.Close() }

// keepLive sets on the servers that run what has helped on a server of our own.
func (p *Prover) keepLive(ctx context.Context, out *Proof) error {
	if len(out.Live) == 0 {
		out.Why += "; no running server was asked, so nothing was set: write it into the option file"
		return nil
	}
	if err := p.Border("tune keep"); err != nil {
		return err
	}
	results, err := p.Journal.Apply(ctx, p.Settings, p.Now, out.Live, p.Border)
	for _, r := range results {
		if r.State != "set" && r.State != "already" {
			out.Settings = append(out.Settings, r)
		}
	}
	out.Kept = err == nil && len(out.Settings) == 0
	return err
}

// together are trials of all parts at once, one for each of their steps that more than one part's settings may speak to, and on a server
// of our own, where there is one.
func together(dir string, parts []Trial, hasServer bool) []Trial {
	whole := Trial{Rule: All, Directory: dir, Changes: []tune.Change{}}
	var steps []string
	for _, t := range parts {
		whole.Subjects = append(whole.Subjects, t.Subjects...)
		whole.Changes = append(whole.Changes, t.Changes...)
		for _, c := range t.Options {
			if !slices.ContainsFunc(whole.Options, func(o tune.Change) bool { return o.Variable == c.Variable }) {
				whole.Options = append(whole.Options, c)
			}
		}
		if t.Step != ServerStep && !slices.Contains(steps, t.Step) {
			steps = append(steps, t.Step)
		}
	}
	// Limits of a queue reset read-ahead when they are written: it goes last.
	slices.SortStableFunc(whole.Changes, func(a, b tune.Change) int { return isReadAhead(a) - isReadAhead(b) })
	if len(parts) == 1 && (!hasServer || parts[0].Step == ServerStep) {
		return nil // it is all there is
	}
	if len(whole.Changes) < 2 {
		steps = nil
	}
	if hasServer {
		steps = append(steps, ServerStep)
	}
	var out []Trial
	for _, s := range steps {
		t := whole
		if t.Step = s; s != ServerStep {
			t.Options = nil
		}
		out = append(out, t)
	}
	return out
}

func isReadAhead(c tune.Change) int {
	if filepath.Base(c.Path) == "read_ahead_kb" {
		return 1
	}
	return 0
}
