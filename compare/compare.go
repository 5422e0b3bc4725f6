package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Verification compares a copy with a server that it follows: it stops the copy at exactly the position of a snapshot,
// and every row is summed on both ends. It knows nothing of sides and pairs.
//
// It is resumable: Keep is called as chunks are found equal, and Begin is what was kept last. A program that was killed
// continues with the next chunk, at a barrier of its own.
type Verification struct {
	Source, Copied *mysql.Server
	Patience       time.Duration // for either end to reach a position
	// Replication is the account by which the copy replicates from Source until it stops, where it has another source: MySQL applies a binary log in its order, and only
	// in that of Source is all of a position of Source before all else. nil: the copy replicates from Source already.
	Replication *mysql.Account
	Databases   []string // nil: all
	Begin       rows.Progress
	Keep        func(context.Context, rows.Progress) error
	Tell        func(string)
	// Repair, when asked for, makes the copy equal where its rows differ, and then compares everything once more.
	Repair bool
	// LeftOut are keys and constraints that the copy may lack, as rows.Comparison names them.
	LeftOut []string
	// Connected allows a repair while clients are connected: the copy was taken out of rotation, and pools may still hold their connections.
	Connected bool
	// Around, where there is one, is what a repair is done in: it opens the copy for our rows, and closes it.
	Around func(context.Context, func(context.Context) error) error
	// Mended is told what a repair did: nobody should miss it.
	Mended func(string)
}

// What is kept at most so often, and told so often; and how many rows of a table are named.
const (
	keepEvery = 250 * time.Millisecond
	tellEvery = time.Second
	listed    = 10
)

// Schema changes that come while a table is compared end that attempt; the next continues with what was found equal. So
// many, with a pause that grows; then the step is tried again, in the engine's time.
const (
	changedTries = 20
	changedPause = 3 * time.Second // at most
)

// Run leaves the copy's replication stopped, whatever comes of it.
func (v Verification) Run(ctx context.Context) (rows.Verdict, error) {
	keep := v.Keep
	v.Keep = func(ctx context.Context, p rows.Progress) error {
		v.Begin = p
		return keep(ctx, p)
	}
	for try := 1; ; try++ {
		verdict, err := v.once(ctx)
		if !rows.IsChangedDefinition(err) || try == changedTries {
			return verdict, v.schemaChanged(err)
		}
		v.Tell(fmt.Sprintf("a schema change on %s came while it was compared (%v); comparing goes on at a later moment", v.Source.Name(), err))
		if err := pause(ctx, min(changedPause, time.Duration(try)*200*time.Millisecond)); err != nil {
			return verdict, err
		}
	}
}

// schemaChanged says what to do about changes that leave no moment to compare.
func (v Verification) schemaChanged(err error) error {
	if !rows.IsChangedDefinition(err) && !errors.Is(err, rows.ErrSchemaChanges) {
		return err
	}
	return &farm.Error{Op: "compare", Subject: string(v.Source.Name()), Err: err,
		Hint: "the pair has not drifted apart: tables are changed faster than they can be compared. Hold schema changes back for as long as the step takes; it is tried again"}
}

// once compares at one moment.
func (v *Verification) once(ctx context.Context) (rows.Verdict, error) {
	if err := v.Copied.StopReplicating(ctx); err != nil {
		return rows.Verdict{}, err
	}
	// The snapshot must not be before where the copy stands.
	stands, err := v.Copied.AppliedPosition(ctx)
	if err != nil {
		return rows.Verdict{}, err
	}
	if err := v.Source.WaitFor(ctx, stands, v.Patience); err != nil {
		return rows.Verdict{}, err
	}
	snap, err := rows.DefinedSnapshot(ctx, v.Source, v.Databases)
	if err != nil {
		return rows.Verdict{}, err
	}
	defer snap.Close()
	if v.Replication == nil {
		err = v.Copied.StopAt(ctx, snap.At, v.Patience)
	} else {
		err = v.Copied.StopAtWith(ctx, v.Source.Address(), *v.Replication, snap.At, v.Patience)
	}
	if err != nil {
		return rows.Verdict{}, err
	}
	verdict, err := v.compare(ctx, snap, v.Begin)
	if err != nil || len(verdict.Mismatches) == 0 || !v.Repair {
		return verdict, err
	}
	return v.mend(ctx, snap, verdict)
}

func (v Verification) compare(ctx context.Context, snap *rows.View, begin rows.Progress) (rows.Verdict, error) {
	told := time.Time{}
	c := rows.Comparison{
		Copy: v.Copied, List: listed, LeftOut: v.LeftOut, Begin: begin, SaveEvery: keepEvery,
		// Not with a context that has ended: what was found equal is worth keeping then too.
		Save: func(p rows.Progress) error { return v.Keep(context.WithoutCancel(ctx), p) },
		Tell: func(s rows.Compared) {
			if time.Since(told) < tellEvery {
				return
			}
			told = time.Now()
			v.Tell(fmt.Sprintf("comparing rows with %s, table %d of %d, %s, %.0f rows/s", v.Source.Name(), s.Done+1, s.Of, farm.Counted(s.Rows, "row"), s.PerSecond))
		},
	}
	verdict, err := c.Compare(ctx, snap, v.Databases)
	if err == nil {
		v.Tell(fmt.Sprintf("compared with %s: %s, %s, %d of them now (%.0f rows/s), %d differences", v.Source.Name(),
			farm.Counted(verdict.Tables, "table"), farm.Counted(verdict.Rows, "row"), verdict.Fresh, verdict.PerSecond(), len(verdict.Mismatches)))
	}
	return verdict, err
}

// mend repairs the copy, and believes nothing of what was found equal before.
func (v Verification) mend(ctx context.Context, snap *rows.View, found rows.Verdict) (rows.Verdict, error) {
	if err := v.Keep(ctx, rows.Progress{}); err != nil {
		return found, err
	}
	var did rows.Repaired
	repair := func(ctx context.Context) (err error) {
		did, err = rows.Repair(ctx, snap, v.Copied, found.Mismatches, v.Connected)
		return err
	}
	within := v.Around
	if within == nil {
		within = func(ctx context.Context, do func(context.Context) error) error { return do(ctx) }
	}
	if err := within(ctx, repair); err != nil {
		return found, fmt.Errorf("%w; it differs in %s", err, found.Mismatches[0])
	}
	v.Mended(fmt.Sprintf("repaired %s on the copy: %s taken away, %d written; comparing everything once more", farm.Counted(did.Chunks, "chunk"), farm.Counted(did.Removed, "row"), did.Written))
	return v.compare(ctx, snap, rows.Progress{})
}

// Differences says what differs, a line each, the first few.
func Differences(source *mysql.Server, found []rows.Mismatch) string {
	const few = 8
	lines := []string{fmt.Sprintf("%s or definitions differ from %s:", farm.Counted(len(found), "chunk"), source.Name())}
	for _, m := range found[:min(few, len(found))] {
		lines = append(lines, m.String())
	}
	if more := len(found) - few; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n    ")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
