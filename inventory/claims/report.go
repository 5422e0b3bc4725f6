package claims

import "time"

// FormatVersion of the JSON form.
const FormatVersion = 1

// Verdict is what can be said of a disagreement.
type Verdict string

// The verdicts.
const (
	Wrong        Verdict = "wrong"          // the culprits are
	StaleOrWrong Verdict = "stale or wrong" // the culprits are late, or wrong; without culprits: one of two groups is, and nothing says which
	Tie          Verdict = "tie"            // as many say the one as the other
)

// Report is what sources say of each other.
type Report struct {
	FormatVersion int           `json:"format_version"`
	Farm          string        `json:"farm,omitempty"`
	Taken         time.Time     `json:"taken"`
	Sources       []SourceState `json:"sources"`
	Subjects      map[Kind]int  `json:"subjects"`
	Claims        int           `json:"claims"`
	Authorities   []Authority   `json:"authorities"`
	Copies        []Copy        `json:"copies"`
	Conflicts     []Conflict    `json:"conflicts"`
	Faults        []Fault       `json:"faults"` // of files
	Stale         []string      `json:"stale"`  // sources

	Tallies  []Tally   `json:"-"` // for the graph of sources
	Overlaps []Overlap `json:"-"`
	Members  []Member  `json:"-"`
}

// Tally is how much rests on a source for one attribute.
type Tally struct {
	Source    string `json:"source"`
	Attribute string `json:"attribute"` // "instance.host"
	Claims    int    `json:"claims"`
	Alone     int    `json:"alone"`    // of these, nobody independent says anything: a mistake is seen by nobody
	Disputed  int    `json:"disputed"` // of these, somebody says otherwise
}

// Overlap is what two sources say of the same things.
type Overlap struct {
	A        string `json:"a"`
	B        string `json:"b"`
	Shared   int    `json:"shared"`
	Equal    int    `json:"equal"`
	Verbatim int    `json:"verbatim"` // of these, written in the same letters
	// IsInOrder: both list the same subjects in one order, which is not that of names. Files that were made apart seldom do.
	IsInOrder bool `json:"in_order"`
}

// Member is an instance in the topology, as far as sources agree.
type Member struct {
	Instance string `json:"instance"`
	Pair     string `json:"pair"`
	Topology string `json:"topology,omitempty"`
	Host     string `json:"host"`
	From     string `json:"from,omitempty"` // whom it replicates from
	Role     string `json:"role,omitempty"`
	Alive    string `json:"alive,omitempty"`       // yes or no; "" where nobody asked
	Lag      string `json:"lag_seconds,omitempty"` // "" where nobody knows
	Disputed bool   `json:"disputed,omitempty"`    // sources disagree about it
}

// SourceState is how a source was read.
type SourceState struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`
	Where   string    `json:"where,omitempty"`
	At      time.Time `json:"at"`
	Claims  int       `json:"claims"`
	CopyOf  string    `json:"copy_of,omitempty"`
	Covers  []Kind    `json:"covers,omitempty"`
	IsPart  bool      `json:"is_part,omitempty"`
	IsStale bool      `json:"is_stale,omitempty"`
	Why     string    `json:"why,omitempty"`
}

// Authority is who decides an attribute. A proposed one is who agreed with the
// others most often, and decides nothing until a person declares it.
type Authority struct {
	Attribute string   `json:"attribute"` // "instance.host"
	Sources   []string `json:"sources"`
	Declared  bool     `json:"declared"`
	Evidence  string   `json:"evidence"`
	Claims    int      `json:"claims"`  // of the proposed one
	Checked   int      `json:"checked"` // where two others could be asked
	Agreed    int      `json:"agreed"`
}

// Copy is a source that only repeats another.
type Copy struct {
	Source   string `json:"source"`
	Of       string `json:"of"`
	Declared bool   `json:"declared"`
	Evidence string `json:"evidence"`
}

// Fault is a line of a source that could not be read.
type Fault struct {
	Source string `json:"source"`
	Place  string `json:"place"`
	Text   string `json:"text"`
}

// Conflict is one disagreement, or something missing or impossible.
type Conflict struct {
	Check     string  `json:"check"` // stable name: "conflict", "missing", "unknown", "name", "twice", ...
	Kind      Kind    `json:"kind"`
	Subject   string  `json:"subject"`
	Attribute string  `json:"attribute"`
	Claims    []Shown `json:"claims"`
	Authority string  `json:"authority"` // who decided it; "" for nobody
	Verdict   Verdict `json:"verdict"`
	// Culprits are the sources to correct. IsSure: there is proof, not only
	// weight; see the package's invariants.
	Culprits    []string `json:"culprits"`
	IsSure      bool     `json:"sure"`
	Repeats     []string `json:"repeats,omitempty"` // copies of culprits, that say the same
	Value       string   `json:"value,omitempty"`   // what holds, where that is decided
	SwappedWith string   `json:"swapped_with,omitempty"`
	Reason      string   `json:"reason"`
	Remedy      string   `json:"remedy"`
}

// Shown is a claim as people see it.
type Shown struct {
	Value  string    `json:"value"`
	Source string    `json:"source"`
	Place  string    `json:"place"`
	At     time.Time `json:"at"`
	Stale  bool      `json:"stale,omitempty"`
}

// HasFindings reports whether there is something to look at.
func (r Report) HasFindings() bool {
	return len(r.Conflicts)+len(r.Faults)+len(r.Stale) > 0
}
