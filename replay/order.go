package replay

import (
	"container/heap"
	"time"
)

// window puts statements, which come in about the order of their ends, into
// that of their beginnings. It waits for statements that took up to readAhead;
// one that took longer comes out late, as if it had begun then.
type window struct {
	out   func(*Statement)
	limit int // bytes

	heap    byStart
	bytes   int
	seq     uint64
	latest  time.Time // end
	passed  time.Time // beginning of the last that came out
	Moved   uint64    // came out late
	Cramped uint64    // came out early for want of memory
}

// readAhead is how much of a recording is held to bring it into order.
const readAhead = 30 * time.Second

func (w *window) add(s *Statement) {
	w.seq++
	s.seq = w.seq
	if end := s.end(); end.After(w.latest) {
		w.latest = end
	}
	heap.Push(&w.heap, s)
	w.bytes += s.size()
	for len(w.heap) > 0 {
		isDue := w.heap[0].Start.Before(w.latest.Add(-readAhead))
		if !isDue && w.bytes <= w.limit {
			return
		}
		if !isDue {
			w.Cramped++
		}
		w.pop()
	}
}

func (w *window) flush() {
	for len(w.heap) > 0 {
		w.pop()
	}
}

func (w *window) pop() {
	s := heap.Pop(&w.heap).(*Statement)
	w.bytes -= s.size()
	if s.Start.Before(w.passed) {
		s.Start = w.passed
		w.Moved++
	}
	w.passed = s.Start
	w.out(s)
}

// byStart is a heap.
type byStart []*Statement

func (h byStart) Len() int { return len(h) }

func (h byStart) Less(i, j int) bool {
	if !h[i].Start.Equal(h[j].Start) {
		return h[i].Start.Before(h[j].Start)
	}
	return h[i].seq < h[j].seq
}

func (h byStart) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *byStart) Push(x any) { *h = append(*h, x.(*Statement)) }

func (h *byStart) Pop() any {
	old := *h
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return s
}
