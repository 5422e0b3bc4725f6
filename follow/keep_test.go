package follow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
)

// picky is a sink that counts lines.
type picky struct{ took atomic.Int64 }

func (p *picky) Put(_, line []byte) error {
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
