package digest

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Blocks of time. A comparison resamples blocks, so every class keeps, per block, how many events there were, their total
// time and a histogram with 16 buckets per power of two (4.4 % wide; eight of the fine buckets each).
//
// A block is 2^level seconds long, aligned to the epoch, with one level for the whole digest: the smallest at which keeping
// blocks apart costs at most maxCells cells (class x block x bucket) more than one block for all time would. An event can
// add to that cost but never take away, so the level of a union is reached from any order of merging, and blocks merge
// exactly like everything else.
const (
	coarseBits = 3
	maxCells   = 1 << 19
	maxLevel   = 40
)

// cell is one bucket of one block of one class.
type cell struct {
	bucket int // fine bucket >> coarseBits
	n      uint64
}

// timeBlock is what one class did in one block of time.
type timeBlock struct {
	number int64  // unix seconds >> level
	sum    uint64 // nanoseconds; stops at the largest word
	cells  []cell // ascending by bucket
}

func (b *timeBlock) count() (n uint64) {
	for _, c := range b.cells {
		n += c.n
	}
	return n
}

// series is the blocks of one class: the one being filled as a dense window of counts, finished ones packed into bytes.
type series struct {
	number int64 // of the block being filled
	sum    uint64
	window *blockWindow // nil: there is one event in the block
	single int32        // its coarse bucket
	filled bool

	ordered bool   // packed numbers strictly ascend
	cells   int32  // cells in packed
	packed  []byte // timeBlocks, each number relative to the one before
	last    int64  // number of the last packed block
	lastAt  int    // where it begins
}

// blockWindow counts the events of a block by coarse bucket.
type blockWindow struct {
	lowest int // coarse bucket of counts[0]
	counts []uint32
	n      int // events in it
	before int // events in the block before
}

// fewInBlock is how many events in two blocks together are too few to keep a window for the next: of 100,000 classes,
// most are seen now and then.
const fewInBlock = 8

// add counts one event. It reports how many packed cells that added, which is 0 unless a block was finished.
func (s *series) add(number int64, bucket int, ns uint64) (packed int) {
	if number != s.number || !s.filled {
		packed = s.flush()
		s.number, s.filled = number, true
		if s.window == nil {
			s.sum, s.single = ns, int32(bucket>>coarseBits)
			return packed
		}
	}
	s.sum = addSaturated(s.sum, ns)
	w := s.window
	if w == nil {
		w = &blockWindow{lowest: int(s.single), counts: []uint32{1}, n: 1}
		s.window = w
	}
	w.n++
	i := bucket>>coarseBits - w.lowest
	if uint(i) < uint(len(w.counts)) && w.counts[i] != 1<<32-1 {
		w.counts[i]++
		return packed
	}
	return packed + s.widen(bucket>>coarseBits)
}

// widen makes room in the window for a bucket and counts one event in it.
func (s *series) widen(coarse int) (packed int) {
	w := s.window
	switch i := coarse - w.lowest; {
	case i < 0:
		w.counts = slices.Insert(w.counts, 0, make([]uint32, -i)...)
		w.lowest = coarse
	case i >= len(w.counts):
		w.counts = append(w.counts, make([]uint32, i-len(w.counts)+1)...)
	default: // the counter is full: put the block away and begin it again
		packed = s.flush()
		s.filled, s.window = true, w
	}
	w.counts[coarse-w.lowest]++
	return packed
}

// flush packs the block being filled.
func (s *series) flush() int {
	if !s.filled {
		return 0
	}
	b := timeBlock{number: s.number, sum: s.sum}
	if w := s.window; w == nil {
		var room [1]cell
		room[0] = cell{int(s.single), 1}
		b.cells = room[:]
	} else {
		var room [128]cell // as many as a block of a busy class has; not on the heap
		b.cells = room[:0]
		for i, n := range w.counts {
			if n != 0 {
				b.cells = append(b.cells, cell{w.lowest + i, uint64(n)})
				w.counts[i] = 0
			}
		}
		if w.n+w.before < fewInBlock {
			s.window = nil
		}
		w.n, w.before = 0, w.n
	}
	s.sum, s.filled = 0, false
	s.pack(&b)
	return len(b.cells)
}

func (s *series) pack(b *timeBlock) {
	if len(s.packed) == 0 {
		s.ordered = true
	} else if b.number <= s.last {
		s.ordered = false
	}
	if len(b.cells) <= 12 {
		var room [64]byte
		s.put(b, room[:0])
	} else {
		var room [1 << 10]byte
		s.put(b, room[:0])
	}
}

// put is the end of pack; p is room for it.
func (s *series) put(b *timeBlock, p []byte) {
	p = binary.AppendVarint(p, b.number-s.last)
	p = binary.AppendUvarint(p, b.sum)
	p = binary.AppendUvarint(p, uint64(len(b.cells)))
	at := 0
	for _, c := range b.cells {
		p = binary.AppendUvarint(p, uint64(c.bucket-at))
		p = binary.AppendUvarint(p, c.n)
		at = c.bucket
	}
	s.lastAt = len(s.packed)
	s.packed = appendTight(s.packed, p)
	s.last = b.number
	s.cells += int32(len(b.cells))
}

// blocks unpacks everything, ascending by block, one entry per block.
func (s *series) blocks() []timeBlock {
	s.flush()
	blocks, err := unpackBlocks(s.packed)
	if err != nil {
		return nil // packed by us: cannot happen; stored digests are checked when decoded
	}
	return tidy(blocks, 0)
}

func unpackBlocks(p []byte) ([]timeBlock, error) {
	var out []timeBlock
	var number int64
	for len(p) > 0 {
		b, rest, err := unpackBlock(p)
		if err != nil {
			return nil, err
		}
		number += b.number
		b.number = number
		out, p = append(out, b), rest
	}
	return out, nil
}

// unpackBlock unpacks the first block of p. Its number is relative to the one in front of it.
func unpackBlock(p []byte) (b timeBlock, rest []byte, err error) {
	delta, k := binary.Varint(p)
	if k <= 0 {
		return b, nil, fmt.Errorf("read block number: %w", errShort)
	}
	b.number, p = delta, p[k:]
	if b.sum, p, err = uvarint(p); err != nil {
		return b, nil, fmt.Errorf("read block sum: %w", err)
	}
	var cells uint64
	if cells, p, err = uvarint(p); err != nil || cells > uint64(len(p)) {
		return b, nil, fmt.Errorf("read block size: %w", errShort)
	}
	b.cells = make([]cell, cells)
	var at uint64
	for i := range b.cells {
		var step, n uint64
		if step, p, err = uvarint(p); err != nil {
			return b, nil, fmt.Errorf("read block bucket: %w", err)
		}
		if n, p, err = uvarint(p); err != nil {
			return b, nil, fmt.Errorf("read block count: %w", err)
		}
		at += step
		if at > summedCell || step >= bucketCount || i > 0 && step == 0 {
			return b, nil, fmt.Errorf("read block bucket: %d is out of order or range", at)
		}
		b.cells[i] = cell{int(at), n}
	}
	return b, p, nil
}

// tidy makes blocks 2^up times as long and leaves one entry per block, in ascending order.
func tidy(blocks []timeBlock, up uint) []timeBlock {
	for i := range blocks {
		blocks[i].number >>= up
	}
	slices.SortFunc(blocks, func(a, b timeBlock) int { // blocks of one number are added up, in any order
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	})
	out := blocks[:0]
	for _, b := range blocks {
		if n := len(out); n > 0 && out[n-1].number == b.number {
			out[n-1].sum = addSaturated(out[n-1].sum, b.sum)
			out[n-1].cells = addCells(out[n-1].cells, b.cells)
			continue
		}
		out = append(out, b)
	}
	return out
}

func addCells(a, b []cell) []cell {
	out := make([]cell, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].bucket < b[0].bucket:
			out, a = append(out, a[0]), a[1:]
		case a[0].bucket > b[0].bucket:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, cell{a[0].bucket, a[0].n + b[0].n})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// rewrite puts the packed blocks into their one canonical form, 2^up times as long as before.
func (s *series) rewrite(up uint) {
	s.flush()
	if up == 0 && s.ordered || len(s.packed) == 0 {
		return
	}
	blocks, err := unpackBlocks(s.packed)
	if err != nil {
		return // see blocks
	}
	s.packed, s.last, s.cells = s.packed[:0], 0, 0
	for _, b := range tidy(blocks, up) {
		s.pack(&b)
	}
}

// extra is how many cells the blocks cost more than one block for all time would.
func (s *series) extra() int {
	var seen [summedCell/64 + 1]uint64
	cells, buckets, blocks := 0, 0, 0
	for p := s.packed; len(p) > 0; blocks++ {
		_, k := binary.Varint(p)
		p = p[k:]
		_, k = binary.Uvarint(p)
		p = p[k:]
		n, k := binary.Uvarint(p)
		p = p[k:]
		if blocks == 0 && s.cells == int32(n) {
			return 0 // a single block
		}
		bucket := uint64(0)
		for range n {
			step, k := binary.Uvarint(p)
			p = p[k:]
			_, k = binary.Uvarint(p)
			p = p[k:]
			bucket += step
			if bit := uint64(1) << (bucket & 63); seen[bucket>>6]&bit == 0 {
				seen[bucket>>6] |= bit
				buckets++
			}
			cells++
		}
	}
	return cells - buckets
}

// join appends the blocks of another series of the same level. All but the first of them stay the bytes they are. Where two
// parts of a log meet, that first one is mostly the last of this series: the two become one.
func (s *series) join(from *series) {
	from.flush()
	if len(from.packed) == 0 {
		return
	}
	first, rest, err := unpackBlock(from.packed)
	if err != nil {
		return // packed by us: cannot happen
	}
	cells := int32(len(first.cells))
	if len(s.packed) > 0 && first.number == s.last {
		if last, _, err := unpackBlock(s.packed[s.lastAt:]); err == nil {
			s.packed, s.cells = s.packed[:s.lastAt], s.cells-int32(len(last.cells))
			s.last -= last.number
			first.sum, first.cells = addSaturated(last.sum, first.sum), addCells(last.cells, first.cells)
		}
	}
	s.pack(&first)
	if len(rest) == 0 {
		return
	}
	s.ordered = s.ordered && from.ordered
	s.lastAt = len(s.packed) + from.lastAt - (len(from.packed) - len(rest))
	s.packed = appendTight(s.packed, rest)
	s.cells += from.cells - cells
	s.last = from.last
}
