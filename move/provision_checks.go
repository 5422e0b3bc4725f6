package move

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stowage/act"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// provisionSurvey is what the checks of a new pair look at.
type provisionSurvey struct {
	p     *provision
	model peer
	// twins are the servers that options are taken from, by side.
	models map[farm.SideName]peer
}

// provisionChecks are asked in this order, all of them, and every answer is
// reported.
var provisionChecks = []act.Question[*provisionSurvey]{
	{Name: "privileges", Look: func(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
		return v.each(func(_ *freshSide, model peer) ([]farm.Finding, error) { return askPrivileges(ctx, model) })
	}},
	{Name: "flavor", Look: provisionFlavor},
	{Name: "farm", Look: provisionFarm},
	{Name: "routing", Look: provisionRouting},
	{Name: "accounts", Look: provisionAccounts},
	{Name: "files", Look: func(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
		return v.each(func(_ *freshSide, model peer) ([]farm.Finding, error) { return askFiles(ctx, model) })
	}},
	{Name: "option-file", Look: func(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
		return v.each(func(s *freshSide, model peer) ([]farm.Finding, error) {
			return askOptionFile(ctx, model, s.modelHost, s.model, string(s.Model.Host), farm.Warning)
		})
	}},
	{Name: "replication-account", Look: func(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
		return v.each(func(s *freshSide, _ peer) ([]farm.Finding, error) {
			if v.p.follows(s) == nil {
				return nil, nil
			}
			return askReplicationAccount(ctx, v.model, v.p.mover.Replication, s.here.Address)
		})
	}},
	{Name: "tls", Look: provisionTLS},
	{Name: "target", Look: provisionTarget},
	{Name: "space", Look: provisionSpace},
	{Name: "new-pair", Look: provisionNote},
}

// survey runs all checks.
func (p *provision) Survey(ctx context.Context) ([]farm.Finding, error) {
	v := &provisionSurvey{p: p, models: map[farm.SideName]peer{}}
	for _, s := range p.sides {
		server := mysql.Open(s.ModelInstance, s.model.Dial(), p.mover.Admin, p.mover.Log)
		defer server.Close()
		var err error
		if v.models[s.name], err = askPeer(ctx, string(s.ModelInstance), server); err != nil {
			return nil, err
		}
	}
	v.model = v.models[farm.A]
	return act.Ask(ctx, provisionChecks, v)
}

func (v *provisionSurvey) each(look func(*freshSide, peer) ([]farm.Finding, error)) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, s := range v.p.sides {
		found, err := look(s, v.models[s.name])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func provisionFlavor(_ context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	if v.model.facts.Flavor.HasGTIDDomains() {
		return nil, nil
	}
	return []farm.Finding{blocker(v.model.name, fmt.Sprintf("it is %s: new pairs are made of MariaDB only, as single shards are moved between MariaDB servers only", v.model.facts.Flavor),
		"plan with unit: instance")}, nil
}

// provisionFarm: nobody else has the name, the place or the numbers.
func provisionFarm(_ context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	now, err := v.p.mover.Workspace.Farm()
	if err != nil {
		return nil, err
	}
	if _, there := now.Pair(v.p.order.Pair); there {
		return nil, nil // AddPair refuses another one of that name
	}
	now.Pairs = append(now.Pairs, v.p.pair())
	var out []farm.Finding
	for _, problem := range now.Check() {
		out = append(out, blocker(string(v.p.order.Pair), "with it farm.yaml would not be valid: "+problem.Text, "plan again"))
	}
	return out, nil
}

func provisionRouting(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	if _, err := v.p.grower(); err != nil || !v.p.mover.Router.Guarantee().Shards {
		return []farm.Finding{blocker("routing", "this way of routing takes no further pairs, or cannot hold and send a single shard",
			"route by the file, etcd, an SQL table, or a program that vouches for a gate: docs/reference/routing.md")}, nil
	}
	table, err := v.p.mover.Router.Read(ctx)
	if err != nil {
		return nil, err
	}
	pair := table.Pairs[v.p.order.Pair]
	if pair == nil {
		return nil, nil
	}
	for _, s := range v.p.sides {
		if at, has := pair.Sides[s.name]; has && at.Address != s.here.Dial() {
			return []farm.Finding{blocker(string(v.p.order.Pair), fmt.Sprintf("routing has a pair of that name, with side %s at %s", s.name, at.Address), "find out whose it is; stowage routing shows it")}, nil
		}
	}
	return nil, nil
}

// provisionAccounts: what the new pair's clients may do is what they may do
// where their shards are now.
func provisionAccounts(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	_, differ, err := v.p.grants(ctx)
	if err != nil || len(differ) == 0 {
		return nil, err
	}
	return []farm.Finding{warning(string(v.p.order.Pair), fmt.Sprintf("the pairs that its shards come from do not agree about the account %s; it gets what %s says", farm.Some(differ), v.p.order.Accounts[0].Name),
		"make the accounts agree, or correct them on the new pair")}, nil
}

// provisionTLS: the links of the new pair are made with the TLS of those whose
// accounts it gets.
func provisionTLS(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	as, err := v.p.linkedAs(ctx)
	if err != nil {
		return nil, err
	}
	return v.each(func(s *freshSide, _ peer) ([]farm.Finding, error) {
		if v.p.follows(s) == nil {
			return nil, nil
		}
		return askTLS(ctx, v.model, as, s.Place.Host, s.host)
	})
}

func provisionTarget(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	return v.each(func(s *freshSide, _ peer) ([]farm.Finding, error) {
		if err := s.host.Claimable(ctx, s.here, v.p.owner(s)); errors.Is(err, host.ErrForeign) {
			return []farm.Finding{blocker(string(s.Place.Host), "in the way of the new instance: "+err.Error(), farm.Hint(err))}, nil
		} else if err != nil {
			return nil, err
		}
		if pid, err := s.host.Running(ctx, s.here); err != nil || pid != 0 {
			return nil, err // this run's own, from an attempt that was cut short
		}
		free, err := s.host.PortFree(ctx, s.here.Dial())
		if err != nil || free {
			return nil, err
		}
		return []farm.Finding{blocker(string(s.Place.Host), "something listens at "+s.here.Dial()+" already", "stop it, or plan again")}, nil
	})
}

// systemBytes is what an empty MariaDB takes: 150 MB of system tables, logs and
// undo, rounded up.
const systemBytes = 256 << 20

func provisionSpace(ctx context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	return v.each(func(s *freshSide, _ peer) ([]farm.Finding, error) {
		need := v.p.order.Bytes + systemBytes
		free, err := s.host.FreeBytes(ctx, s.here.Dir())
		if err != nil || free >= need {
			return nil, err
		}
		return []farm.Finding{blocker(string(s.Place.Host), fmt.Sprintf("%d MB are free, %s and its %d shards need %d", free>>20, s.here.Name, v.p.order.Shards, need>>20), "free disk space there")}, nil
	})
}

// provisionNote says what will be made.
func provisionNote(_ context.Context, v *provisionSurvey) ([]farm.Finding, error) {
	var sides []string
	for _, s := range v.p.sides {
		sides = append(sides, fmt.Sprintf("%s on %s port %d with server_id %d, options after %s", s.here.Name, s.Place.Host, s.Place.Port, s.ServerID, s.ModelInstance))
	}
	var from []string
	for _, a := range v.p.order.Accounts {
		from = append(from, string(a.Name))
	}
	text := fmt.Sprintf("is made first, for %s: %s; accounts of %s", farm.Counted(v.p.order.Shards, "shard"), strings.Join(sides, "; "), farm.Some(from))
	if v.p.order.Pool > 0 {
		text += fmt.Sprintf("; buffer pool %.3g times as large", v.p.order.Pool)
	}
	return []farm.Finding{remark(string(v.p.order.Pair), text, "nothing to do; it is taken away again when no shard comes to it")}, nil
}
