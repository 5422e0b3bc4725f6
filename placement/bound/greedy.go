package bound

import (
	"math"
	"slices"
)

// filler fills one bin greedily around a first item: quick contents for the
// master LP, found without a proof that none is better.
type filler struct {
	m      *model
	bin    int
	size   []float64 // as in pricer
	rnd    random
	room   []int64
	score  []float64
	order  []int32
	placed []int32 // copies in the bin at hand
}

func newFiller(p *pricer, seed uint64) *filler {
	return &filler{m: p.m, bin: p.bin, size: p.size, rnd: random(seed), room: make([]int64, p.m.dims), score: make([]float64, p.m.n), placed: make([]int32, p.m.n)}
}

// weigh orders the items by value per weighted size, with weights near lambda.
func (f *filler) weigh(values []float64, lambda []float64, noise float64) {
	d := f.m.dims
	weights := make([]float64, d)
	span := 0.0
	for _, l := range lambda {
		span += l
	}
	for k := range d {
		weights[k] = lambda[k] / math.Max(span, 1e-300) * math.Exp(noise*(f.rnd.float()*2-1))
		if noise > 0 && f.rnd.below(4) == 0 {
			weights[k] += 0.3 * f.rnd.float()
		}
	}
	f.order = f.order[:0]
	for i, v := range values {
		if v <= 0 || f.m.limit[f.bin][i] == 0 {
			continue
		}
		w := 1e-9
		for k, l := range weights {
			w += l * f.size[i*d+k]
		}
		f.score[i] = float64(v) / w
		f.order = append(f.order, int32(i))
	}
	slices.SortStableFunc(f.order, func(a, b int32) int {
		switch {
		case f.score[a] > f.score[b]:
			return -1
		case f.score[a] < f.score[b]:
			return 1
		default:
			return 0
		}
	})
}

// fill packs first and then what fits, best score first.
func (f *filler) fill(first int32, skip func(i int32) bool) pattern {
	copy(f.room, f.m.room[f.bin])
	p := pattern{bin: f.bin}
	if first >= 0 {
		f.put(&p, first, 1)
	}
	for _, i := range f.order {
		if i == first && f.placed[i] >= f.m.limit[f.bin][i] || skip != nil && skip(i) {
			continue
		}
		times := int64(f.m.limit[f.bin][i] - f.placed[i])
		for k, w := range f.m.need[i] {
			if w > f.room[k] {
				times = 0
				break
			} else if w > 0 {
				times = min(times, f.room[k]/w)
			}
		}
		if times > 0 {
			f.put(&p, i, int32(times))
			if f.room[f.m.dims-1] == 0 {
				break
			}
		}
	}
	for _, i := range p.items {
		f.placed[i] = 0
	}
	return p
}

func (f *filler) put(p *pattern, i, times int32) {
	for k, w := range f.m.need[i] {
		f.room[k] -= w * int64(times)
	}
	f.placed[i] += times
	for k, have := range p.items {
		if have == i {
			p.times[k] += times
			return
		}
	}
	p.items = append(p.items, i)
	p.times = append(p.times, times)
}
