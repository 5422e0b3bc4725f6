package rows

import (
	"context"
	"slices"
	"strings"

	"stowage/mysql"
)

// physicalHas is the remedy for what a dump would lose.
const physicalHas = "a physical backup has it: stowage backup run --full"

// UnfitForDump is what a dump could not bring back: tables whose rows no snapshot shows, what is no table, and views that a server would not make again.
func UnfitForDump(ctx context.Context, server *mysql.Server, databases []string) ([]UnfitTable, error) {
	s := mysql.Through(server)
	var out []UnfitTable
	for _, name := range databases {
		found, err := unfitKinds(ctx, s, name, "('InnoDB')")
		if err != nil {
			return nil, err
		}
		views, err := unfitViews(ctx, s, name, databases)
		if err != nil {
			return nil, err
		}
		more, err := unfitMySQL(ctx, s, name)
		if err != nil {
			return nil, err
		}
		for n := range found {
			if !strings.Contains(found[n].Remedy, "ENGINE") {
				found[n].Remedy = physicalHas
			}
		}
		for _, u := range slices.Concat(found, views, more) {
			out = append(out, UnfitTable{name + "." + u.Table, u.Why, u.Remedy})
		}
	}
	return out, nil
}

// unfitViews are those that are invalid, or read databases that are not dumped with them.
func unfitViews(ctx context.Context, s mysql.Door, schema string, with []string) ([]UnfitTable, error) {
	records, err := s.Records(ctx, "SELECT TABLE_NAME AS name, VIEW_DEFINITION AS text FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? ORDER BY 1", schema)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	all, err := s.Records(ctx, "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN "+mysql.SystemSchemas)
	if err != nil {
		return nil, err
	}
	show := "repair it or drop it: SHOW CREATE VIEW "
	var out []UnfitTable
	for _, r := range records {
		why, err := invalid(ctx, s, schema, r["name"])
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = append(out, UnfitTable{r["name"], "it is an invalid view: " + why, show + mysql.Ident(schema) + "." + mysql.Ident(r["name"])})
			continue
		}
		for _, other := range mysql.Column(all, "name") {
			if !slices.Contains(with, other) && strings.Contains(r["text"], mysql.Ident(other)+".") {
				out = append(out, UnfitTable{r["name"], "it is a view that reads database " + other + ", which is not dumped with it", "dump both, or drop it: SHOW CREATE VIEW " + mysql.Ident(schema) + "." + mysql.Ident(r["name"])})
				break
			}
		}
	}
	return out, nil
}
