package decide

// FormatVersion is that of the outcome as JSON.
const FormatVersion = 1

// Verdict is the word for a whole decision.
type Verdict string

// The verdicts.
const (
	Winner       Verdict = "winner"       // surely better than every other that is left, by more than the tolerance
	Same         Verdict = "same"         // the first and others are surely no more apart than the tolerance
	Alone        Verdict = "alone"        // one is left, and it holds every limit
	Inconclusive Verdict = "inconclusive" // somebody is ahead, and it is not sure
	NobodyLeft   Verdict = "nobody left"  // every candidate is on the wrong side of a hard limit
)

// Outcome is a decision judged. It is what --json prints.
type Outcome struct {
	FormatVersion int     `json:"format_version"`
	Title         string  `json:"title"`
	Currency      string  `json:"currency,omitempty"`
	Verdict       Verdict `json:"verdict"`
	// Winner is named only where the verdict is winner or alone; Ahead is who is first on the figures as they are, or "".
	Winner string `json:"winner,omitempty"`
	Ahead  string `json:"ahead,omitempty"`
	// Why is what keeps somebody from being named, or what the verdict rests on.
	Why        []string    `json:"why"`
	Goals      []Judged    `json:"goals"`
	Candidates []Standing  `json:"candidates"`
	Leads      []Lead      `json:"leads,omitempty"` // of who is ahead over each other that is left
	Dominance  []Dominance `json:"dominance,omitempty"`
	Sensitive  Sensitivity `json:"sensitivity"`
	// Assumed is what was taken to be so.
	Assumed []string `json:"assumed"`
	Method  string   `json:"method"`
}

// Judged is a goal and what it counts.
type Judged struct {
	Aspect string  `json:"aspect"`
	Goal   string  `json:"goal"` // its name: "iops of RND16K-R-Q8T4"
	Figure string  `json:"figure"`
	Step   string  `json:"step,omitempty"`
	Unit   Unit    `json:"unit"`
	More   bool    `json:"more_is_better"`
	Weight float64 `json:"weight"` // as given, within the aspect
	// Share of the whole: all shares are 1 together.
	Share  float64  `json:"share"`
	Limit  *float64 `json:"limit,omitempty"`
	Enough *float64 `json:"enough,omitempty"`
	// LeftOut: somebody's figure is unknown, so that it does not count for who is ahead.
	LeftOut bool `json:"left_out,omitempty"`
}

// Standing is what became of a candidate.
type Standing struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"`
	Out   bool     `json:"out"`
	Place int      `json:"place,omitempty"` // from 1, of those that are left
	Worth *float64 `json:"worth"`           // of the one ahead's, 1 for itself; null for those that are out
	// Figures are in the order of Outcome.Goals.
	Figures []Shown   `json:"figures"`
	Failed  []Failure `json:"failed,omitempty"`
	// NotShown are limits that it could not be shown to hold; OnClaim those that it holds by figures without an interval.
	NotShown []Failure `json:"not_shown,omitempty"`
	OnClaim  []string  `json:"on_claim,omitempty"`
	Array    *Loss     `json:"array,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// Shown is one figure of one candidate. Value is null where it is unknown; Low and High are null where nothing bounds it.
type Shown struct {
	Goal   string   `json:"goal"`
	Value  *float64 `json:"value"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Basis  Basis    `json:"basis,omitempty"`
	Source []string `json:"source,omitempty"`
	Why    string   `json:"why,omitempty"` // of an unknown one
}

// Failure is a hard limit and how a candidate stands to it.
type Failure struct {
	Goal  string  `json:"goal"`
	Limit float64 `json:"limit"`
	// Value is null where it is unknown. By is the factor that it is off by, 0 where the value is nothing or unknown.
	Value *float64 `json:"value"`
	By    float64  `json:"by,omitempty"`
	Text  string   `json:"text"`
}

// Loss is what one lost device costs.
type Loss struct {
	Level    Level    `json:"level"`
	Devices  int      `json:"devices"`
	Usable   *float64 `json:"usable_bytes"`
	Survives int      `json:"survives"`
	// Data, Reads and Writes are the parts that are left while one device is missing.
	Data     float64  `json:"data_left"`
	Reads    float64  `json:"reads_left"`
	Writes   float64  `json:"writes_left"`
	Rebuild  *float64 `json:"rebuild_hours"`
	Exposure *float64 `json:"exposure_hours"`
	AFR      *float64 `json:"afr"`
	Second   *float64 `json:"second_loss"`
	Yearly   *float64 `json:"yearly_loss"`
	Formula  string   `json:"formula"`
	Basis    Basis    `json:"basis,omitempty"` // of the probabilities
	Unknown  []string `json:"unknown,omitempty"`
}

// Lead is how much more the one ahead is worth than another, as a factor.
type Lead struct {
	Over string  `json:"over"`
	By   float64 `json:"by"`
	// Low and High hold every figure at its worst for the one and at its best for the other; null where nothing bounds them.
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Verdict Verdict  `json:"verdict"` // winner, same or inconclusive
	// OffBy is by which factor all figures without an interval may be off together, to the lead's harm, before it is no longer sure;
	// null where there are none, or where it is not sure anyway.
	OffBy *float64 `json:"may_be_off_by"`
	// ByAspect is the lead's part in each aspect, as a factor; they multiply to By.
	ByAspect map[string]float64 `json:"by_aspect"`
}

// Dominance says that one candidate is at least as good in every goal, and better in one.
type Dominance struct {
	Better string `json:"better"`
	Worse  string `json:"worse"`
	Surely bool   `json:"surely"` // whatever their figures are within their bounds
	Equal  int    `json:"equal"`  // goals in which they are the same
}

// Sensitivity is what would have to be otherwise.
type Sensitivity struct {
	Weights []Flip `json:"weights"`
	Prices  []Turn `json:"prices"`
	Figures []Turn `json:"figures"`
}

// Flip is a weight at which somebody else is ahead.
type Flip struct {
	Of     string  `json:"of"` // an aspect, or "aspect: goal"
	Weight float64 `json:"weight"`
	At     float64 `json:"at"` // ahead changes when the weight passes this
	Winner string  `json:"winner"`
}

// Turn is a value of one figure at which somebody else is ahead.
type Turn struct {
	Candidate string   `json:"candidate"`
	Figure    string   `json:"figure"`
	What      string   `json:"what"`
	Step      string   `json:"step,omitempty"`
	Unit      Unit     `json:"unit"`
	Value     *float64 `json:"value"` // null: it is unknown
	At        float64  `json:"at"`
	Winner    string   `json:"winner"`
	Basis     Basis    `json:"basis,omitempty"`
	Below     bool     `json:"below"`  // it turns when the figure is this or less; otherwise, this or more
	Within    bool     `json:"within"` // the value is within the figure's own bounds
}
