package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

// GrantRow is one row of the grant tables: an account, a role, or
// something that one of them may do. It may hold the hash of a password.
type GrantRow struct {
	Table   string
	Who     string // what the row is about, in words: "app@%", "app@% on etsy_shard_0001"
	columns []string
	values  []string // as literals
}

// grantTable is one of them, with the columns that say whom and what a row is about: the first two are user and host.
type grantTable struct {
	name string
	key  []string
}

// grantTables are MariaDB's. https://mariadb.com/kb/en/the-mysql-database-tables/
var grantTables = []grantTable{
	{"global_priv", []string{"User", "Host"}},
	{"db", []string{"User", "Host", "Db"}},
	{"tables_priv", []string{"User", "Host", "Db", "Table_name"}},
	{"columns_priv", []string{"User", "Host", "Db", "Table_name", "Column_name"}},
	{"procs_priv", []string{"User", "Host", "Db", "Routine_type", "Routine_name"}},
	{"proxies_priv", []string{"User", "Host", "Proxied_user", "Proxied_host"}},
	{"roles_mapping", []string{"User", "Host", "Role"}},
}

// grantTablesMySQL are MySQL's. https://dev.mysql.com/doc/refman/en/grant-tables.html
var grantTablesMySQL = []grantTable{
	{"user", []string{"User", "Host"}},
	{"global_grants", []string{"USER", "HOST", "PRIV"}},
	{"db", []string{"User", "Host", "Db"}},
	{"tables_priv", []string{"User", "Host", "Db", "Table_name"}},
	{"columns_priv", []string{"User", "Host", "Db", "Table_name", "Column_name"}},
	{"procs_priv", []string{"User", "Host", "Db", "Routine_type", "Routine_name"}},
	{"proxies_priv", []string{"User", "Host", "Proxied_user", "Proxied_host"}},
	{"role_edges", []string{"TO_USER", "TO_HOST", "FROM_USER", "FROM_HOST"}},
	{"default_roles", []string{"USER", "HOST", "DEFAULT_ROLE_USER", "DEFAULT_ROLE_HOST"}},
	{"password_history", []string{"User", "Host", "Password_timestamp"}},
}

// madeByServer are the accounts of a fresh server that are its own.
var madeByServer = []string{"mariadb.sys", "mysql.infoschema", "mysql.session", "mysql.sys"}

// GrantRows are all accounts of the server with all they may do, in the order
// in which a fresh server is to be told.
func (s *Server) GrantRows(ctx context.Context) ([]GrantRow, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	tables := grantTables
	if !d.flavor.HasGTIDDomains() {
		tables = grantTablesMySQL
	}
	var out []GrantRow
	for _, t := range tables {
		its, err := s.grantRows(ctx, t)
		if err != nil {
			return nil, err
		}
		out = append(out, its...)
	}
	return out, nil
}

func (s *Server) grantRows(ctx context.Context, t grantTable) (out []GrantRow, err error) {
	columns, err := s.records(ctx, "SELECT COLUMN_NAME AS name, DATA_TYPE AS kind FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION", t.name)
	if err != nil {
		return nil, err
	}
	rows, err := s.records(ctx, "SELECT * FROM mysql."+t.name+" ORDER BY "+strings.Join(t.key, ", "))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if slices.Contains(madeByServer, r[t.key[0]]) {
			continue
		}
		g := GrantRow{Table: t.name, Who: r[t.key[0]] + "@" + r[t.key[1]]}
		for i, k := range t.key[2:] {
			g.Who += []string{" on ", "."}[min(i, 1)] + r[k]
		}
		for _, c := range columns {
			v, has := r[c["name"]]
			if !has { // NULL is left to the column's default
				continue
			}
			literal := plainLiteral(v)
			if c["kind"] == "json" { // MySQL makes no JSON of bytes that have no character set
				literal = "_utf8mb4 " + literal
			}
			g.columns, g.values = append(g.columns, ident(c["name"])), append(g.values, literal)
		}
		out = append(out, g)
	}
	return out, nil
}

// Same reports whether two rows say the same of the same. Who granted
// something, and when, does not matter.
func (g GrantRow) Same(h GrantRow) bool {
	return g.Table == h.Table && g.Who == h.Who && g.says() == h.says()
}

func (g GrantRow) says() string {
	var b strings.Builder
	for i, c := range g.columns {
		if c != "`Grantor`" && c != "`Timestamp`" {
			fmt.Fprintf(&b, "%s=%s\n", c, g.values[i])
		}
	}
	return b.String()
}

// plainLiteral is a literal on one line, without a character that anything
// between us and the server could understand in another way.
func plainLiteral(text string) string {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' || c == ';' {
			return fmt.Sprintf("x'%x'", text)
		}
	}
	return "'" + text + "'"
}

// SetupFrom is SetupSQL for a server that is to have the accounts that others
// have: rows, and of rows about the same the first. It holds the hashes of
// passwords.
func SetupFrom(rows []GrantRow) ([]byte, error) {
	has := func(table string) bool {
		return slices.ContainsFunc(rows, func(g GrantRow) bool { return g.Table == table })
	}
	statements := []string{"SET sql_log_bin = 0"}
	switch {
	case has("global_priv"):
		statements = append(statements, "DELETE FROM mysql.proxies_priv", "DELETE FROM mysql.global_priv WHERE User <> "+quote(madeByServer[0]))
	case has("user"):
		own := make([]string, len(madeByServer))
		for n, name := range madeByServer {
			own[n] = quote(name)
		}
		for _, t := range grantTablesMySQL {
			statements = append(statements, "DELETE FROM mysql."+t.name+" WHERE "+t.key[0]+" NOT IN ("+strings.Join(own, ", ")+")")
		}
	default:
		return nil, &farm.Error{Op: "write setup", Err: fmt.Errorf("%w: there is no account to be copied", farm.ErrRefused)}
	}
	for _, g := range rows {
		statements = append(statements, "INSERT IGNORE INTO mysql."+g.Table+" ("+strings.Join(g.columns, ", ")+") VALUES ("+strings.Join(g.values, ", ")+")")
	}
	statements = append(statements, "FLUSH PRIVILEGES")
	return []byte(strings.Join(statements, ";\n") + ";\n"), nil
}
