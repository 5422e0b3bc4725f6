package main

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

const workflowService = "/temporal.api.workflowservice.v1.WorkflowService/"

// hostCalls are all that a worker of activities needs, by name, each with the reason why this one is refused, or nothing. What is not
// here no host may call.
var hostCalls = map[string]func(who caller, namespace string, request any) string{
	workflowService + "GetSystemInfo":                free,
	workflowService + "DescribeNamespace":            ownNamespace,
	workflowService + "PollActivityTaskQueue":        ownQueue,
	workflowService + "ShutdownWorker":               ownQueue,
	workflowService + "RespondActivityTaskCompleted": ownNamespace,
	workflowService + "RespondActivityTaskFailed":    ownNamespace,
	workflowService + "RespondActivityTaskCanceled":  ownNamespace,
	workflowService + "RecordActivityTaskHeartbeat":  ownNamespace,
}

func free(caller, string, any) string { return "" }

func ownNamespace(_ caller, namespace string, request any) string {
	if named, ok := request.(interface{ GetNamespace() string }); !ok || named.GetNamespace() != namespace {
		return "a host works in the engine's own namespace only"
	}
	if about, ok := request.(*workflowservice.DescribeNamespaceRequest); ok && about.GetId() != "" {
		return "a host names the namespace that it asks about"
	}
	return ""
}

func ownQueue(who caller, namespace string, request any) string {
	const others = "a host serves its own queue only"
	switch r := request.(type) {
	case *workflowservice.PollActivityTaskQueueRequest:
		q := r.GetTaskQueue()
		if q.GetName() != who.queue() || q.GetNormalName() != "" || q.GetKind() != enums.TASK_QUEUE_KIND_NORMAL {
			return others
		}
	case *workflowservice.ShutdownWorkerRequest:
		if r.GetTaskQueue() != who.queue() || r.GetStickyTaskQueue() != "" {
			return others
		}
	default:
		return others
	}
	return ownNamespace(who, namespace, request)
}

// narrow is what the calls of hosts go through, behind access: a request keeps the fields that an agent needs and loses all others,
// among them those that some later server gives a meaning; and an answer must bear a token that its host was given.
func narrow(k tokenKey) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		who := callerIn(ctx)
		switch who.role {
		case roleController, roleEngine:
			return handle(ctx, request)
		case roleHost:
		default:
			return nil, serviceerror.NewPermissionDenied("a caller needs a role", "")
		}
		request, err := k.narrowed(who, request)
		if err != nil {
			return nil, err
		}
		answer, err := handle(ctx, request)
		if task, ok := answer.(*workflowservice.PollActivityTaskQueueResponse); ok && err == nil && len(task.GetTaskToken()) > 0 {
			task.TaskToken = k.seal(who.name, task.GetTaskToken())
		}
		return answer, err
	}
}

// narrowed is a request of a host as the server is given it.
func (k tokenKey) narrowed(who caller, request any) (_ any, err error) {
	open := func(token []byte) []byte {
		var plain []byte
		plain, err = k.open(who.name, token)
		return plain
	}
	switch r := request.(type) {
	case *workflowservice.GetSystemInfoRequest:
		return &workflowservice.GetSystemInfoRequest{}, nil
	case *workflowservice.DescribeNamespaceRequest:
		return &workflowservice.DescribeNamespaceRequest{Namespace: r.GetNamespace()}, nil
	case *workflowservice.PollActivityTaskQueueRequest:
		return &workflowservice.PollActivityTaskQueueRequest{Namespace: r.GetNamespace(), Identity: r.GetIdentity(), WorkerInstanceKey: r.GetWorkerInstanceKey(),
			TaskQueue: &taskqueue.TaskQueue{Name: who.queue(), Kind: enums.TASK_QUEUE_KIND_NORMAL}}, nil
	case *workflowservice.ShutdownWorkerRequest:
		return &workflowservice.ShutdownWorkerRequest{Namespace: r.GetNamespace(), Identity: r.GetIdentity(), Reason: r.GetReason(),
			WorkerInstanceKey: r.GetWorkerInstanceKey(), TaskQueue: who.queue(), TaskQueueTypes: []enums.TaskQueueType{enums.TASK_QUEUE_TYPE_ACTIVITY}}, nil
	case *workflowservice.RespondActivityTaskCompletedRequest:
		return &workflowservice.RespondActivityTaskCompletedRequest{Namespace: r.GetNamespace(), Identity: r.GetIdentity(), TaskToken: open(r.GetTaskToken()), Result: r.GetResult()}, err
	case *workflowservice.RespondActivityTaskFailedRequest:
		return &workflowservice.RespondActivityTaskFailedRequest{Namespace: r.GetNamespace(), Identity: r.GetIdentity(), TaskToken: open(r.GetTaskToken()),
			Failure: r.GetFailure(), LastHeartbeatDetails: r.GetLastHeartbeatDetails()}, err
	case *workflowservice.RespondActivityTaskCanceledRequest:
		return &workflowservice.RespondActivityTaskCanceledRequest{Namespace: r.GetNamespace(), Identity: r.GetIdentity(), TaskToken: open(r.GetTaskToken()), Details: r.GetDetails()}, err
	case *workflowservice.RecordActivityTaskHeartbeatRequest:
		return &workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: r.GetNamespace(), Identity: r.GetIdentity(), TaskToken: open(r.GetTaskToken()), Details: r.GetDetails()}, err
	}
	return nil, serviceerror.NewPermissionDenied("no host makes this call", "")
}
