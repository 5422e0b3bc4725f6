package placement

import (
	"fmt"
	"math"
	"path"

	"stowage/farm"
)

// moves lists what has to move, in waves, with a port and a server_id for each
// new instance.
func (p *problem) moves(l *layout) ([]Move, error) {
	var pending []Move
	// All B sides before any A side: until the last B has moved, every pair
	// still has its A side where it always was.
	for _, side := range []farm.SideName{farm.B, farm.A} {
		for i, it := range p.items {
			if it.side == side && it.from != l.where[i] {
				pending = append(pending, p.move(it, l.rooms[l.where[i]].host))
			}
		}
	}
	if uint64(p.farm.NextServerID)+uint64(len(pending)) > math.MaxUint32 {
		return nil, fmt.Errorf("%w: %w", farm.ErrRefused, errServerIDs)
	}
	moves := waves(pending, p.goals.Parallel)
	ports := newPorts(p.farm)
	for i := range moves {
		port, err := ports.next(moves[i].To.Address)
		if err != nil {
			return nil, fmt.Errorf("%w: host %s: %w", farm.ErrRefused, moves[i].To.Host, err)
		}
		moves[i].To.Port = port
		moves[i].ServerID = p.farm.NextServerID + uint32(i)
	}
	return moves, nil
}

func (p *problem) move(it item, to farm.Host) Move {
	pair := p.farm.Pairs[it.pair]
	side := pair.Sides[it.side]
	from, _ := p.farm.Host(side.Host)
	return Move{
		Pair: pair.Name, Side: it.side, Instance: it.name,
		From:  Place{from.Name, from.Address, side.Port, side.Datadir, side.Config},
		To:    Place{Host: to.Name, Address: to.Address, Datadir: path.Join(to.Dir, string(it.name), "data"), Config: path.Join(to.Dir, string(it.name), "my.cnf")},
		Bytes: int64(pair.Needs()[farm.Disk]),
	}
}

// waves deals moves out to waves of at most parallel sides: never both sides
// of a pair in one wave, the sides of a pair in the order given, and target
// hosts as different as possible.
func waves(pending []Move, parallel int) []Move {
	ordered := make([]Move, 0, len(pending))
	for wave := 1; len(pending) > 0; wave++ {
		chosen := chooseWave(pending, parallel)
		rest := pending[:0:0]
		for i, m := range pending {
			if chosen[i] {
				m.Wave = wave
				ordered = append(ordered, m)
			} else {
				rest = append(rest, m)
			}
		}
		pending = rest
	}
	return ordered
}

// chooseWave picks up to parallel moves. It goes through the list with a limit
// of moves per target host that is raised only while the wave has room.
func chooseWave(pending []Move, parallel int) map[int]bool {
	chosen := map[int]bool{}
	targets := map[farm.HostName]int{}
	pairs := map[farm.PairName]bool{}
	for limit := 1; limit <= parallel && len(chosen) < min(parallel, len(pending)); limit++ {
		seen := map[farm.PairName]bool{} // an earlier side of the pair still waits
		for i, m := range pending {
			if len(chosen) == parallel {
				break
			}
			if chosen[i] {
				continue
			}
			if !pairs[m.Pair] && !seen[m.Pair] && targets[m.To.Host] < limit {
				chosen[i] = true
				pairs[m.Pair] = true
				targets[m.To.Host]++
			}
			seen[m.Pair] = true
		}
	}
	return chosen
}

// ports gives each new instance the lowest free port on its address, from the
// lowest one in use in the farm upwards, so that a farm on 3306 stays there.
type ports struct {
	lowest int
	taken  map[string]map[int]bool
}

func newPorts(f *farm.Farm) *ports {
	ps := &ports{lowest: math.MaxUint16, taken: map[string]map[int]bool{}}
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			h, _ := f.Host(s.Host)
			ps.take(h.Address, s.Port)
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

func (ps *ports) next(address string) (int, error) {
	for port := ps.lowest; port <= math.MaxUint16; port++ {
		if !ps.taken[address][port] {
			ps.take(address, port)
			return port, nil
		}
	}
	return 0, errPorts
}
