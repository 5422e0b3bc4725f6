package demo

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/host"
)

// A port that somebody has on all addresses: who it is, and which flag helps.
// ("port 23306 is taken somewhere in every range of 127.0.x.x" was all that was said.)
func TestWhoHasThePortIsNamed(t *testing.T) {
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: a port that is taken: %v", err)
	}
	ln, port := occupy(t)
	above, err := os.MkdirTemp("/var/tmp", "stowage-test-*") // servers' accounts may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(above) })
	if err := os.Chmod(above, 0o755); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: filepath.Join(above, "farm"), Pairs: 1, Shards: 1, Hosts: 2, Rows: 1, Port: port}
	err = Up(t.Context(), o, slog.New(slog.DiscardHandler))
	var e *farm.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, want a refusal", err)
	}
	for _, want := range []string{fmt.Sprintf("port %d is taken on all addresses by process %d (demo.test) of user ", port, os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if want := fmt.Sprintf("--port-base %d", port+1000); !strings.Contains(e.Hint, want) {
		t.Errorf("hint %q does not say %q", e.Hint, want)
	}
	ln.Close()
	block, r, err := freeBlock(t.Context(), local, o)
	if err != nil {
		t.Fatalf("nobody has the port any more: %v", err)
	}
	defer r.release()
	if got := lay(o, block).Pairs[0].Sides[farm.A].Port; got != port {
		t.Errorf("the first server's port is %d, want %d", got, port)
	}
}

// occupy listens on all addresses, on a port that a demo may use.
func occupy(t *testing.T) (net.Listener, int) {
	t.Helper()
	for port := 29000; port < 30000; port++ {
		if ln, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port)); err == nil {
			t.Cleanup(func() { ln.Close() })
			return ln, port
		}
	}
	t.Fatal("no port from 29000 to 30000 is free on all addresses")
	return nil, 0
}

func TestPortsOutsideOfTheRangeAreRefused(t *testing.T) {
	for _, port := range []int{1, 1023, 32768, 70000, -1} {
		o := Defaults()
		o.Port = port
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--port-base is %d, want 1024 to 32767", port)) {
			t.Errorf("port %d: %v", port, err)
		}
	}
	if err := (Options{Pairs: 1, Shards: 1, Hosts: 2}).Check(); err != nil {
		t.Errorf("no port, as the marks of older demos have it: %v", err)
	}
}
