package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqlitestore "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	clusterName = "stowage"
	// historyShards is fixed for the life of a file. One SQLite connection is the narrow place, so few are enough.
	historyShards = 4
	// retention keeps finished jobs: starting one with the same ID again must find the old result, not run twice.
	retention = 10 * 365 * 24 * time.Hour
)

func newServer(set settings, p ports, w *wires, key tokenKey) (temporal.Server, error) {
	cfg := serverConfig(set, p)
	ns, err := schema.NewNamespaceConfig(clusterName, set.namespace, false, nil)
	if err != nil {
		return nil, fmt.Errorf("describe namespace: %w", err)
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	if err := schema.CreateNamespaces(cfg.Persistence.DataStores[sqlitestore.PluginName].SQL, ns); err != nil {
		return nil, fmt.Errorf("create namespace: %w", err)
	}
	srv, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		// The worker service serves schedules, batches and scavengers; none of them is used here.
		temporal.ForServices([]string{string(primitives.FrontendService), string(primitives.HistoryService), string(primitives.MatchingService)}),
		// Static membership: no gossip between three services that share a process.
		temporal.WithStaticHosts(map[primitives.ServiceName]static.Hosts{
			primitives.FrontendService: static.SingleLocalHost(p.frontendAddress()),
			primitives.HistoryService:  static.SingleLocalHost(p.historyAddress()),
			primitives.MatchingService: static.SingleLocalHost(p.matchingAddress()),
			// Required by the library, never called: only the worker service itself would ask where it lives.
			primitives.WorkerService: static.SingleLocalHost(p.frontendAddress()),
		}),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "warn", Format: "json"}))),
		temporal.WithTLSConfigFactory(w),
		temporal.WithAuthorizer(access{set.namespace}),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims{w.revoked} }),
		temporal.WithChainedFrontendGrpcInterceptors(narrow(key)),
		temporal.WithDynamicConfigClient(tuning()),
		temporal.WithCustomVisibilityStoreFactory(unlisted{}),
	)
	if err != nil {
		return nil, fmt.Errorf("assemble server: %w", err)
	}
	return srv, nil
}

func serverConfig(set settings, p ports) *config.Config {
	off := "disabled"
	store := &config.SQL{
		PluginName:   sqlitestore.PluginName,
		DatabaseName: set.db,
		// One connection: SQLite has one writer, and a second connection would meet SQLITE_BUSY_SNAPSHOT, which no timeout cures.
		MaxConns:     1,
		MaxIdleConns: 1,
		ConnectAttributes: map[string]string{
			"mode":               "rwc",
			"busy_timeout":       "10000",
			"journal_mode":       "wal",
			"synchronous":        "normal", // survives kill -9; see the package comment for power loss
			"cache_size":         "-16000", // KiB
			"wal_autocheckpoint": "2000",   // pages
		},
	}
	return &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     sqlitestore.PluginName,
			VisibilityStore:  unlistedName,
			NumHistoryShards: historyShards,
			DataStores:       map[string]config.DataStore{sqlitestore.PluginName: {SQL: store}, unlistedName: unlistedStore},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: p.frontendAddress()},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(p.ip, p.frontend),
			string(primitives.HistoryService):  service("127.0.0.1", p.history),
			string(primitives.MatchingService): service("127.0.0.1", p.matching),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: off},
			Visibility: config.VisibilityArchival{State: off},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: off},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: off},
		}},
		PublicClient: config.PublicClient{HostPort: p.frontendAddress()},
	}
}

func service(ip string, port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: ip}}
}

// awaitReady asks the frontend for the namespace until it answers: then every service behind it is up.
func awaitReady(ctx context.Context, address, namespace string, w *wires, wait time.Duration) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(w.outside.client())))
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	defer conn.Close()
	api := workflowservice.NewWorkflowServiceClient(conn)
	for deadline := time.Now().Add(wait); ; {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := api.DescribeNamespace(try, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		if err == nil {
			// Reaches a history shard, too: that one answers "not found" once it owns its shards.
			err = touchHistory(try, api, namespace)
		}
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("wait for %s: %w", address, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
