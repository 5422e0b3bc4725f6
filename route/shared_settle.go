package route

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"stowage/farm"
)

// write is a change whose answer was lost.
type write struct {
	pair     farm.PairName
	head     head             // as it was before
	versions map[string]int64 // that it wanted to replace
	mark     string           // by which it would be known
}

// settleBudget is how long the store may stay away before nobody knows.
const settleBudget = 10 * time.Second

// settle finds out whether a write whose answer was lost has happened. It is
// not enough to look: the request may still be on its way. So when nothing is
// there, the head is replaced by itself with a new mark; after that the lost
// request, which names the version it wanted to replace, can never succeed.
func (s *Shared) settle(ctx context.Context, w write, lost error) (done bool, err error) {
	// A caller who has given up needs to know all the more what has happened.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleBudget)
	defer cancel()
	for {
		known, done, err := s.settleOnce(ctx, w)
		switch {
		case done:
			return true, nil
		case known:
			return false, &farm.Error{Op: "change routing", Subject: string(w.pair), Err: notWritten{lost}}
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return false, &farm.Error{Op: "change routing", Subject: string(w.pair), Err: errors.Join(lost, err),
				Hint: "the store does not say whether the change was made; when it answers again: stowage routing show, then stowage resume"}
		}
	}
}

// notWritten is an error whose outcome was unknown and has become known. It
// hides that it once was.
type notWritten struct{ lost error }

func (e notWritten) Error() string { return "nothing was written: " + e.lost.Error() }

func (s *Shared) settleOnce(ctx context.Context, w write) (known, done bool, err error) {
	key := pairPrefix + string(w.pair)
	texts, versions, err := s.docs.Load(ctx, headName, key)
	if err != nil {
		return false, false, err
	}
	h, err := s.head(texts)
	if err != nil {
		return false, false, err
	}
	doc, err := s.pair(texts, h, w.pair)
	if err != nil {
		return false, false, err
	}
	switch {
	case h.Writer == w.mark || doc.Writer == w.mark:
		return true, true, nil
	case versions[headName] != w.versions[headName]:
		// Others have written since. Ours can never succeed any more; it has
		// not before if the pair is as it was.
		return versions[key] == w.versions[key], false, errors.New("another program changed the pair in between")
	}
	again := w.head
	again.Writer = rand.Text()
	text, err := encode(again)
	if err != nil {
		return false, false, err
	}
	fenced, err := s.docs.Swap(ctx, map[string]string{headName: text}, map[string]int64{headName: versions[headName]})
	return fenced, false, err
}
