package farm

import "time"

// RoutingKind is how clients learn where to go.
type RoutingKind string

const (
	RoutingFile    RoutingKind = "file"    // routing.json in the workspace
	RoutingHAProxy RoutingKind = "haproxy" // HAProxy's runtime API
	RoutingEtcd    RoutingKind = "etcd"    // keys in etcd
	RoutingSQL     RoutingKind = "sql"     // a table on a server of the owner's
	RoutingExec    RoutingKind = "exec"    // a program of the owner's
)

// Routing says how clients learn where to go. Which fields mean something
// depends on Kind; the zero value is the file.
type Routing struct {
	Kind RoutingKind

	Account string        // group of the accounts file to log in with; etcd, sql
	GoodFor time.Duration // how old a client's look may be; etcd, sql. 0: the default

	Sockets  []string      // runtime APIs of all processes; haproxy
	CutAfter time.Duration // 0: connections are never cut; haproxy

	Endpoints     []string // etcd
	Prefix        string   // of the keys; etcd
	CA, Cert, Key string   // files; etcd

	Address  string // host:port; sql
	Database string // sql

	Program []string      // and its arguments; exec
	Timeout time.Duration // of one call; exec. 0: the default
	Gated   bool          // the owner vouches for the gate; exec
	Whole   bool          // a side's clients are sent elsewhere all at once; exec
	Settle  time.Duration // after which a change has reached every client; exec
}
