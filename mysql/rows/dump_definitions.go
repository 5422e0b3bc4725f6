package rows

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"stowage/backup/dump"
	"stowage/farm"
	"stowage/mysql"
)

// dumpShape is all definitions of one database.
type dumpShape struct {
	dump.Database
	tables   []*CopyTable
	texts    []string // of the tables
	objects  []CopyObject
	triggers []CopyObject
}

// isAs reports whether nothing but the counters of tables differs.
func (x dumpShape) isAs(b dumpShape) bool {
	same := func(a, b CopyObject) bool { return a.Kind == b.Kind && a.Name == b.Name && bytes.Equal(a.Text, b.Text) }
	return x.Database == b.Database && slices.EqualFunc(x.texts, b.texts, func(a, b string) bool { return withoutCounter(a) == withoutCounter(b) }) &&
		slices.EqualFunc(x.objects, b.objects, same) && slices.EqualFunc(x.triggers, b.triggers, same)
}

// withoutCounter is the text of a table without the next value of its counter, in its last line.
func withoutCounter(text string) string {
	end := strings.LastIndex(text, "\n)")
	at := strings.Index(text[max(0, end):], " AUTO_INCREMENT=")
	if end < 0 || at < 0 {
		return text
	}
	at += end
	rest := strings.TrimLeft(text[at+len(" AUTO_INCREMENT="):], "0123456789")
	return text[:at] + rest
}

// shapes reads them.
func shapes(ctx context.Context, s mysql.Door, databases []string) ([]dumpShape, error) {
	var out []dumpShape
	for _, name := range databases {
		o, err := SchemaOptionsOf(ctx, s.Server, name)
		if err != nil {
			return nil, err
		}
		if !o.Exists {
			return nil, s.Fail("dump", fmt.Errorf("%w: it has no database %s", farm.ErrRefused, name))
		}
		x := dumpShape{Database: dump.Database{Name: name, Dir: dump.Word(name), Charset: o.Charset, Collation: o.Collation, Comment: o.Comment}}
		if x.tables, err = CopyTables(ctx, s.Server, name); err != nil {
			return nil, err
		}
		if x.texts, err = tableTexts(ctx, s, name, x.tables); err != nil {
			return nil, err
		}
		if x.objects, err = CopyObjects(ctx, s.Server, name); err != nil {
			return nil, err
		}
		if x.triggers, err = CopyTriggers(ctx, s.Server, name); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// tableTexts are the statements that make the tables of a database.
func tableTexts(ctx context.Context, s mysql.Door, schema string, tables []*CopyTable) ([]string, error) {
	w, err := defining(ctx, s, schema)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	out := make([]string, len(tables))
	for n, t := range tables {
		var name string
		if err := w.conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.At()).Scan(&name, &out[n]); err != nil {
			return nil, s.Fail("read definition of "+t.String(), err)
		}
	}
	return out, nil
}

// sessionText begins each text: values come as they are, whatever the session was before.
func sessionText(names, mode string) string {
	return "SET NAMES " + names + ";\nSET SESSION sql_mode = " + mode + ", time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0, check_constraint_checks = 0;\n"
}

// tablesText makes all tables.
func (x dumpShape) tablesText() []byte {
	var b bytes.Buffer
	b.WriteString(sessionText("utf8mb4", lenientMode))
	for _, text := range x.texts {
		b.WriteString(text + ";\n")
	}
	return b.Bytes()
}

// objectsText makes what stands above tables: routines first, for views may call them; then views, each after those that its text names.
func (x dumpShape) objectsText() ([]byte, error) {
	var routines, views, events []CopyObject
	for _, o := range x.objects {
		switch o.Kind {
		case "VIEW":
			views = append(views, o)
		case "EVENT":
			events = append(events, o)
		default:
			routines = append(routines, o)
		}
	}
	var b bytes.Buffer
	b.WriteString("SET NAMES utf8mb4;\n")
	for _, o := range slices.Concat(routines, inOrder(views), x.triggers, events) {
		end, err := delimiterFor(o.Text)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", strings.ToLower(o.Kind), o.Name, err)
		}
		zone := ""
		if o.TimeZone != "" {
			zone = ", time_zone = " + mysql.Quote(o.TimeZone)
		}
		fmt.Fprintf(&b, "SET SESSION character_set_client = %s, collation_connection = %s, sql_mode = %s%s;\nDELIMITER %s\n%s\n%s\nDELIMITER ;\n",
			mysql.Quote(o.Client), mysql.Quote(o.Collation), mysql.Quote(o.SQLMode), zone, end, o.Text, end)
	}
	return b.Bytes(), nil
}

// inOrder puts views behind those that their texts name. Views cannot need each other in a ring.
func inOrder(views []CopyObject) []CopyObject {
	var out []CopyObject
	for left := views; len(left) > 0; {
		n := slices.IndexFunc(left, func(o CopyObject) bool {
			return !slices.ContainsFunc(left, func(other CopyObject) bool {
				return other.Name != o.Name && bytes.Contains(o.Text, []byte(mysql.Ident(other.Name)))
			})
		})
		n = max(0, n) // a column may have the name of a view
		out = append(out, left[n])
		left = slices.Delete(slices.Clone(left), n, n+1)
	}
	return out
}

// delimiterFor is a word that ends a statement for the client, and is not in it.
func delimiterFor(text []byte) (string, error) {
	for _, word := range []string{";;", "$$", "//", "$stowage$"} {
		if !bytes.Contains(text, []byte(word)) {
			return word, nil
		}
	}
	return "", fmt.Errorf("%w: its text has all delimiters that could end it", farm.ErrRefused)
}

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
		for _, u := range append(found, views...) {
			if !strings.Contains(u.Remedy, "ENGINE") && !strings.Contains(u.Remedy, "VIEW") {
				u.Remedy = "a physical backup has it: stowage backup run --full"
			}
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
