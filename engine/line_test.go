package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestPollWithoutAnEngineIsEmptyAndDoesNotFail: after one that failed the SDK pauses for up to 10 s, and an engine that has come back
// meanwhile is not heard.
func TestPollWithoutAnEngineIsEmptyAndDoesNotFail(t *testing.T) {
	t.Parallel() // it mostly waits
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cc, err := grpc.NewClient(address, append((Options{}).connection().DialOptions, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	api := workflowservice.NewWorkflowServiceClient(cc)
	for range 3 {
		got, err := api.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{})
		if err != nil || len(got.GetTaskToken()) > 0 {
			t.Fatalf("nobody listens: %v, %v", got, err)
		}
	}
	if _, err := api.GetSystemInfo(t.Context(), &workflowservice.GetSystemInfoRequest{}); err == nil {
		t.Error("what is no poll does not fail")
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, answersPolls{})
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	for end := time.Now().Add(2 * time.Minute); ; {
		got, err := api.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if string(got.GetTaskToken()) == "task" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("somebody listens, and no poll gets there")
		}
	}
}

type answersPolls struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (answersPolls) PollActivityTaskQueue(context.Context, *workflowservice.PollActivityTaskQueueRequest) (*workflowservice.PollActivityTaskQueueResponse, error) {
	return &workflowservice.PollActivityTaskQueueResponse{TaskToken: []byte("task")}, nil
}

// TestManyAnswerersFindAnEngineThatIsStartedAgain: an engine is away for so long that whoever looks for it looks rarely; when it is
// back, all who answered its calls before do so again.
func TestManyAnswerersFindAnEngineThatIsStartedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: many answerers after a restart of the engine (takes some 30 s)")
	}
	t.Parallel() // it mostly waits
	const many, away = 40, 15 * time.Second
	o := testOptions(t)
	var err error
	if o.run, err = newRunCertificates(time.Now()); err != nil { // of both engines: it is the same farm
		t.Fatal(err)
	}
	if o.TLS, err = o.run.client(); err != nil {
		t.Fatal(err)
	}
	first, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Listen = first.Address()
	for n := range many { // each as its own process would: with a connection of its own
		c, err := Dial(t.Context(), o.Listen, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		stop, _, err := c.Answer(fmt.Sprintf("host.db%03d", n), func(context.Context, Delivery) ([]byte, error) { return []byte("here"), nil }, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	askAll(t, o, many)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(away)
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	t.Logf("%d answerers are back %v after an engine that was away for %v", many, askAll(t, o, many).Round(100*time.Millisecond), away)
}

// askAll asks all queues at once and returns after how long the last has answered.
func askAll(t *testing.T, o Options, many int) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Dial(ctx, o.Listen, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	asker := c.Asker()
	defer asker.Close()
	answers := make(chan error)
	for n := range many {
		go func() {
			got, _, err := asker.Ask(ctx, fmt.Sprintf("host.db%03d", n), fmt.Sprintf("%d-%d", n, began.UnixNano()), []byte("hello"), nil)
			if err == nil && string(got) != "here" {
				err = errors.New("answered " + string(got))
			}
			answers <- err
		}()
	}
	for range many {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	return time.Since(began)
}
