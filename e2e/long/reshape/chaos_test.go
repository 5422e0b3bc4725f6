package reshape

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/reshape/spec"
)

// eachFarm is how many rounds one farm serves: its tables grow.
const eachFarm = 25

// TestTenantsStayRightBesideWritersAndKills: in each round all tenants of an active-active pair are filled in, compared and
// activated by a program that is killed with -9 at random moments and resumed, while clients of both sides add, delete, restore,
// replace, move and remove versions, files and tenants. A judge that shares no statement with Stowage looks at both sides all
// the time: no active tenant ever carries a version that is not the latest. Afterwards every acknowledged write is there.
// RESHAPE_ROUNDS (4) and RESHAPE_SEED (1) say how many rounds and which, RESHAPE_KEEP (each in turn) what keeps the columns. Farms take turns: triggers keep the columns of one, and a
// program that is killed as often those of the next; there no active tenant is ever staler than max_lag where its lease is good.
func TestTenantsStayRightBesideWritersAndKills(t *testing.T) {
	rounds, seed := number(t, "RESHAPE_ROUNDS", 4), uint64(number(t, "RESHAPE_SEED", 1))
	each := min(eachFarm, (rounds+1)/2)
	for first := 0; first < rounds && !t.Failed(); first += each {
		keep := spec.Keeps[first/each%2*2] // the application's own way has a test without kills
		if only := os.Getenv("RESHAPE_KEEP"); only != "" {
			keep = spec.Keep(only)
		}
		t.Run(fmt.Sprintf("from round %d, %s", first+1, keep), func(t *testing.T) {
			f := &chaos{each: each, FilesFarm: farmtest.StartFilesFarm(t, farm.ActiveActive, 8000,
				files.Clients{Seed: seed*1000 + uint64(first), Count: 6, DropTenants: 8, Pause: 10 * time.Millisecond})}
			for _, db := range f.Sides() {
				f.sides = append(f.sides, db)
			}
			if keep == spec.Applier {
				f.KeptByApplier(maxLag)
				f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
			}
			for round := first; round < min(first+each, rounds) && !t.Failed(); round++ {
				f.round(round, rand.New(rand.NewPCG(seed, uint64(round))))
			}
			t.Log(f.Writers.Counts())
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

type chaos struct {
	*farmtest.FilesFarm
	each  int
	sides []*sql.DB
}

// maxLag is that of the spec. The program is away for less, and for longer.
const maxLag = 1500 * time.Millisecond

// round is one of them. Its random numbers say when the program is killed.
func (f *chaos) round(n int, r *rand.Rand) {
	t := f.T
	t.Helper()
	if n%f.each > 0 {
		f.forget()
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if f.Behind {
		defer f.applied(ctx, stop, r)()
	}
	f.Write()
	watched := make(chan error, 1)
	looks := 0
	go func() { watched <- f.watch(ctx, &looks) }()
	kills, met := 1+r.IntN(3), 0
	for range kills {
		farmtest.KillAfter(t, time.Duration(400+r.IntN(900))*time.Millisecond, append(f.next(), "-C", f.Dir)...)
		if farmtest.IsOpen(f.Dir, "reshape") {
			met++
		}
	}
	began := time.Now()
	active := f.finish()
	took := time.Since(began)
	farmtest.PauseTest() // clients continue with tenants that are active
	stop()
	if err := <-watched; err != nil {
		t.Errorf("round %d: %v", n+1, err)
	}
	f.Rest()
	t.Logf("round %d: %d kills, %d of them in the run, %d looks, %d tenants active %.1f s later", n+1, kills, met, looks, active, took.Seconds())
}

// applied keeps the columns by a program that is killed until ctx ends. What it gives waits for the last one, and ends it.
func (f *chaos) applied(ctx context.Context, stop func(), r *rand.Rand) func() {
	f.T.Helper()
	b, own := f.Apply(), rand.New(rand.NewPCG(r.Uint64(), 0))
	ended := make(chan int, 1)
	go func() {
		last, kills := f.KillAppliers(ctx, own, b)
		b = last
		ended <- kills
	}()
	return func() {
		stop()
		f.T.Logf("the applier was killed %d times", <-ended)
		b.Kill()
	}
}

// next is what a person would type: resume, where a run has not ended.
func (f *chaos) next() []string {
	if farmtest.IsOpen(f.Dir, "reshape") {
		return []string{"resume"}
	}
	return []string{"reshape", "latest-version", "--all"}
}

// finish goes on until every tenant is active, and gives how many there are.
func (f *chaos) finish() int {
	f.T.Helper()
	for range 4 {
		if f.Behind {
			f.patiently()
		} else {
			f.Stowage(farmtest.ExitFine, "", f.next()...)
		}
		states, left := f.States(), 0
		for _, s := range states {
			if s.Mismatches > 0 {
				f.T.Errorf("Stowage itself finds tenant %+v wrong", s)
			}
			if !s.Active {
				left++
			}
		}
		if left == 0 && len(states) > 0 {
			return len(states)
		}
	}
	f.T.Fatalf("after four more runs tenants are not active: %+v", f.States())
	return 0
}

// patiently runs it until it succeeds: where the applier was dead for too long just then, a wave refuses, and one that had begun waits for resume.
func (f *chaos) patiently() {
	f.T.Helper()
	var p farmtest.Program
	for range 50 {
		if p = farmtest.RunProgram(f.T, "", append(f.next(), "-C", f.Dir)...); p.Code == farmtest.ExitFine {
			return
		}
		farmtest.PauseTest()
	}
	f.T.Fatalf("it did not succeed in 50 attempts; the last: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
}

// watch looks at both sides, over and over, until ctx ends.
func (f *chaos) watch(ctx context.Context, looks *int) error {
	if f.Behind {
		j := farmtest.StaleJudge{MaxLag: maxLag}
		err := j.Watch(ctx, f.FilesFarm)
		f.T.Logf("%d looks, at %d of them carried columns may be read; %d values were behind, none longer than %s; of %d it is not known, because looks were too far apart (%s at most)", j.Looks, j.Leased, j.Behind, j.Longest, j.Far, j.Gap)
		*looks = j.Leased
		return err
	}
	for ; ctx.Err() == nil; *looks++ {
		for _, db := range f.sides {
			c, err := files.Look(context.WithoutCancel(ctx), db, farmtest.FilesShard)
			if err != nil {
				return err
			}
			if len(c.Mismatches) > 0 {
				return fmt.Errorf("look %d: %d values of active tenants are wrong, the first: %v", *looks+1, len(c.Mismatches), c.Mismatches[0])
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
	return nil
}

// forget takes all flags and carried values away while nobody writes, so that the next run has all to do.
func (f *chaos) forget() {
	f.T.Helper()
	for _, s := range []string{
		"UPDATE fs01.tenants SET latest_entry_migrated = 0, latest_entry_active = 0",
		"UPDATE fs01.files SET latest_version_id = 1, latest_version_no = 2, latest_size = 3, latest_hash = 'wrong'",
	} {
		if _, err := f.sides[0].ExecContext(f.T.Context(), s); err != nil {
			f.T.Fatal(err)
		}
	}
	for deadline := time.Now().Add(farmtest.WaitLimit); ; farmtest.PauseTest() {
		var left int
		if err := f.sides[1].QueryRowContext(f.T.Context(), "SELECT (SELECT COUNT(*) FROM fs01.tenants WHERE latest_entry_active) + (SELECT COUNT(*) FROM fs01.files WHERE latest_version_no IS NULL OR latest_version_no <> 2)").Scan(&left); err != nil || time.Now().After(deadline) {
			f.T.Fatalf("%d rows of the other side have not followed (%v)", left, err)
		}
		if left == 0 {
			return
		}
	}
}
