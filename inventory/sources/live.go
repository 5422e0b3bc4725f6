package sources

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/inventory/claims"
	"stowage/mysql"
)

// A server that hangs costs its own wait and nobody else's: as many are asked
// at once as that takes.
const (
	serverWait = 3 * time.Second // for the login
	// readTimes that wait may reading take: a busy server, and the sizes of many tables.
	readTimes = 10
	atOnce    = 32
	// mostServers ends the crawl: that many are no farm that anybody meant.
	mostServers = 20_000
)

// answer is what one server said.
type answer struct {
	facts mysql.Facts
	lives bool  // it let the account in, or refused it
	err   error // why there are no facts
	sizes error // why its shards have no sizes
}

// crawl asks every address, and makes claims of what servers say of
// themselves. A server that does not answer is claimed not to be alive; one that
// answers and cannot be read is a fault.
func (r *reader) crawl(ctx context.Context, addresses []string, open func(farm.InstanceName, string) *mysql.Server) error {
	wait := r.spec.Timeout
	if wait == 0 {
		wait = serverWait
	}
	answers := make([]answer, len(addresses))
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i, address := range addresses {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			answers[i] = askServer(ctx, address, wait, open)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	r.at = time.Now()
	read, unsized := 0, 0
	for i, address := range addresses {
		if answers[i].err == nil {
			read++
		}
		if answers[i].sizes != nil {
			unsized++
			r.why = fmt.Sprintf("no sizes of shards from %s; the last: %v", farm.Counted(unsized, "server"), answers[i].sizes)
		}
		r.ofServer(address, answers[i])
	}
	if read == 0 && len(addresses) > 0 {
		r.faults = nil // of each server, and all say this
		if i := slices.IndexFunc(answers, func(a answer) bool { return a.lives }); i >= 0 {
			return fmt.Errorf("no server can be read; the first that answers: %w", answers[i].err)
		}
		return fmt.Errorf("no server answers; the first: %w", answers[0].err)
	}
	r.errant(ctx, addresses, answers, wait, open)
	return nil
}

// askServer logs in within wait, and reads for longer: a server that refuses the
// account, or is slow to sum its sizes, is no dead one.
func askServer(ctx context.Context, address string, wait time.Duration, open func(farm.InstanceName, string) *mysql.Server) (a answer) {
	server := open(farm.InstanceName(address), address)
	defer server.Close()
	a.err = within(ctx, wait, server.Ping)
	a.lives = a.err == nil || mysql.CodeOf(a.err) != 0
	if a.err == nil {
		a.err = within(ctx, readTimes*wait, func(ctx context.Context) (err error) {
			a.facts, err = server.FactsWithoutShards(ctx)
			return err
		})
	}
	if a.err == nil {
		a.sizes = within(ctx, readTimes*wait, func(ctx context.Context) (err error) {
			a.facts.Shards, err = server.Shards(ctx)
			return err
		})
	}
	if a.sizes != nil {
		a.err = within(ctx, readTimes*wait, func(ctx context.Context) (err error) {
			a.facts.Shards, err = server.ShardNames(ctx)
			return err
		})
	}
	return a
}

func within(ctx context.Context, wait time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return do(ctx)
}

// ofServer makes claims of what one server says. It is known by its address:
// which instance that is, other sources say.
func (r *reader) ofServer(address string, a answer) {
	s := claims.Subject{Kind: claims.Instance, Name: address}
	at := func(query string) claims.Place { return claims.Place{Where: address + " " + query} }
	if !a.lives {
		r.say(s, "alive", "no", at("connect"))
		return
	}
	r.say(s, "alive", "yes", at("connect"))
	if a.err != nil {
		r.fault(claims.Place{Where: address}, "the server answers, and cannot be read: %v", a.err)
		return
	}
	variables := at("SHOW GLOBAL VARIABLES")
	r.say(s, "server_id", strconv.FormatUint(uint64(a.facts.ServerID), 10), variables)
	if a.facts.Flavor.HasGTIDDomains() {
		r.say(s, "domain", strconv.FormatUint(uint64(a.facts.Domain), 10), variables)
	}
	r.say(s, "version", a.facts.Flavor.String(), variables)
	for name, attribute := range map[string]string{"datadir": "datadir", "innodb_buffer_pool_size": "memory", "read_only": "read_only"} {
		if v := a.facts.Variables[name]; v != "" {
			r.say(s, attribute, v, variables)
		}
	}
	from := ""
	if a.facts.Replication.Configured {
		from = net.JoinHostPort(a.facts.Replication.Host, strconv.Itoa(a.facts.Replication.Port))
		if a.facts.Replication.BehindOK {
			r.say(s, "lag", strconv.Itoa(int(a.facts.Replication.Behind.Seconds())), at("SHOW REPLICA STATUS"))
		}
	}
	r.say(s, "replicates_from", from, at("SHOW REPLICA STATUS"))
	for name, bytes := range a.facts.Shards {
		shard, place := claims.Subject{Kind: claims.Shard, Name: string(name)}, at("information_schema.SCHEMATA")
		r.say(shard, "address", address, place)
		if bytes > 0 && !a.facts.Replication.Configured { // a replica may be behind
			r.say(shard, "disk", strconv.FormatInt(bytes, 10), place)
		}
	}
}

// errant looks for transactions of replicas that their sources never had. The
// source is asked again after the replica has answered: what a replica has
// applied meanwhile is no error. Servers that replicate from each other both
// write, and nothing can be said of them.
func (r *reader) errant(ctx context.Context, addresses []string, answers []answer, wait time.Duration, open func(farm.InstanceName, string) *mysql.Server) {
	at := map[string]int{}
	for i, address := range addresses {
		if answers[i].err == nil {
			at[address] = i
		}
	}
	missing, known := make([][]string, len(addresses)), make([]bool, len(addresses))
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i, address := range addresses {
		rep := answers[i].facts.Replication
		if answers[i].err != nil || !rep.Configured {
			continue
		}
		n, ok := at[net.JoinHostPort(rep.Host, strconv.Itoa(rep.Port))]
		if !ok || answers[n].facts.Replication.Follows(address) {
			continue
		}
		known[i] = true
		if missing[i] = lacking(answers[n].facts, answers[i].facts.Binlog); len(missing[i]) == 0 {
			continue
		}
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			again := askServer(ctx, addresses[n], wait, open)
			known[i] = again.err == nil
			missing[i] = lacking(again.facts, answers[i].facts.Binlog)
		})
	}
	wg.Wait()
	for i, address := range addresses {
		if known[i] {
			r.say(claims.Subject{Kind: claims.Instance, Name: address}, "errant", strings.Join(missing[i], ","), claims.Place{Where: address + " gtid_binlog_pos"})
		}
	}
}

// lacking is what of a replica's binary log a source has neither written nor applied.
func lacking(source mysql.Facts, replica mysql.Position) []string {
	var out []string
	for _, o := range replica.Origins() {
		if p := replica.From(o); !source.Binlog.Reached(p) && !source.Applied.Reached(p) {
			out = append(out, p.String())
		}
	}
	return out
}
