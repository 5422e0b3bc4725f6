package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stowage/farm"
	"stowage/mysql"
)

// Question is whom to ask, and how.
type Question struct {
	Addresses []string // host:port
	Follow    bool     // ask those that replication names as well
	Open      func(farm.InstanceName, string) *mysql.Server
	Tell      func(text string) // may be nil
	// Starts is how a server of this machine was started; nil: nobody looks.
	Starts func(context.Context, Server) (config, suffix string, ok bool)
}

// atOnce bounds how many servers are asked at the same time.
const atOnce = 16

// mostServers ends following: that many are no farm that anybody meant.
const mostServers = 5000

// asker collects answers. at knows every address that was asked: -1 is nobody
// whom we were told of.
type asker struct {
	Question
	servers []Server
	at      map[string]int
}

// Ask reads every server that was named, and with Follow those that they
// replicate from or that replicate from them, until none is new. A server
// that does not answer is an answer with an Error.
func Ask(ctx context.Context, q Question) ([]Server, error) {
	a := &asker{Question: q, at: map[string]int{}}
	told := slices.Clone(q.Addresses)
	slices.SortFunc(told, byAddress)
	a.round(ctx, told, func(s Server) bool {
		s.IsTold = true
		a.servers = append(a.servers, s)
		return true
	})
	for len(a.servers) < mostServers {
		named, guessed := a.unasked()
		if len(named)+len(guessed) == 0 {
			break
		}
		a.round(ctx, named, a.meet(true))
		a.round(ctx, guessed, a.meet(false))
	}
	a.round(ctx, a.otherWays(), func(Server) bool { return false })
	return a.servers, ctx.Err()
}

// meet takes in a server that was not told of: a source whether it answers or
// not, for another one replicates from it; a replica when it is who it was
// taken for.
func (a *asker) meet(isSource bool) func(Server) bool {
	return func(s Server) bool {
		if !a.Follow || !isSource && !a.isRegistered(s) {
			return false
		}
		if isSource && s.answered() && !a.isSource(s) {
			s = Server{Address: s.Address, Error: fmt.Sprintf("server_id %d answers there, which is not the one that its replica knows", s.ServerID),
				Remedy: "name it by an address that means the same to us and to the replica"}
		}
		a.servers = append(a.servers, s)
		return true
	}
}

// isSource reports whether s is the server that a replica knows at its address:
// 127.0.0.1 is another one for us than for the replica.
func (a *asker) isSource(s Server) bool {
	return slices.ContainsFunc(a.servers, func(o Server) bool {
		return slices.ContainsFunc(o.Sources, func(from Source) bool {
			return from.Address == s.Address && (from.ServerID == 0 || from.ServerID == s.ServerID)
		})
	})
}

// isRegistered reports whether a server we know has s for a replica.
func (a *asker) isRegistered(s Server) bool {
	return s.answered() && slices.ContainsFunc(a.servers, func(o Server) bool {
		return slices.ContainsFunc(o.Replicas, func(r Replica) bool { return r.ServerID == s.ServerID && slices.Contains(r.MayBeAt, s.Address) })
	})
}

// round asks addresses that were not asked yet. A server that is known gets
// one more address; what is new goes to take, which says whether it took it.
func (a *asker) round(ctx context.Context, addresses []string, take func(Server) bool) {
	var ask []string
	for _, address := range addresses {
		if _, asked := a.at[address]; !asked {
			a.at[address] = -1
			ask = append(ask, address)
		}
	}
	if len(ask) > 0 && a.Tell != nil {
		a.Tell(fmt.Sprintf("asking %s", farm.Counted(len(ask), "address")))
	}
	answers := make([]Server, len(ask))
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for n, address := range ask {
		tokens <- struct{}{}
		wg.Go(func() {
			answers[n] = a.ask(ctx, address)
			<-tokens
		})
	}
	wg.Wait()
	for _, s := range answers {
		if known := slices.IndexFunc(a.servers, s.isSame); known >= 0 {
			a.servers[known].AlsoAt = append(a.servers[known].AlsoAt, s.Address)
			a.at[s.Address] = known
		} else if take(s) {
			a.at[s.Address] = len(a.servers) - 1
		}
	}
}

// unasked are the addresses that replication names and nobody has asked yet:
// sources, and where replicas may be. Without Follow they are only those that
// may be a server we know, under another name.
func (a *asker) unasked() (sources, replicas []string) {
	for _, s := range a.servers {
		for _, source := range s.Sources {
			if _, asked := a.at[source.Address]; !asked && (a.Follow || a.maybeKnown(source)) {
				sources = append(sources, source.Address)
			}
		}
		if !a.Follow {
			continue
		}
		for _, r := range s.Replicas {
			for _, address := range r.MayBeAt {
				if _, asked := a.at[address]; !asked && !a.hasReplica(s, r) {
					replicas = append(replicas, address)
				}
			}
		}
	}
	return sources, replicas
}

// maybeKnown reports whether a source looks like a server we know.
func (a *asker) maybeKnown(source Source) bool {
	return slices.ContainsFunc(a.servers, func(s Server) bool {
		return s.answered() && s.ServerID == source.ServerID && portOf(s.Address) == portOf(source.Address)
	})
}

// hasReplica reports whether one of the servers we know is replica r of s. In
// many farms each pair has server_ids 1 and 2: they alone say nothing.
func (a *asker) hasReplica(s Server, r Replica) bool {
	return slices.ContainsFunc(a.servers, func(o Server) bool {
		return o.ServerID == r.ServerID && slices.ContainsFunc(o.Sources, func(from Source) bool { return s.isAt(from.Address) })
	})
}

// otherWays are addresses by which servers of one hostname could be reached if
// they were on one machine: the first one's host with the other's port. Only
// an answer tells; many machines call themselves localhost.
func (a *asker) otherWays() []string {
	first := map[string]string{}
	var out []string
	for _, s := range a.servers {
		if s.Hostname == "" {
			continue
		}
		host, seen := first[s.Hostname]
		if !seen {
			first[s.Hostname] = hostOf(s.Address)
			continue
		}
		if way := join(host, portOf(s.Address)); !s.isAt(way) {
			out = append(out, way)
		}
	}
	return out
}

// groupVariables tell a member of a cluster, in which replication is not all
// there is, and a server from another one of the same name.
var groupVariables = []string{"wsrep_on", "wsrep_cluster_name", "group_replication_group_name", "server_uid"}

// ask reads one server.
func (a *asker) ask(ctx context.Context, address string) Server {
	s := Server{Address: address}
	db := a.Open(farm.InstanceName(hostOf(address)), address)
	defer db.Close()
	facts, err := db.Facts(ctx)
	if err == nil {
		err = s.more(ctx, db)
	}
	if err != nil {
		var flavor mysql.Flavor
		if mysql.CodeOf(err) != 0 { // it speaks to us; who does not is not waited for twice
			flavor, _ = db.Flavor(ctx)
		}
		s.Error, s.Remedy = cause(err), remedy(err, flavor)
		return s
	}
	v := facts.Variables
	s.Hostname, s.Datadir = v["hostname"], v["datadir"]
	s.Listens, _ = strconv.Atoi(v["port"])
	s.Offset, _ = strconv.Atoi(v["auto_increment_offset"])
	s.Pool, _ = strconv.ParseInt(v["innodb_buffer_pool_size"], 10, 64)
	s.ReadOnly = v["read_only"] == "ON"
	s.UID = cmp.Or(v["server_uuid"], s.UID)
	s.Version, s.TooOld = facts.Flavor.String(), facts.Flavor.TooOld()
	s.ServerID, s.Domain, s.KnownIDs = facts.ServerID, facts.Domain, facts.KnownIDs
	s.Shards = facts.Shards
	s.starts(ctx, db, a.Starts)
	return s
}

// more is what an inventory does not ask for.
func (s *Server) more(ctx context.Context, db *mysql.Server) error {
	group, err := db.Variables(ctx, groupVariables...)
	if err != nil {
		return err
	}
	s.UID = group["server_uid"]
	switch {
	case group["wsrep_on"] == "ON":
		s.Cluster = "Galera " + group["wsrep_cluster_name"]
	case group["group_replication_group_name"] != "":
		s.Cluster = "Group Replication " + group["group_replication_group_name"]
	}
	sources, err := db.Sources(ctx)
	if err != nil {
		return err
	}
	for _, from := range sources {
		s.Sources = append(s.Sources, Source{from.Address(), from.ServerID})
	}
	if err := s.readers(ctx, db); err != nil { // an account may lack what that needs, and the rest is still worth knowing
		s.Unseen = cause(err)
	}
	return nil
}

// readers are who replicates from the server. One that does not report its
// address may be on any machine from which the binary log is read.
func (s *Server) readers(ctx context.Context, db *mysql.Server) error {
	replicas, others, err := db.Readers(ctx)
	if err != nil {
		return err
	}
	hosts, err := db.ReaderHosts(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(replicas, func(x, y mysql.Reader) int { return int(int64(x.ServerID) - int64(y.ServerID)) })
	for _, r := range replicas {
		out := Replica{ServerID: r.ServerID}
		if r.Address != "" {
			out.MayBeAt = []string{r.Address}
		} else if r.Port > 0 {
			for _, h := range hosts {
				out.MayBeAt = append(out.MayBeAt, join(h, r.Port))
			}
		}
		s.Replicas = append(s.Replicas, out)
	}
	s.OtherReaders = others
	return nil
}

// noEntry are the errors of a login: access denied, in two ways, and a host
// that is blocked or not allowed.
var noEntry = []uint16{1045, 1698, 1129, 1130}

// cause is an error without the server's name, which is before it anyway.
func cause(err error) string {
	var dial *net.OpError
	var op *farm.Error
	switch {
	case errors.As(err, &dial):
		return "does not answer: " + dial.Error()
	case slices.Contains(noEntry, mysql.CodeOf(err)) && errors.As(err, &op):
		return "does not let us in: " + op.Err.Error()
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// remedy is what to do about a server that cannot be read.
func remedy(err error, flavor mysql.Flavor) string {
	var dial *net.OpError
	account := mysql.AccountRemedy(err)
	switch {
	case account != "":
		return account
	case flavor.Version != "" && flavor.TooOld() != "":
		return flavor.TooOld() + ", and this is " + flavor.String() + ": leave it out, or upgrade it first"
	case errors.As(err, &dial) && strings.Contains(err.Error(), "no such host"):
		return "correct the name"
	case errors.As(err, &dial):
		return "is it running, is this its address and port, and does a firewall let this machine in?"
	}
	return "see whether a MySQL or MariaDB server answers there: mysql -h HOST -P PORT"
}
