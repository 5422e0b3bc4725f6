package host

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// Whoever has a port is named: the process that listens on the address, or on
// all addresses, of IPv4 or of both families.
func TestListenersAreNamed(t *testing.T) {
	for _, on := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		ln, err := net.Listen("tcp", on)
		if err != nil {
			if strings.HasPrefix(on, "[") {
				t.Logf("NOT TESTED: %s: %v", on, err)
				continue
			}
			t.Fatal(err)
		}
		port := uint16(ln.Addr().(*net.TCPAddr).Port)
		asked := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
		l, ok := ListenerAt(asked)
		if !ok || l.IsEverywhere != (on != "127.0.0.1:0") || l.PID != os.Getpid() || l.User == "" || !strings.HasPrefix(os.Args[0][strings.LastIndex(os.Args[0], "/")+1:], l.Name) {
			t.Errorf("on %s: %+v, %v, want this process, %d", on, l, ok, os.Getpid())
		}
		if l, ok := ListenerAt(netip.AddrPortFrom(netip.MustParseAddr("127.0.99.9"), port)); ok != (on != "127.0.0.1:0") {
			t.Errorf("on %s: another address of the port has %+v, %v", on, l, ok)
		}
		ln.Close()
		if l, ok := ListenerAt(asked); ok {
			t.Errorf("on %s: nobody listens any more, and %+v does", on, l)
		}
	}
}

// Without rights the owner is what can be said: the kernel tells everybody whose a socket is.
func TestListenerOfAnotherUser(t *testing.T) {
	table := []byte("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 010A007F:5B0A 00000000:0000 0A 00000000:00000000 00:00000000 00000000   104        0 11 1 0 100 0 0 10 0\n" +
		"   1: 020A007F:5B0A 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0\n")
	if s, ok := listeningSocket(table, netip.MustParseAddrPort("127.0.10.1:23306")); !ok || s.inode != "11" || s.uid != "104" {
		t.Errorf("%+v, want inode 11 of 104", s)
	}
	if s, ok := listeningSocket(table, netip.MustParseAddrPort("127.0.10.2:23306")); ok {
		t.Errorf("a connection is taken for a listener: %+v", s)
	}
	if got := (Listener{User: "mysql"}).String(); got != "a process of user mysql" {
		t.Error(got)
	}
}
