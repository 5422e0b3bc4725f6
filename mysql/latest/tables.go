package latest

import (
	"context"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/reshape/spec"
)

// Tables are what a shard has of the tables that a spec names.
func Tables(ctx context.Context, server *mysql.Server, shard farm.ShardName, names []string) (spec.Tables, error) {
	d, out := mysql.Through(server), spec.Tables{}
	quoted := make([]string, len(names))
	for n, name := range names {
		quoted[n] = mysql.Quote(name)
	}
	of := " = " + mysql.Quote(string(shard)) + " AND TABLE_NAME IN (" + strings.Join(quoted, ", ") + ")"
	tables, err := d.Records(ctx, "SELECT TABLE_NAME AS name, ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA"+of)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		out[t["name"]] = spec.Table{Engine: t["engine"]}
	}
	columns, err := d.Records(ctx, `SELECT TABLE_NAME AS tbl, COLUMN_NAME AS name, COLUMN_TYPE AS type, IS_NULLABLE AS nullable, COALESCE(CHARACTER_SET_NAME, '') AS charset,
		COALESCE(COLLATION_NAME, '') AS coll, COALESCE(GENERATION_EXPRESSION, '') AS computed, EXTRA LIKE '%auto_increment%' AS drawn, EXTRA LIKE '%on update%' AS stamped FROM information_schema.COLUMNS WHERE TABLE_SCHEMA`+of+" ORDER BY TABLE_NAME, ORDINAL_POSITION")
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		t, ok := out[c["tbl"]]
		if !ok {
			continue
		}
		kind := c["type"]
		if c["charset"] != "" {
			kind += " CHARACTER SET " + c["charset"] + " COLLATE " + c["coll"]
		}
		t.Columns = append(t.Columns, spec.Column{Name: c["name"], Type: kind, Nullable: c["nullable"] == "YES", Generated: c["computed"] != "", Drawn: c["drawn"] == "1", Stamped: c["stamped"] == "1"})
		out[c["tbl"]] = t
	}
	if err := readKeys(ctx, d, of, out); err != nil {
		return nil, err
	}
	return out, readRelations(ctx, d, string(shard), of, out)
}

func readKeys(ctx context.Context, d mysql.Door, of string, into spec.Tables) error {
	parts, err := d.Records(ctx, `SELECT TABLE_NAME AS tbl, INDEX_NAME AS name, COLUMN_NAME AS col, NON_UNIQUE AS many, INDEX_TYPE = 'BTREE' AND SUB_PART IS NULL AND COLUMN_NAME IS NOT NULL AS whole
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA`+of+" ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX")
	if err != nil {
		return err
	}
	add := func(keys []spec.Key, p map[string]string) []spec.Key {
		if n := len(keys); n == 0 || keys[n-1].Name != p["name"] {
			keys = append(keys, spec.Key{Name: p["name"], Whole: true})
		}
		k := &keys[len(keys)-1]
		k.Columns, k.Whole = append(k.Columns, p["col"]), k.Whole && p["whole"] == "1"
		return keys
	}
	for _, p := range parts {
		t, ok := into[p["tbl"]]
		if !ok {
			continue
		}
		t.Indexes = add(t.Indexes, p)
		if p["many"] == "0" {
			t.Unique = add(t.Unique, p)
		}
		into[p["tbl"]] = t
	}
	return nil
}

// readRelations are foreign keys that change rows by themselves, and triggers.
func readRelations(ctx context.Context, d mysql.Door, shard, of string, into spec.Tables) error {
	if err := readReferences(ctx, d, of, into); err != nil {
		return err
	}
	triggers, err := d.Records(ctx, "SELECT EVENT_OBJECT_TABLE AS tbl, ACTION_TIMING AS at, EVENT_MANIPULATION AS event, TRIGGER_NAME AS name FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = "+mysql.Quote(shard)+" ORDER BY 1, 2, 3, ACTION_ORDER")
	if err != nil {
		return err
	}
	for _, tr := range triggers {
		if t, ok := into[tr["tbl"]]; ok && !strings.HasPrefix(tr["name"], triggerPrefix) {
			t.Triggers = append(t.Triggers, tr["at"]+" "+tr["event"]+" "+tr["name"])
			into[tr["tbl"]] = t
		}
	}
	return nil
}

// Understood reports whether the server understands what the spec says in SQL: which children count.
func (s Shape) Understood(ctx context.Context, server *mysql.Server, shard farm.ShardName) error {
	if s.Child.Counts == "" {
		return nil
	}
	_, err := mysql.Through(server).Records(ctx, "SELECT 1 FROM "+at(shard, s.Child.Table)+" x WHERE ("+s.Child.Counts+") LIMIT 0")
	return err
}

func readReferences(ctx context.Context, d mysql.Door, of string, into spec.Tables) error {
	acts := "IN ('CASCADE', 'SET NULL', 'SET DEFAULT')"
	parts, err := d.Records(ctx, "SELECT TABLE_NAME AS tbl, CONSTRAINT_NAME AS name, COLUMN_NAME AS col, REFERENCED_TABLE_NAME AS other, REFERENCED_COLUMN_NAME AS its FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_SCHEMA"+of+" ORDER BY 1, 2, ORDINAL_POSITION")
	if err != nil {
		return err
	}
	rules, err := d.Records(ctx, "SELECT TABLE_NAME AS tbl, CONSTRAINT_NAME AS name, DELETE_RULE "+acts+" AS deletes, DELETE_RULE IN ('SET NULL', 'SET DEFAULT') AS leaves, UPDATE_RULE "+acts+" AS updates FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA"+of)
	if err != nil {
		return err
	}
	for _, r := range rules {
		t, ok := into[r["tbl"]]
		if !ok {
			continue
		}
		ref := spec.Reference{Deletes: r["deletes"] == "1", Updates: r["updates"] == "1", Leaves: r["leaves"] == "1"}
		for _, p := range parts {
			if p["tbl"] == r["tbl"] && p["name"] == r["name"] {
				ref.Table, ref.Columns, ref.Of = p["other"], append(ref.Columns, p["col"]), append(ref.Of, p["its"])
			}
		}
		t.References = append(t.References, ref)
		into[r["tbl"]] = t
	}
	return nil
}
