package move

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// What each carrier surely keeps up with, of a source's writes. The copier
// gathers small transactions into large ones and is bound by rows: 10,000 to
// 50,000 rows/s were seen, of transactions of 5 rows and of 500, on two cores,
// mostly busy, with durable servers. The target's own replication commits as
// often as the source did and is bound by that: with 8 replica threads 1,200 to
// 3,600 transactions/s of 5 rows, but up to 50,000 rows/s of 500
// (scripts/bench/copier.sh measures it anew).
const (
	copierKeepsUp = 5000 // rows a second
	nativeKeepsUp = 1000 // transactions a second
)

// writing is how much a server writes in a second.
type writing struct{ rows, transactions int64 }

// chooser decides how shards' changes get to their targets. It asks each source
// once how much it writes.
type chooser struct {
	mover *Mover
	pairs []farm.PairName // those that exist
	rates map[farm.InstanceName]writing
}

// choose decides for one shard, and says why in one sentence. What a person
// asked for is taken; preflight says whether it is possible.
//
// The copier is the rule: it works between any two servers, and leaves nothing
// in their positions. The target's own replication applies side by side what
// its replica threads can, and is worth its preconditions where the source
// writes more rows than one session of the copier surely applies, in few enough
// transactions.
func (c *chooser) choose(ctx context.Context, o *shardOrder) error {
	asked := o.How
	switch asked {
	case ByCopier:
		o.Why = "asked for"
		return nil
	case ByReplication, "":
	default:
		return &farm.Error{Op: "move shard", Subject: string(o.Shard), Err: fmt.Errorf("%w: --how %q", farm.ErrInput, o.How), Hint: "it is copier or replication"}
	}
	if why := c.atOnce(*o); asked == "" && why != "" {
		o.How, o.Why = ByCopier, why
		return nil
	}
	s := &shardMove{task: task{mover: c.mover}, order: *o, from: c.mover.ends(o.From), to: c.mover.ends(o.To)}
	defer s.Close()
	if asked == ByReplication {
		o.Why = "asked for"
		if domains, err := domainsOf(ctx, s.from); err == nil { // if not, preflight asks the same server, and says what is wrong with it
			o.Domains = domains
		}
		return nil
	}
	o.How, o.Why = ByCopier, c.against(ctx, s)
	if o.Why != "" {
		return nil
	}
	domains, err := domainsOf(ctx, s.from)
	if err != nil {
		return err
	}
	w := c.rates[s.from.main.Name()]
	o.How, o.Domains = ByReplication, domains
	o.Why = fmt.Sprintf("%s writes about %s/s in %d transactions/s; the copier surely keeps up with %s/s only, and nothing speaks against the target's own replication",
		s.from.main.Name(), farm.Counted(w.rows, "row"), w.transactions, farm.Counted(copierKeepsUp, "row"))
	return nil
}

// atOnce is why the copier should do it, as far as that is seen without asking
// servers: a plan may carry hundreds of shards.
func (c *chooser) atOnce(o shardOrder) string {
	if !slices.Contains(c.pairs, o.To.Pair) {
		return "it works with every pair of servers, and this one is still to be made"
	}
	if o.To.Topology == farm.ActiveActive {
		return "the target's own replication cannot: " + ringText
	}
	return ""
}

// against is why the copier should do it, or "".
func (c *chooser) against(ctx context.Context, s *shardMove) string {
	cannot := func(err error) string {
		return "it works with every pair of servers; whether the target's own replication could be used is not known: " + err.Error()
	}
	found, err := s.nativeObstacles(ctx)
	if err != nil {
		return cannot(err)
	}
	if len(found) > 0 {
		var reasons []string
		for _, f := range found {
			reasons = append(reasons, f.Subject+": "+f.Text)
		}
		return "the target's own replication cannot: " + firstOf(reasons, 2)
	}
	if is, err := s.to.main.Variables(ctx, "slave_parallel_threads"); err != nil || strings.TrimSpace(is["slave_parallel_threads"]) == "0" {
		return "the target's own replication could, but applies one transaction at a time (slave_parallel_threads = 0), and the copier many"
	}
	w, err := c.rate(ctx, s.from.main)
	switch {
	case err != nil:
		return cannot(err)
	case w.rows <= copierKeepsUp:
		return fmt.Sprintf("%s writes about %s/s, with which it keeps up (%d and more), and it leaves nothing in the servers' replication positions; the target's own replication could, too",
			s.from.main.Name(), farm.Counted(w.rows, "row"), copierKeepsUp)
	case w.transactions > nativeKeepsUp:
		return fmt.Sprintf("%s writes about %s/s in %d transactions/s: small ones, which it combines; the target's own replication would commit each one",
			s.from.main.Name(), farm.Counted(w.rows, "row"), w.transactions)
	}
	return ""
}

// rate is how much a server writes, in this second.
func (c *chooser) rate(ctx context.Context, server *mysql.Server) (writing, error) {
	if w, known := c.rates[server.Name()]; known {
		return w, nil
	}
	begin := time.Now()
	wasRows, was, err := written(ctx, server)
	if err != nil {
		return writing{}, err
	}
	if err := pauseFor(ctx, time.Second); err != nil {
		return writing{}, err
	}
	isRows, is, err := written(ctx, server)
	if err != nil {
		return writing{}, err
	}
	seconds := time.Since(begin).Seconds()
	w := writing{rows: int64(float64(isRows-wasRows) / seconds), transactions: int64(float64(was.Missing(is)) / seconds)}
	c.rates[server.Name()] = w
	return w, nil
}

func written(ctx context.Context, server *mysql.Server) (rows int64, at mysql.Position, err error) {
	if rows, err = server.RowsWritten(ctx); err != nil {
		return 0, nil, err
	}
	at, err = server.BinlogPosition(ctx)
	return rows, at, err
}
