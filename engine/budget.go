package engine

// maxOvertaken is how often a waiting lane may see a later lane take one of its tokens. After that its free tokens are kept for it.
const maxOvertaken = 8

// budget decides which lane may start next. It is pure and deterministic.
//
// Of the lanes that wait, the first in order whose tokens are all free starts; it takes all of them at once, so lanes cannot
// deadlock. The first of those that have been overtaken too often has its free tokens reserved, so none starves behind small ones; one
// at a time, or lanes that wait for a busy host would keep most of the farm idle. What every lane holds is never reserved: it
// becomes free with every end, and the first that lacks nothing else is the one to get it.
type budget struct {
	free    map[string]int
	all     map[string]bool // tokens that every lane holds
	waiting []waiter
}

type waiter struct {
	lane      int
	holds     []string
	overtaken int
}

func newBudget(job Job) *budget {
	b := &budget{free: make(map[string]int, len(job.Budgets)), all: map[string]bool{}}
	for name, n := range job.Budgets {
		b.free[name] = n
	}
	holders := map[string]int{}
	for i, lane := range job.Lanes {
		b.waiting = append(b.waiting, waiter{lane: i, holds: lane.Holds})
		for _, token := range lane.Holds {
			holders[token]++
			b.all[token] = holders[token] == len(job.Lanes)
		}
	}
	return b
}

// next takes the tokens of the lane that may start now and returns its index; ok is false when none may.
func (b *budget) next() (lane int, ok bool) {
	var reserved map[string]int
	for i, w := range b.waiting {
		if b.fits(w, reserved) {
			b.take(i)
			return w.lane, true
		}
		if w.overtaken >= maxOvertaken && reserved == nil {
			reserved = map[string]int{}
			for _, token := range w.holds {
				if !b.all[token] {
					reserved[token]++
				}
			}
		}
	}
	return 0, false
}

func (b *budget) fits(w waiter, reserved map[string]int) bool {
	for _, token := range w.holds {
		if b.free[token]-reserved[token] < 1 {
			return false
		}
	}
	return true
}

func (b *budget) take(i int) {
	w := b.waiting[i]
	for _, token := range w.holds {
		b.free[token]--
	}
	for k := range b.waiting[:i] {
		if share(b.waiting[k].holds, w.holds) {
			b.waiting[k].overtaken++
		}
	}
	b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
}

// seize takes the tokens of a lane that has begun before, whether they are free or not.
func (b *budget) seize(lane int) {
	for i, w := range b.waiting {
		if w.lane != lane {
			continue
		}
		for _, token := range w.holds {
			b.free[token]--
		}
		b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
		return
	}
}

// release gives the tokens of an ended lane back.
func (b *budget) release(holds []string) {
	for _, token := range holds {
		b.free[token]++
	}
}

func share(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}
