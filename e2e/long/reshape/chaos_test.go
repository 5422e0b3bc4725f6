// Package reshape carries the latest version of files onto their rows while clients of both sides write and the program is killed.
package reshape

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/route"
)

// eachFarm is how many rounds one farm serves: its tables grow.
const eachFarm = 25

// TestTenantsStayRightBesideWritersAndKills: in each round all tenants of an active-active pair are filled in, compared and
// activated by `stowage reshape`, which is killed with -9 at random moments and resumed, while clients of both sides add, delete,
// restore, replace, move and remove versions, files and tenants. A judge that shares no statement with Stowage looks at both
// sides all the time: no active tenant ever carries a version that is not the latest. Afterwards every acknowledged write is
// there. RESHAPE_ROUNDS (4) and RESHAPE_SEED (1) say how many rounds and which.
func TestTenantsStayRightBesideWritersAndKills(t *testing.T) {
	rounds, seed := number(t, "RESHAPE_ROUNDS", 4), number(t, "RESHAPE_SEED", 1)
	for first := 0; first < rounds && !t.Failed(); first += eachFarm {
		t.Run(fmt.Sprintf("from round %d", first+1), func(t *testing.T) {
			f := start(t, uint64(seed), first)
			for round := first; round < min(first+eachFarm, rounds) && !t.Failed(); round++ {
				f.round(round, rand.New(rand.NewPCG(uint64(seed), uint64(round))))
			}
		})
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; it is a number from 1", name, text)
	}
	return n
}

// filesFarm is a pair with the file system in its first shard.
type filesFarm struct {
	*testing.T
	farm    *farmtest.AlteredFarm
	shard   farm.ShardName
	pair    farm.PairName
	sides   []farmtest.Console
	routing *route.Follower
	dsn     func(address string) string
	writers *files.Writers
}

func start(t *testing.T, seed uint64, round int) *filesFarm {
	t.Helper()
	f := &filesFarm{T: t, farm: farmtest.StartAlteredFarm(t, farm.ActiveActive, 1)}
	f.sides = f.farm.Consoles()
	f.shard, f.pair = f.sides[0].Shards[0], f.sides[0].Pair
	ctx := t.Context()
	if _, err := files.Generate(ctx, f.sides[0].DB, string(f.shard), files.Plan{Seed: seed + uint64(round), Versions: 5000, Smallest: 100}); err != nil {
		t.Fatal(err)
	}
	f.catchUp()
	f.spec()
	var err error
	if f.routing, err = route.Follow(f.farm.F.Dir + "/routing.json"); err != nil {
		t.Fatal(err)
	}
	_, _, app, err := farmtest.FarmAccess(f.farm.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	f.dsn = func(address string) string {
		return fmt.Sprintf("%s:%s@tcp(%s)/%s?interpolateParams=true", app.User, app.Password, address, f.shard)
	}
	f.writers, err = files.NewWriters(ctx, f.sides[0].DB, files.Clients{
		Shard: string(f.shard), Seed: seed*1000 + uint64(round), Count: 6, DropTenants: 8, Pause: 10 * time.Millisecond,
		DSN: f.dsn,
		Where: func(ctx context.Context, tenant uint32) (string, error) {
			_, address, err := f.routing.AwaitOpen(ctx, f.pair, strconv.Itoa(int(tenant)))
			return address, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.writers.Close() })
	return f
}

// spec writes the example's spec for this shard alone.
func (f *filesFarm) spec() {
	f.Helper()
	text, err := os.ReadFile("../../../examples/egnyte-files/reshape/latest-version.yaml")
	if err == nil {
		err = os.MkdirAll(filepath.Join(f.farm.F.Dir, "reshape"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(f.farm.F.Dir, "reshape", "latest-version.yaml"), append([]byte(fmt.Sprintf("shards: [%s]\n", f.shard)), text...), 0o644)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// round is one of them. Its random numbers say when the program is killed.
func (f *filesFarm) round(n int, r *rand.Rand) {
	f.Helper()
	f.forget()
	ctx, stop := context.WithCancel(f.Context())
	ended := make(chan error, 2)
	looks, most := 0, int64(0)
	go func() { ended <- f.writers.Run(ctx) }()
	go func() { ended <- f.watch(ctx, &looks, &most) }()
	kills, met := 1+r.IntN(3), 0
	for range kills {
		farmtest.KillAfter(f.T, time.Duration(400+r.IntN(900))*time.Millisecond, f.next()...)
		if farmtest.IsOpen(f.farm.F.Dir, "reshape") {
			met++
		}
	}
	began := time.Now()
	all := f.finish()
	took := time.Since(began)
	time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond) // clients go on with tenants that are active
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			f.Errorf("round %d: %v", n+1, err)
		}
	}
	f.catchUp()
	for _, side := range f.sides {
		f.judge(fmt.Sprintf("round %d, at the end, %s", n+1, side.Name), side)
	}
	f.Logf("round %d: %d kills, %d of them in the run, %d looks, %d of %d tenants seen active, to the end in %.1f s, %v", n+1, kills, met, looks, most, all, took.Seconds(), f.writers.Counts())
}

// next is what a person would type: resume, where a run has not ended.
func (f *filesFarm) next() []string {
	if farmtest.IsOpen(f.farm.F.Dir, "reshape") {
		return []string{"resume", "-C", f.farm.F.Dir}
	}
	return []string{"reshape", "latest-version", "--all", "-C", f.farm.F.Dir}
}

// finish goes on until every tenant is active, and gives how many there are.
func (f *filesFarm) finish() int {
	f.Helper()
	var last farmtest.Program
	for range 8 {
		last = farmtest.RunProgram(f.T, "", f.next()...)
		var state struct {
			Tenants []struct {
				Active     bool
				Mismatches int64
			}
		}
		p := f.farm.Run(farmtest.ExitFine, "", "reshape", "status", "--json")
		if err := json.Unmarshal([]byte(p.Stdout), &state); err != nil {
			f.Fatalf("%v\n%s", err, p.Stdout)
		}
		left := 0
		for _, t := range state.Tenants {
			if t.Mismatches > 0 {
				f.Errorf("stowage found rows that are not right: %s", p.Stdout)
			}
			if !t.Active {
				left++
			}
		}
		if left == 0 && len(state.Tenants) > 0 && last.Code == farmtest.ExitFine {
			return len(state.Tenants)
		}
	}
	f.Fatalf("tenants are left that are not active: exit %d\n%s%s", last.Code, last.Stdout, last.Stderr)
	return 0
}

// watch looks at both sides, over and over, until ctx ends.
func (f *filesFarm) watch(ctx context.Context, looks *int, most *int64) error {
	for ; ctx.Err() == nil; *looks++ {
		for _, side := range f.sides {
			c, err := files.Look(context.WithoutCancel(ctx), side.DB, string(f.shard))
			if err != nil {
				return err
			}
			if len(c.Mismatches) > 0 {
				return fmt.Errorf("look %d, %s: %d values are wrong, the first: %v", *looks+1, side.Name, len(c.Mismatches), c.Mismatches[0])
			}
			*most = max(*most, c.Tenants)
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
	return nil
}

func (f *filesFarm) judge(when string, side farmtest.Console) {
	f.Helper()
	faults, err := f.writers.Compare(f.Context(), side.DB)
	if err != nil || len(faults) > 0 {
		f.Errorf("%s: %d acknowledged writes are lost: %v (%v)", when, len(faults), faults[:min(len(faults), 5)], err)
	}
	c, err := files.Look(f.Context(), side.DB, string(f.shard))
	if err != nil || c.Tenants == 0 || len(c.Mismatches) > 0 {
		f.Errorf("%s: %d active tenants, wrong: %v (%v)", when, c.Tenants, c.Mismatches[:min(len(c.Mismatches), 5)], err)
	}
}

// forget takes flags and carried values away, on the side that serves each tenant, so that the next run has all to do.
func (f *filesFarm) forget() {
	f.Helper()
	if !f.hasFlags() {
		return
	}
	rows, err := f.sides[0].QueryContext(f.Context(), "SELECT tenant_id FROM "+string(f.shard)+".tenants")
	if err != nil {
		f.Fatal(err)
	}
	var tenants []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			f.Fatal(err)
		}
		tenants = append(tenants, id)
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	rows.Close()
	for _, id := range tenants {
		_, address, err := f.routing.AwaitOpen(f.Context(), f.pair, strconv.Itoa(id))
		if err != nil {
			f.Fatal(err)
		}
		at := f.serving(address)
		for _, s := range []string{
			"UPDATE %s.tenants SET latest_entry_migrated = 0, latest_entry_active = 0 WHERE tenant_id = %d",
			"UPDATE %s.files SET latest_version_id = 1, latest_version_no = 2, latest_size = 3, latest_hash = 'wrong' WHERE tenant_id = %d",
		} {
			if _, err := at.ExecContext(f.Context(), fmt.Sprintf(s, f.shard, id)); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.catchUp()
}

func (f *filesFarm) hasFlags() bool {
	f.Helper()
	var n int
	if err := f.sides[0].QueryRowContext(f.Context(), "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND COLUMN_NAME = 'latest_entry_active'", f.shard).Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n > 0
}

// serving is the console of the server at an address.
func (f *filesFarm) serving(address string) *sql.DB {
	f.Helper()
	id := func(db *sql.DB) (id int) {
		if err := db.QueryRowContext(f.Context(), "SELECT @@server_id").Scan(&id); err != nil {
			f.Fatal(err)
		}
		return id
	}
	client, err := sql.Open("mysql", f.dsn(address))
	if err != nil {
		f.Fatal(err)
	}
	defer client.Close()
	if n := slices.IndexFunc(f.sides, func(c farmtest.Console) bool { return id(c.DB) == id(client) }); n >= 0 {
		return f.sides[n].DB
	}
	f.Fatalf("no side has the address %s", address)
	return nil
}

// catchUp waits until each side has applied what the other one has.
func (f *filesFarm) catchUp() {
	f.Helper()
	for range 2 { // what comes from a side comes back to it
		for n, side := range f.sides {
			var pos string
			if err := f.sides[1-n].QueryRowContext(f.Context(), "SELECT @@gtid_binlog_pos").Scan(&pos); err != nil {
				f.Fatal(err)
			}
			var own string
			if err := side.QueryRowContext(f.Context(), "SELECT @@gtid_domain_id").Scan(&own); err != nil {
				f.Fatal(err)
			}
			for _, gtid := range strings.Split(pos, ",") {
				if gtid = strings.TrimSpace(gtid); gtid == "" || strings.HasPrefix(gtid, own+"-") {
					continue
				}
				var waited int
				if err := side.QueryRowContext(f.Context(), "SELECT MASTER_GTID_WAIT(?, 60)", gtid).Scan(&waited); err != nil || waited != 0 {
					f.Fatalf("%s has not applied %s within a minute (%v)", side.Name, gtid, err)
				}
			}
		}
	}
}
