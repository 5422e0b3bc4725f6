package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"stowage/farm"
)

// receiptOf names a write.
type receiptOf struct {
	client string
	seq    int64
}

// verifyReceipts holds the ledger of one shard against both sides. It gives
// the highest seq of each client on each side. Both sides and all clients are
// looked at one (client, seq) at a time; what is kept is the exceptions and,
// for one shard, the set of what was found.
func verifyReceipts(ctx context.Context, sides [2]*link, shard farm.ShardName, a map[string]*spans, v *Verdict) (highest [2]map[string]int64, err error) {
	lost, doubled, unledgered := map[receiptOf]string{}, map[receiptOf]string{}, map[receiptOf]bool{}
	for n, k := range sides {
		if k == nil {
			continue
		}
		found, err := receipts(ctx, k, shard, func(r receiptOf, copies int) {
			if copies > 1 {
				doubled[r] += fmt.Sprintf(" %d times on side %s", copies, farm.SideNames[n])
			}
			if !a[r.client].has(r.seq) {
				unledgered[r] = true
			}
		})
		if err != nil {
			return highest, fmt.Errorf("read receipts on side %s: %w", farm.SideNames[n], err)
		}
		highest[n] = map[string]int64{}
		for client, s := range found {
			highest[n][client] = s.ranges[len(s.ranges)-1].to
		}
		for client, s := range a {
			s.each(func(seq int64) {
				if !found[client].has(seq) {
					lost[receiptOf{client, seq}] += " " + string(farm.SideNames[n])
				}
			})
		}
	}
	v.Lost += int64(len(lost))
	v.Duplicated += int64(len(doubled))
	v.Unledgered += int64(len(unledgered))
	for r, on := range lost {
		v.example("lost: %s write %d of %s is missing on side%s", shard, r.seq, r.client, on)
	}
	for r, on := range doubled {
		v.example("duplicated: %s write %d of %s stands%s", shard, r.seq, r.client, on)
	}
	return highest, nil
}

// receipts streams the receipts of one side in the order of their index,
// calls each once for every (client, seq) and gives the set of them.
func receipts(ctx context.Context, k *link, shard farm.ShardName, each func(r receiptOf, copies int)) (found map[string]*spans, err error) {
	rows, err := k.conn.QueryContext(ctx, fmt.Sprintf("SELECT client, seq, COUNT(*) FROM `%s`.receipts GROUP BY client, seq ORDER BY client, seq", shard))
	if err != nil {
		return nil, err
	}
	found = map[string]*spans{}
	for rows.Next() {
		var name sql.RawBytes
		var seq int64
		var copies int
		if err := rows.Scan(&name, &seq, &copies); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		s := found[string(name)]
		if s == nil {
			s = &spans{}
			found[string(name)] = s
		}
		s.add(seq)
		each(receiptOf{string(name), seq}, copies)
	}
	return found, errors.Join(rows.Err(), rows.Close())
}

// verifyCounters checks that every counter is the highest seq present: the
// counter and the receipt were written in one transaction.
func verifyCounters(ctx context.Context, k *link, side farm.SideName, shard farm.ShardName, highest map[string]int64, v *Verdict) error {
	rows, err := k.conn.QueryContext(ctx, fmt.Sprintf("SELECT client, n FROM `%s`.counters", shard))
	if err != nil {
		return fmt.Errorf("read counters on side %s: %w", side, err)
	}
	seen := map[string]bool{}
	for rows.Next() {
		var client string
		var n int64
		if err := rows.Scan(&client, &n); err != nil {
			return errors.Join(err, rows.Close())
		}
		seen[client] = true
		if n != highest[client] {
			v.Counters++
			v.example("counter: %s side %s says %d for %s, the highest write present is %d", shard, side, n, client, highest[client])
		}
	}
	for client := range highest {
		if !seen[client] {
			v.Counters++
			v.example("counter: %s side %s has none for %s", shard, side, client)
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
