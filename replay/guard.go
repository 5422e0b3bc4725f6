package replay

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/route"
)

// Guard decides whether a server may be written to. It may when all of this
// holds, and as long as it does:
//
//   - no client is sent to it: it is not in rotation, by its address and by its
//     identity. Without a routing table nobody can know, so then a server of the
//     farm is refused, and any other must have no client but us (who has closed
//     its connection is waited for, who stays or comes is a client);
//   - nothing can come or go: it has no source, no replica, no cluster, and no
//     table whose rows are elsewhere;
//   - a person has said so on the server itself, with a name that is given again
//     here, and with the server's own identity beside it: see traffic.MarkerSQL. A
//     copy of that server, or a replica, is not what the person spoke of.
//
// It is for one goroutine.
type Guard struct {
	Server *mysql.Server
	Name   string // of the marker

	// Table reads who is in rotation; nil: there is no workspace. HasTable is
	// false when the workspace has none.
	Table    func(context.Context) (*route.Table, error)
	HasTable bool
	// Instances of the farm, by address.
	Instances map[string]farm.InstanceName
	// Identify asks another server who it is; nil: nobody can be asked.
	Identify func(ctx context.Context, address string) (traffic.Identity, error)

	asked    time.Time
	identity traffic.Identity
	known    map[string]bool // addresses that are not the candidate's
}

// standingEvery is how often the server is asked again; the routing table is
// read every time.
const standingEvery = 2 * time.Second

// recheckLimit is how long the candidate may take to answer while writes are
// being sent to it.
const recheckLimit = 5 * time.Second

// Check says whether writes may be sent now. A refusal wraps farm.ErrRefused
// and says what would make it safe.
func (g *Guard) Check(ctx context.Context) error {
	if g.asked.IsZero() {
		// By its address first: that needs no privilege, and is what most refusals are about.
		if _, err := g.byAddress(ctx); err != nil {
			return err
		}
		if err := g.standing(ctx); err != nil {
			return err
		}
		g.asked = time.Now()
		return g.rotation(ctx)
	}
	// The table first: it must not wait for a server that is busy.
	if err := g.rotation(ctx); err != nil || time.Since(g.asked) < standingEvery {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recheckLimit)
	defer cancel()
	err := g.standing(ctx)
	g.asked = time.Now()
	return err
}

// standing asks the server.
func (g *Guard) standing(ctx context.Context) error {
	st, err := g.settled(ctx)
	subject := string(g.Server.Name())
	if err != nil {
		if mysql.CodeOf(err) == 1227 || mysql.CodeOf(err) == 1142 {
			return refused(subject, "grant PROCESS, REPLICA MONITOR, REPLICATION MASTER ADMIN and SELECT; docs/reference/privileges.md has the lines",
				"it cannot be seen whether it replicates: %v", err)
		}
		return err
	}
	g.identity = st.Identity
	switch {
	case len(st.Sources) > 0:
		return refused(subject, "STOP ALL SLAVES; RESET SLAVE ALL on a copy that can be thrown away", "it replicates from %s", strings.Join(st.Sources, ", "))
	case len(st.Replicas) > 0:
		return refused(subject, "take a copy that has no replicas", "others replicate from it: %s", strings.Join(st.Replicas, ", "))
	case st.Cluster != "":
		return refused(subject, "take a copy outside of the cluster", "it is in a cluster: %s", st.Cluster)
	case len(st.Outbound) > 0:
		return refused(subject, "drop these tables from the copy", "it has tables whose rows are elsewhere: %s", strings.Join(st.Outbound, ", "))
	case g.Table == nil && len(st.Clients) > 0:
		return refused(subject, "run in the farm's workspace, or end these connections", "other clients are connected, and there is no workspace to tell whether it serves: %s",
			names(st.Clients))
	}
	return g.marker(st)
}

// leavingTime is how long a connection that its client has closed may still
// stand in the server's process list. It is a matter of milliseconds, unless the
// machine has more to do than it can.
const leavingTime = 5 * time.Second

// settled is how the server stands. Before the first write, where clients alone
// would be the reason to refuse, those who were there at the first look and do
// nothing get a moment to be gone. Once writes are sent, whoever is there is one
// too many.
func (g *Guard) settled(ctx context.Context) (traffic.Standing, error) {
	st, err := traffic.StandingOf(ctx, g.Server)
	first := st.Clients
	for end := time.Now().Add(leavingTime); err == nil && g.asked.IsZero() && g.Table == nil && mayBeLeaving(st.Clients, first) && time.Now().Before(end); {
		if !sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) {
			return st, ctx.Err()
		}
		st, err = traffic.StandingOf(ctx, g.Server)
	}
	return st, err
}

// mayBeLeaving says whether somebody is there, and everybody was there before
// and does nothing.
func mayBeLeaving(now, before []traffic.Connection) bool {
	isOther := func(c traffic.Connection) bool {
		return !c.IsIdle || !slices.ContainsFunc(before, func(b traffic.Connection) bool { return b.ID == c.ID })
	}
	return len(now) > 0 && !slices.ContainsFunc(now, isOther)
}

func names(list []traffic.Connection) string {
	var out []string
	for _, c := range list {
		out = append(out, c.Who)
	}
	return strings.Join(out, ", ")
}

// marker looks for what a person said.
func (g *Guard) marker(st traffic.Standing) error {
	subject := string(g.Server.Name())
	how := "if this server may be destroyed, run on it: " + strings.Join(traffic.MarkerSQL(g.Name), "; ")
	switch {
	case len(st.Markers) == 0:
		return refused(subject, how, "it is not marked as a server to throw away")
	case len(st.Markers) > 1:
		return refused(subject, "leave the one row of "+traffic.MarkerTable+" that is meant", "it has %d marks", len(st.Markers))
	case st.Markers[0].Name != g.Name:
		return refused(subject, "give --throw-away the name in "+traffic.MarkerTable, "it is not marked as %q", g.Name)
	case st.Markers[0].Of != st.Identity:
		return refused(subject, how+" (after DROP DATABASE stowage_throw_away)", "its mark names another server (%s), of which it is a copy; it is %s",
			st.Markers[0].Of, st.Identity)
	}
	return nil
}

// rotation asks who is in rotation.
func (g *Guard) rotation(ctx context.Context) error {
	unknown, err := g.byAddress(ctx)
	if err != nil || g.Table == nil {
		return err
	}
	return g.identify(ctx, unknown)
}

// byAddress refuses a server whose address is in rotation, and returns the
// addresses of which it is not known whether they are the candidate's.
func (g *Guard) byAddress(ctx context.Context) (unknown []string, err error) {
	if g.Table == nil {
		return nil, nil
	}
	address, subject := g.Server.Address(), string(g.Server.Name())
	if !g.HasTable {
		for other, name := range g.Instances {
			if sameAddress(ctx, address, other) {
				return nil, refused(subject, "take a copy that is not in farm.yaml", "it is %s of the farm, and there is no routing.json that says it is out of rotation", name)
			}
		}
		return nil, nil
	}
	t, err := g.Table(ctx)
	if err != nil {
		return nil, refused(subject, "mend routing.json", "who is in rotation cannot be read: %v", err)
	}
	for pair, p := range t.Pairs {
		for side, s := range p.Sides {
			switch is, seen := g.known[s.Address]; {
			case seen && !is:
			case sameAddress(ctx, address, s.Address):
				return nil, refused(subject, "take a copy that no client is sent to", "it is in rotation: side %s of %s", side, pair)
			default:
				unknown = append(unknown, s.Address)
			}
		}
	}
	return unknown, nil
}

// identify asks those in rotation who they are: the candidate may be one of
// them under another name, behind a proxy for example. Who does not answer
// within its time is distinguished by the marker alone.
func (g *Guard) identify(ctx context.Context, addresses []string) error {
	if g.known == nil {
		g.known = map[string]bool{}
	}
	if g.Identify == nil {
		for _, a := range addresses {
			g.known[a] = false
		}
		return nil
	}
	var mu sync.Mutex
	var same string
	var asking sync.WaitGroup
	places := make(chan struct{}, 16)
	for _, a := range addresses {
		asking.Add(1)
		go func() {
			defer asking.Done()
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			i, err := g.Identify(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			g.known[a] = false
			if err == nil && i == g.identity {
				same = a
			}
		}()
	}
	asking.Wait()
	if same != "" {
		g.known[same] = true
		return refused(string(g.Server.Name()), "take a copy that no client is sent to", "it is the server that clients are sent to as %s", same)
	}
	return nil
}

// sameAddress says whether two host:port are one, also by other names.
func sameAddress(ctx context.Context, a, b string) bool {
	if a == b {
		return true
	}
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	of := func(host string) map[string]bool {
		out := map[string]bool{}
		addrs, _ := net.DefaultResolver.LookupIPAddr(ctx, host)
		for _, x := range addrs {
			out[x.IP.String()] = true
		}
		return out
	}
	there := of(hostB)
	for ip := range of(hostA) {
		if there[ip] {
			return true
		}
	}
	return strings.EqualFold(hostA, hostB)
}

// Doors are the ways to a candidate and, unless it is nil, an original. Only a
// candidate that may be written to gets connections that can write.
func Doors(candidate, original *mysql.Server, writes bool) (is, was Door) {
	seed := traffic.NewSeed()
	door := func(s *mysql.Server, readOnly bool) Door {
		return func(ctx context.Context, database string) (Conn, error) {
			c, err := traffic.OpenClient(ctx, s, traffic.ClientOptions{Database: database, ReadOnly: readOnly, Seed: seed})
			if err != nil {
				return nil, fmt.Errorf("log in: %w", err)
			}
			return c, nil
		}
	}
	if original != nil {
		was = door(original, true)
	}
	return door(candidate, !writes), was
}
