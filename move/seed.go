package move

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/mysql"
	"stowage/session"
)

// seedNote is written when a seed is complete, and says where it stands.
const seedNote = "stowage-seed.json"

type note struct {
	From     string         `json:"from"`
	Seed     host.SeedPoint `json:"seed"`
	Position string         `json:"position"`
	Bytes    int64          `json:"bytes"`
}

func (r *replacement) notePath() string { return filepath.Join(r.fresh.Dir(), seedNote) }

// seed copies the twin's data directory to the target. The twin, not the side
// itself: the side that is about to go has clients and may be the sick one.
func (r *replacement) seed(ctx context.Context) error {
	if err := r.freshHost.Claim(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if n, ok := r.readNote(ctx); ok {
		r.memory.Seed, r.memory.Position = n.Seed, n.Position
		return nil
	}
	flavor, err := r.Twin.Flavor(ctx)
	if err != nil {
		return err
	}
	if flavor.ClonesItself() {
		return r.seedByClone(ctx)
	}
	// What is there is a copy that was cut short.
	if err := r.freshHost.Wipe(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if err := r.writeConfig(ctx); err != nil {
		return err
	}
	n := note{From: string(r.order.TwinInstance)}
	if n.Bytes, err = r.stream(ctx); err != nil {
		return err
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: "applying the copy's log", Bytes: n.Bytes, Total: n.Bytes})
	if n.Seed, err = r.freshHost.Prepare(ctx, r.fresh); err != nil {
		return err
	}
	at, err := r.Twin.PositionAt(ctx, n.Seed.File, n.Seed.Offset)
	if err != nil {
		return err
	}
	n.Position = at.String()
	return r.writeNote(ctx, n)
}

// writeNote makes the seed complete: it is the last thing written.
func (r *replacement) writeNote(ctx context.Context, n note) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := r.freshHost.WriteFile(ctx, r.notePath(), raw); err != nil {
		return err
	}
	r.memory.Seed, r.memory.Position = n.Seed, n.Position
	return nil
}

func (r *replacement) readNote(ctx context.Context) (note, bool) {
	var n note
	raw, err := r.freshHost.ReadFile(ctx, r.notePath())
	if err != nil || nested.Unmarshal(raw, &n) != nil || n.Position == "" {
		return note{}, false
	}
	return n, true
}

// stream moves the copy from one host to the other, from agent to agent where
// both have one, and reports how far it is.
func (r *replacement) stream(ctx context.Context) (int64, error) {
	told := time.Time{}
	pace, done := r.mover.Throttle.Begin(ctx, []*mysql.Server{r.Twin, r.Leaves}, r.order.Move.To.Host, r.order.Twin.Host)
	defer done()
	copied := host.Copy{
		From: r.twinHost, Origin: host.Origin{Instance: r.twin, Login: session.LoginOf(r.mover.Backup, r.twin.Dial())},
		To: r.freshHost, Target: host.Destination{Instance: r.fresh}, Rate: pace.Rate,
		Moved: func(n int64) {
			pace.Moved(n)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			r.Report(farm.Event{Kind: farm.StepProgress, Text: "copying from " + string(r.order.TwinInstance) + pace.Slowed(), Bytes: n, Total: r.order.Move.Bytes})
		},
	}
	out, err := copied.Run(ctx)
	return out.Bytes, err
}

func (r *replacement) removeSeed(ctx context.Context) error {
	if err := r.stopHalfSeeded(ctx); err != nil {
		return err
	}
	return r.removeFresh(ctx, r.freshHost, r.fresh, r.owner())
}

// writeConfig derives the new instance's option file from what the side it
// replaces starts with: same domain, same auto-increment offset, same tuning but
// for what the new host's type says; its own identity, address and paths.
func (r *replacement) writeConfig(ctx context.Context) error {
	model, err := startOptions(ctx, r.oldHost, r.old)
	if err != nil {
		return fmt.Errorf("%w of %s: %w", act.ErrOptions, r.old.Name, err)
	}
	flavor, err := r.Twin.Flavor(ctx)
	if err != nil {
		return err
	}
	return r.freshHost.WriteFile(ctx, r.fresh.Config, fresh.Options(model, flavor, r.fresh, r.order.Move.ServerID, r.order.Options))
}

// settleConfig gives the new instance the options it shall start with from now
// on: what the old side had in place of the temporary ones, and no fence. It
// comes before the first client: a server that serves may die at any moment.
func (r *replacement) settleConfig(ctx context.Context) error {
	was, err := startOptions(ctx, r.oldHost, r.old)
	if err != nil {
		return err
	}
	return r.mover.edited.Edit(ctx, r.freshHost, r.fresh, func(is string) string { return fresh.Settled(host.UnfenceOptions(r.fresh, is), was) })
}

// start starts the new instance and makes sure that it is who it should be.
func (r *replacement) start(ctx context.Context) error {
	return fresh.Start(ctx, r.freshHost, r.fresh, r.Returns, r.order.Move.ServerID, func(text string) {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: text})
	})
}

func (r *replacement) stopNew(ctx context.Context) error {
	return r.freshHost.Stop(ctx, r.fresh, 5*time.Minute)
}
