package load_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"stowage/demo/load"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// TestVerifySeesDamage: one kind of damage after the other on one pair, each
// mended before the next. A verifier that cannot fail proves nothing.
func TestVerifySeesDamage(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	p := newPair(t, 2)
	l := p.start(t, p.options(4, 0))
	awaitAcks(t, l, 100)
	s := l.Stop()
	wantClean(t, s)
	wantWhole(t, p.verify(t, 0), s.Acknowledged)

	const receipts = "etsy_shard_0002.receipts"
	const quiet = "SET SESSION sql_log_bin=0" // this side only
	a, b := p.sides[farm.A], p.sides[farm.B]
	id := a.Value(t, "SELECT MIN(id) FROM "+receipts)
	for _, c := range []struct {
		name   string
		on     *mariadbtest.Instance
		damage string
		mend   string
		want   load.Verdict
		text   string
	}{
		{
			name: "receipt missing on one side", on: b,
			damage: "DELETE FROM " + receipts + " WHERE id = " + id,
			mend:   "INSERT INTO " + receipts + rowOf(t, a, id),
			want:   load.Verdict{Lost: 1, Differences: 1},
			text:   "is missing on side B",
		},
		{
			name: "receipt twice on one side", on: a,
			damage: "INSERT INTO " + receipts + " (client, seq, listing_id, amount, made) SELECT client, seq, listing_id, amount, made FROM " + receipts + " WHERE id = " + id,
			mend:   "DELETE FROM " + receipts + " ORDER BY id DESC LIMIT 1",
			want:   load.Verdict{Duplicated: 1, Differences: 1},
			text:   "2 times on side A",
		},
		{
			name: "row changed on one side", on: b,
			damage: "UPDATE etsy_shard_0001.listings SET price = price + 1 WHERE id = 17",
			mend:   "UPDATE etsy_shard_0001.listings SET price = price - 1 WHERE id = 17",
			want:   load.Verdict{Differences: 1},
			text:   "listings row 17 is not equal",
		},
		{
			name: "counter behind on one side", on: a,
			damage: "UPDATE etsy_shard_0001.counters SET n = n - 1 WHERE client = 'client-02'",
			mend:   "UPDATE etsy_shard_0001.counters SET n = n + 1 WHERE client = 'client-02'",
			want:   load.Verdict{Counters: 1, Differences: 1},
			text:   "counter: etsy_shard_0001 side A",
		},
		{
			name: "unacknowledged write on one side", on: b,
			damage: "INSERT INTO " + receipts + " (client, seq, listing_id, amount, made) VALUES ('client-60', 1, 1, 1, NOW(6))",
			mend:   "DELETE FROM " + receipts + " WHERE client = 'client-60'",
			want:   load.Verdict{Unledgered: 1, Counters: 1, Differences: 1},
			text:   "on side B only",
		},
	} {
		c.on.Exec(t, quiet, c.damage)
		v := p.verify(t, time.Second)
		if v.Lost != c.want.Lost || v.Duplicated != c.want.Duplicated || v.Differences != c.want.Differences ||
			v.Counters != c.want.Counters || v.Unledgered != c.want.Unledgered || v.Whole() {
			t.Errorf("%s: verdict %+v, want %+v", c.name, v, c.want)
		}
		if !strings.Contains(strings.Join(v.Examples, "\n"), c.text) {
			t.Errorf("%s: examples %q do not say %q", c.name, v.Examples, c.text)
		}
		c.on.Exec(t, quiet, c.mend)
		wantWhole(t, p.verify(t, time.Second), s.Acknowledged)
	}

	// The same receipt gone from both sides, as after a lost commit: once.
	a.Exec(t, "DELETE FROM "+receipts+" WHERE id = "+id)
	mariadbtest.AwaitApplied(t, b, a)
	if v := p.verify(t, time.Second); v.Lost != 1 || v.Differences != 0 {
		t.Errorf("receipt gone from both sides: %+v, want lost 1, no difference", v)
	}
}

// rowOf is a row as VALUES, keys and all.
func rowOf(t *testing.T, i *mariadbtest.Instance, id string) string {
	t.Helper()
	return " VALUES (" + i.Value(t, "SELECT CONCAT_WS(',', id, QUOTE(client), seq, listing_id, amount, QUOTE(made)) FROM etsy_shard_0002.receipts WHERE id = ?", id) + ")"
}

// TestVerifyRefuses: no ledger, a server that is not there, and a ledger about
// shards that are not verified are errors, not verdicts.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	o := load.VerifyOptions{Dir: t.TempDir(), Shards: p.shards, User: string(mariadbtest.App), Password: mariadbtest.App.Password(),
		Addresses: map[farm.PairName]map[farm.SideName]string{pairName: {farm.A: p.sides[farm.A].Address, farm.B: p.sides[farm.B].Address}}}
	if _, err := load.Verify(t.Context(), o); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "no ledger") {
		t.Errorf("no ledger: %v", err)
	}
	l := p.start(t, p.options(1, 0))
	awaitAcks(t, l, 3)
	l.Stop()
	o.Dir = p.options(1, 0).Dir
	o.Shards = shards()
	if _, err := load.Verify(t.Context(), o); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "etsy_shard_0001") {
		t.Errorf("shard left out: %v", err)
	}
	o.Shards = p.shards
	p.sides[farm.B].Stop(t)
	if _, err := load.Verify(t.Context(), o); err == nil || !strings.Contains(err.Error(), "side B") {
		t.Errorf("side B down: %v", err)
	}
}
