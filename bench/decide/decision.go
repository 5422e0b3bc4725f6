package decide

// Decision is a question: which of the candidates, by which goals?
type Decision struct {
	Title    string
	Currency string // "" where nobody says
	Workload Workload
	Doubt    Doubt
	Aspects  []Aspect // fast, priced, safe: those that are given
	// Candidates in the order of the file.
	Candidates []Candidate
}

// Workload is what the storage will have to bear.
type Workload struct {
	Writes Figure // bytes a day that the servers write
	// Amplification is how much more a device writes inside than its endurance was rated for.
	Amplification Figure
}

// Doubt is by which factor, less 1, figures without an interval may be off: 0.2 is a fifth more, or a sixth less. 0: nobody says.
type Doubt map[Basis]float64

// Aspect is a group of goals. Its weight is shared among them by theirs.
type Aspect struct {
	Name   string
	Weight float64
	Goals  []Goal
}

// The aspects, as the first who wrote them down called them.
const (
	Fast   = "fast"
	Priced = "priced"
	Safe   = "safe"
)

// AspectNames are all aspects in their order.
var AspectNames = []string{Fast, Priced, Safe}

// AspectTitle is the name of an aspect for people.
func AspectTitle(name string) string {
	if name == Fast {
		return "fast"
	}
	return "reasonably " + name
}

// Goal is one figure that counts.
type Goal struct {
	Figure string // a Kind's name
	Step   string // of a figure of speed
	// Weight within the aspect. 0: shown, and compared with the limit, and no more.
	Weight float64
	// Limit is hard: whoever is on the wrong side of it is out. At least, or at most, as the Kind is better.
	Limit *float64
	// Enough is where more is worth nothing.
	Enough *float64
}

// Name is the goal's name for people: "iops of RND16K-R-Q8T4".
func (g Goal) Name() string {
	if g.Step == "" {
		return g.Figure
	}
	return g.Figure + " of " + g.Step
}

// Candidate is one storage that could be bought.
type Candidate struct {
	Name    string
	Title   string
	Figures map[Key]Figure // what is known of it
	Array   Array
	// Ceiling is what the controller or the bus in front of the devices lets through, in MB/s; 0: nobody named one.
	Ceiling float64
	Notes   []string // what must be known besides
}

// Key names a figure of a candidate. Step is empty but for figures of speed.
type Key struct{ What, Step string }

func (k Key) String() string {
	if k.Step == "" {
		return words[k.What].name
	}
	return words[k.What].name + " of " + k.Step
}

// word is what is known about a kind of given figure.
type word struct {
	name string // for people
	more bool   // more is better
	unit Unit
}

// words are all figures that a candidate may be given. Whatever a Kind makes of them gets no worse as one of them gets better.
var words = map[string]word{
	"iops": {"IOPS", true, UnitRate}, "mbps": {"MB/s", true, UnitMBps}, "commits": {"durable commits/s", true, UnitRate},
	"mean": {"mean latency", false, UnitMicros}, "p50": {"p50", false, UnitMicros}, "p95": {"p95", false, UnitMicros},
	"p99": {"p99", false, UnitMicros}, "p999": {"p99.9", false, UnitMicros},
	"price": {"price", false, UnitMoney}, "watts": {"watts", false, UnitWatts},
	"capacity": {"capacity of a device", true, UnitBytes}, "usable": {"usable capacity", true, UnitBytes},
	"tbw": {"endurance of a device (TBW)", true, UnitBytes},
	"afr": {"yearly failure rate of a device (AFR)", false, UnitShare}, "rebuild_rate": {"rebuild rate", true, UnitByteRate},
	"replace_after": {"time until a lost device is replaced", false, UnitHours},
	"amplification": {"write amplification", false, UnitFactor},
}

// Basis is what a figure rests on.
type Basis string

// The bases, from the surest to the weakest.
const (
	Given     Basis = "given"       // a quote, a choice: taken as it is
	Measured  Basis = "measured"    // runs of a bench, with their interval
	Unbounded Basis = "no interval" // measured here, once or beside others, so that nothing says how sure it is
	Entered   Basis = "entered"     // measured and published by somebody, and typed in
	Sheet     Basis = "data sheet"  // what the maker claims
)

var bases = []Basis{Given, Measured, Unbounded, Entered, Sheet}

// weaker is the weaker of two bases.
func weaker(a, b Basis) Basis {
	for i := len(bases) - 1; i >= 0; i-- {
		if bases[i] == a || bases[i] == b {
			return bases[i]
		}
	}
	return a
}

// Figure is a value above 0, or unknown. Low and High bound it; both are 0 where nothing does.
type Figure struct {
	Value, Low, High float64
	Basis            Basis
	Source           string
	Why              string // of an unknown figure
}

// Known reports whether there is a value.
func (f Figure) Known() bool { return f.Value > 0 }

// IsBounded reports whether it is known how far the value may be off.
func (f Figure) IsBounded() bool { return f.Low > 0 && f.High > 0 }

// Exactly is a figure that is taken as it is.
func Exactly(v float64, source string) Figure {
	return Figure{Value: v, Low: v, High: v, Basis: Given, Source: source}
}

// Claimed is a figure of which nobody says how sure it is.
func Claimed(v float64, basis Basis, source string) Figure {
	return Figure{Value: v, Basis: basis, Source: source}
}

// doubted bounds a figure that has no bounds by the factor 1 + doubt to either side.
func (f Figure) doubted(doubt float64) Figure {
	if f.Known() && !f.IsBounded() && doubt > 0 {
		f.Low, f.High = f.Value/(1+doubt), f.Value*(1+doubt)
	}
	return f
}
