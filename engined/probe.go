package main

import (
	"context"
	"errors"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// touchHistory asks for an execution that cannot exist. "Not found" is the healthy answer.
func touchHistory(ctx context.Context, api workflowservice.WorkflowServiceClient, namespace string) error {
	_, err := api.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace,
		Execution: &common.WorkflowExecution{WorkflowId: "stowage-engine-ready?"},
	})
	var missing *serviceerror.NotFound
	if err = serviceerror.FromStatus(serviceerror.ToStatus(err)); errors.As(err, &missing) {
		return nil
	}
	return err
}
