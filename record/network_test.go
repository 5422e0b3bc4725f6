package record

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/mariadbtest"

	"golang.org/x/net/bpf"
)

// needsPackets skips, loudly, where the kernel does not let us read packets.
func needsPackets(t *testing.T) {
	t.Helper()
	s, err := openSocket([]instruction{{does: bpf.RetConstant{}}})
	if err != nil {
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "CAP_NET_RAW") {
			t.Errorf("without the right to read packets the message should name it: %v", err)
		}
		t.Skipf("NOT TESTED: recording from the network: %v", err)
	}
	s.close()
}

// One run, recorded both ways: the same statements, the same number of times; every packet once although the loopback interface shows it
// twice; what is kept is a capture that says the same again.
func TestNetworkCountsWhatTheSlowLogCounts(t *testing.T) {
	needsPackets(t)
	b := start(t, "net", odd...)
	wire := *b.r
	wire.Dir = filepath.Join(t.TempDir(), "wire")
	wire.Options.Keep = filepath.Join(t.TempDir(), "kept.pcap")
	before := b.settings()
	old := b.i.DB(t, mariadbtest.App, "d") // connected before: only the network sees it
	old.SetMaxOpenConns(1)
	if err := old.Ping(); err != nil {
		t.Fatal(err)
	}
	var logged taken
	var want map[string]int
	onWire := (&bench{t, b.i, &wire}).during(wire.Network, func() {
		logged = b.during(b.r.SlowLog, func() {
			want = b.ask(4, 300)
			if _, err := old.Exec("DELETE FROM t WHERE id = 99"); err != nil {
				t.Error(err)
			}
		})
	})
	if logged.err != nil || onWire.err != nil {
		t.Fatalf("%v, %v", logged.err, onWire.err)
	}
	classes(t, logged.d, want)
	want["delete from t where id = ?"] = 1
	counted(t, onWire.d, want) // what the other recording asks passes here too
	r := onWire.res
	if r.Dropped != 0 || r.Packets < 2*2400 || r.Stopped != StopInterrupted || len(r.SettingsRestored) > 0 {
		t.Errorf("result %+v", r)
	}
	kept, err := os.Open(wire.Options.Keep)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	again := digest.New(digest.Options{})
	if err := again.Read("kept", kept); err != nil {
		t.Fatal(err)
	}
	counted(t, again.Digest(), want)
	if st, _ := kept.Stat(); st.Mode().Perm() != 0o600 {
		t.Errorf("packets are kept with mode %v", st.Mode())
	}
	same(t, before, b.settings())
	if _, _, err := wire.Network(t.Context(), b.target()); !errors.Is(err, farm.ErrInput) {
		t.Errorf("a file that is there already: %v", err)
	}
}

// The server's own socket, and a server that does not let us in.
func TestNetworkSaysWhatItDoesNotSee(t *testing.T) {
	needsPackets(t)
	b := start(t, "sees")
	socket := overSocket(t, b.i)
	if err := socket.Ping(); err != nil {
		t.Fatal(err)
	}
	x := b.during(b.r.Network, func() {
		if _, err := socket.Exec("SELECT 'over the socket'"); err != nil {
			t.Error(err)
		}
	})
	if x.err != nil || x.res.SocketSessions != 1 || x.res.Events != 0 {
		t.Errorf("%+v: %v", x.res, x.err)
	}
	closed := b.target()
	closed.Server = as("nobody")
	b.r.Options.For = 100 * time.Millisecond
	res, _, err := b.r.Network(t.Context(), closed)
	if err != nil || res.Stopped != StopTime || !strings.Contains(strings.Join(res.Notes, "\n"), "was not watched") {
		t.Errorf("%+v: %v", res, err)
	}
}

// A window from the network has bounds too, and does not run past them on a
// server that never falls silent.
func TestNetworkBounds(t *testing.T) {
	needsPackets(t)
	b := start(t, "netbound")
	b.r.Options.MaxBytes = 200 << 10
	ctx, stop := context.WithCancel(t.Context())
	idle := make(chan struct{})
	b.r.Progress = func(p Progress) {
		if p.Began {
			go func() {
				defer close(idle)
				for ctx.Err() == nil && b.askOnce(0, 50) == nil {
				}
			}()
		}
	}
	res, d, err := b.r.Network(ctx, b.target())
	stop()
	<-idle
	if err != nil || res.Stopped != StopBytes || d.Events() == 0 {
		t.Errorf("%+v: %v", res, err)
	}
}

// The filter's jumps lead where they are meant to, for every kind of endpoint;
// that it passes the right packets is shown above, and here for a second
// server at the same port that must not be seen. Nothing of our own is seen.
func TestNetworkTellsServersApart(t *testing.T) {
	needsPackets(t)
	a, b := start(t, "apart1"), start(t, "apart2")
	x := a.during(a.r.Network, func() {
		b.ask(2, 50)
		a.ask(1, 30)
		time.Sleep(pace + look) // our own session asks the server meanwhile
	})
	if x.err != nil {
		t.Fatal(x.err)
	}
	classes(t, x.d, map[string]int{"select v from t where id = ?": 30})
	for _, e := range []endpoint{
		{port: 3306},
		{port: 3306, without: 40000},
		{port: 3306, addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")}},
		{port: 3306, addresses: []netip.Addr{netip.MustParseAddr("::1")}},
	} {
		p, err := packetFilter(e)
		if err != nil {
			t.Fatal(err)
		}
		s, err := openSocket(p) // the kernel checks every jump
		if err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		s.close()
	}
	if _, err := packetFilter(endpoint{}); err == nil {
		t.Error("a filter for no port")
	}
}

func TestKeepFor(t *testing.T) {
	for _, tt := range []struct {
		file    string
		several bool
		want    string
	}{{"", true, ""}, {"a.pcap", false, "a.pcap"}, {"/x/a.pcap", true, "/x/a-db1a.pcap"}} {
		if got := KeepFor(tt.file, "db1a", tt.several); got != tt.want {
			t.Errorf("KeepFor(%q, %v) = %q, want %q", tt.file, tt.several, got, tt.want)
		}
	}
}
