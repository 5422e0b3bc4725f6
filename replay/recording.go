package replay

import (
	"context"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"stowage/digest"
	"stowage/internal/lazy"
)

// Recordings reads inputs and calls visit for every statement in the order of
// their beginnings, over all inputs. Files of one directory whose names differ
// only in what rotation appends (slow.log, slow.log.1, slow.log-20261121.gz) are
// one server's, read one after the other by their first stamp; all others are
// servers of their own, whose sessions are kept apart. An error of visit ends
// the reading and is returned.
func Recordings(ctx context.Context, inputs []Input, o digest.Options, visit func(*Statement) error) (Reading, error) {
	groups, err := group(inputs, o)
	if err != nil {
		return Reading{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all []*recording
	var done sync.WaitGroup
	for i, g := range groups {
		r := &recording{number: i, inputs: g, options: o, batches: make(chan []*Statement, 2), limit: windowBytes / len(groups)}
		all = append(all, r)
		done.Add(1)
		go func() {
			defer done.Done()
			r.run(ctx)
		}()
	}
	err = merge(ctx, all, visit)
	cancel()
	done.Wait()
	var out Reading
	for _, r := range all {
		out.Inputs = append(out.Inputs, r.reports...)
		out.Moved += r.window.Moved
		out.Cramped += r.window.Cramped
		out.Backs += r.estimator.Backs
		if err == nil && !stopped(r.err) {
			err = r.err
		}
	}
	return out, err
}

// Reading is what there is to say about the reading of recordings.
type Reading struct {
	Inputs  []InputReport `json:"inputs"`
	Moved   uint64        `json:"moved"`   // began more than readAhead before they were read: taken for later
	Cramped uint64        `json:"cramped"` // not held for long enough, for want of memory
	Backs   uint64        `json:"clock_set_back"`
}

// IsIncomplete says whether an input is cut or damaged: statements are missing.
func (r Reading) IsIncomplete() bool {
	return slices.ContainsFunc(r.Inputs, func(in InputReport) bool { return in.Incomplete })
}

// windowBytes is what is held to bring all recordings into order.
const windowBytes = 64 << 20

// recording is the files of one server, being read.
type recording struct {
	number    int
	inputs    []Input
	options   digest.Options
	limit     int
	batches   chan []*Statement
	window    window
	estimator estimator
	reports   []InputReport
	err       error // valid when batches is closed

	batch []*Statement // being filled
	head  []*Statement // being merged
}

const batchSize = 128

func (r *recording) run(ctx context.Context) {
	defer close(r.batches)
	send := func() {
		if len(r.batch) == 0 {
			return
		}
		select {
		case r.batches <- r.batch:
		case <-ctx.Done():
			r.err = errStop
		}
		r.batch = nil
	}
	r.window = window{limit: r.limit, out: func(s *Statement) {
		if r.batch = append(r.batch, s); len(r.batch) >= batchSize {
			send()
		}
	}}
	r.estimator = estimator{out: r.window.add}
	in := reader{recording: r.number, matches: digest.New(r.options), hasFilter: r.options.Filter != nil, visit: func(s *Statement, at stamps) error {
		r.estimator.add(s, at)
		return r.err
	}}
	for _, input := range r.inputs {
		report, err := in.read(input)
		r.reports = append(r.reports, report)
		if err != nil {
			r.err = err
			break
		}
	}
	failed := r.err
	if !stopped(failed) {
		r.estimator.flush()
		r.window.flush()
		send()
	}
	if failed != nil {
		r.err = failed
	}
}

// next is the recording's next statement, or nil at its end.
func (r *recording) next() *Statement {
	if len(r.head) == 0 {
		r.head = <-r.batches
	}
	if len(r.head) == 0 {
		return nil
	}
	return r.head[0]
}

// merge visits the statements of all recordings by their beginning.
func merge(ctx context.Context, all []*recording, visit func(*Statement) error) error {
	for {
		var first *recording
		for _, r := range all {
			if s := r.next(); s != nil && (first == nil || s.Start.Before(first.head[0].Start)) {
				first = r
			}
		}
		if first == nil {
			return nil
		}
		s := first.head[0]
		first.head = first.head[1:]
		if err := visit(s); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// rotated is what rotation appends to a name.
var rotated = lazy.Regexp(`([-._]?[0-9]+)+$`)

func rotationName(name string) string {
	dir, base := filepath.Split(name)
	for _, ext := range []string{".gz", ".zst", ".bz2", ".old"} {
		base = strings.TrimSuffix(base, ext)
	}
	if cut := rotated().ReplaceAllString(base, ""); strings.Contains(cut, ".") {
		base = cut // db1 and db2 are two servers, slow.log.1 and slow.log.2 are not
	}
	return dir + base
}

// group puts the files of one server together, in the order of time.
func group(inputs []Input, o digest.Options) ([][]Input, error) {
	var names []string
	groups := map[string][]Input{}
	for _, in := range inputs {
		n := rotationName(in.Name)
		if groups[n] == nil {
			names = append(names, n)
		}
		groups[n] = append(groups[n], in)
	}
	var out [][]Input
	for _, n := range names {
		g := groups[n]
		if len(g) > 1 {
			if err := byTime(g); err != nil {
				return nil, err
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// byTime sorts files by the stamp of their first statement that has one.
func byTime(files []Input) error {
	first := map[string]time.Time{}
	for _, in := range files {
		look := reader{matches: digest.New(digest.Options{}), visit: func(s *Statement, _ stamps) error {
			if s.At.IsZero() {
				return nil
			}
			first[in.Name] = s.At
			return errStop
		}}
		if _, err := look.read(in); err != nil && !stopped(err) {
			return err
		}
	}
	sort.SliceStable(files, func(i, j int) bool { return first[files[i].Name].Before(first[files[j].Name]) })
	return nil
}
