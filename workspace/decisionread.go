package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/bench/decide"
	"stowage/bench/result"
	"stowage/farm"
)

// The keys of decision.yaml, by level.
var (
	decisionKeys  = []string{"decision", "currency", "workload", "doubt", decide.Fast, decide.Priced, decide.Safe, "candidates"}
	workloadKeys  = []string{"writes", "write_amplification", "source"}
	doubtKeys     = []string{"data_sheet", "entered", "no_interval"}
	aspectKeys    = []string{"weight", "goals"}
	goalFigureKey = []string{"figure", "step", "weight", "at_least", "at_most", "enough"}
)

// decisionReader reads decision.yaml and what it names.
type decisionReader struct {
	reader
	dir    string // of the file: what it names lies beside it
	goals  []namedStep
	d      decide.Decision
	result ResultReader
}

// ResultReader reads a result that bench run has saved: FILE, or FILE#CELL of a matrix. Errors say what is wrong with it.
type ResultReader func(reference string) (*result.Result, error)

// ReadDecision reads a decision and the results that it names, which lie relative to it. All its faults come in one error, which wraps
// farm.ErrInput.
func ReadDecision(path string, measured ResultReader) (decide.Decision, error) {
	src, err := readNamed(path)
	if err != nil {
		return decide.Decision{}, err
	}
	return parseDecision(path, src, measured)
}

func parseDecision(path string, src []byte, measured ResultReader) (decide.Decision, error) {
	r := &decisionReader{reader: reader{faults: faults{file: path}}, dir: filepath.Dir(path), result: measured}
	root := r.parseYAML(src)
	if root == nil {
		return r.d, r.err()
	}
	r.fields(root, func() string { return "the decision" }, decisionKeys, r.key)
	r.whatIsMissing(root)
	return r.d, r.err()
}

// readNamed reads a file that a person named.
func readNamed(path string) ([]byte, error) {
	src, err := read(path)
	if err == nil {
		return src, nil
	}
	return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, cause(err)), Hint: "name a file that is there and may be read"}
}

// cause is what the system said, without the path that is before it anyway.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func (r *decisionReader) key(key string, v *yaml.Node) bool {
	what := func() string { return key }
	switch key {
	case "decision":
		r.d.Title = r.text(v, what)
	case "currency":
		r.d.Currency = r.text(v, what)
	case "workload":
		r.workload(v)
	case "doubt":
		r.doubt(v)
	case decide.Fast, decide.Priced, decide.Safe: // in their order, whatever it is in the file
	case "candidates":
		r.named(v, key, r.candidate)
	default:
		return false
	}
	return true
}

// whatIsMissing reads the aspects in their order, and says what a decision cannot do without.
func (r *decisionReader) whatIsMissing(root *yaml.Node) {
	for _, name := range decide.AspectNames {
		if n := value(root, name); n != nil {
			r.aspect(name, n)
		}
	}
	if value(root, "decision") == nil && !r.meant[missing{root, "decision"}] {
		r.add(root.Line, "decision is missing: what is to be decided, in a sentence")
	}
	if n := value(root, "candidates"); (n == nil || len(r.d.Candidates) == 0) && !r.meant[missing{root, "candidates"}] && !r.bad[n] {
		r.add(root.Line, "there are no candidates")
	}
	r.stepsOfGoals()
	weighs := false
	for _, a := range r.d.Aspects {
		for _, g := range a.Goals {
			weighs = weighs || g.Weight > 0 && a.Weight > 0
		}
	}
	if !weighs && len(r.list) == 0 {
		r.add(root.Line, "no goal has a weight: %s have weights and goals", strings.Join(decide.AspectNames, ", "))
	}
}

// namedStep is a step that a goal names, and where.
type namedStep struct {
	node *yaml.Node
	id   string
}

// stepsOfGoals holds the steps that goals name against those that any candidate has figures of. One that nobody has would be unknown of
// everybody, and leave its weight out of the decision without a word.
func (r *decisionReader) stepsOfGoals() {
	var have []string
	for _, c := range r.d.Candidates {
		for k := range c.Figures {
			if k.Step != "" && !slices.Contains(have, k.Step) {
				have = append(have, k.Step)
			}
		}
	}
	if len(have) == 0 || len(r.list) > 0 {
		return // what could not be read may have it
	}
	slices.Sort(have)
	for _, g := range r.goals {
		if slices.Contains(have, g.id) {
			continue
		}
		if near := nearest(g.id, have); near != "" {
			r.fault(g.node, "no candidate has a step %q; did you mean %q?", g.id, near)
		} else {
			r.fault(g.node, "no candidate has a step %q; theirs are %s", g.id, strings.Join(have[:min(len(have), 12)], ", "))
		}
	}
}

func (r *decisionReader) workload(n *yaml.Node) {
	source := ""
	if s := value(n, "source"); s != nil {
		source = r.text(s, func() string { return "source of the workload" })
	}
	r.fields(n, func() string { return "workload" }, workloadKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of the workload" }
		switch key {
		case "writes":
			r.d.Workload.Writes = r.amount(v, what(), farm.KindBytesPerDay, decide.Given, source)
		case "write_amplification":
			r.d.Workload.Amplification = decide.Exactly(r.factor(v, what()), source)
		case "source":
		default:
			return false
		}
		return true
	})
}

func (r *decisionReader) doubt(n *yaml.Node) {
	r.d.Doubt = decide.Doubt{}
	r.fields(n, func() string { return "doubt" }, doubtKeys, func(key string, v *yaml.Node) bool {
		basis, ok := map[string]decide.Basis{"data_sheet": decide.Sheet, "entered": decide.Entered, "no_interval": decide.Unbounded}[key]
		if ok {
			r.d.Doubt[basis] = r.upTo(v, "doubt of "+key, 1000)
		}
		return ok
	})
}

// upTo reads 20% as 0.2, above nothing.
func (r *decisionReader) upTo(n *yaml.Node, what string, most float64) float64 {
	v, ok := percentage(n)
	if !ok || !(v > 0) || v > most {
		r.fault(n, "%s wants a percentage above 0%% and up to %v%% such as 20%%, not %s", what, most, shownNode(n))
		return 0
	}
	return v / 100
}

func (r *decisionReader) aspect(name string, n *yaml.Node) {
	a := decide.Aspect{Name: name, Weight: 1}
	r.fields(n, func() string { return name }, aspectKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "weight":
			a.Weight = r.quantity(v, func() string { return "weight of " + name }, farm.KindPlain)
		case "goals":
			for i, item := range r.items(v, "goals of "+name) {
				if g, ok := r.goal(fmt.Sprintf("goal %d of %s", i+1, name), item); ok {
					a.Goals = append(a.Goals, g)
				}
			}
		default:
			return false
		}
		return true
	})
	r.d.Aspects = append(r.d.Aspects, a)
}

// goal reads one goal. Its figure comes first: it says what limits look like.
func (r *decisionReader) goal(where string, n *yaml.Node) (decide.Goal, bool) {
	g := decide.Goal{Weight: 1}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be keys and values such as {figure: price}, not %s", where, kindWord(n))
		return g, false
	}
	before := len(r.list)
	kind, ok := r.kind(where, n)
	if !ok {
		return g, false
	}
	g.Figure, where = kind.Name, "goal "+kind.Name
	if kind.OnlyLimit {
		g.Weight = 0
	}
	r.fields(n, func() string { return where }, goalFigureKey, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where }
		switch key {
		case "figure":
		case "step":
			g.Step = r.text(v, what)
			if kind.Step == "-" {
				r.fault(v, "%s is of the whole, and has no step", kind.Name)
			} else if g.Step != "" {
				r.goals = append(r.goals, namedStep{v, g.Step})
			}
		case "weight":
			g.Weight = r.quantity(v, what, farm.KindPlain)
			if kind.OnlyLimit && g.Weight > 0 {
				r.fault(v, "%s can be 0, and so has no ratio to weigh: give it a limit", kind.Name)
			}
		case "at_least", "at_most":
			if (key == "at_least") != kind.More {
				r.fault(v, "%s is the better the %s: write %s", kind.Name, map[bool]string{true: "more", false: "less"}[kind.More], map[bool]string{true: "at_least", false: "at_most"}[kind.More])
				break
			}
			g.Limit = r.inUnit(v, what, kind.Unit)
		case "enough":
			g.Enough = r.inUnit(v, what, kind.Unit)
		default:
			return false
		}
		return true
	})
	if g.Step == "" && kind.Step != "-" {
		g.Step = kind.Step
		if g.Step == "" && len(r.list) == before {
			r.fault(n, "%s wants a step, such as {figure: %s, step: RND16K-R-Q8T4}", where, kind.Name)
		}
	}
	return g, len(r.list) == before
}

func (r *decisionReader) kind(where string, n *yaml.Node) (decide.Kind, bool) {
	f := value(n, "figure")
	if f == nil {
		r.fault(n, "%s has no figure", where)
		return decide.Kind{}, false
	}
	name := r.text(f, func() string { return "figure of " + where })
	kind, ok := decide.KindOf(name)
	if !ok && name != "" {
		var known []string
		for _, k := range decide.Kinds {
			known = append(known, k.Name)
		}
		if near := nearest(name, known); near != "" {
			r.fault(f, "there is no figure %q; did you mean %q?", name, near)
		} else {
			r.fault(f, "there is no figure %q; known are %s", name, strings.Join(known, ", "))
		}
	}
	return kind, ok
}

// inUnit reads a limit as its figure is measured.
func (r *decisionReader) inUnit(n *yaml.Node, what func() string, u decide.Unit) *float64 {
	var v float64
	before := len(r.list)
	switch u {
	case decide.UnitBytes:
		v = r.above(n, what, farm.KindBytes)
	case decide.UnitMicros:
		v = float64(r.duration(n, what())) / 1e3
	case decide.UnitHours:
		v = r.duration(n, what()).Hours()
	case decide.UnitDays:
		v = r.days(n, what())
	case decide.UnitShare:
		v = r.upTo(n, what(), 100)
	case decide.UnitCount:
		v = float64(r.whole(n, what, 1, 1000))
	default:
		v = r.above(n, what, farm.KindPlain)
	}
	if v == 0 && len(r.list) == before {
		r.fault(n, "%s must be above 0, or left out", what())
	}
	return &v
}
