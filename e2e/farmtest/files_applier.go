package farmtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"math/rand/v2"
	"time"

	"stowage/farm"
	"stowage/host"
)

// KeptByApplier writes the example's spec with keep: applier.
func (f *FilesFarm) KeptByApplier(maxLag time.Duration) {
	f.T.Helper()
	f.Behind = true
	f.Spec("keep: triggers", "keep: applier\nmax_lag: "+maxLag.String())
}

// Apply starts the applier and waits until it keeps the columns of every server. Its end is a kill -9.
func (f *FilesFarm) Apply() (b *background) {
	f.T.Helper()
	b = f.Start("reshape", "apply")
	f.T.Cleanup(b.Kill)
	f.Await(b, "every lease is good", func() bool { return f.GoodLeases() == len(f.Sides()) })
	return b
}

// GoodLeases is on how many servers the applier says that the columns may be read.
func (f *FilesFarm) GoodLeases() (n int) {
	f.T.Helper()
	p := f.Stowage(ExitFine, "", "reshape", "status", "--json")
	var out struct {
		Applier []struct {
			Good bool    `json:"good"`
			Lag  float64 `json:"lag_seconds"`
		} `json:"applier"`
	}
	if err := json.Unmarshal([]byte(p.Stdout), &out); err != nil {
		f.T.Fatalf("%v\n%s", err, p.Stdout)
	}
	for _, l := range out.Applier {
		if l.Good {
			n++
		}
	}
	return n
}

// KillAppliers runs the applier and kills it with -9 at random moments, until ctx ends. The last one is left running.
func (f *FilesFarm) KillAppliers(ctx context.Context, r *rand.Rand, first *background) (last *background, kills int) {
	for b := first; ; kills++ {
		select {
		case <-ctx.Done():
			return b, kills
		case <-b.done:
			f.T.Errorf("the applier ended by itself\n%s", &b.Out)
			return b, kills
		case <-time.After(time.Duration(300+r.IntN(3000)) * time.Millisecond):
		}
		b.Kill()
		f.T.Logf("%s an applier is killed that said:\n%s", time.Now().Format(time.TimeOnly), &b.Out)
		select { // nobody keeps the columns
		case <-ctx.Done():
		case <-time.After(time.Duration(r.IntN(2500)) * time.Millisecond):
		}
		b = f.Start("reshape", "apply")
		f.T.Cleanup(b.Kill)
	}
}

// KillServer kills the server of a side with -9, and starts it again.
func (f *FilesFarm) KillServer(side farm.SideName) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	local, err := host.NewLocal(QuietLog())
	if err != nil {
		f.T.Fatal(err)
	}
	strike(local, f.At(fm.Pairs[0].Instance(side), PlaceOf(fm, fm.Pairs[0].Name, side)))
}

// Rotate begins new binary logs on both sides.
func (f *FilesFarm) Rotate() {
	f.T.Helper()
	for _, db := range f.Sides() {
		if _, err := db.ExecContext(f.T.Context(), "FLUSH BINARY LOGS"); err != nil {
			f.T.Fatal(err)
		}
	}
}

// Purge begins new binary logs on both sides and drops all others.
func (f *FilesFarm) Purge() {
	f.T.Helper()
	f.Rotate()
	for name, db := range f.Sides() {
		for deadline := time.Now().Add(WaitLimit); ; PauseTest() { // the twin goes on to the new one a moment later
			last, n, err := logsOf(f.T.Context(), db)
			if err == nil {
				_, err = db.ExecContext(f.T.Context(), "PURGE BINARY LOGS TO '"+last+"'")
			}
			if err != nil || time.Now().After(deadline) {
				f.T.Fatalf("%s: %d logs: %v", name, n, err)
			}
			if n == 1 {
				break
			}
		}
	}
}

// logsOf is the newest binary log, and how many there are.
func logsOf(ctx context.Context, db *sql.DB) (last string, n int, err error) {
	logs, err := db.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = logs.Close() }()
	for ; logs.Next(); n++ {
		var size int64
		if err := logs.Scan(&last, &size); err != nil {
			return "", 0, err
		}
	}
	return last, n, logs.Err()
}
