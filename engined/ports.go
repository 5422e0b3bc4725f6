package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken below 32768, where Linux starts handing out ephemeral ports (net.ipv4.ip_local_port_range): there an outgoing
// connection of anyone could sit on our port at the moment of a restart.
const (
	lowestPort  = 21000
	highestPort = 29999
)

type ports struct {
	ip                          string // of the frontend; the rest is on loopback always
	frontend, history, matching int
}

func (p ports) frontendAddress() string { return net.JoinHostPort(p.ip, strconv.Itoa(p.frontend)) }
func (p ports) historyAddress() string  { return loopback(p.history) }
func (p ports) matchingAddress() string { return loopback(p.matching) }

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// choosePorts reads listen ("127.0.0.1:0" or with a fixed port) and finds free ports for the rest. A port can be lost between
// this look and the server's own listen; the server then dies with "address already in use" and the parent tries again.
func choosePorts(listen string) (ports, error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return ports{}, fmt.Errorf("read --listen %q: %w", listen, err)
	}
	if host, err = addressOf(host); err != nil {
		return ports{}, fmt.Errorf("read --listen %q: %w", listen, err)
	}
	fixed, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return ports{}, fmt.Errorf("read --listen %q: bad port", listen)
	}
	taken := map[int]bool{int(fixed): true}
	var free [3]int
	for i := range free {
		if free[i], err = freePort(host, taken); err != nil {
			return ports{}, err
		}
		taken[free[i]] = true
	}
	if fixed != 0 {
		free[0] = int(fixed)
	}
	return ports{ip: host, frontend: free[0], history: free[1], matching: free[2]}, nil
}

// freePort finds a port that is free at ip and on loopback.
func freePort(ip string, taken map[int]bool) (int, error) {
	for range 200 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if taken[port] {
			continue
		}
		if canListen(loopback(port)) && canListen(net.JoinHostPort(ip, strconv.Itoa(port))) {
			return port, nil
		}
	}
	return 0, errors.New("find a free port between 21000 and 29999: none in 200 tries")
}

func canListen(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}
