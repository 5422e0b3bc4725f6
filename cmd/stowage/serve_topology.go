package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/inventory"
	"stowage/inventory/graph"
	"stowage/report"
	"stowage/route"
	"stowage/serve"
	"stowage/session"
)

// drawnPairs keeps boards of pairs for as long as what they are drawn from stays as it is, and the answers of servers to the newest inventory.
type drawnPairs struct {
	mu     sync.Mutex
	boards map[string]drawnBoard // by group

	asked   int64 // the document that these are from
	servers map[farm.InstanceName]report.TopologyServer
	at      time.Time
}

type drawnBoard struct {
	of    string
	board report.TopologyBoard
}

// mostBoards is how many groups are kept: each is asked for by open pages, once a second.
const mostBoards = 20

// topology is the pairs of farm.yaml, with who is in rotation by routing.json, what the newest run is doing, and what servers have said to the newest inventory.
func (s *shelf) topology(now serve.Move, group string) (report.TopologyBoard, error) {
	d, err := s.desk()
	if err != nil {
		return report.TopologyBoard{}, err
	}
	defer d.Close()
	table, unknown := s.routing(d)
	w := &s.drawn
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ask(d); err != nil {
		return report.TopologyBoard{}, err
	}
	f := report.TopologyFacts{Farm: d.Farm, Asked: w.at, Servers: w.servers, Age: graph.Age(time.Now(), w.at), Group: group, Work: workOf(now)}
	generation := int64(-1)
	switch {
	case unknown != "":
		f.RouteNote = "Who is in rotation is what farm.yaml says: " + strings.TrimPrefix(unknown, "whether gates are closed: ")
	case table == nil:
		f.RouteNote = "Who is in rotation is what farm.yaml says: there is no routing.json yet."
	default:
		f.Route, generation = routesOf(table), table.Generation
	}
	of := fmt.Sprintf("%p %d %v %d %s %v %s", d.Farm, generation, table != nil, w.asked, f.Age, f.Work, f.RouteNote)
	if have, ok := w.boards[group]; ok && have.of == of {
		return have.board, nil
	}
	board, err := report.NewTopologyBoard(f, "/moves")
	if err != nil {
		return board, err
	}
	if w.boards == nil || len(w.boards) >= mostBoards {
		w.boards = map[string]drawnBoard{}
	}
	w.boards[group] = drawnBoard{of, board}
	return board, nil
}

// ask reads the newest inventory, if it is another than the one that was read.
func (w *drawnPairs) ask(d *session.Session) error {
	docs, err := d.Store.Documents("inventory")
	if err != nil || len(docs) == 0 || docs[len(docs)-1].ID == w.asked {
		return err
	}
	var inv inventory.Inventory
	newest := docs[len(docs)-1]
	if err := d.Store.DocumentByID(newest.ID, &inv); err != nil {
		return err
	}
	w.asked, w.at, w.servers = newest.ID, inv.Taken, map[farm.InstanceName]report.TopologyServer{}
	for _, x := range inv.Instances {
		w.servers[x.Name] = report.TopologyServer{Source: x.Source, Behind: x.Behind, Error: x.Error}
	}
	return nil
}

// workOf are the parts of a run that have begun and not ended.
func workOf(now serve.Move) (out []report.TopologyWork) {
	if !now.Ended.IsZero() {
		return nil
	}
	for _, l := range now.Lanes {
		if !l.IsDone && l.State != "undone" {
			out = append(out, report.TopologyWork{Name: l.Name, Step: l.Step})
		}
	}
	return out
}

// routesOf reads a table as pictures show it.
func routesOf(t *route.Table) func(farm.PairName) (report.TopologyRoute, bool) {
	return func(name farm.PairName) (r report.TopologyRoute, ok bool) {
		p, ok := t.Pairs[name]
		if !ok {
			return r, false
		}
		r.Weight = map[farm.SideName]float64{}
		for side, x := range p.Sides {
			r.Weight[side] = x.Weight
		}
		for _, x := range p.Routes {
			if x.Gate == route.Closed {
				r.Closed = append(r.Closed, x.Home)
			}
		}
		return r, true
	}
}
