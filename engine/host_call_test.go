package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// askers are both ways of sending calls: as activities of their own, and as workflows, for clusters that take no others.
func askers(t *testing.T, c *Client) map[string]*Asker {
	worked := c.Asker()
	if _, err := worked.worked(); err != nil {
		t.Fatal(err)
	}
	out := map[string]*Asker{"activity": c.Asker(), "workflow": worked}
	for _, a := range out {
		t.Cleanup(a.Close)
	}
	return out
}

func TestCallIsAnsweredRefusedAndTold(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	stop, _, err := c.Answer("host.h1", func(_ context.Context, d Delivery) ([]byte, error) {
		switch string(d.Request) {
		case "refuse":
			return nil, Refuse(errors.New("not here"))
		case "long":
			d.Beat("half done")
			time.Sleep(3500 * time.Millisecond) // a beat goes out each second, and is looked at each second
		case "large":
			return make([]byte, MaxCall+1), nil
		}
		return []byte("re: " + string(d.Request)), nil
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for way, a := range askers(t, c) {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var told []string
			got, gone, err := a.Ask(t.Context(), "host.h1", way+"-1", []byte("long"), func(s string) { mu.Lock(); told = append(told, s); mu.Unlock() })
			if err != nil || !gone || string(got) != "re: long" || !slices.Contains(told, "half done") {
				t.Errorf("%q, %v, %v; told %q", got, gone, err, told)
			}
			if _, gone, err := a.Ask(t.Context(), "host.h1", way+"-2", []byte("refuse"), nil); !errors.Is(err, ErrCallRefused) || !gone || !strings.Contains(err.Error(), "not here") {
				t.Errorf("refused: %v, %v", gone, err)
			}
			if _, _, err := a.Ask(t.Context(), "host.h1", way+"-3", []byte("large"), nil); !errors.Is(err, ErrCallRefused) || !strings.Contains(err.Error(), "at most") {
				t.Errorf("a large answer: %v", err)
			}
			a.tidy.Wait()
			waitFor(t, "nothing is kept of what has ended", func() bool { return isForgotten(t, c, way+"-1") })
		})
	}
}

// isForgotten reports whether the engine knows a call neither as an activity nor as a workflow.
func isForgotten(t *testing.T, c *Client, id string) bool {
	time.Sleep(200 * time.Millisecond) // it takes half a minute, and asking takes a processor
	_, one := c.temporal.WorkflowService().DescribeActivityExecution(t.Context(), &workflowservice.DescribeActivityExecutionRequest{Namespace: c.opts.Namespace, ActivityId: callName(id)})
	_, other := c.temporal.DescribeWorkflowExecution(t.Context(), callName(id), "")
	return one != nil && other != nil && isFinal(one) && isFinal(other)
}

// A call that nobody takes ends when its asker gives up; one that is at work is told so, and waited for.
func TestCallIsGivenUp(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	working, told := make(chan struct{}, 2), make(chan error, 2)
	stop, _, err := c.Answer("host.h1", func(ctx context.Context, _ Delivery) ([]byte, error) {
		working <- struct{}{}
		<-ctx.Done()
		told <- context.Cause(ctx)
		return nil, ctx.Err()
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for way, a := range askers(t, c) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			waitFor(t, "the call waits", func() bool { return !isForgotten(t, c, way+"-nobody") })
			time.Sleep(time.Second) // it was sent, and its sender knows
			cancel()
		}()
		if _, gone, err := a.Ask(ctx, "host.nobody", way+"-nobody", []byte("x"), nil); !gone || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, nobody there: %v, %v", way, gone, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		go func() { <-working; cancel() }()
		if _, gone, err := a.Ask(ctx, "host.h1", way+"-work", []byte("x"), nil); !gone || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, at work: %v, %v", way, gone, err)
		}
		if why := <-told; !errors.Is(why, ErrCallCancelled) {
			t.Errorf("%s: the answerer was told %v", way, why)
		}
	}
}

// deaf sends calls and hears of none that it was sent, for as long as its asker waits.
type deaf struct{ client.Client }

func (d deaf) ExecuteActivity(ctx context.Context, o client.StartActivityOptions, activity any, args ...any) (client.ActivityHandle, error) {
	if _, err := d.Client.ExecuteActivity(ctx, o, activity, args...); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (d deaf) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	if _, err := d.Client.ExecuteWorkflow(ctx, o, workflow, args...); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A call that is at work before its asker hears that it was sent is given up, too: it would hold its agent for a day.
func TestCallWhoseReceiptIsLostIsGivenUp(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	working, told := make(chan struct{}, 2), make(chan error, 2)
	stop, _, err := c.Answer("host.h1", func(ctx context.Context, _ Delivery) ([]byte, error) {
		working <- struct{}{}
		select {
		case <-ctx.Done():
			told <- context.Cause(ctx)
		case <-time.After(30 * time.Second):
			told <- errors.New("nothing")
		}
		return nil, ctx.Err()
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	lossy := &Client{opts: c.opts, log: c.log, temporal: deaf{c.temporal}}
	for way, a := range askers(t, c) {
		a.c = lossy
		if a.worker != nil {
			a.worker.c = lossy
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-working; cancel() }()
		if _, _, err := a.Ask(ctx, "host.h1", way+"-unheard", []byte("x"), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", way, err, context.Canceled)
		}
		if why := <-told; !errors.Is(why, ErrCallCancelled) {
			t.Errorf("%s: the call ended by %v, want %v", way, why, ErrCallCancelled)
		}
	}
}

// TestBenchCalls measures what a call to an agent costs the engine and both ends, in both ways, and what the agents' polls cost while
// nothing happens. `make bench BENCH=engine-calls` runs it. BENCH_CALLS is how many calls in each way and round; ENGINE_BEFORE names
// another stowage-engine, which is measured in turns with this one. It prints CALLS lines.
func TestBenchCalls(t *testing.T) {
	calls, _ := strconv.Atoi(os.Getenv("BENCH_CALLS"))
	if calls == 0 {
		t.Skip("NOT MEASURED: what calls cost (BENCH_CALLS=1500, some five minutes)")
	}
	binaries := map[string]string{"this": engineBinary(t)}
	if other := os.Getenv("ENGINE_BEFORE"); other != "" {
		binaries["before"] = other
	}
	for round := range 3 {
		for _, name := range []string{"before", "this"} {
			if binaries[name] != "" {
				benchCalls(t, name, binaries[name], round, calls)
			}
		}
	}
}

func benchCalls(t *testing.T, name, binary string, round, calls int) {
	const agents, atOnce = 150, 8
	idle, _ := time.ParseDuration(os.Getenv("BENCH_IDLE"))
	o := testOptions(t)
	o.Binary = binary
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o.TLS = s.TLS()
	dial := func() *Client {
		c, err := Dial(t.Context(), s.Address(), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for n := range agents { // each with a connection of its own, as its process would
		c := dial()
		defer c.Close()
		stop, _, err := c.Answer(fmt.Sprintf("host.db%03d", n), func(context.Context, Delivery) ([]byte, error) { return []byte("here"), nil }, 8)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	c := dial()
	defer c.Close()
	engineCPU := func() time.Duration { return cpuOf(t, s.PID()) }
	time.Sleep(3 * time.Second) // queues are made
	from, since := engineCPU(), time.Now()
	time.Sleep(idle)
	if took := time.Since(since); idle > 0 {
		fmt.Printf("CALLS %s %d idle %.2f %% of a core\n", name, round, 100*(engineCPU()-from).Seconds()/took.Seconds())
	}
	for way, a := range askers(t, c) {
		from, own := engineCPU(), cpuOf(t, os.Getpid())
		var all sync.WaitGroup
		next := make(chan int)
		for range atOnce {
			all.Go(func() {
				for n := range next {
					if _, _, err := a.Ask(t.Context(), fmt.Sprintf("host.db%03d", n%agents), fmt.Sprintf("%s-%d", way, n), make([]byte, 600), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for n := range calls {
			next <- n
		}
		close(next)
		all.Wait()
		a.tidy.Wait()
		time.Sleep(2 * time.Second) // what the engine does afterwards belongs to it
		fmt.Printf("CALLS %s %d %s %.2f ms engine %.2f ms ends\n", name, round, way, (engineCPU()-from).Seconds()*1000/float64(calls), (cpuOf(t, os.Getpid())-own).Seconds()*1000/float64(calls))
	}
}

// cpuOf is the CPU time of a process so far.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	field := strings.Fields(rest)
	var ticks time.Duration
	for _, n := range []int{11, 12} { // utime and stime, in hundredths of a second
		v, err := strconv.Atoi(field[n])
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(v)
	}
	return ticks * 10 * time.Millisecond
}
