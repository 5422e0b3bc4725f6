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
	how := o.client("")
	how.DataConverter = seal
	how.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: seal, EncodeCommonAttributes: true})
	jobs, err := client.NewClientFromExisting(t, how)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare client of jobs: %w", err)
	}
	return jobs, seal, nil
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

// Run starts the job, or attaches to the one with the same ID, running or ended, and waits for its result. A job that has ended is
// never run again. Lanes that failed are in the Result, not in the error.
//
// While the engine is away Run waits for it. When ctx ends first, Run returns ErrInterrupted; the job stays resumable.
func (c *Client) Run(ctx context.Context, job Job) (Result, error) {
	if c.jobs == nil {
		return Result{}, errNoKey
	}
	if err := job.Validate(); err != nil {
		return Result{}, err
	}
	if err := c.begin(ctx, job); err != nil {
		return Result{}, err
	}
	return c.await(ctx, job.ID)
}

// Notes on the workflow that Find and begin read back without decoding its input.
const (
	memoFormat = "format"
	memoKind   = "kind"
)

func (c *Client) begin(ctx context.Context, job Job) error {
	err := patiently(ctx, c.log, "start job "+job.ID, func() error {
		_, err := c.jobs.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID:                                       job.ID,
			TaskQueue:                                c.opts.Queue,
			WorkflowTaskTimeout:                      workflowTaskTimeout,
			WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
			Memo:                                     map[string]any{memoFormat: Format, memoKind: job.Kind},
		}, jobWorkflowName, jobInput{Format: Format, Job: job})
		return err
	})
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		c.log.Info("attached to the job that exists", "job", job.ID)
		return c.checkAttached(ctx, job.ID)
	}
	if err != nil {
		return fmt.Errorf("start job %s: %w", job.ID, err)
	}
	return nil
}

// checkAttached refuses to wait for a job that no worker of this program could ever finish.
func (c *Client) checkAttached(ctx context.Context, jobID string) error {
	state, err := c.Find(ctx, jobID)
	if err != nil {
		return err
	}
	if state.Format > Format {
		return fmt.Errorf("attach to job %s: a newer Stowage started it (format %d, this one knows %d)", jobID, state.Format, Format)
	}
	if state.queue != c.opts.Queue {
		return fmt.Errorf("attach to job %s: %w", jobID, ErrOlder)
	}
	return nil
}

func (c *Client) await(ctx context.Context, jobID string) (Result, error) {
	var result Result
	err := patiently(ctx, c.log, "wait for job "+jobID, func() error {
		return c.jobs.GetWorkflow(ctx, jobID, "").Get(ctx, &result)
	})
	if err != nil {
		return Result{}, fmt.Errorf("wait for job %s: %w", jobID, err)
	}
	return result, nil
}

// Phase tells whether a job exists and still runs.
type Phase string

const (
	NotFound Phase = "not-found"
	Running  Phase = "running" // or waiting for a worker
	Ended    Phase = "ended"
)

// State is what the engine knows about one job. Result is set when Phase is Ended.
type State struct {
	Phase   Phase     `json:"phase"`
	Kind    string    `json:"kind,omitempty"`
	Format  int       `json:"format,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Result  Result    `json:"result,omitzero"`

	queue string
}

// Find looks a job up without waiting for it.
func (c *Client) Find(ctx context.Context, jobID string) (State, error) {
	state, err := c.describe(ctx, jobID)
	if err == nil && state.Phase == Ended {
		state.Result, err = c.await(ctx, jobID)
	}
	return state, err
}

// describe is Find without the result.
func (c *Client) describe(ctx context.Context, jobID string) (State, error) {
	var state State
	if c.jobs == nil {
		return state, errNoKey
	}
	err := patiently(ctx, c.log, "find job "+jobID, func() error {
		d, err := c.temporal.DescribeWorkflowExecution(ctx, jobID, "")
		if err != nil {
			return err
		}
		about := d.GetWorkflowExecutionInfo()
		state = State{Phase: Running, Started: about.GetStartTime().AsTime(), queue: d.GetExecutionConfig().GetTaskQueue().GetName()}
		fields := about.GetMemo().GetFields()
		state.Format, state.Kind = 0, ""
		if fields[memoFormat] != nil && string(fields[memoFormat].GetMetadata()[converter.MetadataEncoding]) != sealedEncoding {
			return ErrOlder
		}
		_ = c.seal.FromPayload(fields[memoFormat], &state.Format)
		_ = c.seal.FromPayload(fields[memoKind], &state.Kind)
		if about.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			state.Phase, state.Ended = Ended, about.GetCloseTime().AsTime()
		}
		return nil
	})
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return State{Phase: NotFound}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("find job %s: %w", jobID, err)
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
