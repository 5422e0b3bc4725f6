package digest

import (
	"math"
	"sync"

	"stowage/internal/student"
)

// How far is the mean of a window off, when what happens in one second lasts into the next? That is asked of the spectrum:
// the power that a series has at period after period, from twice the window downward. Noise that lasts for tau seconds has
// the spectrum of a first-order autoregression, which is flat above periods of some 6 tau and falls below; on top of it lies
// white noise. The power at period infinity, which is what the mean suffers from, is extrapolated along these shapes (in the
// manner of Whittle 1953). No window tells tau well, so every tau and every share of white noise is kept, weighted by how
// well it fits, and the answer is the mixture. Where tau comes near to the window, the mixture is wide: nothing is claimed.

const (
	mostWaves  = 96   // periods that are looked at
	mostBlocks = 1024 // of a side; more are put together
	poolWeight = 4    // how many classes' word on tau the word of all classes counts for: they share their host
)

// whiteShares are tried as the power of white noise, against the power at period infinity of what lasts.
var whiteShares = [...]float64{0, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 4}

// waves looks for periods in series of one length.
type waves struct {
	n       int
	seconds float64
	cosines [][]float64 // by period, then by block
}

func newWaves(n int, seconds int64) *waves {
	w := &waves{n: n, seconds: float64(seconds), cosines: make([][]float64, min(n-1, mostWaves))}
	for j := range w.cosines {
		w.cosines[j] = make([]float64, n)
		for t := range n {
			w.cosines[j][t] = math.Sqrt(2/float64(n)) * math.Cos(math.Pi*float64(j+1)*(float64(t)+0.5)/float64(n))
		}
	}
	return w
}

func (w *waves) power(moves []float64) []float64 {
	out := make([]float64, len(w.cosines))
	for j, c := range w.cosines {
		sum := 0.0
		for t, m := range moves {
			sum += m * c[t]
		}
		out[j] = sum * sum
	}
	return out
}

// outline is a spectrum relative to that of what lasts at period infinity, and the variance that a mean has by it.
type outline struct {
	power    []float64
	logs     float64 // sum of their logarithms
	variance float64
}

func (w *waves) outline(tau, white float64) outline {
	phi := math.Exp(-w.seconds / tau)
	n := float64(w.n)
	s := outline{power: make([]float64, len(w.cosines))}
	for j := range s.power {
		s.power[j] = (1-phi)*(1-phi)/(1+phi*phi-2*phi*math.Cos(math.Pi*float64(j+1)/n)) + white
		s.logs += math.Log(s.power[j])
	}
	lasting := (1 - 2*phi*(1-math.Pow(phi, n))/(n*(1-phi)*(1+phi))) / n
	s.variance = max(lasting, 0) + white/n
	return s
}

// outlines are all that are tried, for windows as long as those of both sides.
type outlines struct {
	taus          []float64
	lasts         [][len(whiteShares)]float64 // see belief
	before, after [][]outline                 // by tau, then by share of white noise
	tails         [][len(whiteShares)]*tail
	b, a          *waves
}

func newOutlines(before, after *evidence) *outlines {
	s := &outlines{b: newWaves(len(before.numbers), before.seconds), a: newWaves(len(after.numbers), after.seconds)}
	longest := float64(max(len(before.numbers), len(after.numbers))) * float64(before.seconds)
	for tau := 0.5 * float64(before.seconds); tau <= longest; tau *= 1.6 {
		s.taus = append(s.taus, tau)
		var b, a []outline
		var tails [len(whiteShares)]*tail
		var lasts [len(whiteShares)]float64
		phi := math.Exp(-float64(before.seconds) / tau)
		for k, white := range whiteShares {
			lasts[k] = (1 + white) / ((1-phi)/(1+phi) + white) // power at period infinity, by that of all periods
			tails[k] = s.tail(tau, white)
			b, a = append(b, s.b.outline(tau, white)), append(a, s.a.outline(tau, white))
		}
		s.before, s.after, s.tails, s.lasts = append(s.before, b), append(s.after, a), append(s.tails, tails), append(s.lasts, lasts)
	}
	return s
}

// tail is that of a t distribution with as many degrees of freedom as the windows hold stretches that do not depend on each
// other. Bursts are not normal: of few of them, none may be in one window and several in the other.
func (s *outlines) tail(tau, white float64) *tail {
	stretches := float64(s.b.n+s.a.n) * s.b.seconds / (2 * tau)
	lasting := 1 / (1 + white)
	df := 1 / (lasting*lasting/max(stretches, 1) + (1-lasting)*(1-lasting)/float64(s.b.n+s.a.n))
	return tailOf(df)
}

// tail is the probability of a t variable being farther from zero than some multiple of tailStep, as a logarithm.
type tail struct {
	df   float64
	once sync.Once
	logs [512]float64
}

const tailStep = 0.1

var tails = sync.OnceValue(func() (out []*tail) {
	for _, df := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100, 200, 400, 1000} {
		out = append(out, &tail{df: df})
	}
	return out
})

// tailOf is the tail with so many degrees of freedom, or with a few less.
func tailOf(df float64) *tail {
	list := tails()
	best := list[0]
	for _, t := range list {
		if t.df <= df {
			best = t
		}
	}
	best.once.Do(best.fill)
	return best
}

func (t *tail) fill() {
	for i := range t.logs {
		t.logs[i] = math.Log(max(student.TwoSided(tailStep*float64(i), t.df), 1e-300))
	}
}

func (t *tail) at(x float64) float64 {
	at := x / tailStep
	i := int(min(at, float64(len(t.logs)-2)))
	return math.Exp(t.logs[i] + min(at-float64(i), 1)*(t.logs[i+1]-t.logs[i]))
}

// scale is how strong a spectrum is, given its shape, and how likely the power is by it.
func (s *outline) scale(power []float64) (scale, likely float64) {
	for j, p := range power {
		scale += p / s.power[j]
	}
	n := float64(len(power))
	scale = max(scale/n, 1e-12)
	return scale, -(s.logs + n*math.Log(scale)) / 2
}

// fit is what was found for every shape: the variance of the difference of two means, and how likely the shape is.
type fit struct {
	variance, likely [][len(whiteShares)]float64
	tails            [][len(whiteShares)]*tail
}

func (s *outlines) fit(before, after []float64) *fit {
	if before == nil || after == nil {
		return nil
	}
	b, a := s.b.power(before), s.a.power(after)
	f := &fit{tails: s.tails, variance: make([][len(whiteShares)]float64, len(s.taus)), likely: make([][len(whiteShares)]float64, len(s.taus))}
	for i := range s.taus {
		for k := range whiteShares {
			sb, lb := s.before[i][k].scale(b)
			sa, la := s.after[i][k].scale(a)
			f.variance[i][k] = sb*s.before[i][k].variance + sa*s.after[i][k].variance
			f.likely[i][k] = lb + la
		}
	}
	return f
}

// byTau is how likely each tau is, whatever the share of white noise.
func (f *fit) byTau() []float64 {
	out := make([]float64, len(f.likely))
	for i, row := range f.likely {
		out[i] = logSum(row[:])
	}
	return out
}

// hearAll makes one word of the words of all classes on tau.
func hearAll(fits []*fit) (all []float64) {
	n := 0.0
	for _, f := range fits {
		if f == nil {
			continue
		}
		n++
		for i, l := range f.byTau() {
			if all == nil {
				all = make([]float64, len(f.likely))
			}
			all[i] += l
		}
	}
	for i := range all {
		all[i] *= min(1, poolWeight/n)
	}
	return all
}

// belief is how far a figure may be off: a mixture of t distributions.
type belief struct {
	parts []beliefPart
	tau   float64 // of what lasts, in seconds, weighted by its part in the variance
	lasts float64 // by how much what lasts makes a mean less certain than events that come by themselves: times the variance
}

// leastLasting is from which belief.lasts on load is said to stay up or down: below, a tau is that of next to nothing. Measured on
// windows of 160 s, the class in the middle: 1.3 to 2.7 where nothing lasts, 3.8 and more from 3 s on.
const leastLasting = 3

type beliefPart struct {
	weight, se float64
	tail       *tail
}

// believe weighs the shapes by a class's own word and that of all.
func (f *fit) believe(all []float64, s *outlines) *belief {
	if f == nil {
		return nil
	}
	most := math.Inf(-1)
	at := func(i, k int) float64 {
		l := f.likely[i][k]
		if all != nil {
			l += all[i]
		}
		return l
	}
	for i := range s.taus {
		for k := range whiteShares {
			most = max(most, at(i, k))
		}
	}
	b := &belief{}
	sum, lasting := 0.0, 0.0
	for i, tau := range s.taus {
		for k := range whiteShares {
			if w := math.Exp(at(i, k) - most); w > 1e-4 {
				b.parts = append(b.parts, beliefPart{w, math.Sqrt(max(f.variance[i][k], 1e-12)), f.tails[i][k]})
				sum += w
				lasting += w * math.Log(tau) / (1 + whiteShares[k])
				b.tau += w / (1 + whiteShares[k])
				b.lasts += w * math.Log(s.lasts[i][k])
			}
		}
	}
	b.tau, b.lasts = math.Exp(lasting/b.tau), math.Exp(b.lasts/sum)
	for i := range b.parts {
		b.parts[i].weight /= sum
	}
	return b
}

// beyond is the probability of chance alone being farther from zero than x.
func (b *belief) beyond(x float64) (p float64) {
	for _, part := range b.parts {
		p += part.weight * part.tail.at(x/part.se)
	}
	return p
}

func (b *belief) stretch(by float64) {
	if b == nil {
		return
	}
	for i := range b.parts {
		b.parts[i].se *= by
	}
}

// typical is how far off the figure is ordinarily.
func (b *belief) typical() float64 {
	sum := 0.0
	for _, part := range b.parts {
		sum += part.weight * math.Log(part.se)
	}
	return math.Exp(sum)
}

// width is half of the interval outside of which chance alone is with the given probability.
func (b *belief) width(level float64) float64 {
	low, high := 0.0, 0.0
	for _, part := range b.parts {
		high = max(high, part.se)
	}
	for b.beyond(high) > level && high < 1e3 {
		high *= 2
	}
	for range 24 {
		if middle := (low + high) / 2; b.beyond(middle) > level {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func logSum(logs []float64) float64 {
	most := math.Inf(-1)
	for _, l := range logs {
		most = max(most, l)
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}
