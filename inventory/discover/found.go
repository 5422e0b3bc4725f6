package discover

import (
	"slices"

	"stowage/farm"
)

// FormatVersion of the JSON form.
const FormatVersion = 1

// Found is what servers say, and the farm it makes.
type Found struct {
	FormatVersion int            `json:"format_version"`
	Servers       []Server       `json:"servers"`
	Hosts         []Host         `json:"hosts"`
	Pairs         []Pair         `json:"pairs"`
	NextServerID  uint32         `json:"next_server_id"` // above every id seen, or remembered in a binary log; 0: there is none above
	NotUnderstood []farm.Finding `json:"not_understood"`
	Notes         []farm.Finding `json:"notes"`

	strays []int // servers in no pair
}

// Server is one server as it describes itself.
type Server struct {
	Address  string   `json:"address"` // host:port, as told or as replication names it
	AlsoAt   []string `json:"also_at,omitempty"`
	IsTold   bool     `json:"told"`
	Error    string   `json:"error,omitempty"` // why nothing below is known
	Remedy   string   `json:"remedy,omitempty"`
	Hostname string   `json:"hostname,omitempty"`
	Listens  int      `json:"port,omitempty"` // the port it says it listens on
	UID      string   `json:"uid,omitempty"`  // MySQL's server_uuid; MariaDB's server_uid, which servers of one machine and port share
	Version  string   `json:"version,omitempty"`
	TooOld   string   `json:"too_old,omitempty"`
	ServerID uint32   `json:"server_id,omitempty"`
	Domain   uint32   `json:"gtid_domain_id,omitempty"`
	KnownIDs []uint32 `json:"server_ids_in_binlog,omitempty"`
	Datadir  string   `json:"datadir,omitempty"`
	Config   string   `json:"config,omitempty"` // the option file it starts with
	Pool     int64    `json:"buffer_pool_bytes,omitempty"`
	Offset   int      `json:"auto_increment_offset,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Cluster  string   `json:"cluster,omitempty"` // Galera or Group Replication, with its name

	GroupSuffix string   `json:"group_suffix,omitempty"`
	OptionFiles []string `json:"option_files,omitempty"` // that set something, as it says itself
	IsArgued    bool     `json:"has_arguments,omitempty"`

	Sources      []Source                 `json:"replicates_from,omitempty"`
	Replicas     []Replica                `json:"replicas,omitempty"` // that are connected
	OtherReaders int                      `json:"unregistered_readers,omitempty"`
	Unseen       string                   `json:"replicas_error,omitempty"` // why replicas could not be read
	Shards       map[farm.ShardName]int64 `json:"database_bytes,omitempty"`
}

// Source is what a server replicates from, as it dials it.
type Source struct {
	Address  string `json:"address"`
	ServerID uint32 `json:"server_id,omitempty"` // 0: it was never connected
}

// Replica is who has registered with a server as its replica.
type Replica struct {
	ServerID uint32   `json:"server_id"`
	MayBeAt  []string `json:"may_be_at,omitempty"` // one address when it reports its own
}

func (s Server) answered() bool { return s.Error == "" }

// addresses are all by which it was reached.
func (s Server) addresses() []string { return append([]string{s.Address}, s.AlsoAt...) }

// isAt reports whether it was reached by an address.
func (s Server) isAt(address string) bool {
	return s.Address == address || slices.Contains(s.AlsoAt, address)
}

// isSame reports whether both answers came from one server. A hostname and a
// server_id may be a default that many servers have; all of it together is not.
func (s Server) isSame(o Server) bool {
	return s.answered() && o.answered() && s.Hostname == o.Hostname && s.Listens == o.Listens &&
		s.ServerID == o.ServerID && s.Datadir == o.Datadir && s.UID == o.UID
}

// knows reports whether o has registered with s as a replica, from where o is:
// in many farms each pair has server_ids 1 and 2, so the id is not enough.
func (s Server) knows(o Server) bool {
	return slices.ContainsFunc(s.Replicas, func(r Replica) bool {
		return r.ServerID == o.ServerID && slices.ContainsFunc(r.MayBeAt, func(address string) bool {
			return o.isAt(address) || o.Hostname != "" && hostOf(address) == o.Hostname && portOf(address) == o.Listens
		})
	})
}

// Host is a machine, as far as addresses and hostnames tell machines apart.
type Host struct {
	Name      farm.HostName     `json:"name"`
	Type      farm.HostTypeName `json:"type"`
	Address   string            `json:"address"`
	Instances []string          `json:"instances"` // addresses of its servers
	Pools     int64             `json:"buffer_pool_bytes"`
	Data      int64             `json:"data_bytes"`

	servers []int
}

// Pair is servers that hold the same data.
type Pair struct {
	Name     farm.PairName `json:"name"`
	Topology farm.Topology `json:"topology"`
	Sides    []Side        `json:"sides"`
	Shards   []Shard       `json:"shards"`
	LeftOut  []LeftOut     `json:"left_out,omitempty"`
}

// Side is one server of a pair.
type Side struct {
	Side     farm.SideName `json:"side"`
	Host     farm.HostName `json:"host"`
	Port     int           `json:"port"`
	Address  string        `json:"address"` // as farm.yaml will have it
	Datadir  string        `json:"datadir"`
	ServerID uint32        `json:"server_id"`
	IsShared bool          `json:"datadir_is_shared,omitempty"` // another server of its host says the same

	server int
}

// Shard is a database, with the larger of its sizes on the sides.
type Shard struct {
	Name  farm.ShardName `json:"name"`
	Bytes int64          `json:"bytes"`
}

// LeftOut is a database that cannot be a shard of farm.yaml as it is.
type LeftOut struct {
	Name farm.ShardName `json:"name"`
	Why  string         `json:"why"`
}
