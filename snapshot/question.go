package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
	"stowage/reshape/spec"
)

// ShapeOf completes a spec by the tables of a shard. A spec that they do not allow is farm.ErrInput, with file and line.
func ShapeOf(ctx context.Context, server *mysql.Server, s spec.Spec, shard farm.ShardName) (latest.Shape, error) {
	tables, err := latest.Tables(ctx, server, shard, s.Names())
	if err != nil {
		return latest.Shape{}, err
	}
	s = s.Complete(tables)
	for _, p := range s.Check(tables) {
		if !p.Slow {
			return latest.Shape{}, &farm.Error{Op: "check spec", Subject: fmt.Sprintf("%s:%d", s.File, p.Line), Err: fmt.Errorf("%w: %s", farm.ErrInput, p.Text), Hint: "correct the spec, or name another one: --spec"}
		}
	}
	return latest.Shape{Spec: s}, nil
}

// Of asks for a tenant by the form that its flag says in the view, or by the one that is named. Denormalised, named for a tenant that is not active,
// is refused: nobody has compared its rows.
func Of(shape latest.Shape, shard farm.ShardName, tenant string, form latest.Form) Question {
	return Question{Tenant: tenant, Choose: func(ctx context.Context, view *rows.View) (latest.Form, string, error) {
		flags, err := shape.Flag(ctx, view, shard, tenant)
		if err != nil {
			return "", "", err
		}
		by := shape.OfFlag(flags.Active)
		if form == latest.Denormalised && !flags.Active {
			return "", "", &farm.Error{Op: "read tenant " + tenant, Subject: string(shard), Err: fmt.Errorf("%w: %s is not set, so its carried columns are not verified", farm.ErrRefused, shape.Tenant.Active),
				Hint: "leave --form out: the normalised query is right; --compare says whether both agree"}
		}
		if form != "" {
			by = form
		}
		return by, shape.Query(shard, by, false), nil
	}}
}

var wholeNumber = lazy.Regexp(`^-?[0-9]+$`)

// shownTenants is how many tenants are named beside one that is not there.
const shownTenants = 10

// CheckTenant says whether a shard has this tenant. One that it has not is farm.ErrInput, with the first that it has. A server that compares a
// number with 7x takes that for 7: it is not asked.
func CheckTenant(ctx context.Context, server *mysql.Server, shape latest.Shape, shard farm.ShardName, tenant string) error {
	view, err := rows.OpenView(ctx, server, false)
	if err != nil {
		return err
	}
	defer view.Close()
	var first []string
	isNumber := false
	query := shape.TenantsQuery(shard, shownTenants+1)
	err = each(ctx, view, query, func(a *rows.Answer) func([][]byte) {
		isNumber = strings.HasSuffix(a.Columns[0].Kind, "int")
		return func(row [][]byte) { first = append(first, string(row[0])) }
	})
	if err != nil {
		return err
	}
	if !isNumber || wholeNumber().MatchString(tenant) {
		_, err = shape.Flag(ctx, view, shard, tenant)
		if !errors.Is(err, latest.ErrNoTenant) {
			return err
		}
	}
	hint := "there is none in this shard"
	if len(first) > 0 {
		hint = "there are: " + strings.Join(first[:min(len(first), shownTenants)], ", ")
		if len(first) > shownTenants {
			hint += ", ..."
		}
	}
	return &farm.Error{Op: "read tenant " + tenant, Subject: string(shard), Err: fmt.Errorf("%w: %s has no such %s", farm.ErrInput, shape.Tenant.Table, shape.Tenant.Key), Hint: hint}
}
