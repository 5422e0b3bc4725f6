package route

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	mrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"stowage/farm"
)

// Documents keeps small texts by name, each with a version, and replaces some
// of them together or not at all. A key-value store does (Etcd), and a table
// in a database does (package mysql).
type Documents interface {
	// Load reads the named texts, or all of them without a name, as of one
	// moment, and never from a copy that lags. A name that is not there is
	// absent from both maps. Versions are above 0 and change with every write.
	Load(ctx context.Context, names ...string) (texts map[string]string, versions map[string]int64, err error)
	// Swap writes texts if every name in versions still has that version, 0
	// for one that is not there. An empty text removes the name. false: some
	// name has another version, and nothing was written. An error that wraps
	// farm.ErrOutcomeUnknown: it may have been written, or may yet be; after
	// any other error it never will be.
	Swap(ctx context.Context, texts map[string]string, versions map[string]int64) (bool, error)
}

// Shared routes by a table in a store that many programs share: a head, and
// one document a pair, so that a client reads no more than its own. It is safe
// for several goroutines and several processes; nobody holds a lock, a change
// of something that has changed is done again.
type Shared struct {
	docs    Documents
	where   string // for errors: "etcd http://10.0.0.5:2379"
	goodFor time.Duration
	mu      sync.Mutex // one change at a time from this process: fewer are done again
}

// NewShared is the router that keeps its table in docs. goodFor is how old a
// client's look may be when it uses it, as its programmers were told; 0 stands
// for DefaultGoodFor.
func NewShared(docs Documents, where string, goodFor time.Duration) *Shared {
	if goodFor == 0 {
		goodFor = DefaultGoodFor
	}
	return &Shared{docs: docs, where: where, goodFor: goodFor}
}

const (
	headName   = "head"
	pairPrefix = "pairs/"
)

// head is the document that changes with every change.
type head struct {
	FormatVersion int       `json:"format_version"`
	Generation    int64     `json:"generation"`
	Written       time.Time `json:"written"`
	Pairs         int       `json:"pairs"`  // how many there are: one that is lost is missed
	Writer        string    `json:"writer"` // a mark of the last write, by which its writer knows it again
}

// pairDocument is the document of one pair.
type pairDocument struct {
	Generation int64  `json:"generation"` // in which the pair was changed last
	Writer     string `json:"writer"`
	Pair
}

// Guarantee implements Router.
func (s *Shared) Guarantee() Guarantee {
	return Guarantee{Kind: Gated, Settle: s.goodFor + lookMargin, Shards: true,
		Text: fmt.Sprintf("%s, for clients that read their route again once it is older than %v", gatedText, s.goodFor)}
}

// Create writes a first table. It refuses to replace one that is there; what
// is left of a Create that was cut short is removed.
func (s *Shared) Create(ctx context.Context, pairs map[farm.PairName]*Pair) error {
	return s.Restore(ctx, &Table{FormatVersion: FormatVersion, Pairs: pairs})
}

// Restore implements Maker.
func (s *Shared) Restore(ctx context.Context, t *Table) error {
	fail := func(err error) error { return &farm.Error{Op: "create routing", Subject: s.where, Err: err} }
	generation := t.Generation + 1
	if err := t.Check(); err != nil {
		return fail(err)
	}
	_, left, err := s.docs.Load(ctx)
	if err != nil {
		return err
	}
	if _, there := left[headName]; there {
		return fail(fs.ErrExist)
	}
	texts := map[string]string{}
	for name := range left {
		texts[name] = ""
	}
	for name, p := range t.Pairs {
		if texts[pairPrefix+string(name)], err = encode(pairDocument{Generation: generation, Pair: *p}); err != nil {
			return fail(err)
		}
	}
	// The head comes last: without it nobody takes the rest for a table.
	if err := s.putAll(ctx, texts, left); err != nil {
		return err
	}
	first, err := encode(head{FormatVersion: FormatVersion, Generation: generation, Written: time.Now().UTC(), Pairs: len(t.Pairs), Writer: rand.Text()})
	if err != nil {
		return fail(err)
	}
	return s.put(ctx, map[string]string{headName: first}, map[string]int64{headName: 0})
}

// putAll writes many texts a few at a time: etcd takes 128 in one transaction.
func (s *Shared) putAll(ctx context.Context, texts map[string]string, versions map[string]int64) error {
	some, had := map[string]string{}, map[string]int64{headName: 0}
	flush := func() error {
		err := s.put(ctx, some, had)
		some, had = map[string]string{}, map[string]int64{headName: 0}
		return err
	}
	for name, text := range texts {
		some[name], had[name] = text, versions[name]
		if len(some) == 50 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (s *Shared) put(ctx context.Context, texts map[string]string, versions map[string]int64) error {
	if len(texts) == 0 {
		return nil
	}
	swapped, err := s.docs.Swap(ctx, texts, versions)
	if err == nil && !swapped {
		err = &farm.Error{Op: "create routing", Subject: s.where, Err: errors.New("another program is writing there")}
	}
	return err
}

// Read implements Router.
func (s *Shared) Read(ctx context.Context) (*Table, error) {
	texts, _, err := s.docs.Load(ctx)
	if err != nil {
		return nil, err
	}
	h, err := s.head(texts)
	if err != nil {
		return nil, err
	}
	t := &Table{FormatVersion: h.FormatVersion, Generation: h.Generation, Written: h.Written, Pairs: map[farm.PairName]*Pair{}}
	for name := range texts {
		pair, ours := strings.CutPrefix(name, pairPrefix)
		if !ours {
			if name != headName {
				return nil, s.bad(name, errors.New("it does not belong here"))
			}
			continue
		}
		doc, err := s.pair(texts, h, farm.PairName(pair))
		if err != nil {
			return nil, err
		}
		t.Pairs[farm.PairName(pair)] = &doc.Pair
	}
	if len(t.Pairs) != h.Pairs {
		return nil, s.bad(headName, fmt.Errorf("it speaks of %d pairs, and %d are there", h.Pairs, len(t.Pairs)))
	}
	return t, nil
}

func (s *Shared) head(texts map[string]string) (head, error) {
	text, there := texts[headName]
	if !there {
		return head{}, &farm.Error{Op: "read routing", Subject: s.where, Err: fmt.Errorf("%w: %w: there is none", farm.ErrInput, ErrUnreadable),
			Hint: "stowage routing init writes a first one from farm.yaml"}
	}
	var h head
	if _, err := decode([]byte(text), &h); err != nil {
		return h, s.bad(headName, err)
	}
	if h.FormatVersion != FormatVersion {
		return h, s.bad(headName, fmt.Errorf("format_version is %d, this program reads %d", h.FormatVersion, FormatVersion))
	}
	if h.Generation < 1 || h.Generation == math.MaxInt64 {
		return h, s.bad(headName, fmt.Errorf("generation is %d", h.Generation))
	}
	return h, nil
}

func (s *Shared) pair(texts map[string]string, h head, name farm.PairName) (pairDocument, error) {
	var doc pairDocument
	key := pairPrefix + string(name)
	if _, err := decode([]byte(texts[key]), &doc); err != nil {
		return doc, s.bad(key, err)
	}
	if err := doc.check(); err != nil {
		return doc, s.bad(key, err)
	}
	if doc.Generation > h.Generation {
		return doc, s.bad(key, fmt.Errorf("it is of generation %d, and the head of %d", doc.Generation, h.Generation))
	}
	return doc, nil
}

func (s *Shared) bad(name string, err error) error {
	return &farm.Error{Op: "read routing", Subject: fmt.Sprintf("%s, %s", s.where, name), Err: fmt.Errorf("%w: %w: %w", farm.ErrInput, ErrUnreadable, err),
		Hint: "docs/reference/routing.md describes what is kept there; correct it by hand, nothing has been changed"}
}

// Change implements Router.
func (s *Shared) Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for try := 0; ; try++ {
		done, err := s.changeOnce(ctx, pair, edit)
		if done || err != nil {
			return err
		}
		// Somebody changed something between our look and our write.
		if err := pause(ctx, time.Duration(1+mrand.IntN(1+min(try, 10)))*time.Millisecond); err != nil {
			return &farm.Error{Op: "change routing", Subject: string(pair), Err: err}
		}
	}
}

func (s *Shared) changeOnce(ctx context.Context, pair farm.PairName, edit func(*Pair) error) (done bool, err error) {
	key := pairPrefix + string(pair)
	texts, versions, err := s.docs.Load(ctx, headName, key)
	if err != nil {
		return false, err
	}
	h, err := s.head(texts)
	if err != nil {
		return false, err
	}
	t := &Table{Pairs: map[farm.PairName]*Pair{}}
	if _, there := texts[key]; there {
		doc, err := s.pair(texts, h, pair)
		if err != nil {
			return false, err
		}
		t.Pairs[pair] = &doc.Pair
	}
	next, changed, err := edited(t, pair, edit, s.where)
	if err != nil || !changed {
		return !changed, err
	}
	w := write{pair: pair, head: h, versions: versions, mark: rand.Text()}
	h.Generation++
	h.Written, h.Writer = time.Now().UTC(), w.mark
	swap := map[string]string{}
	if swap[headName], err = encode(h); err != nil {
		return false, err
	}
	if swap[key], err = encode(pairDocument{Generation: h.Generation, Writer: w.mark, Pair: *next}); err != nil {
		return false, err
	}
	done, err = s.docs.Swap(ctx, swap, versions)
	if errors.Is(err, farm.ErrOutcomeUnknown) {
		return s.settle(ctx, w, err)
	}
	return done, err
}

func encode(v any) (string, error) {
	raw, err := json.Marshal(v)
	return string(raw), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
