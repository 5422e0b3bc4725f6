package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/bench"
	"stowage/bench/disk"
	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/bench/testbed"
	"stowage/farm"
)

// Order is a matrix that is to be measured.
type Order struct {
	Matrix    matrix.Matrix
	Disks     []disk.Disk // those of Matrix.Devices, looked at and confirmed
	Overwrite bool        // also where something known is on them
	Seed      uint64
	Version   string // of Stowage
	Command   []string
	// Previous is a document to be continued; nil begins anew.
	Previous *matrix.Document
	// Save keeps the document; called after every run. Nil keeps nothing.
	Save func(*matrix.Document) error
	Tell func(Progress)
	// Border is told every act of a testbed; tests kill the process there. Nil in production.
	Border func(string) error
}

// Progress is one thing that happened.
type Progress struct {
	Text       string // what was found or done; empty after a run
	Cell, Step string
	IOPS       float64
	Round      int
	// Visit is which one this is, of Visits.
	Visit, Visits int
	Left          time.Duration // estimated
}

// trial is one session.
type trial struct {
	order   Order
	profile bench.Profile
	doc     *matrix.Document
	site    *testbed.Site
	below   string // the disk under loop files
	began   time.Time
	visits  int // of this session
	done    int // of them
	each    time.Duration
}

// Run measures a matrix. The document is also returned with an error that came later. Errors: farm.ErrInput for a matrix or machine that cannot be
// measured, farm.ErrRefused where that would not be safe, farm.ErrInterrupted when ctx ended.
func Run(ctx context.Context, o Order) (doc *matrix.Document, err error) {
	err = testbed.Apart(func() error {
		doc, err = run(ctx, o)
		return err
	})
	return doc, err
}

// run is Run in a mount namespace of its own: all of it in one goroutine.
func run(ctx context.Context, o Order) (doc *matrix.Document, err error) {
	t := &trial{order: o, began: time.Now()}
	if t.order.Tell == nil {
		t.order.Tell = func(Progress) {}
	}
	if t.profile, err = profile(&o.Matrix); err != nil {
		return nil, err
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.site.Close()) }()
	t.doc.Sessions = append(t.doc.Sessions, result.Session{Began: t.began.UTC(), Ended: t.began.UTC(), Command: o.Command})
	t.visits = t.doc.Left()
	err = t.rounds(ctx)
	return t.doc, errors.Join(err, t.save())
}

// open makes the document and the site.
func (t *trial) open() (err error) {
	o := t.order
	if t.doc = o.Previous; t.doc == nil {
		t.doc = matrix.New(o.Matrix, o.Seed)
	} else {
		if err := t.doc.GoOn(o.Matrix); err != nil {
			return &farm.Error{Op: "go on", Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "name another file with --save, or start with the same options as before"}
		}
		t.doc.TakeUp(o.Matrix)
		t.say("continuing with the matrix that was begun at %s: %d visits are left", t.doc.Sessions[0].Began.Format(time.DateTime), t.doc.Left())
	}
	if t.describe(); len(o.Disks) == 0 {
		if err := t.look(); err != nil {
			return err
		}
	}
	t.site, err = testbed.Open(o.Matrix.Directory, testbed.Options{
		Loops: o.Matrix.Loops.Count, Size: o.Matrix.Loops.Size, Disks: o.Disks, Overwrite: o.Overwrite, Border: o.Border,
		Tell: func(text string) { t.say("%s", text) },
	})
	return err
}

// describe says on which disks the cells are made.
func (t *trial) describe() {
	var all []string
	for _, d := range t.order.Disks {
		name := strings.TrimSpace(d.Given + " " + d.Model)
		if d.ID != d.Given {
			name += " over " + d.ID
		}
		all = append(all, name)
	}
	t.doc.Ground = strings.Join(all, ", ")
}

// look finds the disk under the files that serve as devices.
func (t *trial) look() error {
	dir := t.order.Matrix.Directory
	filesystem, device, err := bench.Below(dir)
	if err != nil {
		return err
	}
	t.below = device
	if device == "" {
		device = "no single disk of this machine"
	}
	t.doc.Ground = fmt.Sprintf("loop devices over files in %s, %s on %s", dir, filesystem, device)
	return nil
}

func (t *trial) say(format string, args ...any) {
	t.order.Tell(Progress{Text: fmt.Sprintf(format, args...)})
}

func (t *trial) save() error {
	if n := len(t.doc.Sessions); n > 0 {
		t.doc.Sessions[n-1].Ended = time.Now().UTC()
	}
	t.doc.Judge()
	if t.order.Save == nil {
		return nil
	}
	return t.order.Save(t.doc)
}

// rounds visits every cell in every round.
func (t *trial) rounds(ctx context.Context) error {
	for round := 1; round <= t.doc.Matrix.Rounds; round++ {
		for _, c := range t.doc.Next(round) {
			if ctx.Err() != nil {
				return farm.ErrInterrupted
			}
			began := time.Now()
			t.done = t.visits - t.doc.Left()
			if err := t.visit(ctx, c, round); err != nil {
				return err
			}
			if c.Refused == "" && c.Failed == "" {
				t.each = (t.each*time.Duration(t.done) + time.Since(began)) / time.Duration(t.done+1)
			}
			if err := t.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit makes a cell, runs each of its steps once, and takes it away. What is wrong with the cell is its result; an error is of the matrix.
func (t *trial) visit(ctx context.Context, c *matrix.Measured, round int) (err error) {
	t.say("visit %d of %d, round %d: %s", t.done+1, t.visits, round, c.Name)
	st, err := t.site.Make(ctx, testbed.Spec{
		Filesystem: c.Filesystem, Mkfs: options(c.Mkfs), Mount: options(c.Mount), Queue: c.Queue, RAID: c.RAID, Devices: matrix.UsedBy(c.RAID, t.doc.Matrix.Count()),
	})
	if refusal := (*testbed.Refusal)(nil); errors.As(err, &refusal) {
		c.Refused = refusal.Error()
		t.say("%s: %s", c.Name, c.Refused)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	r, err := bench.Run(ctx, st.Dir, bench.Order{
		Profile: t.profile, Size: c.Size, Seed: t.doc.Seed + uint64(slices.Index(t.doc.Cells, c)), Version: t.order.Version, Command: t.order.Command, Previous: c.Result, Round: round,
		Bed: &bench.Bed{Devices: st.Devices, Below: t.below},
		Save: func(r *result.Result) error {
			c.Result = r
			return t.save()
		},
		Tell: func(p bench.Progress) { t.tell(c, round, p) },
	})
	if r != nil && measured(r) {
		c.Result = r
	}
	switch {
	case err == nil:
		c.Rounds = round
	case errors.Is(err, farm.ErrInterrupted), ctx.Err() != nil:
		return farm.ErrInterrupted
	default:
		c.Failed = strings.TrimPrefix(err.Error(), "measure "+st.Dir+": ")
		if hint := farm.Hint(err); hint != "" {
			c.Failed += " (" + hint + ")"
		}
		t.say("%s failed: %s", c.Name, c.Failed)
	}
	return nil
}

// options are what a testbed is given: nothing for the word that says so.
func options(text string) string {
	if text == matrix.NoOptions {
		return ""
	}
	return text
}

// measured says whether any step was run.
func measured(r *result.Result) bool {
	for _, s := range r.Steps {
		if len(s.Samples) > 0 {
			return true
		}
	}
	return false
}

// tell passes on what a barrage says of itself: its runs, with what is left of the whole matrix.
func (t *trial) tell(c *matrix.Measured, round int, p bench.Progress) {
	if p.Text != "" {
		t.say("  %s", p.Text)
		return
	}
	left := p.Left + time.Duration(t.visits-t.done-1)*t.visitLength()
	t.order.Tell(Progress{Cell: c.Name, Step: p.Step, IOPS: p.IOPS, Round: round, Visit: t.done + 1, Visits: t.visits, Left: left})
}

// visitLength is how long a visit takes: what those before took, or a guess.
func (t *trial) visitLength() time.Duration {
	if t.each > 0 {
		return t.each
	}
	least, _ := t.profile.Visit(t.doc.Cells[0].Size)
	return least + making
}
