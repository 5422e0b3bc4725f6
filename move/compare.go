package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"stowage/compare"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/mysql"
	"stowage/mysql/rows"
)

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
	v := compare.Verification{
		Source: source, Copied: r.Returns, Patience: r.Settings.CatchUp, Begin: kept.With[string(source.Name())], Replication: &r.mover.Replication,
		Keep: func(ctx context.Context, p rows.Progress) error {
			kept.With[string(source.Name())] = p
			return r.writeCompared(ctx, kept)
		},
		Tell: func(text string) { r.Report(farm.Event{Kind: farm.StepProgress, Text: text}) },
		Mended: func(text string) {
			r.Report(farm.Event{Kind: farm.StepProgress, Text: text})
			r.mover.Log.Warn(text, "instance", string(r.Returns.Name()), "source", string(source.Name()))
		},
		// The copy must be as the server it was copied from. Where it differs from the side it replaces, the two old sides
		// differ from each other, and which of them is right nobody can tell by looking.
		Repair: r.mover.Repair && source == r.Twin,
	}
	verdict, err := v.Run(ctx)
	if err != nil || len(verdict.Mismatches) == 0 {
		return err
	}
	hint := "the two old sides have drifted apart (a write with sql_log_bin=0, a skipped event); repair the pair before moving it"
	if source == r.Twin {
		hint = "the copy differs from its source: find what wrote there with sql_log_bin=0 since the copy was made; then move again, which makes a new copy, or with --repair"
	}
	return &farm.Error{Op: "compare", Subject: string(r.fresh.Name), Err: fmt.Errorf("%w: %s", farm.ErrRefused, compare.Differences(source, verdict.Mismatches)), Hint: hint}
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
	Of    string                   `json:"of"` // the copy: its seed, its server id, and the process that served it
	With  map[string]rows.Progress `json:"with"`
	Equal bool                     `json:"equal,omitempty"` // all of it, with all
}

const comparedNote = "stowage-compared.json"

// readCompared is empty where nothing was kept, or of another copy, or of a
// server that was restarted since: what a crash has left is another copy.
func (r *replacement) readCompared(ctx context.Context) (compared, error) {
	pid, err := r.freshHost.Running(ctx, r.fresh)
	if err != nil {
		return compared{}, err
	}
	empty := compared{Of: fmt.Sprintf("%s, server_id %d, process %d", r.memory.Position, r.order.Move.ServerID, pid), With: map[string]rows.Progress{}}
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
