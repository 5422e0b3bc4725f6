package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"stowage/farm"
	"stowage/host"
)

// freeBlock finds a range of addresses on which nothing listens yet and which no
// farm has that is up, and keeps it for us until it is released: another demo may
// be running, or starting. Farms that nobody took down keep their addresses only
// while there are others.
func freeBlock(ctx context.Context, l *host.Local, o Options) (block int, r *reservation, err error) {
	need := 2 + 2*o.Pairs/hostsPerBlock + o.Hosts/hostsPerBlock
	inTheWay := ""
	for _, evenClaimed := range []bool{false, true} {
		for block := 10; block+need < 250; block += need {
			r, ok := reserve(block, need)
			if !ok {
				continue
			}
			if evenClaimed || !r.claimed() {
				busy, err := firstTaken(ctx, l, lay(o, block))
				if err != nil {
					r.release()
					return 0, nil, err
				}
				if busy == "" {
					return block, r, nil
				}
				inTheWay = busy
			}
			r.release()
			if everywhere(inTheWay) { // every other range would be asked in vain, for minutes where that process answers nobody
				return 0, nil, allTaken(o.port(), inTheWay)
			}
		}
	}
	return 0, nil, allTaken(o.port(), inTheWay)
}

// firstTaken is the first address of a farm, with its port, on which somebody
// listens already, or nothing.
func firstTaken(ctx context.Context, l *host.Local, f *farm.Farm) (string, error) {
	for _, p := range f.Hosts {
		address := fmt.Sprintf("%s:%d", p.Address, portOf(f))
		if free, err := l.PortFree(ctx, address); err != nil || !free {
			return address, err
		}
	}
	return "", nil
}

// portOf is that of all servers of a farm of ours.
func portOf(f *farm.Farm) int { return f.Pairs[0].Sides[farm.A].Port }

// listener is who has an address, as the kernel says.
func listener(address string) (host.Listener, bool) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return host.Listener{}, false
	}
	return host.ListenerAt(at)
}

func everywhere(address string) bool {
	l, ok := listener(address)
	return ok && l.IsEverywhere
}

// allTaken says what is in the way when no range of addresses is free: one
// address as an example, "" for none, and who listens there.
func allTaken(port int, inTheWay string) error {
	const op = "find free addresses"
	if inTheWay == "" {
		return &farm.Error{Op: op, Err: errors.New("other demos that start now have reserved every range of 127.0.x.x"), Hint: "wait until they run, then start again"}
	}
	text := fmt.Sprintf("port %d is taken in every range of 127.0.x.x, as on %s", port, inTheWay)
	if l, ok := listener(inTheWay); ok && l.IsEverywhere {
		text = fmt.Sprintf("port %d is taken on all addresses by %s", port, l)
	} else if ok {
		text += " by " + l.String()
	}
	other := port + 1000
	if other > highestPort {
		other = DefaultPort
	}
	return &farm.Error{Op: op, Err: errors.New(text), Hint: fmt.Sprintf("choose another port: --port-base %d; or stop that process", other)}
}
