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
	made     []string // when each was made or last changed
	objects  []CopyObject
	triggers []CopyObject
}

// isAs reports whether nothing but the counters of tables differs.
func (x dumpShape) isAs(b dumpShape) bool {
	same := func(a, b CopyObject) bool { return a.Kind == b.Kind && a.Name == b.Name && bytes.Equal(a.Text, b.Text) }
	return x.Database == b.Database && slices.EqualFunc(x.texts, b.texts, func(a, b string) bool { return withoutCounter(a) == withoutCounter(b) }) &&
		slices.Equal(x.made, b.made) && slices.EqualFunc(x.objects, b.objects, same) && slices.EqualFunc(x.triggers, b.triggers, same)
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
		if x.made, err = madeAt(ctx, s, name, x.tables); err != nil {
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

// madeAt says when tables were made or last changed. An old snapshot reads a table whose columns were renamed without an error: two that have changed their
// names have each other's values then.
func madeAt(ctx context.Context, s mysql.Door, schema string, tables []*CopyTable) ([]string, error) {
	names, out := make([]string, len(tables)), make([]string, len(tables))
	for n, t := range tables {
		names[n] = t.nameNow()
	}
	records, err := s.Records(ctx, "SELECT TABLE_NAME AS name, CREATE_TIME AS made FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME "+inSchemas(names), schema)
	if err != nil {
		return nil, err
	}
	for n := range names {
		for _, r := range records {
			if r["name"] == names[n] {
				out[n] = r["made"]
			}
		}
	}
	return out, nil
}

// sessionText begins each text: values come as they are, whatever the session was before.
func (d *dumping) sessionText(names string) string {
	text := "SET NAMES " + names + ";\nSET SESSION sql_mode = " + lenientMode + ", time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0"
	if d.flavor.HasGTIDDomains() {
		text += ", check_constraint_checks = 0"
	}
	return text + ";\n"
}

// tablesText makes all tables of a database. A table without a key stays one, whatever the server adds to others.
func (d *dumping) tablesText(x dumpShape) []byte {
	var b bytes.Buffer
	b.WriteString(d.sessionText("utf8mb4"))
	if !d.flavor.HasGTIDDomains() {
		b.WriteString("/*!80030 SET SESSION sql_generate_invisible_primary_key = OFF */;\n")
	}
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
