package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// Client speaks to one engine. Safe for use from many goroutines. One client per process: it is the place where attempts on one
// subject take turns.
type Client struct {
	temporal client.Client
	jobs     client.Client // the same connection for jobs: what passes here is sealed; nil: no key
	seal     *sealing
	opts     Options
	log      *slog.Logger
	name     string // of this client, among all that have been and will be
	turns    *turns
	pulse    func(ctx context.Context, token []byte, detail string) error // sends one heartbeat
}

// dialWait is how long Dial tries; agents may start before their engine does.
const dialWait = 30 * time.Second

// Dial connects to the engine at address ("127.0.0.1:21034", "temporal.example.net:7233"). It tries for up to 30 s.
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	o = o.withDefaults()
	// Without a name the SDK would read all of the program, 90 MB, for a checksum before a worker's first step: 0.2 s of processor
	// time for each act. Only a reset to the last good program uses it, and no lane is ever reset.
	worker.SetBinaryChecksum("stowage")
	try, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	var t client.Client
	var last error
	err := patiently(try, o.Log, "dial "+address, func() (err error) {
		defer func() { last = err }()
		t, err = client.DialContext(try, o.client(address))
		return err
	})
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("dial engine %s: %w", address, last)
	}
	if err != nil {
		return nil, fmt.Errorf("dial engine %s: %w", address, context.Cause(ctx))
	}
	jobs, seal, err := o.forJobs(t)
	if err != nil {
		t.Close()
		return nil, err
	}
	c := &Client{temporal: t, jobs: jobs, seal: seal, opts: o, log: o.Log, name: fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()), turns: newTurns()}
	c.pulse = func(ctx context.Context, token []byte, detail string) error {
		return t.RecordActivityHeartbeat(ctx, token, detail)
	}
	return c, nil
}

func (o Options) client(address string) client.Options {
	return client.Options{
		HostPort:                address,
		Namespace:               o.Namespace,
		Logger:                  quietLog{o.Log},
		ConnectionOptions:       o.connection(),
		WorkerHeartbeatInterval: -1, // nobody looks at these
	}
}

// forJobs is a client on the connection of t whose payloads are sealed.
func (o Options) forJobs(t client.Client) (client.Client, *sealing, error) {
	if o.KeyFile == "" {
		return nil, nil, nil
	}
	key, err := readKey(o.KeyFile)
	if err != nil {
		return nil, nil, err
	}
	seal, err := newSealing(key, o.Log)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := client.NewClientFromExisting(t, o.jobs(seal))
	if err != nil {
		return nil, nil, fmt.Errorf("prepare client of jobs: %w", err)
	}
	return jobs, seal, nil
}

func (o Options) jobs(seal *sealing) client.Options {
	how := o.client("")
	how.DataConverter = seal
	how.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: seal, EncodeCommonAttributes: true})
	return how
}

// errNoKey: see Options.KeyFile.
var errNoKey = errors.New("this client has no key and knows no jobs")

// Close lets the connection go. Stop the workers first.
func (c *Client) Close() {
	if c.jobs != nil {
		c.jobs.Close()
	}
	c.temporal.Close()
}

// Notes on a lane's workflow that describeLane reads back without decoding its input.
const (
	memoFormat = "format"
	memoKind   = "kind"
)

// laneID is the workflow of a lane.
func laneID(job, lane string) string { return job + "/" + lane }

// beginLane has a lane begin, or finds that it has begun.
func (c *Client) beginLane(ctx context.Context, job Job, lane Lane) error {
	id := laneID(job.ID, lane.Name)
	err := patiently(ctx, c.log, "begin lane "+id, func() error {
		_, err := c.jobs.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID:                                       id,
			TaskQueue:                                c.opts.Queue,
			WorkflowTaskTimeout:                      workflowTaskTimeout,
			WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
			Memo:                                     map[string]any{memoFormat: Format, memoKind: job.Kind},
		}, laneWorkflowName, laneInput{Format: Format, Job: job.ID, Kind: job.Kind, Lane: lane})
		return err
	})
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		return c.checkAttached(ctx, job.ID, lane.Name)
	}
	if err != nil {
		return fmt.Errorf("begin lane %s: %w", id, err)
	}
	return nil
}

// checkAttached refuses to wait for a lane that no worker of this program could ever finish.
func (c *Client) checkAttached(ctx context.Context, job, lane string) error {
	about, err := c.describeLane(ctx, job, lane)
	if err != nil {
		return err
	}
	if about.Format > Format {
		return fmt.Errorf("continue with lane %s: %w", laneID(job, lane), ErrNewer)
	}
	if about.queue != c.opts.Queue || about.Format < Format {
		return fmt.Errorf("continue with lane %s: %w", laneID(job, lane), ErrOlder)
	}
	return nil
}

// awaitLane waits for the result of a lane that has begun. A lane workflow never fails by itself, so a failure means that somebody
// ended it from outside, in the middle of nobody knows what.
func (c *Client) awaitLane(ctx context.Context, job, lane string) (LaneResult, error) {
	id := laneID(job, lane)
	var out laneOutput
	err := patiently(ctx, c.log, "wait for lane "+id, func() error { return c.jobs.GetWorkflow(ctx, id, "").Get(ctx, &out) })
	var ended *temporal.WorkflowExecutionError
	switch {
	case errors.As(err, &ended):
		return LaneResult{Name: lane, End: EndUnknown, Kind: KindOutside, Error: failureOf(err).Text}, nil
	case errors.Is(err, errUnsealed):
		return LaneResult{Name: lane, End: EndUnknown, Kind: KindUnknown, Error: fmt.Sprintf("%v: %v", errForged, err)}, nil
	case err != nil:
		return LaneResult{}, fmt.Errorf("wait for lane %s: %w", id, err)
	case out.Job != job || out.Name != lane:
		return LaneResult{Name: lane, End: EndUnknown, Kind: KindUnknown, Error: fmt.Sprintf("%v: the result of lane %q of job %q", errForged, out.Name, out.Job)}, nil
	}
	return out.LaneResult, nil
}

// Phase tells whether a lane has begun and still runs.
type Phase string

const (
	NotFound Phase = "not-found"
	Running  Phase = "running" // or waiting for a worker
	Ended    Phase = "ended"
)

// laneState is what the engine knows about one lane.
type laneState struct {
	Phase  Phase
	Kind   string
	Format int
	queue  string
}

// describeLane looks a lane up without waiting for it.
func (c *Client) describeLane(ctx context.Context, job, lane string) (laneState, error) {
	var state laneState
	if c.jobs == nil {
		return state, errNoKey
	}
	id := laneID(job, lane)
	err := patiently(ctx, c.log, "find lane "+id, func() error {
		d, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return err
		}
		about := d.GetWorkflowExecutionInfo()
		state = laneState{Phase: Running, queue: d.GetExecutionConfig().GetTaskQueue().GetName()}
		fields := about.GetMemo().GetFields()
		if fields[memoFormat] == nil || string(fields[memoFormat].GetMetadata()[converter.MetadataEncoding]) != sealedEncoding {
			return ErrOlder
		}
		_ = c.seal.FromPayload(fields[memoFormat], &state.Format)
		_ = c.seal.FromPayload(fields[memoKind], &state.Kind)
		if about.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			state.Phase = Ended
		}
		return nil
	})
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return laneState{Phase: NotFound}, nil
	}
	if err != nil {
		return laneState{}, fmt.Errorf("find lane %s: %w", id, err)
	}
	return state, nil
}

// patiently calls do until it succeeds or fails for good, waiting 100 ms to 2 s between tries. When ctx ends it returns
// ErrInterrupted, joined with the last fault of the server if there was one.
func patiently(ctx context.Context, log *slog.Logger, what string, do func() error) error {
	var last error
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return interruptedBy(last)
		}
		if isFinal(err) || isEnd(err) {
			return err
		}
		last = err
		log.Debug("engine does not answer; trying again", "what", what, "error", err)
		select {
		case <-ctx.Done():
			return interruptedBy(last)
		case <-time.After(wait):
		}
	}
}

func interruptedBy(last error) error {
	if last == nil {
		return ErrInterrupted
	}
	return fmt.Errorf("%w (the engine did not answer: %w)", ErrInterrupted, last)
}

// isEnd reports whether err is the word of the workflow itself, or of the server about it.
func isEnd(err error) bool {
	var ended *temporal.WorkflowExecutionError
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	var syntax *json.SyntaxError
	return errors.As(err, &ended) || errors.As(err, &exists) || errors.As(err, &syntax) || errors.Is(err, converter.ErrUnableToDecode) ||
		errors.Is(err, ErrOlder) || errors.Is(err, errUnsealed)
}
