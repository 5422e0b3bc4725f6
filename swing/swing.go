package swing

import (
	"context"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Swing is one side of one pair being swung.
type Swing struct {
	Pair farm.PairName
	Side farm.SideName

	Router  route.Router
	Leaves  *mysql.Server // serves the side before
	Returns *mysql.Server // serves it afterwards; the same one unless the act replaces it
	Twin    *mysql.Server // serves both meanwhile

	// Apart is a moment at which none of the side's clients had been sent to the
	// twin yet: work that is open on the twin since before it is not theirs and
	// need not be waited for. Zero: not known.
	Apart mysql.Moment

	// Scheduler: the event scheduler was on before the swing, and is on again
	// after it.
	Scheduler bool
	// TwinFires is the same of the twin, where that is fenced by an Exchange; nil: as Scheduler.
	TwinFires *bool
	// Baseline is what the side was before it left, where it returns in place.
	Baseline *Baseline
	// MayDiffer are variables that the act may change: Check does not compare
	// them. TablesMayDiffer are tables, as schema.table, whose definitions may
	// differ from the twin's.
	MayDiffer, TablesMayDiffer []string

	Settings Settings

	// Lasting makes fences last a restart of the server. Nil: they do not.
	Lasting Lasting

	// DataFile reads a file in the data directory of one of the servers. Nil: nobody can.
	DataFile func(ctx context.Context, of *mysql.Server, name string) ([]byte, error)

	// Rejoin makes Returns replicate again when it has been restarted in the
	// middle of the swing and does not go on by itself. Nil: it does.
	Rejoin func(context.Context) error

	// Tell takes events: kind, phase, text, and how long a gate was closed.
	Tell func(kind farm.EventKind, phase, text string, millis float64)
	// Note writes what was measured into the trail. Nil: nobody keeps it.
	Note func(text string)
	// First keeps how the clients of a side fared in the first minute after all had come back. It is called once when the minute begins; more goes
	// on with the counting, after the step, until the minute is over or its context is, and is nil where there is nothing to count. Nil: nobody asks.
	First func(now FirstMinute, more func(context.Context) FirstMinute)
	// Border is called before and after each phase, as "before out/close";
	// tests kill the program there, or let the phase fail. Nil in production.
	Border func(point string) error

	closedAt time.Time // when this attempt closed the gate
}

// Settings are the times and shares of a swing.
type Settings struct {
	// Settle is how long after closing a gate to wait for work of clients
	// that looked at it just before. docs/reference/routing.md gives clients 20 ms; this
	// leaves room for a machine that is busy. On the way out a client later
	// than this meets the fence; on the way in nothing stops it but its own
	// second look, so this is not the place to save milliseconds.
	Settle time.Duration
	// Long is how old a transaction must be to be waited for with the gate
	// still open, and Patience how long.
	Long     time.Duration
	Patience time.Duration
	// Drain is how long open transactions may keep a gate closed.
	Drain time.Duration
	// Barrier is how long the next server may need for the last transactions.
	Barrier time.Duration
	// Answer is how long a server may not answer before an attempt that needs
	// it fails: a server that was killed is back within seconds.
	Answer time.Duration
	// CatchUp is how long a replica may need for a backlog.
	CatchUp time.Duration
	// Soak is how long each share of the clients is watched; longer, within Limits, where it has few statements.
	Soak time.Duration
	// Limits are how much worse than on the twin a share may be served.
	Limits Limits
	// Ramp are the shares in percent that come back, ending with 100.
	Ramp []float64
	// WarmShare is the part of the twin's buffered pages to which the returning
	// side's pool is filled, 0 to 1.
	WarmShare float64
	// A side is warm when the p95 of WarmReads reads or more, each sent for the first time, is at
	// most WarmWithin times that of the twin for the same. After WarmLimit it returns
	// as it is.
	WarmWithin float64
	WarmReads  int
	WarmLimit  time.Duration
}

// Defaults are settings for production.
func Defaults() Settings {
	return Settings{
		Settle:    50 * time.Millisecond,
		Long:      250 * time.Millisecond,
		Patience:  10 * time.Minute,
		Drain:     2 * time.Second,
		Barrier:   5 * time.Second,
		Answer:    30 * time.Second,
		CatchUp:   30 * time.Minute,
		Soak:      2 * time.Second,
		Limits:    Limits{Latency: 3, Floor: 2 * time.Millisecond, Errors: 0.02, Statements: 200, Longest: 10 * time.Second},
		Ramp:      []float64{1, 10, 100},
		WarmShare: 0.9, WarmWithin: 1.10, WarmReads: 100, WarmLimit: 2 * time.Minute,
	}
}

// Phase runs one part of a step between two borders.
func (s *Swing) Phase(ctx context.Context, step, name string, work func(context.Context) error) error {
	if err := s.border("before " + step + "/" + name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := work(ctx); err != nil {
		return err
	}
	return s.border("after " + step + "/" + name)
}

func (s *Swing) border(point string) error {
	if s.Border == nil {
		return nil
	}
	return s.Border(point)
}

func (s *Swing) tell(kind farm.EventKind, phase, text string, millis float64) {
	if s.Tell != nil {
		s.Tell(kind, phase, text, millis)
	}
}

// measured tells something, and has it kept.
func (s *Swing) measured(phase, text string) {
	s.tell(farm.StepProgress, phase, text, 0)
	if s.Note != nil {
		s.Note(text)
	}
}

// cleanup is a context for putting things right after ctx has ended: bounded,
// and not cancelled with it.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
}
