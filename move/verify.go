package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/mysql"
)

// verification compares a copy with a server that it follows: it stops the copy at exactly the position of a snapshot,
// and every row is summed on both ends. It knows nothing of sides and pairs.
//
// It is resumable: keep is called as chunks are found equal, and begin is what was kept last. A program that was killed
// goes on with the next chunk, at a barrier of its own.
type verification struct {
	source, copied *mysql.Server
	patience       time.Duration // for either end to reach a position
	databases      []string      // nil: all
	begin          mysql.Progress
	keep           func(context.Context, mysql.Progress) error
	tell           func(string)
	// repair, when asked for, makes the copy equal where its rows differ, and then compares everything once more.
	repair bool
	// mended is told what a repair did: nobody should miss it.
	mended func(string)
}

// What is kept at most so often, and told so often; and how many rows of a table are named.
const (
	keepEvery = 250 * time.Millisecond
	tellEvery = time.Second
	listed    = 10
)

// Schema changes that come while a table is compared end that attempt; the next goes on with what was found equal. So
// many, with a pause that grows; then the step is tried again, in the engine's time.
const (
	changedTries = 20
	changedPause = 3 * time.Second // at most
)

// run leaves the copy's replication stopped, whatever comes of it.
func (v verification) run(ctx context.Context) (mysql.Verdict, error) {
	keep := v.keep
	v.keep = func(ctx context.Context, p mysql.Progress) error {
		v.begin = p
		return keep(ctx, p)
	}
	for try := 1; ; try++ {
		verdict, err := v.once(ctx)
		if !mysql.IsChangedDefinition(err) || try == changedTries {
			return verdict, v.schemaChanged(err)
		}
		v.tell(fmt.Sprintf("a schema change on %s came while it was compared (%v); comparing goes on at a later moment", v.source.Name(), err))
		if err := pauseFor(ctx, min(changedPause, time.Duration(try)*200*time.Millisecond)); err != nil {
			return verdict, err
		}
	}
}

// schemaChanged says what to do about changes that leave no moment to compare.
func (v verification) schemaChanged(err error) error {
	if !mysql.IsChangedDefinition(err) && !errors.Is(err, mysql.ErrSchemaChanges) {
		return err
	}
	return &farm.Error{Op: "compare", Subject: string(v.source.Name()), Err: err,
		Hint: "the pair has not drifted apart: tables are changed faster than they can be compared. Hold schema changes back for as long as the step takes; it is tried again"}
}

// once compares at one moment.
func (v *verification) once(ctx context.Context) (mysql.Verdict, error) {
	if err := v.copied.StopReplicating(ctx); err != nil {
		return mysql.Verdict{}, err
	}
	// The snapshot must not lie before where the copy stands.
	stands, err := v.copied.AppliedPosition(ctx)
	if err != nil {
		return mysql.Verdict{}, err
	}
	if err := v.source.WaitFor(ctx, stands, v.patience); err != nil {
		return mysql.Verdict{}, err
	}
	snap, err := v.source.DefinedSnapshot(ctx, v.databases)
	if err != nil {
		return mysql.Verdict{}, err
	}
	defer snap.Close()
	if err := v.copied.StopAt(ctx, snap.At, v.patience); err != nil {
		return mysql.Verdict{}, err
	}
	verdict, err := v.compare(ctx, snap, v.begin)
	if err != nil || len(verdict.Mismatches) == 0 || !v.repair {
		return verdict, err
	}
	return v.mend(ctx, snap, verdict)
}

func (v verification) compare(ctx context.Context, snap *mysql.View, begin mysql.Progress) (mysql.Verdict, error) {
	told := time.Time{}
	c := mysql.Comparison{
		Copy: v.copied, List: listed, Begin: begin, SaveEvery: keepEvery,
		// Not with a context that has ended: what was found equal is worth keeping then too.
		Save: func(p mysql.Progress) error { return v.keep(context.WithoutCancel(ctx), p) },
		Tell: func(s mysql.Compared) {
			if time.Since(told) < tellEvery {
				return
			}
			told = time.Now()
			v.tell(fmt.Sprintf("comparing rows with %s, table %d of %d, %d rows, %.0f rows/s", v.source.Name(), s.Done+1, s.Of, s.Rows, s.PerSecond))
		},
	}
	verdict, err := c.Compare(ctx, snap, v.databases)
	if err == nil {
		v.tell(fmt.Sprintf("compared with %s: %d tables, %d rows, %d of them now (%.0f rows/s), %d differences", v.source.Name(),
			verdict.Tables, verdict.Rows, verdict.Fresh, verdict.PerSecond(), len(verdict.Mismatches)))
	}
	return verdict, err
}

// mend repairs the copy, and believes nothing of what was found equal before.
func (v verification) mend(ctx context.Context, snap *mysql.View, found mysql.Verdict) (mysql.Verdict, error) {
	if err := v.keep(ctx, mysql.Progress{}); err != nil {
		return found, err
	}
	did, err := mysql.Repair(ctx, snap, v.copied, found.Mismatches)
	if err != nil {
		return found, fmt.Errorf("%w; it differs in %s", err, found.Mismatches[0])
	}
	v.mended(fmt.Sprintf("repaired %d chunks on the copy: %d rows taken away, %d written; comparing everything once more", did.Chunks, did.Removed, did.Written))
	return v.compare(ctx, snap, mysql.Progress{})
}

// compare proves that the new instance holds what the pair holds: first against the twin it was copied from, then
// against the side it will replace, whose own clients must find everything again. (Rows that only that side ever had,
// because a write bypassed the binary log, would otherwise vanish without a word.)
func (r *replacement) compare(ctx context.Context) error {
	return r.compareWith(ctx, []*mysql.Server{r.Twin, r.Leaves})
}

func (r *replacement) compareWith(ctx context.Context, sources []*mysql.Server) error {
	if err := r.CheckVariables(ctx); err != nil {
		return err
	}
	kept, err := r.readCompared(ctx)
	if err != nil {
		return err
	}
	for _, source := range sources {
		if err = r.compareAtBarrier(ctx, source, kept); err != nil {
			break
		}
	}
	// Whatever was found, replication goes on.
	if again := r.Returns.Follow(ctx, r.Twin.Address(), r.mover.Replication, 30*time.Second); err == nil {
		err = again
	}
	if err == nil {
		kept.Equal = true
		err = r.writeCompared(ctx, kept)
	}
	if err != nil {
		return err
	}
	return r.follow(ctx)
}

func (r *replacement) compareAtBarrier(ctx context.Context, source *mysql.Server, kept compared) error {
	v := verification{
		source: source, copied: r.Returns, patience: r.Settings.CatchUp, begin: kept.With[string(source.Name())],
		keep: func(ctx context.Context, p mysql.Progress) error {
			kept.With[string(source.Name())] = p
			return r.writeCompared(ctx, kept)
		},
		tell: func(text string) { r.Report(farm.Event{Kind: farm.StepProgress, Text: text}) },
		mended: func(text string) {
			r.Report(farm.Event{Kind: farm.StepProgress, Text: text})
			r.mover.Log.Warn(text, "instance", string(r.Returns.Name()), "source", string(source.Name()))
		},
		// The copy must be as the server it was copied from. Where it differs from the side it replaces, the two old sides
		// differ from each other, and which of them is right nobody can tell by looking.
		repair: r.mover.Repair && source == r.Twin,
	}
	verdict, err := v.run(ctx)
	if err != nil || len(verdict.Mismatches) == 0 {
		return err
	}
	hint := "the two old sides have drifted apart (a write with sql_log_bin=0, a skipped event); repair the pair before moving it"
	if source == r.Twin {
		hint = "the copy differs from its source: what was written there with sql_log_bin=0 since it was made? Move again (with a new copy), or with --repair"
	}
	return &farm.Error{Op: "compare", Subject: string(r.fresh.Name), Err: fmt.Errorf("%w: %s", farm.ErrRefused, differences(source, verdict.Mismatches)), Hint: hint}
}

// differences says what differs, a line each, the first few.
func differences(source *mysql.Server, found []mysql.Mismatch) string {
	const few = 8
	lines := []string{fmt.Sprintf("%d chunks or definitions differ from %s:", len(found), source.Name())}
	for _, m := range found[:min(few, len(found))] {
		lines = append(lines, m.String())
	}
	if more := len(found) - few; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n    ")
}

// repairPrivileges are what a repair needs besides: nothing else writes rows.
func (m *Mover) repairPrivileges() []string {
	if m.Repair {
		return []string{"INSERT", "DELETE"}
	}
	return nil
}

// compared is what has been found equal of one copy, kept beside it.
type compared struct {
	Of    string                    `json:"of"` // the copy: its seed, its server id, and the process that served it
	With  map[string]mysql.Progress `json:"with"`
	Equal bool                      `json:"equal,omitempty"` // all of it, with all
}

const comparedNote = "stowage-compared.json"

// readCompared is empty where nothing was kept, or of another copy, or of a
// server that was restarted since: what a crash has left is another copy.
func (r *replacement) readCompared(ctx context.Context) (compared, error) {
	pid, err := r.freshHost.Running(ctx, r.fresh)
	if err != nil {
		return compared{}, err
	}
	empty := compared{Of: fmt.Sprintf("%s, server_id %d, process %d", r.memory.Position, r.order.Move.ServerID, pid), With: map[string]mysql.Progress{}}
	raw, err := r.freshHost.ReadFile(ctx, filepath.Join(r.fresh.Dir(), comparedNote))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return empty, nil // it is compared from the beginning
	}
	var c compared
	if nested.Unmarshal(raw, &c) != nil || c.Of != empty.Of || c.With == nil {
		return empty, nil
	}
	return c, nil
}

func (r *replacement) writeCompared(ctx context.Context, c compared) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return r.freshHost.WriteFile(ctx, filepath.Join(r.fresh.Dir(), comparedNote), raw)
}
