package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// SchemaOptions are what a database is made with.
type SchemaOptions struct {
	Exists             bool
	Charset, Collation string
	Comment            string
	Tables             int // and views, the copier's own included
	job                string
}

// SchemaOptionsOf reads them.
func SchemaOptionsOf(ctx context.Context, server *mysql.Server, schema string) (SchemaOptions, error) {
	s := mysql.Through(server)
	var o SchemaOptions
	flavor, err := s.Flavor(ctx)
	if err != nil {
		return o, err
	}
	comment := "SCHEMA_COMMENT"
	if !flavor.HasGTIDDomains() {
		comment = "''" // MySQL's databases have none
	}
	records, err := s.Records(ctx, `SELECT DEFAULT_CHARACTER_SET_NAME AS charset, DEFAULT_COLLATION_NAME AS collation, `+comment+` AS comment,
			(SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA_NAME) AS tables
		FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?`, schema)
	if err != nil || len(records) == 0 {
		return o, err
	}
	r := records[0]
	o = SchemaOptions{true, r["charset"], r["collation"], r["comment"], int(mysql.Number(r["tables"])), ""}
	if !flavor.HasGTIDDomains() {
		o.job, err = jobOf(ctx, s, schema, o)
	}
	return o, err
}

// MadeBy is the comment of a database that this job has made, until it is settled.
func (m Marks) MadeBy() string { return "made by stowage for job " + m.Job }

// IsOf reports whether this job has made the database and not settled it yet.
func (o SchemaOptions) IsOf(m Marks) bool {
	return o.Comment == m.MadeBy() || o.job == m.Job || o.job == nobodys
}

// MakeSchema makes the database like the source's, and says who has made it.
func MakeSchema(ctx context.Context, server *mysql.Server, m Marks, like SchemaOptions) error {
	s := mysql.Through(server)
	text := "CREATE DATABASE IF NOT EXISTS " + mysql.Ident(m.Schema) + " " + mysql.OwnComment + " CHARACTER SET " + like.Charset + " COLLATE " + like.Collation
	if flavor, err := s.Flavor(ctx); err != nil || !flavor.HasGTIDDomains() {
		if err != nil {
			return err
		}
		return s.Exec(ctx, text)
	}
	return s.Exec(ctx, text+" COMMENT "+mysql.Quote(m.MadeBy()))
}

// SettleSchema gives the database the comment it had on the source.
func SettleSchema(ctx context.Context, server *mysql.Server, m Marks, comment string) error {
	s := mysql.Through(server)
	if flavor, err := s.Flavor(ctx); err != nil || !flavor.HasGTIDDomains() {
		return err // it has none; its marks go
	}
	return s.Exec(ctx, "ALTER DATABASE "+mysql.Ident(m.Schema)+" "+mysql.OwnComment+" COMMENT "+mysql.Quote(comment))
}

// DropSchema removes a database that carries this job's comment, and no other.
func DropSchema(ctx context.Context, server *mysql.Server, m Marks) error {
	s := mysql.Through(server)
	o, err := SchemaOptionsOf(ctx, server, m.Schema)
	if err != nil || !o.Exists {
		return err
	}
	if !o.IsOf(m) {
		return s.Fail("drop database "+m.Schema, errors.New("this job has not made it"))
	}
	return bounded(ctx, s, indexBudget, "DROP DATABASE "+mysql.Ident(m.Schema)+" "+mysql.OwnComment)
}

// defining opens a session that changes definitions of a database as they are
// written: with names in utf8mb4, no checks, and the given SQL mode.
func defining(ctx context.Context, s mysql.Door, schema string) (*Stream, error) {
	w, err := OpenStream(ctx, s.Server, mysql.StatementTimeout)
	if err != nil {
		return nil, err
	}
	for _, st := range []string{"SET NAMES utf8mb4", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'", "USE " + mysql.Ident(schema)} {
		if _, err := w.conn.ExecContext(ctx, st); err != nil {
			w.Close()
			return nil, s.Fail(mysql.FirstWords(st), err)
		}
	}
	return w, nil
}

// UnknownCollations are collations of a database's columns that server does not have.
func UnknownCollations(ctx context.Context, s *mysql.Server, schema string, on *mysql.Server) ([]string, error) {
	records, err := mysql.Through(s).Records(ctx, `SELECT DISTINCT COLLATION_NAME AS c FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND COLLATION_NAME IS NOT NULL
		UNION SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?`, schema, schema)
	if err != nil {
		return nil, err
	}
	known, err := mysql.Through(on).Records(ctx, "SELECT COLLATION_NAME AS c FROM information_schema.COLLATIONS")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		// Newer servers list a collation of many character sets without its prefix: uca1400_ai_ci.
		has := slices.ContainsFunc(known, func(k map[string]string) bool { return k["c"] == r["c"] || strings.HasSuffix(r["c"], "_"+k["c"]) })
		if !has {
			out = append(out, r["c"])
		}
	}
	return out, nil
}

// DropEmptySchema removes a database that holds no base table but the copier's own.
func DropEmptySchema(ctx context.Context, server *mysql.Server, schema string) error {
	s := mysql.Through(server)
	tables, err := CopyTables(ctx, server, schema)
	if err != nil {
		return err
	}
	if len(tables) > 0 {
		return s.Fail("drop database "+schema, fmt.Errorf("it holds %s still", farm.Counted(len(tables), "table")))
	}
	return bounded(ctx, s, mysql.StatementTimeout, "DROP DATABASE IF EXISTS "+mysql.Ident(schema)+" "+mysql.OwnComment)
}

// bounded gives a long statement a budget of its own.
func bounded(ctx context.Context, s mysql.Door, budget time.Duration, statement string) error {
	s.Log().Debug("statement", "server", s.Name(), "sql", statement)
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	_, err := s.DB().ExecContext(ctx, statement)
	return s.Fail(mysql.FirstWords(statement), err)
}
