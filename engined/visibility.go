package main

import (
	"context"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/api/visibilityservice/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute"
)

// unlisted is where the server keeps what lists of workflows are made of: nowhere. Nobody asks this engine for lists; Stowage knows its
// runs by name. Kept in SQLite, with an index for each attribute, the entries of one call cost more than the call.
type unlisted struct{}

// unlistedName is that of the data store, of its kind, and of its index.
const unlistedName = "unlisted"

var unlistedStore = config.DataStore{CustomDataStoreConfig: &config.CustomDatastoreConfig{Name: unlistedName, IndexName: unlistedName}}

var errUnlisted = serviceerror.NewUnimplemented("this engine keeps no lists: ask for a workflow by its ID")

// NewVisibilityStore implements visibility.VisibilityStoreFactory.
func (unlisted) NewVisibilityStore(config.CustomDatastoreConfig, searchattribute.Provider, searchattribute.MapperProvider, namespace.Registry, *chasm.Registry, resolver.ServiceResolver, log.Logger, metrics.Handler) (store.VisibilityStore, error) {
	return unlisted{}, nil
}

func (unlisted) Close()               {}
func (unlisted) GetName() string      { return unlistedName }
func (unlisted) GetIndexName() string { return unlistedName }

func (unlisted) ValidateCustomSearchAttributes(all map[string]any) (map[string]any, error) {
	return all, nil
}

func (unlisted) RecordWorkflowExecutionStarted(context.Context, *store.InternalRecordWorkflowExecutionStartedRequest) error {
	return nil
}

func (unlisted) RecordWorkflowExecutionClosed(context.Context, *store.InternalRecordWorkflowExecutionClosedRequest) error {
	return nil
}

func (unlisted) UpsertWorkflowExecution(context.Context, *store.InternalUpsertWorkflowExecutionRequest) error {
	return nil
}

func (unlisted) DeleteWorkflowExecution(context.Context, *manager.VisibilityDeleteWorkflowExecutionRequest) error {
	return nil
}

func (unlisted) AddSearchAttributes(context.Context, *manager.AddSearchAttributesRequest) error {
	return nil
}

func (unlisted) ListWorkflowExecutions(context.Context, *manager.ListWorkflowExecutionsRequestV2) (*store.InternalListExecutionsResponse, error) {
	return nil, errUnlisted
}

func (unlisted) CountWorkflowExecutions(context.Context, *manager.CountWorkflowExecutionsRequest) (*store.InternalCountExecutionsResponse, error) {
	return nil, errUnlisted
}

func (unlisted) GetWorkflowExecution(context.Context, *manager.GetWorkflowExecutionRequest) (*store.InternalGetWorkflowExecutionResponse, error) {
	return nil, errUnlisted
}

func (unlisted) ListChasmExecutions(context.Context, *visibilityservice.ListChasmExecutionsRequest) (*store.InternalListExecutionsResponse, error) {
	return nil, errUnlisted
}

func (unlisted) CountChasmExecutions(context.Context, *visibilityservice.CountChasmExecutionsRequest) (*store.InternalCountExecutionsResponse, error) {
	return nil, errUnlisted
}
