package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stowage/farm"
)

// backend is what one backend of HAProxy is to show.
type backend struct {
	name    string
	serves  farm.SideName
	servers map[farm.SideName]string // addresses of the sides in rotation
	gate    Gate
}

// server is one server as HAProxy shows it.
type server struct {
	address string
	ready   bool // takes connections, as far as somebody decided it
}

// shown is what one process shows: backend, server name.
type shown struct {
	socket   *haSocket
	backends map[string]map[string]server
}

// gateServer is the server of each backend that stands for its closed gate:
// nobody listens at gateAddress, so HAProxy tries again and again, until another
// server is ready.
const (
	gateServer  = "gate"
	gateAddress = "127.0.0.1:1"
)

// wanted is what the backends of a pair are to show.
func wanted(name farm.PairName, p *Pair) ([]backend, error) {
	fail := func(format string, args ...any) error {
		return &farm.Error{Op: "change routing", Subject: string(name), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrInput}, args...)...)}
	}
	var out []backend
	for _, home := range farm.SideNames {
		if !slices.ContainsFunc(p.Routes, func(r Route) bool { return r.Home == home }) {
			continue // nobody is at home there
		}
		b := backend{name: backendName(name, home), servers: map[farm.SideName]string{}, gate: Open}
		if p.GateIsClosed(home) {
			b.gate = Closed
		}
		switch share := p.Share(home, home); share {
		case 100:
			b.serves = home
		case 0:
			b.serves = home.Twin()
		default:
			return nil, fail("HAProxy sends all clients of a side to one server, not %g %% of them", share)
		}
		for side, s := range p.Sides {
			host, port, err := net.SplitHostPort(s.Address)
			if err != nil || net.ParseIP(host) == nil {
				return nil, fail("HAProxy needs an IP address with a port; side %s has %q", side, s.Address)
			}
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return nil, fail("side %s has the port %q", side, port)
			}
			b.servers[side] = s.Address
		}
		out = append(out, b)
	}
	return out, nil
}

// fleet are processes of HAProxy that clients come through.
type fleet []*haSocket

// show asks every process what it shows of these backends, of all without
// any. One that does not answer is an error: nobody knows what its clients
// see.
func (f fleet) show(ctx context.Context, of []backend) ([]shown, error) {
	out := make([]shown, len(f))
	err := f.each(func(i int, s *haSocket) (err error) {
		out[i].socket = s
		out[i].backends, err = s.show(ctx, of)
		return err
	})
	return out, err
}

// answering are the processes that can be asked now.
func (f fleet) answering(ctx context.Context) (out fleet) {
	answers := make([]bool, len(f))
	_ = f.each(func(i int, s *haSocket) error {
		_, err := s.worker(ctx, "show info")
		answers[i] = err == nil
		return nil
	})
	for i, s := range f {
		if answers[i] {
			out = append(out, s)
		}
	}
	return out
}

// each does the same with every process at once, and tells of all that fail.
func (f fleet) each(do func(int, *haSocket) error) error {
	errs := make([]error, len(f))
	var wg sync.WaitGroup
	for i, s := range f {
		wg.Go(func() { errs[i] = do(i, s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// differs says where some process shows something else than wanted, or nil.
func differs(all []shown, want []backend) error {
	for _, s := range all {
		for _, b := range want {
			if text := s.differs(b); text != "" {
				return fmt.Errorf("%w: HAProxy at %s %s", ErrDrift, s.socket.address, text)
			}
		}
	}
	return nil
}

// differs says where the process shows something else than b, in words.
func (s shown) differs(b backend) string {
	if text := s.wrongAddress(b); text != "" {
		return text
	}
	closed, have := b.gate == Closed, s.backends[b.name]
	for _, x := range []struct {
		server string
		ready  bool
	}{
		{gateServer, closed}, {string(b.serves), !closed}, {string(b.serves.Twin()), false},
	} {
		if have[x.server].ready != x.ready {
			return fmt.Sprintf("has server %s/%s %s; with its gate %s and side %s serving it would be %s", b.name, x.server,
				readyWord(!x.ready), b.gate, b.serves, readyWord(x.ready))
		}
	}
	return ""
}

func (s shown) wrongAddress(b backend) string {
	have := s.backends[b.name]
	if have == nil {
		return "has no backend " + b.name
	}
	for _, side := range farm.SideNames {
		if want, in := b.servers[side]; in && have[string(side)].address != want {
			return fmt.Sprintf("has server %s/%s at %s, the table has %s", b.name, side, have[string(side)].address, want)
		}
	}
	return ""
}

// holds reports whether the process has b's gate closed, with its servers at
// their addresses.
func (s shown) holds(b backend) bool {
	b.gate = Closed
	return s.differs(b) == ""
}

func readyWord(ready bool) string {
	if ready {
		return "ready"
	}
	return "in maintenance"
}

// make makes processes show these backends, in two rounds: what differs is
// held behind a closed gate and gets its servers; then gates open. Each round
// is read back from all before the next begins; between is called between the
// two.
func (h *HAProxy) make(ctx context.Context, who fleet, want []backend, between func() error) error {
	if len(who) == 0 {
		return &farm.Error{Op: "change routing", Subject: "HAProxy", Err: errors.New("none of its processes answers")}
	}
	before, err := who.show(ctx, want)
	if err != nil {
		return err
	}
	if err := h.round(ctx, "servers", who, before, want, holdCommands); err != nil {
		return err
	}
	held := func(s shown, b backend) bool { return s.holds(b) || s.differs(b) == "" }
	if err := readBack(ctx, who, want, held); err != nil {
		return err
	}
	if between != nil {
		if err := between(); err != nil {
			return err
		}
	}
	if err := h.round(ctx, "gates", who, before, want, openCommands); err != nil {
		return err
	}
	return readBack(ctx, who, want, func(s shown, b backend) bool { return s.differs(b) == "" })
}

func readBack(ctx context.Context, who fleet, want []backend, right func(shown, backend) bool) error {
	now, err := who.show(ctx, want)
	if err != nil {
		return err
	}
	for _, s := range now {
		for _, b := range want {
			if !right(s, b) {
				return &farm.Error{Op: "change routing", Subject: "HAProxy at " + s.socket.address,
					Err:  fmt.Errorf("HAProxy did not apply the command: it %s; it answered: %s", s.differs(b), s.socket.lastWords()),
					Hint: "its socket needs level admin; docs/reference/routing.md shows the configuration"}
			}
		}
	}
	return nil
}

func (h *HAProxy) round(ctx context.Context, name string, who fleet, now []shown, want []backend, commands func(shown, backend) []string) error {
	lines := make([][]string, len(who))
	for i := range who {
		for _, b := range want {
			lines[i] = append(lines[i], commands(now[i], b)...)
		}
	}
	if h.stop == nil {
		return who.each(func(i int, s *haSocket) error { return s.tell(ctx, lines[i]) })
	}
	for i, s := range who { // one after the other, so that a test can stop between two
		if err := s.tell(ctx, lines[i]); err != nil {
			return err
		}
		if err := h.at(fmt.Sprintf("%s of process %d", name, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// holdCommands close the gate and set the addresses, unless all is as it is to
// be. The server gate is ready before the others are not: a backend without any
// would turn clients away.
func holdCommands(s shown, b backend) []string {
	if s.differs(b) == "" || s.holds(b) {
		return nil
	}
	out := []string{state(b, gateServer, "ready")}
	for _, side := range farm.SideNames {
		out = append(out, state(b, string(side), "maint"))
	}
	for _, side := range farm.SideNames {
		if address, in := b.servers[side]; in && s.backends[b.name][string(side)].address != address {
			host, port, _ := net.SplitHostPort(address) // wanted has looked at it
			out = append(out, fmt.Sprintf("set server %s/%s addr %s port %s", b.name, side, host, port))
		}
	}
	return out
}

// openCommands open the gate if it is to be open and was not, or has been
// closed for a change of servers.
func openCommands(before shown, b backend) []string {
	if b.gate == Closed || before.differs(b) == "" {
		return nil
	}
	return []string{state(b, string(b.serves), "ready"), state(b, gateServer, "maint")}
}

func state(b backend, server, word string) string {
	return fmt.Sprintf("set server %s/%s state %s", b.name, server, word)
}

// sessions are the connections of a home's clients that are not held at the
// gate, in words, one line a process.
func (h *HAProxy) sessions(ctx context.Context, pair farm.PairName, home farm.SideName) ([]string, error) {
	name := backendName(pair, home)
	texts := make([]string, len(h.all))
	err := h.all.each(func(i int, s *haSocket) error {
		n, old, err := s.sessions(ctx, name)
		switch {
		case n > 0:
			texts[i] = fmt.Sprintf("%s through HAProxy at %s", farm.Counted(n, "connection"), s.address)
		case old > 0:
			texts[i] = fmt.Sprintf("%s through workers that a reload left behind, HAProxy at %s", farm.Counted(old, "connection"), s.address)
		}
		return err
	})
	var left []string
	for _, t := range texts {
		if t != "" {
			left = append(left, t)
		}
	}
	return left, err
}

func (h *HAProxy) cut(ctx context.Context, pair farm.PairName, home farm.SideName) error {
	name := backendName(pair, home)
	return h.all.each(func(_ int, s *haSocket) error {
		var commands []string
		for _, side := range farm.SideNames {
			commands = append(commands, fmt.Sprintf("shutdown sessions server %s/%s", name, side))
		}
		return errors.Join(s.tell(ctx, commands), s.cutOld(ctx, name))
	})
}

// parseServers reads the answer to "show servers state".
func parseServers(text string) (map[string]map[string]server, error) {
	out := map[string]map[string]server{}
	var columns map[string]int
	for line := range strings.Lines(text) {
		cells := strings.Fields(line)
		if len(cells) > 1 && cells[0] == "#" {
			columns = map[string]int{}
			for i, name := range cells[1:] {
				columns[name] = i
			}
			continue
		}
		if columns == nil || len(cells) < len(columns) {
			continue // the version of the format, an empty line
		}
		cell := func(name string) string {
			i, ok := columns[name]
			if !ok || i >= len(cells) { // a name that is there twice counts once
				return ""
			}
			return cells[i]
		}
		admin, err := strconv.Atoi(cell("srv_admin_state"))
		if err != nil || cell("srv_port") == "" {
			return nil, fmt.Errorf("its table of servers cannot be read: %q", strings.TrimSpace(line))
		}
		name := cell("be_name")
		if out[name] == nil {
			out[name] = map[string]server{}
		}
		// 4 says that the configuration has it disabled, which "ready" leaves.
		out[name][cell("srv_name")] = server{address: net.JoinHostPort(cell("srv_addr"), cell("srv_port")), ready: admin&^4 == 0}
	}
	if columns == nil {
		return nil, fmt.Errorf("it says %q", firstLine(text))
	}
	return out, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
