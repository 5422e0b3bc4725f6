package engine

import (
	"context"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
)

// An engine comes and goes with the verb that started it, and hundreds of agents are to be back soon after it listens again. Left to
// itself the SDK pauses for up to 10 s in two places, one after the other: between two tries to connect, and in its pollers, which
// fail at once while there is no connection and then wait longer and longer. Here only the connection is tried, and a poll waits for it.
const (
	// reconnectFirst to reconnectMost is the pause between two tries. A try at a port where nobody listens costs a packet each
	// way: 300 agents make some 100 a second.
	reconnectFirst, reconnectMost = 250 * time.Millisecond, 3 * time.Second
	// reconnectJitter keeps agents that lost their engine together from coming back in step.
	reconnectJitter = 0.3
	// connectWithin bounds one try, greetings of TLS included: 150 at once on two busy cores take their time. A packet that is
	// lost on a line that is cut is sent again after 1, 2 and 4 s, within it.
	connectWithin = 10 * time.Second
	// pollWait is how long a poll waits for a connection before it counts as one that found no task. A worker that stops waits
	// for its polls.
	pollWait = time.Second
)

// connection also notices a line that has been cut sooner than the SDK does by itself (45 s); more often than every 10 s the server
// would take for abuse.
func (o Options) connection() client.ConnectionOptions {
	c := client.ConnectionOptions{TLS: o.TLS, DialOptions: []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: reconnectJitter, MaxDelay: reconnectMost},
			MinConnectTimeout: connectWithin,
		}),
		grpc.WithChainUnaryInterceptor(pollWhenConnected),
	}}
	if o.TLS != nil {
		c.KeepAliveTime, c.KeepAliveTimeout = 11*time.Second, 5*time.Second
	}
	return c
}

// pollWhenConnected holds a poll back while there is no connection. One that was held back for too long is empty, as when the server
// has no task: the SDK polls again without a pause.
func pollWhenConnected(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if isPoll(method) && !connected(ctx, cc) {
		return nil
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func isPoll(method string) bool {
	name := method[strings.LastIndex(method, "/")+1:]
	return name == "PollActivityTaskQueue" || name == "PollWorkflowTaskQueue"
}

// connected waits for a connection, for up to pollWait.
func connected(ctx context.Context, cc *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	for {
		state := cc.GetState()
		if state == connectivity.Ready {
			return true
		}
		cc.Connect()
		if !cc.WaitForStateChange(ctx, state) {
			return false
		}
	}
}
