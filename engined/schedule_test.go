package main

import (
	"time"

	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// scheduleOn answers a workflow task: do one activity on that queue.
func scheduleOn(token []byte, queue string) *workflowservice.RespondWorkflowTaskCompletedRequest {
	minute := durationpb.New(time.Minute)
	return &workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: "stowage", TaskToken: token, Commands: []*command.Command{{
		CommandType: enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes: &command.Command_ScheduleActivityTaskCommandAttributes{ScheduleActivityTaskCommandAttributes: &command.ScheduleActivityTaskCommandAttributes{
			ActivityId: "1", ActivityType: &common.ActivityType{Name: "a"}, TaskQueue: &taskqueue.TaskQueue{Name: queue, Kind: enums.TASK_QUEUE_KIND_NORMAL},
			ScheduleToCloseTimeout: minute, StartToCloseTimeout: minute, HeartbeatTimeout: minute}}}}}
}
