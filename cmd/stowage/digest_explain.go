package main

import (
	"context"
	"errors"
	"time"

	"stowage/digest"
	"stowage/mysql"
	"stowage/mysql/traffic"
	"stowage/replay/effect"
	"stowage/store"
)

// mostExplained is how many classes are explained at most: each takes a session of the server.
const mostExplained = 20

// plansOf asks one server how it would run the samples of the first classes. Only what is known to be a read is asked for, in a
// session that may not write.
func (a *app) plansOf(ctx context.Context, l *digest.Listing, instance, account string) (map[string]*digest.Plan, error) {
	servers, err := a.liveServers(liveFlags{instances: []string{instance}, account: account})
	if err != nil {
		return nil, err
	}
	s := servers[0]
	defer s.Close()
	out, failed := map[string]*digest.Plan{}, 0
	for c := range l.Classes() {
		if len(out) == mostExplained {
			break
		}
		p, err := a.planOf(ctx, s, c)
		if err != nil {
			if failed++; len(out) == 0 && failed == 3 {
				return nil, err // not one statement's fault
			}
			p = &digest.Plan{Steps: []digest.PlanStep{}, Tables: []string{}, Reason: err.Error()}
		}
		out[c.ID32] = p
	}
	return out, ctx.Err()
}

func (a *app) planOf(ctx context.Context, s *mysql.Server, c digest.Class) (*digest.Plan, error) {
	none := func(why string) (*digest.Plan, error) {
		return &digest.Plan{Steps: []digest.PlanStep{}, Tables: []string{}, Reason: why}, nil
	}
	j := effect.Judge([]byte(c.Example.Query), effect.Mode{})
	switch {
	case c.Example.Query == "":
		return none("no statement of the class was kept")
	case c.Example.Truncated:
		return none("only the beginning of its statement was kept")
	case j.Kind != effect.Read:
		why := j.Reason
		if why == "" {
			why = "it is not a read"
		}
		return none(why)
	case len(j.Parts) > 1:
		return none("it holds several statements")
	case j.Params > 0:
		return none("the values of its parameters were not kept")
	case !isSelect(c.Example.Query):
		return none("it is not a SELECT")
	}
	return traffic.Explain(ctx, s, c.Example.DB, c.Example.Query, c.Tables)
}

// isSelect says whether a statement that was judged to be a read can be behind EXPLAIN.
func isSelect(query string) bool {
	switch digest.Verb(query) {
	case "select", "with", "table", "values":
		return true
	}
	return false
}

// plansKind is the kind of the documents with plans: they are kept beside the digest, under its name.
const plansKind = "plans"

func (a *app) savePlans(name string, plans map[string]*digest.Plan) error {
	d, err := a.open()
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Store.PutDocument(plansKind, name, time.Now(), plans)
}

// keptPlans are those kept under a name; none where there are none.
func (a *app) keptPlans(name string) (map[string]*digest.Plan, error) {
	d, err := a.look()
	if err != nil {
		return nil, nil // files are compared without a workspace
	}
	defer d.Close()
	var out map[string]*digest.Plan
	_, err = d.Store.LatestDocument(plansKind, name, &out)
	if errors.Is(err, store.ErrNone) {
		err = nil
	}
	return out, err
}

// explained adds plans to what is printed, and keeps them beside the digest.
func (a *app) explained(ctx context.Context, d *digest.Digest, f digestFlags) (map[string]*digest.Plan, error) {
	l := d.Listing()
	if f.order != "" {
		if err := l.OrderBy(f.order); err != nil {
			return nil, err
		}
	}
	l.Top(f.top)
	plans, err := a.plansOf(ctx, l, f.explain, f.account)
	if err != nil || f.save == "" || isDigestFile(f.save) {
		return plans, err
	}
	return plans, a.savePlans(f.save, plans)
}
