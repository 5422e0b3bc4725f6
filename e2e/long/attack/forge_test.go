package attack

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"stowage/agent"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

const namespace = "stowage"

// frontend is the engine of a move, for whoever holds a certificate of the farm.
type frontend struct {
	workflowservice.WorkflowServiceClient
	t *testing.T
}

// as dials the engine with a certificate of .stowage/certificates: controller, hosts/new1.
func as(f *farmtest.NetFarm, who string) frontend {
	f.T.Helper()
	id, err := agent.ReadIdentity(filepath.Join(f.Dir, ".stowage/certificates", who), time.Now())
	if err != nil {
		f.T.Fatal(err)
	}
	conn, err := grpc.NewClient(f.EngineAddress(), grpc.WithTransportCredentials(credentials.NewTLS(id.Client(agent.EngineName))))
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() { conn.Close() })
	return frontend{workflowservice.NewWorkflowServiceClient(conn), f.T}
}

// lane is a lane that waits for a person, and the activity that waits in it.
type lane struct {
	namespaceID string
	at          *common.WorkflowExecution
	waits       string
}

// waiting finds it by its name, with the eyes of a controller.
func (e frontend) waiting(ctx context.Context, id string) lane {
	e.t.Helper()
	about, err := e.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		e.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		d, err := e.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: id}})
		if err != nil {
			e.t.Fatal(err)
		}
		for _, a := range d.GetPendingActivities() {
			if a.GetActivityType().GetName() == "stowage.hold" && a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
				return lane{about.GetNamespaceInfo().GetId(), d.GetWorkflowExecutionInfo().GetExecution(), a.GetActivityId()}
			}
		}
	}
	e.t.Fatalf("%s waits for nobody", id)
	return lane{}
}

// tokens are those that the server would give out for the tasks of a lane: it numbers what happens there.
func (l lane) tokens() (out [][]byte) {
	for event := range uint64(80) {
		for attempt := range uint64(2) {
			var t []byte
			for n, text := range map[protowire.Number]string{1: l.namespaceID, 2: l.at.GetWorkflowId(), 3: l.at.GetRunId(), 6: fmt.Sprint(event)} {
				t = protowire.AppendString(protowire.AppendTag(t, n, protowire.BytesType), text)
			}
			t = protowire.AppendVarint(protowire.AppendTag(t, 4, protowire.VarintType), event)
			out = append(out, protowire.AppendVarint(protowire.AppendTag(t, 5, protowire.VarintType), attempt+1))
		}
	}
	return out
}

// forgeries are what somebody tries who wants the lane to go on, or to end: all that is about others than himself.
func (e frontend) forgeries(ctx context.Context, l lane) map[string]func() error {
	id, run := l.at.GetWorkflowId(), l.at.GetRunId()
	out := map[string]func() error{
		"answer what waits, by its id": func() error {
			_, err := e.RespondActivityTaskCompletedById(ctx, &workflowservice.RespondActivityTaskCompletedByIdRequest{Namespace: namespace, WorkflowId: id, RunId: run, ActivityId: l.waits})
			return err
		},
		"let it fail": func() error {
			_, err := e.RespondActivityTaskFailedById(ctx, &workflowservice.RespondActivityTaskFailedByIdRequest{Namespace: namespace, WorkflowId: id, ActivityId: l.waits, Failure: permanent()})
			return err
		},
		"signal": func() error {
			_, err := e.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{Namespace: namespace, WorkflowExecution: l.at, SignalName: "approve"})
			return err
		},
		"terminate": func() error {
			_, err := e.TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{Namespace: namespace, WorkflowExecution: l.at})
			return err
		},
		"begin a job": func() error {
			_, err := e.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{Namespace: namespace, WorkflowId: "mine", RequestId: "mine",
				WorkflowType: &common.WorkflowType{Name: "stowage.job"}, TaskQueue: &taskqueue.TaskQueue{Name: "run.mine"}})
			return err
		},
		"read the history": func() error {
			_, err := e.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: namespace, Execution: l.at})
			return err
		},
	}
	of, _, _ := strings.Cut(id, "/")
	for _, queue := range []string{"run." + of, "host.old1", "host.old2"} {
		out["take calls of "+queue] = func() error { _, err := e.poll(ctx, queue); return err }
	}
	for n, token := range l.tokens() {
		out[fmt.Sprintf("a guessed token (%d)", n)] = func() error {
			_, err := e.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: namespace, TaskToken: token})
			return err
		}
	}
	return out
}

func permanent() *failure.Failure {
	return &failure.Failure{Message: "the host cannot do this", FailureInfo: &failure.Failure_ApplicationFailureInfo{
		ApplicationFailureInfo: &failure.ApplicationFailureInfo{Type: "stowage.permanent", NonRetryable: true}}}
}

func (e frontend) poll(ctx context.Context, queue string) (*workflowservice.PollActivityTaskQueueResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return e.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{Namespace: namespace, Identity: "rogue", TaskQueue: &taskqueue.TaskQueue{Name: queue, Kind: enums.TASK_QUEUE_KIND_NORMAL}})
}

// A host's certificate moves nobody's lane: not by ids, not by tokens that somebody guesses, and no approval comes out of it. What
// its owner answers to his own host's calls without the agent's signature is refused, in the log, in the events and in status; the
// move goes on when the agent is back, and nothing is lost. Somebody whom the engine lets do everything, as a cluster may that
// others use, brings about no approval and no undo either. (A refusal of a call needed no signature; the failure of what waits for a
// person was believed, and the side undone.)
func TestForgerOnALiveMoveGetsNothing(t *testing.T) {
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 1, 50)
	b := f.Start("move", "first", "--approve-before", "out")
	var part string // that waits
	atGate := func(other string) func() bool {
		return func() bool {
			for _, g := range f.Status().Waiting {
				if g.Part != other {
					part = g.Part
					return true
				}
			}
			return false
		}
	}
	f.Await(b, "a side waits at its gate", atGate(""))
	first, target := part, targetOf(f, part)
	controller, host := as(f, "controller"), as(f, "hosts/"+string(target))
	l := controller.waiting(t.Context(), laneOf(f, part))
	for what, try := range host.forgeries(t.Context(), l) {
		if err := try(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("with a host's certificate: %s: %v", what, err)
		}
	}
	if err := controller.forgeries(t.Context(), l)["answer what waits, by its id"](); err != nil {
		t.Fatalf("past the authorizer: %v", err)
	}
	time.Sleep(2 * time.Second)
	if steps := f.LiveFarm.Steps(); strings.Contains(steps, ":out") || !atGate("")() || part != first {
		t.Fatalf("an approval that nobody gave let the side go on: %s", steps)
	}

	_ = f.Agents[target].Cmd.Process.Signal(syscall.SIGTERM) // whoever has its certificate answers in its place
	<-f.Agents[target].Exited
	f.Must("approve")
	lied := host.lie(t.Context(), "host."+string(target), 3)
	if lied == 0 {
		t.Errorf("no call came to %s: nothing was forged", target)
	}
	f.StartAgent(target)
	f.Await(b, "the other side waits at its gate", atGate(first))
	forged := 0
	for _, e := range f.Events() {
		if e.Kind == farm.Forged && strings.Contains(e.Text, string(target)) {
			forged++
		}
	}
	if said := b.Out.String(); forged < lied || !strings.Contains(said, "SOMEBODY INTERFERES") || !strings.Contains(said, "an answer that this host has not given") {
		t.Errorf("%d forged answers, %d events tell of it:\n%s", lied, forged, said)
	}
	if p := farmtest.RunProgram(t, "", "status", "-C", f.Dir); !strings.Contains(p.Stdout, "SOMEBODY INTERFERES") {
		t.Errorf("status says nothing of it:\n%s", p.Stdout)
	}

	l = controller.waiting(t.Context(), laneOf(f, part))
	if err := controller.forgeries(t.Context(), l)["let it fail"](); err != nil {
		t.Fatalf("past the authorizer: %v", err)
	}
	b.Ends(t, farmtest.ExitUnknown)
	_, side, _ := strings.Cut(part, "/") // the other one, which never left
	if steps := f.LiveFarm.Steps(); !strings.Contains(b.Out.String(), "forged") || strings.Contains(steps, side+":out") {
		t.Errorf("the failure that nobody answered: %s\n%s", steps, &b.Out)
	}
	f.CheckLedger()
}

// laneOf is the workflow that brings a side over: its run's name, and its pair's.
func laneOf(f *farmtest.NetFarm, part string) string {
	pair, _, _ := strings.Cut(part, "/")
	return f.Events()[0].Run + "/" + pair
}

// targetOf is where a side goes.
func targetOf(f *farmtest.NetFarm, part string) farm.HostName {
	f.T.Helper()
	ws, _, _, err := farmtest.FarmAccess(f.Dir)
	f.Did(err)
	plan, err := ws.Plan("first")
	f.Did(err)
	for _, m := range plan.Moves {
		if fmt.Sprintf("%s/%s", m.Pair, m.Side) == part {
			return m.To.Host
		}
	}
	f.T.Fatalf("the plan does not move %s", part)
	return ""
}

// lie answers some calls of its own host without the agent: by refusals that nobody signed, and by words. It returns how many.
func (e frontend) lie(ctx context.Context, queue string, most int) (n int) {
	for n < most {
		task, err := e.poll(ctx, queue)
		if err != nil || len(task.GetTaskToken()) == 0 {
			return n
		}
		if n%2 == 0 {
			_, err = e.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{Namespace: namespace, TaskToken: task.GetTaskToken(), Failure: permanent()})
		} else {
			words := &common.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/plain")}, Data: []byte(`{"yes":true}`)}
			_, err = e.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: namespace, TaskToken: task.GetTaskToken(), Result: &common.Payloads{Payloads: []*common.Payload{words}}})
		}
		if err != nil {
			e.t.Errorf("a host answers its own call: %v", err)
			return n
		}
		n++
	}
	return n
}
