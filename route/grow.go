package route

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mrand "math/rand/v2"
	"reflect"
	"time"

	"stowage/farm"
)

// Grower is a Router whose table takes further pairs, and gives pairs up,
// while clients follow it. (HAProxy does not: its backends are named in its own
// configuration.) Both may be called again after a kill.
type Grower interface {
	// Add gives the table a further pair. One that is there already, at the same
	// addresses, is left as it is, with the shards it lists; at others it is
	// refused (farm.ErrRefused).
	Add(ctx context.Context, pair farm.PairName, first *Pair) error
	// Remove takes a pair away; one that is not there is fine, one that lists a
	// shard is refused (farm.ErrRefused).
	Remove(ctx context.Context, pair farm.PairName) error
}

var (
	_ Grower = (*File)(nil)
	_ Grower = (*Shared)(nil)
	_ Grower = (*Exec)(nil)
)

// growth is what becomes of one pair of a table; nil: it goes. changed is false
// when it is so already.
type growth func(old *Pair, there bool) (next *Pair, changed bool, err error)

func adding(pair farm.PairName, first *Pair) growth {
	return func(old *Pair, there bool) (*Pair, bool, error) {
		switch {
		case there && reflect.DeepEqual(addresses(old), addresses(first)):
			return old, false, nil
		case there:
			return nil, false, &farm.Error{Op: "add to routing", Subject: string(pair), Err: fmt.Errorf("%w: it is there already, at %v", farm.ErrRefused, addresses(old)),
				Hint: "stowage routing shows it; whose is it?"}
		}
		next := first.clone()
		if err := next.check(); err != nil {
			return nil, false, &farm.Error{Op: "add to routing", Subject: string(pair), Err: err}
		}
		return next, true, nil
	}
}

// addresses is who serves a pair, by side.
func addresses(p *Pair) map[farm.SideName]string {
	out := map[farm.SideName]string{}
	for side, s := range p.Sides {
		out[side] = s.Address
	}
	return out
}

func removing(pair farm.PairName) growth {
	return func(old *Pair, there bool) (*Pair, bool, error) {
		if !there {
			return nil, false, nil
		}
		if len(old.Shards) > 0 {
			return nil, false, &farm.Error{Op: "remove from routing", Subject: string(pair), Err: fmt.Errorf("%w: it serves %s, %s first", farm.ErrRefused, farm.Counted(len(old.Shards), "shard"), old.Shards[0]),
				Hint: "move them elsewhere first: stowage move shard"}
		}
		return nil, true, nil
	}
}

// grown is a table with one pair more or less; t stays as it was.
func grown(t *Table, pair farm.PairName, grow growth) (next *Table, changed bool, err error) {
	old, there := t.Pairs[pair]
	p, changed, err := grow(old, there)
	if err != nil || !changed {
		return t, false, err
	}
	c := *t
	c.Pairs = maps.Clone(t.Pairs)
	if c.Pairs == nil {
		c.Pairs = map[farm.PairName]*Pair{}
	}
	if c.Pairs[pair] = p; p == nil {
		delete(c.Pairs, pair)
	}
	return &c, true, nil
}

// Add implements Grower.
func (f *File) Add(ctx context.Context, pair farm.PairName, first *Pair) error {
	return f.grow(ctx, pair, adding(pair, first))
}

// Remove implements Grower.
func (f *File) Remove(ctx context.Context, pair farm.PairName) error {
	return f.grow(ctx, pair, removing(pair))
}

func (f *File) grow(ctx context.Context, pair farm.PairName, grow growth) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	t, err := f.Read(ctx)
	if err != nil {
		return err
	}
	next, changed, err := grown(t, pair, grow)
	if err != nil || !changed {
		return err
	}
	return f.replace(next)
}

// Add implements Grower.
func (e *Exec) Add(ctx context.Context, pair farm.PairName, first *Pair) error {
	return e.change(ctx, func(t *Table) (*Table, bool, error) { return grown(t, pair, adding(pair, first)) })
}

// Remove implements Grower.
func (e *Exec) Remove(ctx context.Context, pair farm.PairName) error {
	return e.change(ctx, func(t *Table) (*Table, bool, error) { return grown(t, pair, removing(pair)) })
}

// Add implements Grower.
func (s *Shared) Add(ctx context.Context, pair farm.PairName, first *Pair) error {
	return s.grow(ctx, pair, adding(pair, first))
}

// Remove implements Grower.
func (s *Shared) Remove(ctx context.Context, pair farm.PairName) error {
	return s.grow(ctx, pair, removing(pair))
}

// grow asks again when it does not know what became of a write: it is asked
// for a state and not for a step, and a lost write that still comes names
// versions that are gone once another has been made.
func (s *Shared) grow(ctx context.Context, pair farm.PairName, grow growth) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	deadline := time.Now().Add(settleBudget)
	for try := 0; ; try++ {
		done, err := s.growOnce(ctx, pair, grow)
		if done || err != nil && (!errors.Is(err, farm.ErrOutcomeUnknown) || time.Now().After(deadline)) {
			return err
		}
		if err := pause(ctx, time.Duration(1+mrand.IntN(1+10*min(try, 10)))*time.Millisecond); err != nil {
			return &farm.Error{Op: "change routing", Subject: string(pair), Err: err}
		}
	}
}

func (s *Shared) growOnce(ctx context.Context, pair farm.PairName, grow growth) (done bool, err error) {
	key := pairPrefix + string(pair)
	texts, versions, err := s.docs.Load(ctx, headName, key)
	if err != nil {
		return false, err
	}
	h, err := s.head(texts)
	if err != nil {
		return false, err
	}
	var old *Pair
	_, there := texts[key]
	if there {
		doc, err := s.pair(texts, h, pair)
		if err != nil {
			return false, err
		}
		old = &doc.Pair
	}
	next, changed, err := grow(old, there)
	if err != nil || !changed {
		return err == nil, err
	}
	h.Generation++
	h.Written, h.Writer = time.Now().UTC(), rand.Text()
	swap := map[string]string{key: ""}
	if h.Pairs--; next != nil {
		h.Pairs += 2
		if swap[key], err = encode(pairDocument{Generation: h.Generation, Writer: h.Writer, Pair: *next}); err != nil {
			return false, err
		}
	}
	if swap[headName], err = encode(h); err != nil {
		return false, err
	}
	if !there {
		versions[key] = 0
	}
	return s.docs.Swap(ctx, swap, versions)
}
