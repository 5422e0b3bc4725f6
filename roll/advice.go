package roll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/store"
	machines "stowage/survey" // survey is a type here
	"stowage/tune"
	"stowage/tune/probe"
)

// advice is what the rules of tune said of a host and its instances before it left. It is kept in the store, under the key of the host's order.
type advice struct {
	Seen tune.Seen `json:"seen"`
	// Fence are the variables that a fence sets, as they were: rules about replicas and about servers that take writes are to see the server without it.
	Fence map[farm.InstanceName]map[string]string `json:"fence"`
}

const adviceDocument = "advice before"

// fenceVariables are those of advice.Fence.
var fenceVariables = []string{"read_only", "super_read_only"}

// lookLimit is how long the rules may take to read a host: tools of RAID controllers take their time.
const lookLimit = 2 * time.Minute

// lookBefore remembers what the rules say of the host. One whose settings nobody can read is rolled without, and that is said.
func (s *stay) lookBefore(ctx context.Context) error {
	now, err := s.look(ctx, nil)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.unread(err)
		return nil
	}
	return s.roller.Store.PutDocument(adviceDocument, s.order.key(), time.Now(), now)
}

// unread says that what the rules find before and after is not compared, and why.
func (s *stay) unread(why error) {
	s.advised(fmt.Sprintf("what tune finds on %s is not compared before and after: %v", s.order.Host, why))
}

// advised tells something to whoever watches, and writes it into the trail.
func (s *stay) advised(text string) {
	s.Report(farm.Event{Kind: farm.StepProgress, Text: text})
	s.WriteDown("advice", text, "")
}

// adviceHolds refuses a host with a finding that it did not have before it left, unless somebody has announced it: by its rule, or by the variable that it is about.
func (s *stay) adviceHolds(ctx context.Context) error {
	var before advice
	_, err := s.roller.Store.LatestDocument(adviceDocument, s.order.key(), &before)
	if errors.Is(err, store.ErrNone) {
		return nil // it was said before the host left
	}
	if err != nil {
		return err
	}
	now, err := s.look(ctx, before.Fence)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.unread(err)
		return nil
	}
	fresh, gone := tune.Differ(before.Seen, now.Seen)
	may := s.mayDiffer()
	announced := func(x tune.Finding) bool { return slices.Contains(may, x.ID) || x.Sets(may) }
	a := Advised{}
	var stops []tune.Finding
	for _, x := range fresh {
		text := fmt.Sprintf("%s: %s (%s, %s)", x.Subject, x.Verdict, x.ID, x.Read)
		if !announced(x) {
			stops = append(stops, x)
		} else {
			s.advised("tune finds, as announced: " + text)
		}
		a.Fresh = append(a.Fresh, text)
	}
	for _, x := range gone {
		text := fmt.Sprintf("%s: %s (%s)", x.Subject, x.Verdict, x.ID)
		s.advised("tune no longer finds: " + text)
		a.Gone = append(a.Gone, text)
	}
	if err := s.note(nil, func(x *Rolled) { x.Advised = &a }); err != nil || len(stops) == 0 {
		return err
	}
	x, more := stops[0], ""
	if n := len(stops) - 1; n > 0 {
		more = fmt.Sprintf(", and %s more", farm.Counted(n, "finding"))
	}
	return &farm.Error{Op: "check", Subject: string(s.order.Host),
		Err:  fmt.Errorf("%w: tune has a new finding: %s: %s (%s, %s)%s", farm.ErrRefused, x.Subject, x.Verdict, x.ID, x.Read, more),
		Hint: fmt.Sprintf("%s; or, if it is right: stowage roll in %s --changed %s", x.Fix, s.order.Host, strings.Join(rulesOf(stops), ","))}
}

// rulesOf are the rules of findings, each once.
func rulesOf(all []tune.Finding) (out []string) {
	for _, x := range all {
		if !slices.Contains(out, x.ID) {
			out = append(out, x.ID)
		}
	}
	return out
}

// look asks the rules whose findings last about the host and its instances. A server that does not answer is an error: its option file does not say what it runs with.
// fence is what the variables of a fence are to be taken for; nil: what they are.
func (s *stay) look(ctx context.Context, fence map[farm.InstanceName]map[string]string) (advice, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	a := advice{Fence: map[farm.InstanceName]map[string]string{}}
	var place machines.Place
	switch at := s.machine.(type) {
	case machines.Far:
		place = machines.There{Far: at}
	case *host.Local:
		place = machines.Here{Machine: at}
	default:
		return a, fmt.Errorf("%w: its settings cannot be read", farm.ErrInput)
	}
	var servers []probe.Server
	var names []string
	for _, m := range s.members {
		name := m.Order.Leaves.Name
		variables, _, err := m.Leaves.Settings(ctx)
		if err != nil {
			return a, err
		}
		links, err := m.Leaves.Sources(ctx)
		if err != nil {
			return a, err
		}
		is := map[string]string{}
		for _, v := range fenceVariables {
			if value, has := variables[v]; has {
				is[v] = value
			}
		}
		a.Fence[name] = is
		for v, value := range fence[name] {
			variables[v] = value
		}
		// Counters begin anew with a restart. Whether the server replicates is no counter: a link counts, though it may not run just now.
		names = append(names, string(name))
		servers = append(servers, probe.Server{Name: string(name), Variables: variables, Status: map[string]string{"slaves_running": strconv.Itoa(len(links))}})
	}
	facts, err := machines.Facts(ctx, place, s.order.Host, servers, "")
	if err != nil {
		return a, err
	}
	facts.Narrow(names) // others run on the machine, too
	a.Seen = tune.See(facts, tune.Lasting(tune.Rules()))
	return a, nil
}

// MayAnnounce reports whether a name is one of what is compared before and after: a variable, a rule of tune, or error-log.
func MayAnnounce(name string) bool {
	return name == ErrorLog || slices.Contains(Compared(), name) || slices.ContainsFunc(tune.Rules(), func(r tune.Rule) bool { return r.ID == name })
}

// Announceable says what MayAnnounce takes, for messages.
func Announceable() string {
	return strings.Join(Compared(), ", ") + ", " + ErrorLog + ", and the rules of tune, as MEM-SWAP (docs/measuring/tune.md)"
}
