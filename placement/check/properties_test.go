package check_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/turns"
	"stowage/placement"
	"stowage/placement/check"
)

// tries is how many tasks a test looks at, a third of them with -short;
// STOWAGE_PLANS multiplies it, and STOWAGE_SEED is where they begin.
func tries(n int) (from, to int) {
	from, _ = strconv.Atoi(os.Getenv("STOWAGE_SEED"))
	if testing.Short() { // `make test`: the part whole of test-all has them all
		n /= 3
	}
	if by, err := strconv.Atoi(os.Getenv("STOWAGE_PLANS")); err == nil && by > 0 {
		n *= by
	}
	return from, from + n
}

// Of small tasks everything is known. Whatever Solve returns is right, no
// bound is above the best there is, and what it refuses cannot be done: of a
// hundred that can be, it may miss one.
func TestAgainstBruteForce(t *testing.T) {
	turns.One(t, 8)
	for name, draw := range drawings(3, 5) {
		t.Run(name, func(t *testing.T) { againstBruteForce(t, draw) })
	}
}

func againstBruteForce(t *testing.T, draw func(int) task) {
	var count struct{ feasible, refused, missed, stuck, best int }
	from, to := tries(200)
	for seed := from; seed < to; seed++ {
		x := draw(seed)
		if ps := x.farm.Check(); len(ps) > 0 {
			t.Fatalf("seed %d: the test draws a farm that makes no sense: %v", seed, ps)
		}
		all := search(x)
		if !all.finished {
			continue
		}
		p, err := solve(t, seed, x)
		switch {
		case err == nil && !all.feasible:
			t.Errorf("seed %d: planned, and no plan exists", seed)
		case err == nil:
			count.feasible++
			if p.HostsUsed == all.hosts {
				count.best++
			}
			againstOptimum(t, seed, p, all)
		case !all.feasible:
			count.refused++
		case strings.Contains(err.Error(), "wait for each other") && !newBrute(x).hasOrder(all.layouts):
			count.stuck++
		default:
			count.feasible++
			count.missed++
			t.Logf("seed %d missed: %d hosts would do, for example %v: %v", seed, all.hosts, all.layouts[0], err)
		}
	}
	t.Logf("%d tasks that can be done, of these %d missed and %d planned with the fewest hosts; %d refused, %d without an order of moves",
		count.feasible, count.missed, count.best, count.refused, count.stuck)
	if 100*(count.missed-1) > count.feasible { // one is chance
		t.Errorf("%d of %d tasks were missed", count.missed, count.feasible)
	}
}

// againstOptimum: no plan is better than the best of all, and no bound above.
func againstOptimum(t *testing.T, seed int, p placement.Plan, best optimum) {
	const eps = 1e-6
	if p.HostsUsed < best.hosts || p.Cost < best.cost-eps || p.Watts < best.watts-eps {
		t.Errorf("seed %d: %d hosts, cost %v, watts %v; the best are %d, %v and %v", seed, p.HostsUsed, p.Cost, p.Watts, best.hosts, best.cost, best.watts)
	}
	if p.LowerBound > best.hosts || p.CostBound > best.cost+eps || p.WattsBound > best.watts+eps {
		t.Errorf("seed %d: bounds %d (%s), %v, %v; the best are %d hosts, cost %v, watts %v",
			seed, p.LowerBound, p.BoundMethod, p.CostBound, p.WattsBound, best.hosts, best.cost, best.watts)
	}
}

// solve plans. What it refuses it refuses with the right kind of error and a
// remedy; what it returns passes the check. It leaves the farm as it was.
func solve(t *testing.T, seed int, x task) (p placement.Plan, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("seed %d: panic: %v", seed, r)
			err = fmt.Errorf("%w: panic", farm.ErrRefused)
		}
	}()
	before := x.farm.Clone()
	p, err = placement.Solve(x.farm, x.goals)
	if !reflect.DeepEqual(before, x.farm) {
		t.Errorf("seed %d: Solve changed the farm", seed)
	}
	if err != nil {
		var said *farm.Error
		if !errors.Is(err, farm.ErrRefused) && !errors.Is(err, farm.ErrInput) || !errors.As(err, &said) {
			t.Errorf("seed %d: neither refused nor bad input: %v", seed, err)
		} else if errors.Is(err, farm.ErrRefused) && said.Hint == "" {
			t.Errorf("seed %d: refused without a hint: %v", seed, err)
		}
		return p, err
	}
	for _, finding := range check.Plan(x.farm, p) {
		t.Errorf("seed %d: %v", seed, finding)
	}
	return p, nil
}

// What holds for every plan, whatever its size.
func TestPlansOfDrawnFarms(t *testing.T) {
	turns.One(t, 8)
	for name, draw := range drawings(12, 12) {
		t.Run(name, func(t *testing.T) { plansOfDrawnFarms(t, draw) })
	}
}

func plansOfDrawnFarms(t *testing.T, draw func(int) task) {
	planned, refused := 0, 0
	from, to := tries(30)
	for seed := from; seed < to; seed++ {
		x := draw(seed)
		p, err := solve(t, seed, x)
		if err != nil {
			refused++
			remedyHelps(t, seed, x)
			continue
		}
		planned++
		again, err := placement.Solve(x.farm.Clone(), x.goals)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("seed %d: not the same plan again: %v", seed, err)
		}
		if ds := placement.Drift(p, x.farm, nil); len(ds) > 0 {
			t.Errorf("seed %d: drift against its own farm: %v", seed, ds)
		}
		keepsInFile(t, seed, x, p)
		afterIt(t, seed, x, p)
		explained(t, seed, x, p)
		compared(t, seed, x, p)
	}
	t.Logf("%d planned, %d refused", planned, refused)
	if planned == 0 || planned < refused/8 { // of ten drawn farms one is enough
		t.Error("too few of the drawn farms can be planned for this to test anything")
	}
}

// remedyHelps: the change that is said to make it possible does.
func remedyHelps(t *testing.T, seed int, x task) {
	t.Helper()
	if len(x.goals.Check(x.farm)) > 0 {
		return
	}
	r, found := placement.Remedy(x.farm, x.goals)
	if !found {
		return
	}
	if p, err := placement.Solve(r.Apply(x.farm, x.goals)); err != nil {
		t.Errorf("seed %d: %q is said to help: %v", seed, r.Change, err)
	} else if r.Hosts < 1 || p.HostsUsed < 1 {
		t.Errorf("seed %d: %q is said to lead to a plan with %d hosts", seed, r.Change, r.Hosts)
	}
}

// keepsInFile: a plan that was written and read is the same plan.
func keepsInFile(t *testing.T, seed int, x task, p placement.Plan) {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var read placement.Plan
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if fs := check.Plan(x.farm, read); len(fs) > 0 {
		t.Errorf("seed %d: after reading it back: %v", seed, fs)
	}
}

// afterIt: the farm after the plan makes sense, and planning it again moves
// nothing unless that is better by the goals.
func afterIt(t *testing.T, seed int, x task, p placement.Plan) {
	t.Helper()
	if x.goals.Unit == placement.UnitShard {
		return // its pairs are new ones, made when it is carried out
	}
	after := p.Apply(x.farm)
	all := func(farm.PairName, farm.SideName) bool { return true }
	if ds := placement.Drift(p, after, all); len(ds) > 0 {
		t.Errorf("seed %d: drift after the moves: %v", seed, ds)
	}
	for i, h := range bought(x) {
		h.Address, h.Dir = fmt.Sprintf("10.0.9.%d", i+1), "/srv/new"
		after.Hosts = append(after.Hosts, h)
	}
	if ps := after.Check(); len(ps) > 0 {
		t.Errorf("seed %d: the farm after the plan: %v", seed, ps)
		return
	}
	goals := x.goals
	goals.Buy = nil
	again, err := placement.Solve(after, goals)
	if err != nil {
		t.Errorf("seed %d: planning the planned farm: %v", seed, err)
		return
	}
	if len(again.Moves) > 0 && !better(goals, again, p) {
		t.Errorf("seed %d: %d hosts, cost %v, watts %v; and then %d, %v, %v with moves %v", seed, p.HostsUsed, p.Cost, p.Watts, again.HostsUsed, again.Cost, again.Watts, again.Moves)
	}
}

func bought(x task) []farm.Host {
	var out []farm.Host
	for _, p := range x.goals.Buy {
		out = append(out, p.Hosts(x.farm)...)
	}
	return out
}

// better says whether plan a is better than b by the goals' first objectives.
func better(g placement.Goals, a, b placement.Plan) bool {
	minimise := g.Minimise
	if len(minimise) == 0 {
		minimise = []string{"hosts"}
	}
	for _, m := range minimise {
		x, y := 0.0, 0.0
		switch m {
		case "hosts":
			x, y = float64(a.HostsUsed), float64(b.HostsUsed)
		case "cost":
			x, y = a.Cost, b.Cost
		case "watts":
			x, y = a.Watts, b.Watts
		case "moves":
			x, y = float64(a.Bytes()), 0
		}
		if x != y {
			return x < y
		}
	}
	return false
}

// explained: everything in the plan can be explained, and what is said of the
// other hosts is so: those that are said to have room do.
func explained(t *testing.T, seed int, x task, p placement.Plan) {
	t.Helper()
	var names []string
	for _, h := range p.Hosts[:min(1, len(p.Hosts))] {
		names = append(names, string(h.Name))
	}
	for _, pair := range x.farm.Pairs {
		names = append(names, string(pair.Name), string(pair.Instance(farm.A)))
	}
	for _, name := range names {
		e, err := placement.Explain(x.farm, p, name)
		if err != nil {
			if pair, ok := x.farm.Pair(farm.PairName(strings.TrimSuffix(name, "a"))); ok && len(pair.Shards) == 0 {
				continue // nothing of it is left
			}
			t.Errorf("seed %d: explain %s: %v", seed, name, err)
			continue
		}
		for _, r := range e.Free {
			freesAHost(t, seed, x, p, r)
		}
		for _, one := range e.Each {
			othersAreSo(t, seed, x, p, one)
		}
		if e.Kind == "instance" {
			othersAreSo(t, seed, x, p, e)
		}
	}
	if _, err := placement.Explain(x.farm, p, "nobody"); !errors.Is(err, farm.ErrInput) {
		t.Errorf("seed %d: explaining what is not there: %v", seed, err)
	}
}

// freesAHost: a change that is said to free a host does.
func freesAHost(t *testing.T, seed int, x task, p placement.Plan, r placement.Relaxation) {
	t.Helper()
	if r.Hosts == 0 {
		return
	}
	f, g := r.Apply(x.farm, x.goals)
	g.Minimise = []string{"hosts"}
	q, err := placement.Solve(f, g)
	if err != nil || q.HostsUsed > r.Hosts || r.Hosts >= p.HostsUsed {
		t.Errorf("seed %d: %q is said to lead from %d to %d hosts: %d, %v", seed, r.Change, p.HostsUsed, r.Hosts, q.HostsUsed, err)
	}
}

// layoutRules are those that say where something may be, and not how it gets
// there.
var layoutRules = []string{"sides-apart", "labels-apart", "host-type", "host-without", "host-dir", "host-load", "max-instances", "pinned", "forbidden", "together", "apart", "surface"}

// othersAreSo moves an instance to every other host and counts where that
// keeps the rules.
func othersAreSo(t *testing.T, seed int, x task, p placement.Plan, e placement.Explanation) {
	t.Helper()
	at := slices.IndexFunc(p.Assignments, func(a placement.Assignment) bool { return string(a.Instance) == e.Subject })
	if at < 0 || x.goals.Unit == placement.UnitShard || slices.Contains(x.goals.Frozen, p.Assignments[at].Pair) {
		return
	}
	q := p
	q.Assignments = slices.Clone(p.Assignments)
	could, all := 0, 0
	for _, h := range append(slices.Clone(x.farm.Hosts), bought(x)...) {
		if h.Name == p.Assignments[at].Host {
			continue
		}
		q.Assignments[at].Host = h.Name
		fine := !slices.ContainsFunc(check.Standing(x.farm, q), func(f farm.Finding) bool { return slices.Contains(layoutRules, f.Check) })
		if fine {
			could++
		}
		all++
	}
	said, others := e.Others["with room for it too, and not better"]+e.Others["not needed at all"], 0
	for _, n := range e.Others {
		others += n
	}
	if said != could || others > all {
		t.Errorf("seed %d: %s: %d other hosts are said to have room and %d do: %v", seed, e.Subject, said, could, e.Others)
	}
}

// compared: a plan differs from itself in nothing, and from another in what it
// differs.
func compared(t *testing.T, seed int, x task, p placement.Plan) {
	t.Helper()
	if c := placement.Compare(p, p); c.Same != len(p.Assignments) || len(c.Elsewhere)+len(c.HostsOnlyA)+len(c.HostsOnlyB)+c.OnlyA != 0 {
		t.Errorf("seed %d: compared with itself: %+v", seed, c)
	}
	goals := x.goals
	goals.Headroom = nil
	q, err := placement.Solve(x.farm, goals)
	if err != nil {
		return
	}
	at := map[string]farm.HostName{}
	for _, a := range p.Assignments {
		at[fmt.Sprint(a.Shard, a.Side, a.Instance)] = a.Host
	}
	same := 0
	for _, a := range q.Assignments {
		if at[fmt.Sprint(a.Shard, a.Side, a.Instance)] == a.Host {
			same++
		}
	}
	c := placement.Compare(p, q)
	if x.goals.Unit != placement.UnitShard && (c.Same != same || c.Same+len(c.Elsewhere) != len(q.Assignments)) {
		t.Errorf("seed %d: %d are on the same hosts, and %d said to be", seed, same, c.Same)
	}
}
