package route

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"stowage/farm"
)

// Notes are what this program has written of routing: from them a table that was
// lost in the middle of a run is made again, and one that somebody else has
// replaced is noticed. They are a file of the program's own, a line a change,
// and never what a client goes by.
type Notes struct {
	path string
	mu   sync.Mutex
}

// NotesAt are the notes in the file at path, which need not be there.
func NotesAt(path string) *Notes { return &Notes{path: path} }

// Noted is what the notes say of all pairs.
type Noted struct {
	Generation int64 // the last one that was seen or written, or above it
	Pairs      map[farm.PairName]NotedPair
}

// NotedPair is the last that was written of a pair.
type NotedPair struct {
	Last *Pair
	// Next was about to be written, and whether it was is not known; nil: it is.
	Next *Pair
}

// note is one line of the file.
type note struct {
	Generation int64         `json:"generation"`
	Pair       farm.PairName `json:"pair,omitempty"`
	Table      *Pair         `json:"table,omitempty"` // nil: the pair has gone
	Sure       bool          `json:"sure"`
}

// mostNotes bounds the file; above it, it is written anew.
const mostNotes = 4 << 20

// Read is what is there; nil where there is nothing. A last line that was cut
// short by a kill is left out.
func (n *Notes) Read() (*Noted, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.read()
}

func (n *Notes) read() (*Noted, error) {
	f, err := os.Open(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &Noted{Pairs: map[farm.PairName]NotedPair{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostTable)
	for lines.Scan() {
		var l note
		if _, err := decode(lines.Bytes(), &l); err != nil || l.Table != nil && l.Table.check() != nil {
			continue // cut short: the line after it says what holds
		}
		out.take(l)
	}
	if len(out.Pairs) == 0 && out.Generation == 0 {
		return nil, lines.Err()
	}
	return out, lines.Err()
}

func (o *Noted) take(l note) {
	o.Generation = max(o.Generation, l.Generation)
	if l.Pair == "" {
		return
	}
	p := o.Pairs[l.Pair]
	if l.Sure {
		p = NotedPair{Last: l.Table}
	} else {
		p.Next = l.Table
	}
	if o.Pairs[l.Pair] = p; p == (NotedPair{}) {
		delete(o.Pairs, l.Pair)
	}
}

// add appends lines. With sync they are there after a power cut.
func (n *Notes) add(sync bool, lines ...note) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(n.path), 0o700); err != nil {
		return n.fail(err)
	}
	unlock, err := lockFile(n.path + ".lock") // another run may be writing them anew
	if err != nil {
		return n.fail(err)
	}
	defer unlock()
	if info, err := os.Stat(n.path); err == nil && info.Size() > mostNotes {
		if err := n.shorten(); err != nil {
			return n.fail(err)
		}
	}
	// A line that was cut short before stays alone: ours begins on a new one.
	text := []byte("\n")
	for _, l := range lines {
		raw, err := json.Marshal(l)
		if err != nil {
			return n.fail(err)
		}
		text = append(append(text, raw...), '\n')
	}
	f, err := os.OpenFile(n.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return n.fail(err)
	}
	_, err = f.Write(text)
	if err == nil && sync {
		err = f.Sync()
	}
	return n.fail(errors.Join(err, f.Close()))
}

// shorten keeps one or two lines a pair.
func (n *Notes) shorten() error {
	all, err := n.read()
	if err != nil || all == nil {
		return err
	}
	var text []byte
	put := func(l note) {
		if raw, bad := json.Marshal(l); bad == nil {
			text = append(append(text, raw...), '\n')
		}
	}
	for name, p := range all.Pairs {
		put(note{all.Generation, name, p.Last, true})
		if p.Next != nil {
			put(note{all.Generation, name, p.Next, false})
		}
	}
	next := n.path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, n.path)
}

func (n *Notes) fail(err error) error {
	if err == nil {
		return nil
	}
	return &farm.Error{Op: "note what routing becomes", Subject: n.path, Err: err,
		Hint: "nothing was changed; free disk space or correct permissions"}
}

// Keep is r, with each of its changes noted before it is made.
func Keep(r Maker, notes *Notes) Maker {
	k := &kept{Maker: r, notes: notes}
	if g, ok := r.(Grower); ok {
		return &keptGrower{k, g}
	}
	return k
}

// Begin notes the table as it stands, for a run that begins (fresh) or goes on:
// what the run has not changed yet is known, too. A run that goes on keeps what
// it has written: somebody may have put another table there since. A table that
// cannot be read is not noted, because it is waited for later. Pairs that are not
// mine are left to the run that has claimed them.
func Begin(ctx context.Context, r Router, fresh bool, mine func(farm.PairName) bool) error {
	k, ok := r.(interface {
		begin(ctx context.Context, fresh bool, mine func(farm.PairName) bool) error
	})
	if !ok {
		return nil
	}
	return k.begin(ctx, fresh, mine)
}

type kept struct {
	Maker
	notes *Notes

	mu         sync.Mutex
	generation int64 // of the last table that was seen, and one more for each change since
}

func (k *kept) begin(ctx context.Context, fresh bool, mine func(farm.PairName) bool) error {
	known, err := k.notes.Read()
	if err != nil {
		return k.notes.fail(err)
	}
	if known == nil {
		known = &Noted{}
	}
	k.saw(known.Generation)
	t, err := k.Read(ctx)
	if err != nil {
		return nil
	}
	lines := []note{{Generation: t.Generation}}
	for name, p := range t.Pairs {
		if !mine(name) {
			continue
		}
		was := known.Pairs[name]
		settled := was.Next != nil && (reflect.DeepEqual(p, was.Next) || reflect.DeepEqual(p, was.Last))
		if fresh || was.Last == nil || settled {
			lines = append(lines, note{t.Generation, name, p, true})
		}
	}
	return k.notes.add(true, lines...)
}

func (k *kept) saw(generation int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.generation = max(k.generation, generation)
	return k.generation
}

func (k *kept) Read(ctx context.Context) (*Table, error) {
	t, err := k.Maker.Read(ctx)
	if err == nil {
		k.saw(t.Generation)
	}
	return t, err
}

// Change notes what the pair becomes before it is told, and that it has become
// that. An edit that leads no client elsewhere and closes nothing is made also
// where the note cannot be written: clients wait for it.
func (k *kept) Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error {
	var was, next *Pair
	err := k.Maker.Change(ctx, pair, func(p *Pair) error {
		was, next = p.clone(), nil
		if err := edit(p); err != nil || reflect.DeepEqual(was, p) {
			return err
		}
		next = p.clone()
		generation := k.saw(0)
		err := k.notes.add(true, note{generation, pair, was, true}, note{generation + 1, pair, next, false})
		if err != nil && !opens(was, next) {
			return err
		}
		return nil
	})
	if next == nil || errors.Is(err, farm.ErrOutcomeUnknown) {
		return err
	}
	generation := k.saw(k.saw(0) + 1)
	if err != nil {
		next = was
	}
	_ = k.notes.add(false, note{generation, pair, next, true}) // else it stays in doubt, which is always safe
	return err
}

// opens reports whether all that an edit does is to open gates where they were.
func opens(was, next *Pair) bool {
	a, b := was.clone(), next.clone()
	a.OpenGate(farm.A)
	a.OpenGate(farm.B)
	b.OpenGate(farm.A)
	b.OpenGate(farm.B)
	if !reflect.DeepEqual(a, b) {
		return false
	}
	for i := range next.Routes {
		if next.Routes[i].Gate == Closed && was.Routes[i].Gate == Open {
			return false
		}
	}
	return true
}

func (k *kept) Restore(ctx context.Context, last *Table) error {
	if err := k.Maker.Restore(ctx, last); err != nil {
		return err
	}
	lines := []note{}
	for name, p := range last.Pairs {
		lines = append(lines, note{last.Generation + 1, name, p, true})
	}
	return k.notes.add(true, lines...)
}

// Mend implements Mender: nothing to do for a router that is none.
func (k *kept) Mend(ctx context.Context) ([]string, error) {
	if m, ok := k.Maker.(Mender); ok {
		return m.Mend(ctx)
	}
	return nil, nil
}

// Drain implements Drainer: nothing to wait for at a router that is none.
func (k *kept) Drain(ctx context.Context, pair farm.PairName, home farm.SideName, budget time.Duration) ([]string, error) {
	if d, ok := k.Maker.(Drainer); ok {
		return d.Drain(ctx, pair, home, budget)
	}
	return nil, nil
}

// keptGrower is kept for a router whose table takes further pairs.
type keptGrower struct {
	*kept
	grower Grower
}

func (k *keptGrower) Add(ctx context.Context, pair farm.PairName, first *Pair) error {
	if err := k.grower.Add(ctx, pair, first); err != nil {
		return err
	}
	return k.notePair(ctx, pair)
}

func (k *keptGrower) Remove(ctx context.Context, pair farm.PairName) error {
	if err := k.grower.Remove(ctx, pair); err != nil {
		return err
	}
	return k.notePair(ctx, pair)
}

// notePair notes a pair as it stands: added with what it listed already, or gone.
func (k *keptGrower) notePair(ctx context.Context, pair farm.PairName) error {
	t, err := k.Read(ctx)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	return k.notes.add(true, note{t.Generation, pair, t.Pairs[pair], true})
}
