package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
)

// RoutingTableName is the table that RoutingTable keeps documents in.
const RoutingTableName = "stowage_routing"

// routingTimeout bounds everything asked of a routing table: gates are closed
// while it answers.
const routingTimeout = 5 * time.Second

// RoutingTable keeps small texts by name in one table: name, version,
// document. The version grows with every write of the row. It is what package
// route calls Documents.
type RoutingTable struct {
	server *Server
	table  string
}

// RoutingTable is the table in a database (schema) of the server. Reads and
// writes go to this server and no other: a replica may be behind.
func (s *Server) RoutingTable(database string) *RoutingTable {
	return &RoutingTable{server: s, table: ident(database) + "." + ident(RoutingTableName)}
}

// Make creates the table if it is not there.
func (r *RoutingTable) Make(ctx context.Context) error {
	return r.server.exec(ctx, "CREATE TABLE IF NOT EXISTS "+r.table+` (
  name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  document MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL
) ENGINE=InnoDB`)
}

// Load is the named documents, or all, as of one moment: one statement reads
// one snapshot.
func (r *RoutingTable) Load(ctx context.Context, names ...string) (map[string]string, map[string]int64, error) {
	query := "SELECT name, version, document FROM " + r.table
	var args []any
	if len(names) > 0 {
		query += " WHERE name IN (?" + strings.Repeat(", ?", len(names)-1) + ")"
		for _, n := range names {
			args = append(args, n)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, routingTimeout)
	defer cancel()
	rows, err := r.server.db.QueryContext(ctx, query, args...)
	if CodeOf(err) == 1146 { // the table is not there: nor is anything in it
		return map[string]string{}, map[string]int64{}, nil
	}
	if err != nil {
		return nil, nil, r.fail("read", err)
	}
	defer rows.Close()
	texts, versions := map[string]string{}, map[string]int64{}
	for rows.Next() {
		var name, text string
		var version int64
		if err := rows.Scan(&name, &version, &text); err != nil {
			return nil, nil, r.fail("read", err)
		}
		texts[name], versions[name] = text, version
	}
	return texts, versions, r.fail("read", rows.Err())
}

// Swap writes texts in one transaction if every name in versions still has
// that version, 0 for none; an empty text deletes its row. An error that wraps
// farm.ErrOutcomeUnknown means that COMMIT was sent and not answered; after
// any other the server has nothing of it.
func (r *RoutingTable) Swap(ctx context.Context, texts map[string]string, versions map[string]int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, routingTimeout)
	defer cancel()
	tx, err := r.server.db.BeginTx(ctx, nil)
	if err != nil {
		return false, r.fail("write", err)
	}
	swapped, err := r.swapIn(ctx, tx, texts, versions)
	if err != nil || !swapped {
		_ = tx.Rollback() // a connection that cannot even do that is dropped, with its transaction
		return false, r.fail("write", err)
	}
	err = tx.Commit()
	var answer *driver.MySQLError
	if err != nil && !errors.As(err, &answer) {
		err = fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err)
	}
	return err == nil, r.fail("write", err)
}

// swapIn asks for rows in the order of their names, so that two writers wait
// for each other rather than in a circle. Two that meet at a row that is not
// there yet can still end in a circle or at a key that is taken: the loser
// has not swapped.
func (r *RoutingTable) swapIn(ctx context.Context, tx *sql.Tx, texts map[string]string, versions map[string]int64) (bool, error) {
	names := make([]string, 0, len(versions))
	for n := range versions {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, name := range names {
		ok, err := r.swapOne(ctx, tx, name, texts, versions[name])
		if CodeOf(err) == 1213 || CodeOf(err) == 1062 {
			return false, nil
		}
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (r *RoutingTable) swapOne(ctx context.Context, tx *sql.Tx, name string, texts map[string]string, version int64) (bool, error) {
	text, write := texts[name]
	var result sql.Result
	var err error
	switch {
	case !write: // only looked at, and held until the end
		var now int64
		err = tx.QueryRowContext(ctx, "SELECT version FROM "+r.table+" WHERE name = ? FOR UPDATE", name).Scan(&now)
		if errors.Is(err, sql.ErrNoRows) {
			return version == 0, nil
		}
		return err == nil && now == version, err
	case version == 0 && text == "":
		return true, nil
	case version == 0:
		result, err = tx.ExecContext(ctx, "INSERT INTO "+r.table+" (name, version, document) VALUES (?, 1, ?)", name, text)
	case text == "":
		result, err = tx.ExecContext(ctx, "DELETE FROM "+r.table+" WHERE name = ? AND version = ?", name, version)
	default:
		result, err = tx.ExecContext(ctx, "UPDATE "+r.table+" SET version = version + 1, document = ? WHERE name = ? AND version = ?", text, name, version)
	}
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func (r *RoutingTable) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return r.server.fail(op+" "+strings.ReplaceAll(r.table, "`", ""), err)
}
