package verify

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"stowage/placement/bound"
)

var (
	// ErrWrong: the certificate does not prove its bound.
	ErrWrong = errors.New("certificate is wrong")
	// ErrTooLarge: not verified, the proof takes too many steps. It may be right.
	ErrTooLarge = errors.New("not verified: too large")
)

// NoPacking is the bound of a certificate that proves that no packing exists.
const NoPacking = int64(math.MaxInt64)

// defaultSteps of the searches take some seconds.
const defaultSteps = 60_000_000

// Certificate proves the bound of c for problem p, and returns it: no packing
// of p has less of c.Objective. Errors wrap ErrWrong or ErrTooLarge.
func Certificate(p bound.Problem, c bound.Certificate) (int64, error) {
	return Within(p, c, defaultSteps)
}

// Within is Certificate with so many steps.
func Within(p bound.Problem, c bound.Certificate, steps int64) (int64, error) {
	j := &judge{p: p, steps: steps}
	if err := j.sane(); err != nil {
		return 0, err
	}
	return j.certificate(c)
}

// judge proves the claims about one problem.
type judge struct {
	p     bound.Problem
	dims  int
	total int64 // copies of all items
	steps int64 // left
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("verify certificate: %w: %s", ErrWrong, fmt.Sprintf(format, args...))
}

func tooLarge(what string) error {
	return fmt.Errorf("verify certificate: %w: %s", ErrTooLarge, what)
}

// sane refuses problems in which nothing can be proved: sums of room limit
// sums of needs only while no need is negative.
func (j *judge) sane() error {
	if len(j.p.Bins) == 0 {
		return wrong("the problem has no bins")
	}
	j.dims = len(j.p.Bins[0].Room)
	for t, b := range j.p.Bins {
		if len(b.Room) != j.dims || b.MaxItems < 0 || b.Available < 0 || b.Cost < 0 || b.Watts < 0 {
			return wrong("bin %d makes no sense", t)
		}
		for _, r := range b.Room {
			if r < 0 {
				return wrong("bin %d has negative room", t)
			}
		}
	}
	for i, it := range j.p.Items {
		if len(it.Needs) != j.dims || it.Count < 1 || it.PerBin < 0 || it.PerDomain < 0 || it.Count > math.MaxInt32 || it.PerDomain > math.MaxInt32 {
			return wrong("item %d makes no sense", i)
		}
		for _, w := range it.Needs {
			if w < 0 {
				return wrong("item %d has a negative need", i)
			}
		}
		if j.total += int64(it.Count); j.total < 0 || j.total > math.MaxInt64/4 {
			return wrong("too many items")
		}
	}
	for _, group := range j.p.Apart {
		for _, i := range group {
			if i < 0 || i >= len(j.p.Items) {
				return wrong("a group names item %d", i)
			}
		}
	}
	return nil
}

func (j *judge) certificate(c bound.Certificate) (int64, error) {
	if c.Objective != bound.Bins && c.Objective != bound.Cost && c.Objective != bound.Watts {
		return 0, wrong("unknown objective %q", c.Objective)
	}
	if c.Bound < 0 {
		return 0, wrong("a negative bound")
	}
	switch c.Kind {
	case "domains":
		return j.domains(c)
	case "crowded":
		return j.crowded(c)
	case "oversized":
		return j.oversized(c)
	default:
		return j.cuts(c)
	}
}

// cuts proves each cut, and that bins which satisfy all of them cost at least
// the bound.
func (j *judge) cuts(c bound.Certificate) (int64, error) {
	var covers []cover
	for n, cut := range c.Cuts {
		cv, err := j.cut(cut)
		if err != nil {
			return 0, fmt.Errorf("cut %d (%s): %w", n, cut.Kind, err)
		}
		covers = append(covers, cv)
	}
	m := mix{judge: j, covers: covers, infeasible: c.Infeasible}
	for _, b := range j.p.Bins {
		m.price = append(m.price, priceOf(b, c.Objective))
		m.avail = append(m.avail, big.NewInt(int64(b.Available)))
	}
	m.blend(c.Blend)
	if err := m.prove(c.Bound); err != nil {
		return 0, err
	}
	if c.Infeasible {
		return NoPacking, nil
	}
	return c.Bound, nil
}

func priceOf(b bound.Bin, o bound.Objective) *big.Int {
	switch o {
	case bound.Cost:
		return big.NewInt(b.Cost)
	case bound.Watts:
		return big.NewInt(b.Watts)
	default:
		return big.NewInt(1)
	}
}

// slots is how many items a bin of type t may hold.
func (j *judge) slots(t int) int64 {
	if n := int64(j.p.Bins[t].MaxItems); n > 0 && n < j.total {
		return n
	}
	return j.total
}

// atMost is how many copies of item i fit into a bin of type t.
func (j *judge) atMost(i, t int) int64 {
	it, b := j.p.Items[i], j.p.Bins[t]
	n := min(int64(it.Count), j.slots(t))
	if it.PerBin > 0 {
		n = min(n, int64(it.PerBin))
	}
	if it.PerDomain > 0 && b.Domain != "" {
		n = min(n, int64(it.PerDomain))
	}
	for _, group := range j.p.Apart {
		for _, g := range group {
			if g == i {
				n = min(n, 1)
			}
		}
	}
	for k, w := range it.Needs {
		if w > 0 {
			n = min(n, b.Room[k]/w)
		}
	}
	return n
}
