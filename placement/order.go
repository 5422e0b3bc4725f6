package placement

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"

	"stowage/farm"
	"stowage/placement/schedule"
)

// order writes the assignments and the moves that lead there, in an order that
// overloads no host, with a port and a server_id for each new instance.
func (l *layout) order(plan *Plan) error {
	moves, items := l.scheduled()
	hosts := l.hostsThere()
	rules := l.rules()
	steps, err := schedule.Make(moves, hosts, rules)
	var stuck *schedule.Stuck
	if errors.As(err, &stuck) {
		return fmt.Errorf("%w: %w: %w", farm.ErrRefused, errNoOrder, err)
	}
	if err != nil {
		return err
	}
	if uint64(l.farm.NextServerID)+uint64(len(steps)) > math.MaxUint32 {
		return fmt.Errorf("%w: %w", farm.ErrRefused, errServerIDs)
	}
	line := schedule.Time(steps, moves, hosts, rules, l.goals.Rates.pace())
	host := l.hostsByName()
	plan.Moves = make([]Move, 0, len(steps))
	for n, s := range steps {
		m := l.move(items[s.Move], host)
		m.Wave, m.Stage, m.Begin, m.Seconds = s.Wave, s.Stage, line.Spans[n].Begin, line.Spans[n].Seconds
		plan.Moves = append(plan.Moves, m)
	}
	plan.MoveSeconds, plan.MoveBound = line.Seconds, line.Bound
	for _, n := range line.Critical {
		c := Critical{What: plan.Moves[n].Name, Begin: line.Spans[n].Begin, Seconds: line.Spans[n].Seconds, Why: line.Spans[n].Why}
		plan.Critical = append(plan.Critical, c)
	}
	if l.goals.Unit == UnitShard {
		return l.regroup(plan)
	}
	return l.place(plan)
}

// place gives ports and ids, and lists where every side then lives.
func (l *layout) place(plan *Plan) error {
	ports := newPorts(l.whole)
	for i := range plan.Moves {
		m := &plan.Moves[i]
		port, err := ports.next(m.To.Address, m.To.Host)
		if err != nil {
			return fmt.Errorf("%w: host %s: %w", farm.ErrRefused, m.To.Host, err)
		}
		m.To.Port = port
		m.ServerID = l.farm.NextServerID + uint32(i)
	}
	plan.NextServerID = l.farm.NextServerID + uint32(len(plan.Moves))
	after := plan.Apply(l.farm)
	for _, pair := range after.Pairs {
		for _, side := range pair.SideNames() {
			s := pair.Sides[side]
			plan.Assignments = append(plan.Assignments, Assignment{Pair: pair.Name, Side: side, Instance: pair.Instance(side), Host: s.Host, Port: s.Port})
		}
	}
	return nil
}

// scheduled are the moves for package schedule, and which item each moves.
func (l *layout) scheduled() ([]schedule.Move, []int) {
	var moves []schedule.Move
	var items []int
	outside := l.outside()
	for i, it := range l.items {
		if it.from == l.where[i] {
			continue // single shards go to new instances, on the same host too
		}
		host := l.farm.Pairs[it.pair].Sides[it.side].Host
		from, is := l.host[host]
		if !is {
			from = outside[host]
		}
		moves = append(moves, schedule.Move{Pair: it.thing, Side: i - l.first[it.thing], From: from, To: l.where[i], Bytes: it.bytes, Needs: append(slices.Clone(it.today), 1)})
		items = append(items, i)
	}
	return moves, items
}

// outside numbers the hosts that are not packed onto, behind the others.
func (p *problem) outside() map[farm.HostName]int {
	out := map[farm.HostName]int{}
	for _, h := range p.farm.Hosts {
		if _, is := p.host[h.Name]; !is {
			out[h.Name] = len(p.hosts) + len(out)
		}
	}
	return out
}

// hostsThere are all hosts for package schedule: those packed onto, with what is on them
// now, and those outside, of which only the streams count.
func (l *layout) hostsThere() []schedule.Host {
	out := make([]schedule.Host, 0, len(l.hosts))
	slots := len(l.dims)
	for _, r := range l.hosts {
		h := schedule.Host{Name: string(r.spec.Name), Rack: r.spec.Labels[l.goals.Rates.RackLabel], Limit: append([]int64(nil), r.hard...), Used: make([]int64, slots+1)}
		h.Limit = append(h.Limit, -1)
		if r.most > 0 && l.goals.Unit != UnitShard {
			h.Limit[slots] = int64(r.most)
		}
		out = append(out, h)
	}
	for i, it := range l.items {
		if r, is := l.host[l.pair(i).Sides[it.side].Host]; is {
			for d, v := range it.today {
				out[r].Used[d] += v
			}
			out[r].Used[slots]++
		}
	}
	for _, h := range l.farm.Hosts {
		if _, is := l.host[h.Name]; !is {
			limit := make([]int64, slots+1)
			for d := range limit {
				limit[d] = -1
			}
			out = append(out, schedule.Host{Name: string(h.Name), Rack: h.Labels[l.goals.Rates.RackLabel], Limit: limit, Used: make([]int64, slots+1)})
		}
	}
	return out
}

func (l *layout) rules() schedule.Rules {
	at := func(thing, side int) int {
		i := l.first[thing] + side
		if r, is := l.host[l.pair(i).Sides[l.items[i].side].Host]; is {
			return r
		}
		return -1
	}
	sides := func(thing int) int {
		a, end := l.sides(thing)
		return end - a
	}
	return schedule.Rules{Parallel: l.goals.Parallel, PerHost: streamsPerHost, At: at, Sides: sides}
}

// pace is the rates as package schedule takes them. Where the goals say
// nothing, a stream carries what one 1 Gbit link does, and no host more than
// two.
func (r Rates) pace() schedule.Rates {
	out := schedule.Rates{Stream: r.Stream, Host: r.Host, Rack: r.Rack, Fixed: moveFixed}
	if out.Stream == 0 {
		out.Stream = usualStream
	}
	return out
}

const (
	usualStream = 100e6 // bytes a second
	moveFixed   = 20    // seconds of a move that are not copying: drain, catching up, warming
)

// streamsPerHost is how many sides may be on their way to one host at once.
const streamsPerHost = 2

func (l *layout) move(i int, host map[farm.HostName]farm.Host) Move {
	it := l.items[i]
	pair := l.pair(i)
	side := pair.Sides[it.side]
	from := host[side.Host]
	to := l.hosts[l.where[i]].spec
	m := Move{
		Pair: pair.Name, Side: it.side, Instance: pair.Instance(it.side), Bytes: it.bytes,
		From: Place{from.Name, from.Address, side.Port, side.Datadir, side.Config, side.GroupSuffix},
		To:   Place{Host: to.Name, Address: to.Address, Datadir: path.Join(to.Dir, string(pair.Instance(it.side)), "data"), Config: path.Join(to.Dir, string(pair.Instance(it.side)), "my.cnf")},
	}
	m.Name, m.Source, m.Target = string(m.Instance), from.Name, to.Name
	if it.shard >= 0 {
		m.Shard = pair.Shards[it.shard].Name
		m.Name = string(m.Shard)
	}
	return m
}

func (p *problem) hostsByName() map[farm.HostName]farm.Host {
	out := make(map[farm.HostName]farm.Host, len(p.farm.Hosts))
	for _, h := range p.farm.Hosts {
		out[h.Name] = h
	}
	return out
}

// ports gives each new instance the lowest free port on its address, from the
// lowest one in use in the farm upwards, so that a farm on 3306 stays there.
type ports struct {
	lowest int
	taken  map[string]map[int]bool
}

func newPorts(f *farm.Farm) *ports {
	ps := &ports{lowest: math.MaxUint16, taken: map[string]map[int]bool{}}
	address := make(map[farm.HostName]string, len(f.Hosts))
	for _, h := range f.Hosts {
		address[h.Name] = h.Address
	}
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			ps.take(address[s.Host], s.Port)
			ps.lowest = min(ps.lowest, s.Port)
		}
	}
	return ps
}

func (ps *ports) take(address string, port int) {
	if ps.taken[address] == nil {
		ps.taken[address] = map[int]bool{}
	}
	ps.taken[address][port] = true
}

// next is a port on an address; hosts that are to be bought have none yet and
// are known by their name.
func (ps *ports) next(address string, host farm.HostName) (int, error) {
	if address == "" {
		address = "host " + string(host)
	}
	for port := ps.lowest; port <= math.MaxUint16; port++ {
		if !ps.taken[address][port] {
			ps.take(address, port)
			return port, nil
		}
	}
	return 0, errPorts
}
