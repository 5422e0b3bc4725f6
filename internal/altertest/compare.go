package altertest

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stowage/schema"
)

// compare compares both sides with each other: definitions, every value of every row, what each index finds, what the server says of its own files, and the table's own CHECKs. "" when nothing differs.
func (d *deed) compare() string {
	for _, table := range d.tables() {
		at := d.db + "." + table
		a, b := d.definition(d.p.a, at), d.definition(d.p.b, at)
		if a.Text != b.Text {
			return fmt.Sprintf("definitions differ: %v", schema.Diff(b, a))
		}
		var columns []string
		for _, c := range a.Columns {
			columns = append(columns, "`"+c.Name+"`")
		}
		if why := differ(d.rows(d.p.b, columns, at, ""), d.rows(d.p.a, columns, at, "")); why != "" {
			return fmt.Sprintf("rows of %s differ, old side and new: %s", table, why)
		}
		if strings.Contains(a.Options, "WITH SYSTEM VERSIONING") {
			if why := differ(d.rows(d.p.b, columns, at, " FOR SYSTEM_TIME ALL"), d.rows(d.p.a, columns, at, " FOR SYSTEM_TIME ALL")); why != "" {
				return fmt.Sprintf("history of %s differs, old side and new: %s", table, why)
			}
		}
		for _, side := range []*sql.DB{d.p.a, d.p.b} {
			if why := d.sound(side, at, a); why != "" {
				return why
			}
		}
	}
	return ""
}

func (d *deed) definition(on *sql.DB, at string) schema.Table {
	d.t.Helper()
	var n, text string
	if err := on.QueryRowContext(d.t.Context(), "SHOW CREATE TABLE "+at).Scan(&n, &text); err != nil {
		d.t.Fatal(err)
	}
	t, err := schema.Read(text)
	if err != nil {
		d.t.Fatal(err)
	}
	return t
}

// rows are all rows as text, sorted.
func (d *deed) rows(on *sql.DB, columns []string, at, hint string) []string {
	d.t.Helper()
	var hex []string
	for _, c := range columns {
		hex = append(hex, "COALESCE(HEX(CAST("+c+" AS BINARY)), 'NULL')")
	}
	result, err := on.QueryContext(d.t.Context(), "SELECT CONCAT_WS('|', "+strings.Join(hex, ", ")+") FROM "+at+hint)
	if err != nil {
		d.t.Fatal(err)
	}
	defer result.Close()
	var out []string
	for result.Next() {
		var row string
		if err := result.Scan(&row); err != nil {
			d.t.Fatal(err)
		}
		out = append(out, row)
	}
	if err := result.Err(); err != nil {
		d.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func differ(old, now []string) string {
	for n := range max(len(old), len(now)) {
		o, w := "(none)", "(none)"
		if n < len(old) {
			o = old[n]
		}
		if n < len(now) {
			w = now[n]
		}
		if o != w {
			return fmt.Sprintf("%d and %d rows; %.120s and %.120s", len(old), len(now), o, w)
		}
	}
	return ""
}

var (
	keyLine = regexp.MustCompile("^(UNIQUE )?KEY `([^`]+)` \\((.*)\\)")
	ordered = regexp.MustCompile("`[^`]+`")
	checks  = regexp.MustCompile(`CHECK \((.*)\)$`)
)

// sound reports what is wrong with a table in itself.
func (d *deed) sound(on *sql.DB, at string, t schema.Table) string {
	d.t.Helper()
	rows, err := on.QueryContext(d.t.Context(), "CHECK TABLE "+at+" EXTENDED")
	if err != nil {
		d.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, op, kind, text string
		if err := rows.Scan(&table, &op, &kind, &text); err != nil {
			d.t.Fatal(err)
		}
		if kind == "status" && text != "OK" || kind == "error" || kind == "warning" {
			return "CHECK TABLE: " + kind + " " + text
		}
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}
	for _, k := range t.Keys {
		m := keyLine.FindStringSubmatch(k.Text)
		if m == nil || strings.Contains(k.Text, "IGNORED") || strings.Contains(m[3], "(") {
			continue
		}
		columns := ordered.FindAllString(m[3], -1)
		if why := differ(d.rows(on, columns, at, " IGNORE INDEX (`"+m[2]+"`)"), d.rows(on, columns, at, " FORCE INDEX (`"+m[2]+"`) WHERE "+columns[0]+" IS NULL OR "+columns[0]+" IS NOT NULL")); why != "" {
			return "index " + m[2] + " and its table differ: " + why
		}
	}
	for _, p := range slices.Concat(t.Columns, t.Constraints) {
		if m := checks.FindStringSubmatch(p.Text); m != nil && !strings.Contains(p.Text, "FOREIGN KEY") {
			if n := d.value(on, "SELECT COUNT(*) FROM "+at+" WHERE NOT ("+m[1]+")"); n != "0" {
				return n + " rows break CHECK (" + m[1] + ")"
			}
		}
	}
	return ""
}
