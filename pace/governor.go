package pace

import (
	"fmt"
	"time"
)

// NoLimit is the rate of a copy that may be as fast as it can.
const NoLimit = int64(-1)

// Reading is what is seen of the servers that a copy could disturb: the worst
// of each kind, and whose it is.
type Reading struct {
	Lag   time.Duration
	LagOf string
	// Load is how many times as busy a server is as before the copy; 1 is no
	// change. LoadText says by which sign.
	Load     float64
	LoadOf   string
	LoadText string
	// Quiet: the servers have no clients that could be disturbed.
	Quiet bool
}

// Limits are what a governor keeps to.
type Limits struct {
	Ceiling int64 // bytes a second when nothing is wrong; NoLimit: none
	Floor   int64 // bytes a second that always go on
	// Begin is the rate of the first second, from which it rises while the servers are calm; 0: it begins at its ceiling.
	Begin int64
	Lag   time.Duration // more is too much
	Load  float64       // more is too much
}

// Defaults are limits for a copy beside production: lag of 5 s, three times the
// work in flight, and never below 4 MB/s, with which a terabyte still arrives
// within three days.
func Defaults() Limits {
	return Limits{Ceiling: NoLimit, Floor: 4 << 20, Lag: 5 * time.Second, Load: 3}
}

// Governor turns readings, one a second, into a rate: additive and
// multiplicative increase, multiplicative decrease, like TCP's, because it has
// the same question: how much can I send through something I cannot see into?
type Governor struct {
	limits Limits
	rate   float64 // below 0: not limited by us
	most   float64 // the fastest flow that was seen
	over   int     // readings in a row that were too much
	slowed bool    // something has slowed it: it rises step by step
	least  int     // readings in a row at the floor
	reason string
}

// The rates of change a second. A slip is forgotten within some ten seconds, a
// burden is shed within three.
const (
	slower = 0.6
	faster = 1.15
	// patience is how many readings in a row must be too much: a checkpoint or
	// a large transaction is over by then.
	patience = 3
)

// NewGovernor is a governor that begins at its ceiling, or as Begin says.
func NewGovernor(l Limits) *Governor {
	if l.Ceiling >= 0 {
		l.Floor = min(l.Floor, max(1, l.Ceiling/2))
	}
	g := &Governor{limits: l, rate: -1}
	if l.Begin > 0 && (l.Ceiling < 0 || l.Begin < l.Ceiling) {
		g.rate, g.reason = float64(max(l.Begin, l.Floor)), "it begins slowly"
	}
	return g
}

// Step takes the next reading. flow is what went through since the last one, in
// bytes a second.
func (g *Governor) Step(flow int64, r Reading) {
	g.most = max(g.most, float64(flow))
	why := g.tooMuch(r)
	switch {
	case why != "":
		g.reason = why
		if g.over++; g.over >= patience {
			g.slow(float64(flow))
		}
	case r.Quiet && !g.slowed && g.isCalm(r):
		g.over, g.rate, g.reason = 0, -1, ""
	case g.isCalm(r):
		g.over = 0
		g.quicken()
	default:
		g.over = 0
	}
	if g.least++; g.rate < 0 || g.rate > float64(g.limits.Floor) {
		g.least = 0
	}
}

// inVain is how many readings in a row a copy is at its floor before it is no longer taken for the cause of what is seen.
const inVain = 15

// SlowedInVain reports whether the copy has been at its floor for so long that others make the servers slow. It is asked after each reading, and
// counts anew once it has said so.
func (g *Governor) SlowedInVain() bool {
	if g.least < inVain {
		return false
	}
	g.least = 0
	return true
}

func (g *Governor) tooMuch(r Reading) string {
	switch {
	case r.Lag > g.limits.Lag:
		return fmt.Sprintf("%s is %s behind", r.LagOf, seconds(r.Lag))
	case r.Load > g.limits.Load:
		return fmt.Sprintf("%s has %s", r.LoadOf, r.LoadText)
	}
	return ""
}

// isCalm leaves a gap below the limits in which nothing is changed: a governor
// that turns round at one line swings about it.
func (g *Governor) isCalm(r Reading) bool {
	return r.Lag <= g.limits.Lag/2 && r.Load <= (1+g.limits.Load)/2
}

func (g *Governor) slow(flow float64) {
	from := g.rate
	if from < 0 {
		from = flow
		if g.limits.Ceiling >= 0 {
			from = min(max(flow, float64(g.limits.Floor)), float64(g.limits.Ceiling))
		}
	}
	g.rate, g.slowed = max(float64(g.limits.Floor), from*slower), true
}

func (g *Governor) quicken() {
	if g.rate < 0 {
		return
	}
	g.rate = g.rate*faster + float64(g.limits.Floor)/4
	top := 2 * g.most
	if g.limits.Ceiling >= 0 {
		top = float64(g.limits.Ceiling)
	}
	if g.rate >= top {
		g.rate, g.reason = -1, ""
	}
}

// Rate is the rate that may be kept until the next reading.
func (g *Governor) Rate() int64 {
	if g.rate < 0 {
		return g.limits.Ceiling
	}
	return int64(g.rate)
}

// Reason is why the rate is below the ceiling: "40 of 200 MB/s: dbshard003b is
// 3.1 s behind". Empty at the ceiling.
func (g *Governor) Reason() string {
	if g.rate < 0 {
		return ""
	}
	of := ""
	if g.limits.Ceiling >= 0 {
		of = fmt.Sprintf(" of %s", megabytes(float64(g.limits.Ceiling)))
	}
	return fmt.Sprintf("%s%s MB/s: %s", megabytes(g.rate), of, g.reason)
}

func megabytes(rate float64) string {
	if rate < 10e6 {
		return fmt.Sprintf("%.1f", rate/1e6)
	}
	return fmt.Sprintf("%.0f", rate/1e6)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
