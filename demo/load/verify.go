package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"stowage/farm"
)

// VerifyOptions of Verify. The load must have been stopped.
type VerifyOptions struct {
	Dir            string                                     // of the load
	Addresses      map[farm.PairName]map[farm.SideName]string // host:port of both sides of every pair
	Shards         map[farm.PairName][]farm.ShardName
	User, Password string
	Settle         time.Duration // how long replication may take to settle; 0: 30 s
}

// Verdict is what the databases say about the ledger. All but Acknowledged
// and Unledgered must be 0.
type Verdict struct {
	Acknowledged int64    `json:"acknowledged"` // distinct writes in the ledger
	Lost         int64    `json:"lost"`         // of these, missing on a side (or on both: counted once)
	Duplicated   int64    `json:"duplicated"`   // (client, seq) that stand more than once on a side
	Unledgered   int64    `json:"unledgered"`   // committed and not in the ledger: the load was killed in between; allowed
	Differences  int64    `json:"differences"`  // rows that are not equal on both sides
	Counters     int64    `json:"counters"`     // counters that are not the highest seq present
	TornLines    int64    `json:"torn_lines"`   // ledger lines cut off by a kill; allowed
	Shards       int      `json:"shards"`
	Rows         int64    `json:"rows"` // compared, on each side
	Seconds      float64  `json:"seconds"`
	Examples     []string `json:"examples,omitempty"` // the first 20, in words
}

// Whole: no acknowledged write is lost or doubled and both sides are equal.
func (v Verdict) Whole() bool {
	return v.Lost == 0 && v.Duplicated == 0 && v.Differences == 0 && v.Counters == 0
}

func (v *Verdict) example(format string, args ...any) {
	if len(v.Examples) < kept {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

func (v *Verdict) add(more Verdict) {
	v.Lost += more.Lost
	v.Duplicated += more.Duplicated
	v.Unledgered += more.Unledgered
	v.Differences += more.Differences
	v.Counters += more.Counters
	v.Rows += more.Rows
	v.Shards += more.Shards
	for _, e := range more.Examples {
		v.example("%s", e)
	}
}

// Verify compares the ledger with both sides of every pair, and the two sides
// against each other, row by row. A shard that is not in order is looked at
// again until Settle is over, and at least twice: replication may lag. An
// error means that something could not be read, not that it differs.
func Verify(ctx context.Context, o VerifyOptions) (Verdict, error) {
	started := time.Now()
	if o.Settle == 0 {
		o.Settle = 30 * time.Second
	}
	acks, torn, err := readAcks(o.Dir)
	if err != nil {
		return Verdict{}, &farm.Error{Op: "verify", Subject: o.Dir, Err: err}
	}
	sum := Verdict{Acknowledged: acks.count(), TornLines: torn}
	if err := o.checkCovers(acks); err != nil {
		return sum, &farm.Error{Op: "verify", Subject: o.Dir, Err: err}
	}
	pairs := make([]farm.PairName, 0, len(o.Shards))
	for p := range o.Shards {
		pairs = append(pairs, p)
	}
	slices.Sort(pairs)
	verdicts, errs := make([]Verdict, len(pairs)), make([]error, len(pairs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2*runtime.NumCPU())
	for n, pair := range pairs {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts[n], errs[n] = verifyPair(ctx, o, pair, acks, started.Add(o.Settle))
		})
	}
	wg.Wait()
	for _, v := range verdicts {
		sum.add(v)
	}
	sum.Seconds = time.Since(started).Seconds()
	return sum, errors.Join(errs...)
}

// checkCovers: a ledger that speaks of shards nobody asked about would make
// the verdict look better than it is.
func (o VerifyOptions) checkCovers(a acks) error {
	asked := map[farm.ShardName]bool{}
	for _, shards := range o.Shards {
		for _, s := range shards {
			asked[s] = true
		}
	}
	for s := range a {
		if !asked[s] {
			return fmt.Errorf("%w: the ledger holds writes to shard %s, which is not among the shards to verify", farm.ErrInput, s)
		}
	}
	return nil
}

// verifyPair checks the shards of one pair over one connection to each side.
func verifyPair(ctx context.Context, o VerifyOptions, pair farm.PairName, a acks, deadline time.Time) (Verdict, error) {
	var sum Verdict
	var sides [2]*link
	for n, name := range farm.SideNames {
		if _, has := o.Addresses[pair][name]; !has && n > 0 {
			break // a single instance
		}
		k, err := openLink(ctx, o.Addresses[pair][name], o.User, o.Password)
		if err != nil {
			return sum, &farm.Error{Op: "verify", Subject: fmt.Sprintf("%s side %s (%s)", pair, name, o.Addresses[pair][name]), Err: err}
		}
		defer k.close()
		sides[n] = k
	}
	for _, shard := range o.Shards[pair] {
		v, err := settle(ctx, deadline, func() (Verdict, error) { return verifyShard(ctx, sides, shard, a[shard]) })
		if err != nil {
			return sum, &farm.Error{Op: "verify", Subject: fmt.Sprintf("%s of %s", shard, pair), Err: err}
		}
		sum.add(v)
	}
	return sum, nil
}

// settle looks until all is well, or twice and until the deadline.
func settle(ctx context.Context, deadline time.Time, look func() (Verdict, error)) (Verdict, error) {
	v, err := look()
	for looks := 1; err == nil && !v.Whole() && (looks < 2 || time.Now().Before(deadline)) && ctx.Err() == nil; looks++ {
		pause(ctx, 200*time.Millisecond)
		v, err = look()
	}
	return v, errors.Join(err, ctx.Err())
}

func verifyShard(ctx context.Context, sides [2]*link, shard farm.ShardName, a map[string]*spans) (Verdict, error) {
	v := Verdict{Shards: 1}
	highest, err := verifyReceipts(ctx, sides, shard, a, &v)
	if err != nil {
		return v, err
	}
	for n, k := range sides {
		if k == nil {
			continue
		}
		if err := verifyCounters(ctx, k, farm.SideNames[n], shard, highest[n], &v); err != nil {
			return v, err
		}
	}
	for _, t := range tables {
		if sides[1] == nil {
			break // nothing to compare with
		}
		if err := compareTable(ctx, sides, shard, t.name, t.key, t.numeric, &v); err != nil {
			return v, fmt.Errorf("compare table %s: %w", t.name, err)
		}
	}
	return v, nil
}

// acks is the whole ledger, a few bytes for each client and shard: sequences
// have hardly any gaps.
type acks map[farm.ShardName]map[string]*spans

func (a acks) count() (n int64) {
	for _, clients := range a {
		for _, s := range clients {
			n += s.count()
		}
	}
	return n
}

func readAcks(dir string) (acks, int64, error) {
	paths, err := filepath.Glob(ledgerPath(dir, "*"))
	if err != nil {
		return nil, 0, err
	}
	if len(paths) == 0 {
		return nil, 0, fmt.Errorf("%w: no ledger in %s", farm.ErrInput, dir)
	}
	a, torn := acks{}, int64(0)
	for _, path := range paths {
		n, err := readLedger(path, func(e entry) {
			if a[e.shard] == nil {
				a[e.shard] = map[string]*spans{}
			}
			if a[e.shard][e.client] == nil {
				a[e.shard][e.client] = &spans{}
			}
			a[e.shard][e.client].add(e.seq)
		})
		if err != nil {
			return nil, torn, err
		}
		torn += n
	}
	return a, torn, nil
}
