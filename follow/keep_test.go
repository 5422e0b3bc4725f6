package follow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
)

// picky is a sink that does not take some lines, and counts those that it took.
type picky struct {
	took  atomic.Int64
	dread string // in lines that it refuses
}

func (p *picky) Put(_, line []byte) error {
	if p.dread != "" && strings.Contains(string(line), p.dread) {
		return &farm.Error{Op: "write", Err: fmt.Errorf("%w: too large", farm.ErrRefused), Hint: "make room"}
	}
	p.took.Add(1)
	return nil
}
func (p *picky) Flush() error                 { return nil }
func (p *picky) Settle(context.Context) error { return nil }

// Lines do not wait for a disk that takes its time with the position, which is kept in order, and at the end.
func TestLinesDoNotWaitForThePosition(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY)")
	s := mysqltest.Open(t, i)
	sink, slow := &picky{}, make(chan struct{})
	begun := make(chan struct{}, 100)
	var kept []string // one at a time
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f := &Follower{Places: still{s}, Sink: sink, State: State{Shard: "shop", ServerID: 990001, Pair: "pair", Position: mysqltest.Position(t, s).String()},
		Keep: func(s State) error {
			begun <- struct{}{}
			<-slow
			kept = append(kept, s.Position)
			return nil
		}}
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	i.Exec(t, "INSERT INTO shop.r VALUES (1)")
	<-begun
	for n := range 5 {
		was := sink.took.Load()
		i.Exec(t, fmt.Sprintf("INSERT INTO shop.r VALUES (%d)", 10+n))
		for end := time.Now().Add(time.Minute); sink.took.Load() == was; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a line waits for the position before it to be kept")
			}
		}
	}
	close(slow)
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if at := mysqltest.Position(t, s).String(); len(kept) < 2 || kept[len(kept)-1] != at {
		t.Errorf("kept %q, the end is %s", kept, at)
	}
}

// A line that a sink refuses ends the reading before its transaction, which may be left out.
func TestALineThatTheSinkRefuses(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "shop")
	i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY, v TEXT)")
	s := mysqltest.Open(t, i)
	from := mysqltest.Position(t, s)
	i.Exec(t, "INSERT INTO shop.r VALUES (1, '')")
	before := mysqltest.Position(t, s)
	i.Exec(t, "INSERT INTO shop.r VALUES (2, ''), (3, 'whale')", "INSERT INTO shop.r VALUES (4, '')")
	sink := &picky{dread: "whale"}
	_, state, err := lined(t, still{s}, from, mysqltest.Position(t, s), func(f *Follower) { f.Sink = sink })
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(farm.Hint(err), "make room; or leave the transaction out") || !strings.Contains(farm.Hint(err), "--past ") {
		t.Fatalf("%v, hint %q", err, farm.Hint(err))
	}
	if n := strings.Count(err.Error(), "too large"); n != 1 {
		t.Errorf("it says %d times why: %v", n, err)
	}
	if state.Position != before.String() || sink.took.Load() != 2 {
		t.Errorf("%d lines, and the position is %s, not %s", sink.took.Load(), state.Position, before)
	}
}
