package check_test

import (
	"fmt"
	"slices"
	"stowage/placement"
)

// spoiltMoves are mutations of moves, their order and their time.
var spoiltMoves = map[string]func(m *mutant) []string{
	"a move is dropped": func(m *mutant) []string {
		at := m.any(len(m.p.Moves))
		m.p.Moves = slices.Delete(m.p.Moves, at, at+1)
		return []string{"move-matches"}
	},
	"a move is there twice": func(m *mutant) []string {
		m.p.Moves = append(m.p.Moves, m.p.Moves[m.any(len(m.p.Moves))])
		return []string{"move-once"}
	},
	"a move of nothing": func(m *mutant) []string {
		move := *m.move()
		move.Pair, move.Shard = "nobody", "nothing"
		m.p.Moves = append(m.p.Moves, move)
		return []string{"move-known"}
	},
	"a move to another host than assigned": func(m *mutant) []string {
		move := m.move()
		for _, h := range m.farm.Hosts {
			if h.Name != move.To.Host && h.Name != move.From.Host {
				move.To.Host, move.Target, move.To.Address = h.Name, h.Name, h.Address
				return []string{"move-matches"}
			}
		}
		return nil
	},
	"a move to another port than assigned": func(m *mutant) []string {
		m.move().To.Port++
		return []string{"move-matches"}
	},
	"a move from elsewhere": func(m *mutant) []string {
		move := m.move()
		switch m.IntN(4) {
		case 0:
			move.From.Port++
		case 1:
			move.From.Datadir += "x"
		case 2:
			move.From.Address += "1"
		default:
			move.From.Config += "x"
		}
		return []string{"move-from"}
	},
	"a move to another address": func(m *mutant) []string {
		m.move().To.Address += "1"
		return []string{"move-to"}
	},
	"a move without a datadir": func(m *mutant) []string {
		if m.byShard() {
			return nil
		}
		m.move().To.Datadir = ""
		return []string{"move-to"}
	},
	"a move under another name": func(m *mutant) []string {
		move := m.move()
		switch m.IntN(3) {
		case 0:
			move.Name += "x"
		case 1:
			move.Source += "x"
		default:
			move.Target += "x"
		}
		return []string{"move-names"}
	},
	"the bytes of a move": func(m *mutant) []string {
		move := m.move()
		move.Bytes += 3 + move.Bytes/100
		return []string{"move-bytes"}
	},
	"more is copied than may be": func(m *mutant) []string {
		if m.p.Bytes() < 1000 {
			return nil
		}
		m.p.Goals.MovedMost = float64(m.p.Bytes()) * 0.8
		return []string{"moved-most"}
	},

	"a server_id given twice": func(m *mutant) []string {
		a, b := m.move(), m.move()
		if m.byShard() || a == b {
			return nil
		}
		a.ServerID = b.ServerID
		return []string{"server-id-unique"}
	},
	"a server_id of the past": func(m *mutant) []string {
		if m.byShard() {
			return nil
		}
		m.move().ServerID = m.farm.NextServerID - 1
		return []string{"server-id-new"}
	},
	"a server_id that will be given again": func(m *mutant) []string {
		m.p.NextServerID--
		return []string{"server-id-next"}
	},
	"server ids that go down": func(m *mutant) []string {
		m.p.NextServerID = m.farm.NextServerID - 1
		return []string{"server-id-next"}
	},
	"a port that is taken": func(m *mutant) []string {
		a, b := m.move(), m.move()
		if a.To.Host != b.To.Host || a.Instance == b.Instance {
			return nil
		}
		a.To.Port = b.To.Port
		for i := range m.p.Assignments {
			if m.p.Assignments[i].Instance == a.Instance {
				m.p.Assignments[i].Port = b.To.Port
			}
		}
		for i := range m.p.Moves {
			if m.p.Moves[i].Instance == a.Instance {
				m.p.Moves[i].To.Port = b.To.Port
			}
		}
		return []string{"port-unique"}
	},
	"a port of an instance that is there": func(m *mutant) []string {
		move := m.move()
		for _, p := range m.farm.Pairs {
			for _, s := range p.Sides {
				if s.Host == move.To.Host {
					for i := range m.p.Moves {
						if m.p.Moves[i].Instance == move.Instance {
							m.p.Moves[i].To.Port = s.Port
						}
					}
					return []string{"port-unique"}
				}
			}
		}
		return nil
	},
	"a datadir that is taken": func(m *mutant) []string {
		a, b := m.move(), m.move()
		if m.byShard() || a == b || a.To.Host != b.To.Host {
			return nil
		}
		a.To.Datadir = b.To.Datadir
		return []string{"datadir-unique"}
	},

	"a wave left out": func(m *mutant) []string {
		for i := m.any(len(m.p.Moves)); i < len(m.p.Moves); i++ {
			m.p.Moves[i].Wave += 2
		}
		return []string{"wave-order"}
	},
	"a move in an earlier wave": func(m *mutant) []string {
		move := m.move()
		if move.Wave == 1 || move == &m.p.Moves[0] {
			return nil
		}
		move.Wave = 0
		return []string{"wave-order"}
	},
	"a stage left out": func(m *mutant) []string {
		for i := m.any(len(m.p.Moves)); i < len(m.p.Moves); i++ {
			m.p.Moves[i].Stage += 2
		}
		return []string{"stage-order"}
	},
	"a stage before the first": func(m *mutant) []string {
		m.p.Moves[m.any(len(m.p.Moves))].Stage = 0
		return []string{"stage-order"}
	},
	"all in one wave": func(m *mutant) []string {
		both := map[string]int{}
		for i := range m.p.Moves {
			m.p.Moves[i].Wave = 1
			both[fmt.Sprint(m.p.Moves[i].Shard, m.old(placement.Assignment{Pair: m.p.Moves[i].Pair, Shard: m.p.Moves[i].Shard}))]++
		}
		for _, n := range both {
			if n == 2 {
				return []string{"wave-pair"}
			}
		}
		return nil
	},
	"more at once than may be": func(m *mutant) []string {
		size, most := map[int]int{}, 0
		for _, move := range m.p.Moves {
			size[move.Wave]++
			most = max(most, size[move.Wave])
		}
		if most < 2 {
			return nil
		}
		m.p.Goals.Parallel = most - 1
		return []string{"wave-size"}
	},
	"stages taken for one": func(m *mutant) []string {
		for i := range m.p.Moves {
			m.p.Moves[i].Stage = 1
		}
		if !m.overloadsInOneStage() { // the stages were not needed for room
			return nil
		}
		return []string{"way-load", "way-max-instances"}
	},
	"a side to its twin before that has gone": func(m *mutant) []string {
		for i := range m.p.Moves {
			for k := range i {
				// k made room for its twin i: in the other order both are on one host.
				if a, b := m.p.Moves[k], m.p.Moves[i]; a.Pair == b.Pair && a.Shard == b.Shard && a.From.Host == b.To.Host {
					m.p.Moves[i], m.p.Moves[k] = a, b
					m.p.Moves[i].Wave, m.p.Moves[k].Wave = b.Wave, a.Wave
					m.p.Moves[i].Stage, m.p.Moves[k].Stage = b.Stage, a.Stage
					return []string{"way-sides-apart"}
				}
			}
		}
		return nil
	},

	"the time of the whole": func(m *mutant) []string {
		m.p.MoveSeconds *= m.factor()
		return []string{"time"}
	},
	"a bound above the time": func(m *mutant) []string {
		m.p.MoveBound = m.p.MoveSeconds*1.01 + 1
		return []string{"time"}
	},
	"a move before the first": func(m *mutant) []string {
		m.move().Begin = -1
		return []string{"time"}
	},
	"a critical path that is none": func(m *mutant) []string {
		c := &m.p.Critical[m.any(len(m.p.Critical))]
		switch m.IntN(3) {
		case 0:
			c.Begin++
		case 1:
			c.Seconds++
		default:
			c.What += "x"
		}
		return []string{"time"}
	},
	"a critical path with a hole": func(m *mutant) []string {
		at := m.any(len(m.p.Critical))
		m.p.Critical = slices.Delete(m.p.Critical, at, at+1)
		return []string{"time"}
	},
	"both sides at the same time": func(m *mutant) []string {
		for i := range m.p.Moves {
			for k := range i {
				if a, b := m.p.Moves[k], &m.p.Moves[i]; a.Pair == b.Pair && a.Shard == b.Shard {
					b.Begin = a.Begin
					return []string{"time"}
				}
			}
		}
		return nil
	},
	"more at the same time than may be": func(m *mutant) []string {
		if len(m.p.Moves) <= m.p.Goals.Parallel {
			return nil
		}
		for i := range m.p.Moves {
			m.p.Moves[i].Begin = 0
		}
		return []string{"time"}
	},
	"a stream faster than it is": func(m *mutant) []string {
		move := m.move()
		if move.Bytes == 0 {
			return nil
		}
		m.p.Goals.Rates.Stream = float64(move.Bytes) / move.Seconds / 2
		return []string{"time"}
	},
	"a host that carries more than it can": func(m *mutant) []string {
		move := m.move()
		if move.Bytes == 0 {
			return nil
		}
		m.p.Goals.Rates.Host = float64(move.Bytes) / move.Seconds / 2
		return []string{"time"}
	},
}
