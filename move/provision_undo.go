package move

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// lives says what lives on the pair by now; empty: nothing. What is there is
// not taken away, whoever says so.
func (p *provision) lives(ctx context.Context) (string, error) {
	now, err := p.mover.Workspace.Farm()
	if err != nil {
		return "", err
	}
	if pair, there := now.Pair(p.order.Pair); there && len(pair.Shards) > 0 {
		return fmt.Sprintf("farm.yaml has %s there", farm.Counted(len(pair.Shards), "shard")), nil
	}
	table, err := p.mover.Router.Read(ctx)
	if err != nil {
		return "", err
	}
	if pair := table.Pairs[p.order.Pair]; pair != nil && len(pair.Shards) > 0 {
		return fmt.Sprintf("routing sends clients of %s there", pair.Shards[0]), nil
	}
	for _, s := range p.sides {
		pid, err := s.host.Running(ctx, s.here)
		if err != nil {
			return "", err
		}
		if pid == 0 {
			continue
		}
		has, err := s.server.Shards(ctx)
		if err != nil {
			return "", err
		}
		if len(has) > 0 {
			var names []string
			for name := range has {
				names = append(names, string(name))
			}
			slices.Sort(names)
			return fmt.Sprintf("%s has databases: %s", s.here.Name, strings.Join(names, ", ")), nil
		}
	}
	return "", nil
}

// unless makes an undo of something that is done only where nothing lives, and
// to nothing that unlist has left in its place.
func (p *provision) unless(ctx context.Context, do func(*freshSide) error) error {
	why, err := p.lives(ctx)
	if err == nil && why == "" {
		why, err = p.listed(ctx)
	}
	if err != nil {
		return err
	}
	if why != "" {
		p.Report(farm.Event{Kind: farm.StepProgress, Text: "the pair stays: " + why})
		return nil
	}
	for _, s := range slices.Backward(p.sides) {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

// listed says where the pair still stands.
func (p *provision) listed(ctx context.Context) (string, error) {
	now, err := p.mover.Workspace.Farm()
	if err != nil {
		return "", err
	}
	if _, there := now.Pair(p.order.Pair); there {
		return "it is in farm.yaml", nil
	}
	table, err := p.mover.Router.Read(ctx)
	if err == nil && table.Pairs[p.order.Pair] != nil {
		return "it is in the routing", nil
	}
	return "", err
}

// leaving is how long what was dropped on one side may take to be gone on the
// other.
const leaving = 30 * time.Second

// stillLives is lives, once what is about to be gone has had its time: a shard
// that was just taken back has left one side and is leaving the other.
func (p *provision) stillLives(ctx context.Context) (string, error) {
	for end := time.Now().Add(leaving); ; {
		why, err := p.lives(ctx)
		if err != nil || why == "" || time.Now().After(end) {
			return why, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (p *provision) unlist(ctx context.Context) error {
	why, err := p.stillLives(ctx)
	if err != nil {
		return err
	}
	if why != "" {
		p.Report(farm.Event{Kind: farm.StepProgress, Text: "the pair stays: " + why})
		return nil
	}
	grower, err := p.grower()
	if err != nil {
		return err
	}
	if err := grower.Remove(ctx, p.order.Pair); err != nil {
		return err
	}
	return p.mover.removePair(p.order.Pair)
}

func (p *provision) unwire(ctx context.Context) error {
	return p.unless(ctx, func(s *freshSide) error {
		pid, err := s.host.Running(ctx, s.here)
		if err != nil || pid == 0 {
			return err
		}
		return s.server.ForgetSource(ctx)
	})
}

func (p *provision) stop(ctx context.Context) error {
	return p.unless(ctx, func(s *freshSide) error {
		if err := s.host.Claimable(ctx, s.here, p.owner(s)); err != nil {
			return err
		}
		return s.host.Stop(ctx, s.here, startFresh)
	})
}

// remove also stops what found left running: a founding that was cut short has
// a server of its own for a moment.
func (p *provision) remove(ctx context.Context) error {
	return p.unless(ctx, func(s *freshSide) error { return p.removeFresh(ctx, s.host, s.here, p.owner(s)) })
}
