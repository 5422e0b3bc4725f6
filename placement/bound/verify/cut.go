package verify

import (
	"math/big"

	"stowage/placement/bound"
)

// cover is a proved cut: bins of type t cover most[t] each, and need must be
// covered.
type cover struct {
	need *big.Int
	most []*big.Int
}

// cut proves the claim of one cut.
func (j *judge) cut(c bound.Cut) (cover, error) {
	if len(c.Most) != len(j.p.Bins) {
		return cover{}, wrong("it has limits for %d of %d types of bin", len(c.Most), len(j.p.Bins))
	}
	cv := cover{need: new(big.Int)}
	for _, w := range c.Most {
		if w < 0 {
			return cover{}, wrong("a negative limit")
		}
		cv.most = append(cv.most, big.NewInt(w))
	}
	var err error
	switch c.Kind {
	case bound.Sum:
		err = j.sum(c, &cv)
	case bound.Shape:
		err = j.shape(c, &cv)
	case bound.Clique:
		err = j.clique(c, &cv)
	case bound.Copies:
		err = j.copies(c, &cv)
	case bound.Content:
		err = j.content(c, &cv)
	default:
		err = wrong("unknown kind %q", c.Kind)
	}
	return cv, err
}

// weigh adds weight w of item i to what must be covered.
func (j *judge) weigh(cv *cover, i int, w *big.Int) {
	cv.need.Add(cv.need, new(big.Int).Mul(w, big.NewInt(int64(j.p.Items[i].Count))))
}

// size is the sum of all needs times factors; the last factor counts the item.
func (j *judge) size(factors, needs []int64, self int64) *big.Int {
	sum := new(big.Int).Mul(big.NewInt(factors[j.dims]), big.NewInt(self))
	for k, w := range needs {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(factors[k]), big.NewInt(w)))
	}
	return sum
}

func (j *judge) factors(c bound.Cut) error {
	if len(c.Factors) != j.dims+1 {
		return wrong("it has %d factors and needs %d", len(c.Factors), j.dims+1)
	}
	for _, f := range c.Factors {
		if f < 0 {
			return wrong("a negative factor")
		}
	}
	return nil
}

// sum: what holds in each dimension holds in a sum of them.
func (j *judge) sum(c bound.Cut, cv *cover) error {
	if err := j.factors(c); err != nil {
		return err
	}
	for t, b := range j.p.Bins {
		if room := j.size(c.Factors, b.Room, j.slots(t)); cv.most[t].Cmp(room) < 0 {
			return wrong("bin %d holds %v and it says %v", t, room, cv.most[t])
		}
	}
	for i, it := range j.p.Items {
		j.weigh(cv, i, j.size(c.Factors, it.Needs, 1))
	}
	return nil
}

// shape: a dual feasible function, whose parameter must be in its range.
func (j *judge) shape(c bound.Cut, cv *cover) error {
	if err := j.factors(c); err != nil {
		return err
	}
	room := new(big.Int)
	for t, b := range j.p.Bins {
		if r := j.size(c.Factors, b.Room, j.slots(t)); r.Cmp(room) > 0 {
			room = r
		}
	}
	if c.Parameter < 1 || room.Sign() == 0 {
		return wrong("parameter %d for room %v", c.Parameter, room)
	}
	p := big.NewInt(c.Parameter)
	if twice := new(big.Int).Lsh(p, 1); c.Function != bound.Stairs && twice.Cmp(room) > 0 {
		return wrong("parameter %d is more than half of %v", c.Parameter, room)
	}
	var image func(x, c, p *big.Int) *big.Int
	switch c.Function {
	case bound.Threshold:
		image = threshold
	case bound.Stairs:
		image = stairs
	case bound.Halves:
		image = halves
	default:
		return wrong("unknown function %q", c.Function)
	}
	full := image(room, room, p)
	for t := range j.p.Bins {
		if cv.most[t].Cmp(full) < 0 {
			return wrong("bin %d may weigh %v and it says %v", t, full, cv.most[t])
		}
	}
	for i, it := range j.p.Items {
		x := j.size(c.Factors, it.Needs, 1)
		if x.Cmp(room) > 0 {
			return wrong("item %d is larger than every bin", i)
		}
		j.weigh(cv, i, image(x, room, p))
	}
	return nil
}

func threshold(x, c, p *big.Int) *big.Int {
	if x.Cmp(p) < 0 {
		return new(big.Int)
	}
	if new(big.Int).Add(x, p).Cmp(c) > 0 {
		return new(big.Int).Set(c)
	}
	return new(big.Int).Set(x)
}

func stairs(x, c, k *big.Int) *big.Int {
	more := new(big.Int).Add(k, big.NewInt(1))
	more.Mul(more, x)
	steps, rest := new(big.Int).QuoRem(more, c, new(big.Int))
	if rest.Sign() == 0 {
		return new(big.Int).Mul(k, x)
	}
	return steps.Mul(steps, c)
}

func halves(x, c, p *big.Int) *big.Int {
	whole := new(big.Int).Quo(c, p)
	switch new(big.Int).Lsh(x, 1).Cmp(c) {
	case -1:
		q := new(big.Int).Quo(x, p)
		return q.Lsh(q, 1)
	case 0:
		return whole
	default:
		rest := new(big.Int).Sub(c, x)
		whole.Sub(whole, rest.Quo(rest, p))
		return whole.Lsh(whole, 1)
	}
}

// copies: so many copies of one item fit.
func (j *judge) copies(c bound.Cut, cv *cover) error {
	if len(c.Items) != 1 || c.Items[0] < 0 || c.Items[0] >= len(j.p.Items) {
		return wrong("it names items %v", c.Items)
	}
	i := c.Items[0]
	for t := range j.p.Bins {
		if n := j.atMost(i, t); c.Most[t] < n {
			return wrong("bin %d holds %d of item %d and it says %d", t, n, i, c.Most[t])
		}
	}
	j.weigh(cv, i, big.NewInt(1))
	return nil
}

// clique: of these items no two go together.
func (j *judge) clique(c bound.Cut, cv *cover) error {
	seen := map[int]bool{}
	for _, i := range c.Items {
		if i < 0 || i >= len(j.p.Items) || seen[i] {
			return wrong("it names items %v", i)
		}
		seen[i] = true
		j.weigh(cv, i, big.NewInt(1))
	}
	for t := range j.p.Bins {
		if c.Most[t] < 1 {
			return wrong("a bin holds at least one item")
		}
		if err := j.strangers(c.Items, t); err != nil {
			return err
		}
	}
	return nil
}

// strangers proves that no two copies of the items go into one bin of type t.
func (j *judge) strangers(items []int, t int) error {
	for _, i := range items {
		if j.p.Items[i].Count > 1 && j.atMost(i, t) > 1 {
			return wrong("two copies of item %d go into bin %d", i, t)
		}
	}
	room := j.p.Bins[t].Room
	if j.slots(t) == 1 {
		return nil
	}
	for k, r := range room {
		all := true
		for _, i := range items {
			all = all && j.p.Items[i].Needs[k] > r-j.p.Items[i].Needs[k]
		}
		if all {
			return nil
		}
	}
	group := map[[2]int]bool{}
	for _, g := range j.p.Apart {
		if len(g) > 3000 {
			return tooLarge("a group of items that must be apart")
		}
		for _, a := range g {
			for _, b := range g {
				group[[2]int{a, b}] = true
			}
		}
	}
	for n, a := range items {
		if j.steps -= int64(n) * 2; j.steps < 0 {
			return tooLarge("pairs of a clique")
		}
		for _, b := range items[:n] {
			if !group[[2]int{a, b}] && j.together(a, b, room) {
				return wrong("items %d and %d go together into bin %d", a, b, t)
			}
		}
	}
	return nil
}

func (j *judge) together(a, b int, room []int64) bool {
	for k, r := range room {
		if j.p.Items[a].Needs[k] > r-j.p.Items[b].Needs[k] {
			return false
		}
	}
	return true
}
