package copier

import (
	"maps"
	"sync"

	"stowage/mysql"
)

// hold keeps changes back that are younger than the reading of a chunk which
// is still on its way: a row that is read, then deleted, and then written would
// be a phantom. Older ones go on, so the feed is never further behind than the
// oldest chunk under way is old (a low watermark, as in the copiers that came
// before; but nothing is dropped).
type hold struct {
	mu     sync.Mutex
	limits map[int]mysql.Position
	next   int
	begun  mysql.Position // what was let through
	moved  chan struct{}  // closed when a limit goes
}

func newHold() *hold {
	return &hold{limits: map[int]mysql.Position{}, begun: mysql.Position{}, moved: make(chan struct{})}
}

// place lets nothing through that is not in limit, until lift. It returns what
// had been let through by then.
func (h *hold) place(limit mysql.Position) (id int, begun mysql.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	h.limits[h.next] = maps.Clone(limit)
	return h.next, maps.Clone(h.begun)
}

// change gives a hold another limit.
func (h *hold) change(id int, limit mysql.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits[id] = maps.Clone(limit)
	h.wake()
}

// lift takes a hold away; more than once does no harm.
func (h *hold) lift(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.limits[id]; ok {
		delete(h.limits, id)
		h.wake()
	}
}

func (h *hold) wake() {
	close(h.moved)
	h.moved = make(chan struct{})
}

// admit asks whether a transaction may be applied now; if not, it can be asked
// again when the channel closes.
func (h *hold) admit(x mysql.Trx) (ok bool, moved <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, limit := range h.limits {
		if !limit.Holds(x) {
			return false, h.moved
		}
	}
	h.begun = h.begun.With(x)
	return true, nil
}
