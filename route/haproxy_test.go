package route_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/route"
	"stowage/route/routetest"
)

// backends are those of some pairs, with servers as the configuration was
// written before the farm moved.
func backends(pairs ...farm.PairName) (out []routetest.Backend) {
	for _, p := range pairs {
		for _, home := range farm.SideNames {
			out = append(out, routetest.Backend{Pair: p, Home: home, A: "127.0.10.1:23306", B: "127.0.10.2:23306"})
		}
	}
	return out
}

func newHAProxy(dir string, cutAfter time.Duration, sockets ...string) *route.HAProxy {
	return route.NewHAProxy(route.HAProxyOptions{Path: filepath.Join(dir, "routing.json"), Sockets: sockets, CutAfter: cutAfter})
}

func TestHAProxyConforms(t *testing.T) {
	t.Parallel()
	one := routetest.StartHAProxy(t, false, backends(pairName, "dbshard002")...)
	two := routetest.StartHAProxy(t, false, backends(pairName, "dbshard002")...)
	dir := ""
	routetest.Subject{
		Changes: 100,
		Open: func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router {
			dir = t.TempDir()
			return create(t, newHAProxy(dir, 0, one.Socket, two.Socket), pairs)
		},
		Again: func(t *testing.T) route.Router { return newHAProxy(dir, 0, one.Socket, two.Socket) },
		// One of two does not answer: nobody knows what its clients see.
		Cut: func(t *testing.T) func() { return two.Freeze(t) },
		Spoil: func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "routing.json"), []byte(`{"format_version": 1`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}.Run(t)
}

// greeter is a server that says its name to whoever connects and echoes lines.
func greeter(t *testing.T, name string) string {
	t.Helper()
	l := routetest.Listen(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = fmt.Fprintln(c, name)
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if _, err := fmt.Fprintln(c, name+" heard "+lines.Text()); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// conn is a client's connection; say sends a line and gives the answer.
type conn struct {
	net.Conn
	lines *bufio.Scanner
}

func dial(address string) (*conn, error) {
	c, err := net.DialTimeout("tcp", address, 20*time.Second)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &conn{c, bufio.NewScanner(c)}, nil
}

func (c *conn) next() string {
	if !c.lines.Scan() {
		return "closed"
	}
	return c.lines.Text()
}

func (c *conn) say(text string) string {
	if _, err := fmt.Fprintln(c, text); err != nil {
		return "closed"
	}
	return c.next()
}

// stand is two processes of HAProxy before two greeters.
type stand struct {
	*route.HAProxy
	one, two *routetest.HAProxy
	a, b     string
	dir      string
}

func newStand(t *testing.T, cutAfter time.Duration, master bool) *stand {
	t.Helper()
	s := &stand{a: greeter(t, "A"), b: greeter(t, "B"), dir: t.TempDir()}
	var of []routetest.Backend
	for _, home := range farm.SideNames {
		of = append(of, routetest.Backend{Pair: pairName, Home: home, A: s.a, B: s.b})
	}
	s.one, s.two = routetest.StartHAProxy(t, master, of...), routetest.StartHAProxy(t, false, of...)
	s.HAProxy = s.again(cutAfter)
	create(t, s.HAProxy, map[farm.PairName]*route.Pair{pairName: route.NewPair([]farm.ShardName{"s"}, s.a, s.b)})
	return s
}

// again is the router of another program on the same table.
func (s *stand) again(cutAfter time.Duration) *route.HAProxy {
	socket := s.one.Socket
	if s.one.Master != "" {
		socket = s.one.Master
	}
	return newHAProxy(s.dir, cutAfter, socket, s.two.Socket)
}

func (s *stand) client(t *testing.T, through *routetest.HAProxy) *conn {
	t.Helper()
	c, err := dial(through.Listen["dbshard001_A"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *stand) change(t *testing.T, edit func(*route.Pair)) {
	t.Helper()
	if err := s.Change(t.Context(), pairName, func(p *route.Pair) error { edit(p); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (s *stand) toB(p *route.Pair) { p.Serve(farm.A, farm.B, s.b, 100); p.OpenGate(farm.A) }
func closeA(p *route.Pair)         { p.CloseGate(farm.A) }
func openA(p *route.Pair)          { p.OpenGate(farm.A) }

// Behind a closed gate new connections wait, open ones go on, and everybody
// who waited gets to the next server.
func TestHAProxyHoldsConnections(t *testing.T) {
	t.Parallel()
	s := newStand(t, 0, false)
	kept := s.client(t, s.one)
	if got := kept.next(); got != "A" {
		t.Fatalf("a client of A came to %s", got)
	}
	s.change(t, closeA)
	if got := kept.say("hello"); got != "A heard hello" {
		t.Errorf("behind the closed gate: %s", got)
	}
	answers := make(chan string, 20)
	for n := range cap(answers) {
		c := s.client(t, []*routetest.HAProxy{s.one, s.two}[n%2])
		go func() { answers <- c.next() }()
	}
	left, err := s.Drain(t.Context(), pairName, farm.A, 100*time.Millisecond)
	if err != nil || len(left) != 1 || !strings.Contains(left[0], "1 connection through HAProxy at "+s.one.Socket) {
		t.Errorf("drain left %q %v, want the one connection that is open", left, err)
	}
	kept.Close()
	if left, err = s.Drain(t.Context(), pairName, farm.A, 10*time.Second); err != nil || len(left) > 0 {
		t.Errorf("drain left %q %v", left, err)
	}
	select {
	case got := <-answers:
		t.Errorf("somebody passed the closed gate to %s", got)
	case <-time.After(300 * time.Millisecond):
	}
	s.change(t, s.toB)
	for range cap(answers) {
		if got := <-answers; got != "B" {
			t.Errorf("a client that waited came to %s", got)
		}
	}
}

func TestHAProxyCutsWhoStays(t *testing.T) {
	t.Parallel()
	s := newStand(t, 200*time.Millisecond, false)
	kept := s.client(t, s.two)
	if got := kept.next(); got != "A" {
		t.Fatalf("a client of A came to %s", got)
	}
	s.change(t, closeA)
	if left, err := s.Drain(t.Context(), pairName, farm.A, time.Hour); err != nil || len(left) > 0 {
		t.Errorf("drain left %q %v", left, err)
	}
	if got := kept.next(); got != "closed" {
		t.Errorf("the connection says %s", got)
	}
	if g := s.Guarantee(); g.Kind != route.FlipOnly {
		t.Errorf("guarantee %+v", g)
	}
}

// A HAProxy that was restarted has forgotten everything. It is noticed, no
// client is sent on the strength of a gate that was open for a while, and Mend
// puts it right.
func TestHAProxyForgetsInARestart(t *testing.T) {
	t.Parallel()
	s := newStand(t, 0, false)
	s.change(t, closeA)
	s.two.Restart(t)
	if _, err := s.Read(t.Context()); !errors.Is(err, route.ErrDrift) || !strings.Contains(err.Error(), s.two.Socket) {
		t.Errorf("read says %v", err)
	}
	flip := func(p *route.Pair) error { s.toB(p); return nil }
	if err := s.Change(t.Context(), pairName, flip); !errors.Is(err, route.ErrDrift) || farm.Hint(err) == "" {
		t.Errorf("the flip says %v", err)
	}
	table, err := s.Read(t.Context())
	if err != nil || !table.Pairs[pairName].GateIsClosed(farm.A) || table.Pairs[pairName].Share(farm.A, farm.B) != 0 {
		t.Errorf("after the flip that was refused: %+v %v", table, err)
	}
	// Somebody else mends it, and whoever holds the gate is told all the same.
	s.one.Restart(t)
	if mended, err := s.again(0).Mend(t.Context()); err != nil || len(mended) != 1 {
		t.Errorf("mended %q %v", mended, err)
	}
	if err := s.Change(t.Context(), pairName, flip); !errors.Is(err, route.ErrDrift) {
		t.Errorf("the flip behind a gate that was open for a while says %v", err)
	}
	s.change(t, openA)
	s.change(t, closeA)
	s.change(t, s.toB)
	s.one.Restart(t)
	mended, err := s.Mend(t.Context())
	if err != nil || len(mended) != 1 || !strings.Contains(mended[0], "dbshard001") {
		t.Errorf("mended %q %v", mended, err)
	}
	if mended, err = s.Mend(t.Context()); err != nil || len(mended) != 0 {
		t.Errorf("mended %q again: %v", mended, err)
	}
	if got := s.client(t, s.one).next(); got != "B" {
		t.Errorf("a client of A comes to %s", got)
	}
	// With a state file it remembers, closed gates too.
	s.change(t, closeA)
	s.two.SaveState(t)
	s.two.Restart(t)
	if _, err := s.Read(t.Context()); err != nil {
		t.Errorf("restarted with its state: %v", err)
	}
}

// One process does not answer: nobody is sent anywhere. But a gate opens again
// where it was, for those who come through the others.
func TestHAProxyOneDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newStand(t, 0, false)
	s.change(t, closeA)
	s.two.Kill()
	flip := func(p *route.Pair) error { s.toB(p); return nil }
	if err := s.Change(t.Context(), pairName, flip); err == nil || !strings.Contains(err.Error(), s.two.Socket) || errors.Is(err, farm.ErrOutcomeUnknown) {
		t.Errorf("the flip says %v", err)
	}
	waiting := s.client(t, s.one)
	s.change(t, openA)
	if got := waiting.next(); got != "A" {
		t.Errorf("whoever waited came to %s", got)
	}
	if err := s.Change(t.Context(), pairName, func(p *route.Pair) error { closeA(p); return nil }); err == nil {
		t.Error("a gate was closed without the process that does not answer")
	}
	s.two.Restart(t)
	if _, err := s.Read(t.Context()); err != nil {
		t.Errorf("everybody is back: %v", err)
	}
	s.change(t, closeA)
	s.change(t, s.toB)
}

// A reload leaves a worker behind that continues with the connections it has. Who
// asks the master knows of them.
func TestHAProxyCountsWorkersLeftByAReload(t *testing.T) {
	t.Parallel()
	s := newStand(t, 0, true)
	kept := s.client(t, s.one)
	if got := kept.next(); got != "A" {
		t.Fatalf("a client of A came to %s", got)
	}
	s.one.Reload(t)
	if got := kept.say("hello"); got != "A heard hello" {
		t.Errorf("after the reload: %s", got)
	}
	s.change(t, closeA)
	left, err := s.Drain(t.Context(), pairName, farm.A, 100*time.Millisecond)
	if err != nil || len(left) != 1 || !strings.Contains(left[0], "workers that a reload left behind") {
		t.Errorf("drain left %q %v", left, err)
	}
	if left, err = s.again(50*time.Millisecond).Drain(t.Context(), pairName, farm.A, 0); err != nil || len(left) != 0 {
		t.Errorf("cutting left %q %v", left, err)
	}
	if got := kept.next(); got != "closed" {
		t.Errorf("the connection says %s", got)
	}
	s.change(t, s.toB)
}

// The writer dies at each moment of a change. Whoever comes next finishes it,
// or takes it back, as a whole, and both processes show the same.
func TestHAProxyWriterKilled(t *testing.T) {
	t.Parallel()
	s := newStand(t, 0, false)
	died := errors.New("killed")
	points := []string{"intent", "servers of process 1", "servers of process 2", "gates of process 1", "gates of process 2", "table"}
	edits := []struct {
		name string
		edit func(*route.Pair)
		last string // the last point at which it is taken back
	}{
		{"close", closeA, "gates of process 2"}, // closing again is always safe, and so is opening
		{"flip", s.toB, "servers of process 2"},
	}
	for _, e := range edits {
		takenBack := true
		for _, point := range points {
			s.change(t, func(p *route.Pair) { p.Serve(farm.A, farm.A, s.a, 100); p.OpenGate(farm.A) })
			if e.name == "flip" {
				s.change(t, closeA)
			}
			before, err := s.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			dying := s.again(0)
			dying.StopAt(func(at string) error {
				if at == point {
					return died
				}
				return nil
			})
			if err := dying.Change(t.Context(), pairName, func(p *route.Pair) error { e.edit(p); return nil }); !errors.Is(err, died) {
				t.Fatalf("%s, killed at %s: %v", e.name, point, err)
			}
			if _, err := s.Read(t.Context()); point != "table" && !errors.Is(err, route.ErrDrift) {
				t.Errorf("%s, killed at %s: read says %v", e.name, point, err)
			}
			if _, err := s.Mend(t.Context()); err != nil {
				t.Errorf("%s, killed at %s: %v", e.name, point, err)
			}
			after, err := s.Read(t.Context())
			if err != nil {
				t.Errorf("%s, killed at %s: %v", e.name, point, err)
				continue
			}
			wantGeneration := before.Generation + 1
			if takenBack && point != "table" {
				wantGeneration = before.Generation
			}
			if after.Generation != wantGeneration {
				t.Errorf("%s, killed at %s: generation %d after %d, want %d", e.name, point, after.Generation, before.Generation, wantGeneration)
			}
			takenBack = takenBack && point != e.last
		}
	}
}

// What the adapter cannot do is refused before anything is touched.
func TestHAProxyRefusals(t *testing.T) {
	t.Parallel()
	s := newStand(t, 0, false)
	for _, x := range []struct {
		name, want string
		edit       func(*route.Pair)
	}{
		{"a share", "not 90 % of them", func(p *route.Pair) { p.Serve(farm.A, farm.B, s.b, 10) }},
		{"a name for an address", "needs an IP address", func(p *route.Pair) { p.Serve(farm.A, farm.A, "db001.example:3306", 100) }},
	} {
		wantHint(t, x.name, func() error {
			return s.Change(t.Context(), pairName, func(p *route.Pair) error { x.edit(p); return nil })
		}, farm.ErrInput, x.want)
	}
	if !s.Guarantee().Whole {
		t.Error("it does not say that it cannot split a side")
	}
	bare := newHAProxy(t.TempDir(), 0, s.one.Socket)
	wantHint(t, "a backend that is not there", func() error {
		return bare.Create(t.Context(), map[farm.PairName]*route.Pair{"dbshard009": route.NewPair(nil, s.a, s.b)})
	}, farm.ErrInput, "dbshard009_A")
	nobody := newHAProxy(t.TempDir(), 0, filepath.Join(t.TempDir(), "none"))
	wantHint(t, "nobody listens", func() error { return nobody.Create(t.Context(), onePair()) }, nil, "no such file")
}

// The page that owners copy from says what the tests run.
func TestHAProxyConfigurationOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```\nglobal\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/reference/routing.md has no configuration")
	}
	for _, line := range []string{"timeout connect 50ms", "retries 12000", "option redispatch 1", "server gate 127.0.0.1:1 disabled"} {
		if !strings.Contains(text, "    "+line+"\n") {
			t.Errorf("the configuration has no line %q, and the tests run with it", line)
		}
	}
	routetest.CheckConfig(t, "global\n"+text)
}
