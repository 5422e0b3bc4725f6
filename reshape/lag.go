package reshape

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
)

// ErrBehind says that the applier of a shard is not running, or too far behind to say anything of rows.
var ErrBehind = errors.New("the applier is behind, or is not running")

// Lag is how far the carried columns of one server are behind its clients.
type Lag struct {
	Shard   farm.ShardName    `json:"shard"`
	Server  farm.InstanceName `json:"server"`
	IsKnown bool              `json:"known"`             // false: nothing was ever applied there, or that could not be read
	Problem string            `json:"problem,omitempty"` // why it could not be read
	Seconds float64           `json:"lag_seconds"`
	IsGood  bool              `json:"good"` // the application reads carried columns there
}

// Lags are those of the servers that serve tenants of a spec with an applier, in the order of farm.yaml; none with another keeper. They are at most as long as leases are renewed apart, where nothing is behind.
func (a *Act) Lags(ctx context.Context, sp spec.Spec) ([]Lag, error) {
	if sp.Keep != spec.Applier {
		return nil, nil
	}
	shards, err := a.Shards(ctx, sp)
	if err != nil {
		return nil, err
	}
	var out []Lag
	for _, s := range shards {
		in, err := a.routing(ctx, s.Pair.Name)
		if err != nil {
			return nil, err
		}
		for _, side := range s.Pair.SideNames() {
			if at, ok := in.Sides[side]; ok && servesAny(in, at.Address) {
				out = append(out, a.lagOf(ctx, sp, s.Shard, s.Pair.Instance(side), at.Address))
			}
		}
	}
	return out, nil
}

// lagOf: of a server that does not answer nothing is known.
func (a *Act) lagOf(ctx context.Context, sp spec.Spec, shard farm.ShardName, name farm.InstanceName, address string) Lag {
	server := a.Server(name, address)
	defer server.Close()
	out := Lag{Shard: shard, Server: name}
	all, _, err := latest.Shape{Spec: sp}.Leases(ctx, server, shard)
	if err != nil {
		out.Problem = err.Error()
	} else if own, ok := latest.Own(all); ok {
		out.IsKnown, out.Seconds, out.IsGood = true, own.Lag.Seconds(), own.IsGood
	}
	return out
}

// IsApplied reports whether the changes of all these servers are applied.
func IsApplied(lags []Lag) bool {
	for _, l := range lags {
		if !l.IsGood {
			return false
		}
	}
	return true
}

// String says it to people.
func (l Lag) String() string {
	switch {
	case l.Problem != "":
		return fmt.Sprintf("%s on %s: %s", l.Shard, l.Server, l.Problem)
	case !l.IsKnown:
		return fmt.Sprintf("%s on %s: nothing is applied", l.Shard, l.Server)
	case !l.IsGood:
		return fmt.Sprintf("%s on %s: %.1f s behind, more than max_lag: its tenants there are read from their children", l.Shard, l.Server, l.Seconds)
	}
	return fmt.Sprintf("%s on %s: %.1f s behind", l.Shard, l.Server, l.Seconds)
}

// behindFor is for how long an applier is waited for.
const behindFor = 15 * time.Second

// applied gives a barrier: it waits until all that was committed on a server before the call is applied. ErrBehind: that takes too long.
func (a *Act) applied(sp spec.Spec, shard farm.ShardName, server *mysql.Server) func(context.Context) error {
	shape := latest.Shape{Spec: sp}
	return func(ctx context.Context) error {
		goal, err := server.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		for began := time.Now(); ; {
			all, _, err := shape.Leases(ctx, server, shard)
			if err != nil {
				return err
			}
			own, ok := latest.Own(all)
			if ok && own.Position.Reached(goal) {
				return nil
			}
			if time.Since(began) > behindFor {
				text := "nothing was applied yet"
				if ok {
					text = fmt.Sprintf("it was here %.1f s ago", own.Lag.Seconds())
				}
				return &farm.Error{Op: "wait for the applier", Subject: fmt.Sprintf("%s on %s", shard, server.Name()), Err: fmt.Errorf("%w: %w: %s", farm.ErrRefused, ErrBehind, text), Hint: "stowage reshape apply " + sp.Name + " must run all the time"}
			}
			if !pause(ctx, 20*time.Millisecond) {
				return ctx.Err()
			}
		}
	}
}

// verify compares a tenant's rows by what keeps them: rows that an applier has still to write are not wrong.
func (a *Act) verify(ctx context.Context, sp spec.Spec, s *latest.Session, server *mysql.Server, m Member, set map[string]bool) (latest.Verdict, error) {
	if sp.Keep != spec.Applier {
		return s.Verify(ctx, m.Shard, m.Tenant, set)
	}
	return s.VerifyBehind(ctx, m.Shard, m.Tenant, set, a.applied(sp, m.Shard, server))
}
