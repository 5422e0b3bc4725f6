package route

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stowage/farm"
)

// haSocket is the runtime API of one process: a worker's, or the master's.
type haSocket struct {
	address string
	timeout time.Duration

	mu    sync.Mutex
	kind  string // "worker", "master"; empty: not asked yet
	words string // what it answered last that was not silence
}

// ask sends one line of commands and reads the answer to its end.
func (s *haSocket) ask(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	network := "tcp"
	if strings.Contains(s.address, "/") {
		network = "unix"
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, s.address)
	if err == nil {
		defer conn.Close()
		deadline, _ := ctx.Deadline()
		err = conn.SetDeadline(deadline)
	}
	if err == nil {
		_, err = io.WriteString(conn, line+"\n")
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite() // a master waits for the next line otherwise
	}
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(conn, 64<<20))
	}
	if err != nil {
		return "", &farm.Error{Op: "ask HAProxy", Subject: s.address, Err: err,
			Hint: "every process of routing.sockets must answer before clients are sent elsewhere: is it running, and is this its stats socket?"}
	}
	return string(answer), nil
}

// worker asks the worker that runs now, through its master if there is one.
// A master takes one command a line, a worker several.
func (s *haSocket) worker(ctx context.Context, commands ...string) (string, error) {
	master, err := s.isMaster(ctx)
	if err != nil {
		return "", err
	}
	if !master {
		return s.ask(ctx, strings.Join(commands, "; "))
	}
	var all strings.Builder
	for _, c := range commands {
		answer, err := s.ask(ctx, "@1 "+c)
		if err != nil {
			return "", err
		}
		all.WriteString(answer)
	}
	return all.String(), nil
}

func (s *haSocket) isMaster(ctx context.Context) (bool, error) {
	s.mu.Lock()
	kind := s.kind
	s.mu.Unlock()
	if kind == "" {
		answer, err := s.ask(ctx, "show proc")
		if err != nil {
			return false, err
		}
		kind = "worker"
		if strings.HasPrefix(answer, "#<PID>") {
			kind = "master"
		}
		s.mu.Lock()
		s.kind = kind
		s.mu.Unlock()
	}
	return kind == "master", nil
}

// show asks for the servers of these backends, of all without any, and makes
// sure that all that is needed is there.
func (s *haSocket) show(ctx context.Context, of []backend) (map[string]map[string]server, error) {
	commands := []string{"show servers state"}
	if len(of) > 0 {
		commands = nil
		for _, b := range of {
			commands = append(commands, "show servers state "+b.name)
		}
	}
	answer, err := s.worker(ctx, commands...)
	if err != nil {
		return nil, err
	}
	all, err := parseServers(answer)
	if err != nil {
		return nil, s.fail(fmt.Errorf("asked to %s: %w", strings.Join(commands, "; "), err))
	}
	return all, shown{s, all}.complete(of)
}

// complete makes sure that all servers are there that these backends need.
func (s shown) complete(of []backend) error {
	for _, b := range of {
		for _, name := range []string{string(farm.A), string(farm.B), gateServer} {
			if _, there := s.backends[b.name][name]; !there {
				return s.socket.fail(fmt.Errorf("it has no server %s/%s", b.name, name))
			}
		}
		if at := s.backends[b.name][gateServer].address; at != gateAddress {
			return s.socket.fail(fmt.Errorf("its server %s/%s is at %s, and must be at %s, where nothing listens", b.name, gateServer, at, gateAddress))
		}
	}
	return nil
}

func (s *haSocket) fail(err error) error {
	return &farm.Error{Op: "read routing", Subject: "HAProxy at " + s.address, Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
		Hint: "each side of a pair needs a backend PAIR_SIDE with the servers A, B and gate: docs/reference/routing.md"}
}

// tell gives commands. What comes of them is read back by the caller.
func (s *haSocket) tell(ctx context.Context, commands []string) error {
	if len(commands) == 0 {
		return nil
	}
	answer, err := s.worker(ctx, commands...)
	if words := strings.TrimSpace(answer); words != "" {
		s.mu.Lock()
		s.words = words
		s.mu.Unlock()
	}
	return err
}

func (s *haSocket) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.words == "" {
		return "nothing"
	}
	return firstLine(s.words)
}

// sessions counts the connections of a backend that are on a server or in a
// queue for one: now of the worker, old of workers that a reload left.
func (s *haSocket) sessions(ctx context.Context, name string) (now, old int, err error) {
	// By the number of the proxy: a name finds a frontend of that name first.
	answer, err := s.worker(ctx, "show servers state "+name)
	if err != nil {
		return 0, 0, err
	}
	id, err := backendID(answer, name)
	if err != nil {
		return 0, 0, s.fail(err)
	}
	stat := fmt.Sprintf("show stat %s 6 -1", id)
	if answer, err = s.worker(ctx, stat); err != nil {
		return 0, 0, err
	}
	if now, err = countSessions(answer, name); err != nil {
		return 0, 0, s.fail(err)
	}
	err = s.oldWorkers(ctx, func(prefix string) error {
		// Its configuration may have numbered proxies otherwise, or not know
		// this one.
		answer, err := s.ask(ctx, prefix+"show stat -1 6 -1")
		if err != nil {
			return err
		}
		n, err := countSessions(answer, name)
		old += n
		return err
	})
	return now, old, err
}

// cutOld ends a backend's connections in workers that a reload left. Their
// proxies are disabled, so it goes by single sessions.
func (s *haSocket) cutOld(ctx context.Context, name string) error {
	return s.oldWorkers(ctx, func(prefix string) error {
		all, err := s.ask(ctx, prefix+"show sess")
		if err != nil {
			return err
		}
		for line := range strings.Lines(all) {
			id, rest, found := strings.Cut(line, ": ")
			if !found || !strings.Contains(rest, " be="+name+" ") {
				continue
			}
			if _, err := s.ask(ctx, prefix+"shutdown session "+id); err != nil {
				return err
			}
		}
		return nil
	})
}

// oldWorkers visits the workers that continue with their connections after a
// reload. Only a master knows of them. One that ends while it is visited has no
// connections.
func (s *haSocket) oldWorkers(ctx context.Context, visit func(prefix string) error) error {
	master, err := s.isMaster(ctx)
	if err != nil || !master {
		return err
	}
	workers, err := s.listOld(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if err := s.visitOld(ctx, w, visit); err != nil {
			return err
		}
	}
	return nil
}

// visitOld visits one worker that may be about to end: it says nothing any
// more, and for a moment the master lists it still.
func (s *haSocket) visitOld(ctx context.Context, worker string, visit func(prefix string) error) error {
	for deadline := time.Now().Add(s.timeout); ; {
		err := visit("@!" + worker + " ")
		if err == nil {
			return nil
		}
		left, listErr := s.listOld(ctx)
		if listErr != nil || slices.Contains(left, worker) && time.Now().After(deadline) {
			return errors.Join(err, listErr)
		}
		if !slices.Contains(left, worker) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// listOld are the process ids of old workers, as the master lists them.
func (s *haSocket) listOld(ctx context.Context) ([]string, error) {
	answer, err := s.ask(ctx, "show proc")
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(answer, "# old workers")
	rest, _, _ = strings.Cut(rest, "\n#")
	var out []string
	for line := range strings.Lines(rest) {
		if cells := strings.Fields(line); len(cells) > 1 && cells[1] == "worker" {
			out = append(out, cells[0])
		}
	}
	return out, nil
}

func backendID(answer, name string) (string, error) {
	for line := range strings.Lines(answer) {
		if cells := strings.Fields(line); len(cells) > 2 && cells[1] == name {
			return cells[0], nil
		}
	}
	return "", fmt.Errorf("it has no backend %s: it says %q", name, firstLine(answer))
}

// countSessions adds up what "show stat" says of a backend: connections on its
// servers, and in the queues of these and its own.
func countSessions(text, name string) (int, error) {
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(strings.TrimSpace(text), "# "))).ReadAll()
	if err == nil && len(rows) == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, fmt.Errorf("its statistics cannot be read: %q: %w", firstLine(text), err)
	}
	column := map[string]int{}
	for i, c := range rows[0] {
		column[c] = i
	}
	for _, c := range []string{"pxname", "svname", "qcur", "scur"} {
		if _, ok := column[c]; !ok {
			return 0, fmt.Errorf("its statistics have no column %s: %q", c, firstLine(text))
		}
	}
	sum := 0
	for _, row := range rows[1:] {
		if row[column["pxname"]] != name || row[column["svname"]] == gateServer {
			continue // those wait
		}
		counts := []string{row[column["qcur"]]}
		if row[column["svname"]] != "BACKEND" { // which counts those who wait, too
			counts = append(counts, row[column["scur"]])
		}
		for _, c := range counts {
			n, err := strconv.Atoi(c)
			if c != "" && err != nil {
				return 0, fmt.Errorf("its statistics count %q connections", c)
			}
			sum += n
		}
	}
	return sum, nil
}
