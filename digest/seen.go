package digest

import (
	"cmp"
	"slices"
)

// saw notes that the input tells about a moment: the time from its first to its last was looked at, whether
// anything happened in it or not. A log of slow statements is silent for most of it.
func (in *input) saw(at int64) {
	if at <= 0 {
		return
	}
	if in.from == 0 || at < in.from {
		in.from = at
	}
	in.to = max(in.to, at)
}

// stretch is blocks of time in a row, by their numbers, both included.
type stretch struct{ first, last int64 }

// seenTime is the time that a digest tells about, ascending: of each input from its first event to its last, so that windows with
// time between them count as what they are. Digests that were stored before inputs knew that have the blocks in which anything
// happened.
func (d *Digest) seenTime() []stretch {
	var all []stretch
	for i := range d.inputs {
		if in := &d.inputs[i]; in.to > 0 {
			all = append(all, stretch{floorSeconds(in.from) >> d.level, floorSeconds(in.to) >> d.level})
		}
	}
	all = united(all)
	outside := map[int64]struct{}{}
	for _, c := range d.byHash {
		at := 0
		for _, b := range c.times.blocks() {
			for at < len(all) && all[at].last < b.number {
				at++
			}
			if at == len(all) || b.number < all[at].first {
				outside[b.number] = struct{}{}
			}
		}
	}
	for number := range outside {
		all = append(all, stretch{number, number})
	}
	return united(all)
}

// united sorts stretches and puts together those that touch.
func united(all []stretch) []stretch {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.first, b.first) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, s.last)
			continue
		}
		out = append(out, s)
	}
	return out
}

// blocksIn is how many blocks of these stretches have a number from one to before another.
func blocksIn(all []stretch, from, before int64) (n int64) {
	for _, s := range all {
		n += max(0, min(s.last+1, before)-max(s.first, from))
	}
	return n
}
