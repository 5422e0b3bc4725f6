package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/session"
	"stowage/store"
)

// refusingLine is a server that clients are sent to, by an open gate, and that
// takes no writes.
type refusingLine struct {
	Pair    farm.PairName `json:"pair"`
	Side    farm.SideName `json:"side"` // whose clients
	Address string        `json:"address"`
}

// routingTruth is what run and servers say of a routing table.
type routingTruth struct {
	Differs       []route.Difference `json:"differs_from_written"`
	Refusing      []refusingLine     `json:"refusing_writes"`
	WritesUnknown string             `json:"writes_unknown,omitempty"` // servers that could not be asked
}

// alarms are those, one sentence each.
func (v routingTruth) alarms() []string {
	var out []string
	for _, r := range v.Refusing {
		out = append(out, fmt.Sprintf("REFUSES WRITES: clients of %s side %s are sent to %s, which is read_only", r.Pair, r.Side, r.Address))
	}
	for _, d := range v.Differs {
		whom := string(d.Pair)
		if d.Side != "" {
			whom += " side " + string(d.Side)
		}
		out = append(out, fmt.Sprintf("ROUTING CHANGED: for clients of %s the table shows %s; the move has written %s", whom, d.Shows, d.Written))
	}
	return out
}

func (v routingTruth) write(w io.Writer) {
	for _, text := range v.alarms() {
		fmt.Fprintln(w, text)
	}
	if v.WritesUnknown != "" {
		fmt.Fprintf(w, "whether these take writes is not known: %s\n", v.WritesUnknown)
	}
}

type opener func(name farm.InstanceName, address string) *mysql.Server

// opener asks servers as the administrator; without an account nobody is asked.
func openerOf(d *session.Session) (opener, error) {
	if err := d.Login(); err != nil {
		return nil, err
	}
	return d.Server, nil
}

// truthOf compares a table with the run that is open and against the servers. A
// switch between reading the one and asking the other looks like a fault: what
// is found is looked at a second time.
func truthOf(ctx context.Context, d *session.Session, r route.Router, t *route.Table, open opener) (routingTruth, error) {
	first, err := truthNow(ctx, d, t, open)
	if err != nil || len(first.alarms()) == 0 {
		return first, err
	}
	select {
	case <-ctx.Done():
		return first, ctx.Err()
	case <-time.After(lookAgain):
	}
	if t, err = r.Read(ctx); err != nil {
		return first, err
	}
	again, err := truthNow(ctx, d, t, open)
	again.Differs = slices.DeleteFunc(again.Differs, func(x route.Difference) bool { return !slices.Contains(first.Differs, x) })
	again.Refusing = slices.DeleteFunc(again.Refusing, func(x refusingLine) bool { return !slices.Contains(first.Refusing, x) })
	return again, err
}

// lookAgain is longer than most gates are closed.
const lookAgain = 300 * time.Millisecond

func truthNow(ctx context.Context, d *session.Session, t *route.Table, open opener) (routingTruth, error) {
	v := routingTruth{Differs: []route.Difference{}, Refusing: []refusingLine{}}
	_, unsettled, err := act.Unsettled(d.Store)
	if err != nil {
		return v, err
	}
	if unsettled {
		noted, err := d.RoutingNotes().Read()
		if err != nil {
			return v, err
		}
		v.Differs = noted.Differ(t)
	}
	if open != nil {
		v.Refusing, v.WritesUnknown = refusing(ctx, t, open)
	}
	return v, nil
}

// refusing asks every server that an open gate leads to, side by side.
func refusing(ctx context.Context, t *route.Table, open opener) ([]refusingLine, string) {
	asked := openRoutes(t)
	closed, faults := make([]bool, len(asked)), make([]error, len(asked))
	var wait sync.WaitGroup
	tokens := make(chan struct{}, linkAtOnce)
	for i, r := range asked {
		tokens <- struct{}{}
		wait.Go(func() {
			defer func() { <-tokens }()
			closed[i], faults[i] = isReadOnly(ctx, open(farm.InstanceName(fmt.Sprintf("%s/%s", r.Pair, r.Side)), r.Address))
		})
	}
	wait.Wait()
	out, unknown := []refusingLine{}, []string(nil)
	for i, r := range asked {
		switch {
		case faults[i] != nil:
			unknown = append(unknown, fmt.Sprintf("%s side %s: %v", r.Pair, r.Side, faults[i]))
		case closed[i]:
			out = append(out, r)
		}
	}
	return out, strings.Join(unknown, "; ")
}

func isReadOnly(ctx context.Context, server *mysql.Server) (bool, error) {
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, linkWait)
	defer cancel()
	return server.IsReadOnly(ctx)
}

// openRoutes are the homes of all pairs and the servers that open gates lead
// them to, each once.
func openRoutes(t *route.Table) []refusingLine {
	seen := map[refusingLine]bool{}
	for name, p := range t.Pairs {
		for _, r := range p.Routes {
			if r.Gate == route.Open {
				seen[refusingLine{name, r.Home, p.Sides[r.Side].Address}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b refusingLine) int {
		return cmp.Or(cmp.Compare(a.Pair, b.Pair), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Address, b.Address))
	})
}

// firstTable is what `routing init` writes: the farm at rest, or, in the middle
// of a run, what that run has written last. Where a server refuses writes, the
// gate that leads to it is closed.
func firstTable(ctx context.Context, d *session.Session, open opener) (*route.Table, store.Run, routingTruth, error) {
	first := map[farm.PairName]*route.Pair{}
	for _, p := range d.Farm.Pairs {
		first[p.Name] = route.ForFarm(d.Farm, p)
	}
	v := routingTruth{Refusing: []refusingLine{}}
	run, unsettled, err := act.Unsettled(d.Store)
	if err != nil {
		return nil, run, v, err
	}
	noted, err := d.RoutingNotes().Read()
	if err != nil {
		return nil, run, v, err
	}
	t := noted.First(first)
	if !unsettled {
		run = store.Run{}
	} else if noted == nil {
		return nil, run, v, &farm.Error{Op: "create routing", Subject: run.ID,
			Err:  fmt.Errorf("%w: this move has not ended, and its table is not kept", farm.ErrRefused),
			Hint: "write it by hand as docs/reference/routing.md says, gates closed where in doubt; then: stowage resume"}
	} else {
		t = noted.Rebuilt(first)
	}
	if open != nil {
		v.Refusing, v.WritesUnknown = refusing(ctx, t, open)
	}
	for _, r := range v.Refusing {
		t.Pairs[r.Pair].CloseGate(r.Side)
	}
	return t, run, v, nil
}
