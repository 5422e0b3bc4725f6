package routetest

import (
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
)

// FreeAddress is an address on loopback that nobody listened at a moment ago,
// for a program that a test starts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	// A child that is forked now would listen, too, until it becomes another program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	l := Listen(t)
	l.Close()
	return l.Addr().String()
}

// Listen listens on loopback at a port below those that the kernel gives out by
// itself, so that a program can be started there again. The caller closes it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	for range 5000 {
		given.last++
		address := fmt.Sprintf("127.0.78.%d:%d", 1+os.Getpid()%250, 24000+(os.Getpid()*7+given.last)%8000)
		if l, err := net.Listen("tcp", address); err == nil {
			return l
		}
	}
	t.Fatal("no free port on loopback")
	return nil
}

// given are the ports this process gave out, so that two differ.
var given struct {
	sync.Mutex
	last int
}
