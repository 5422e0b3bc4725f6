package altertest

import (
	"database/sql"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/schema"
)

// Pair are two servers in a ring: A is altered first, B is the old side.
type Pair struct {
	A, B *mariadbtest.Instance
	a, b *sql.DB
	n    int
}

// StartPair starts two servers that follow each other.
func StartPair(t testing.TB, extra ...string) *Pair {
	t.Helper()
	extra = append([]string{"--innodb-buffer-pool-size=32M", "--table-open-cache=400", "--system-versioning-alter-history=KEEP"}, extra...)
	p := &Pair{A: mariadbtest.Start(t, "a", extra...), B: mariadbtest.Start(t, "b", extra...)}
	mariadbtest.Ring(t, p.A, p.B)
	p.a, p.b = p.A.DB(t, mariadbtest.Stowage, ""), p.B.DB(t, mariadbtest.Stowage, "")
	return p
}

// Outcome is what became of a change.
type Outcome struct {
	Refused string // the first side did not take the ALTER because of its rows: nothing has happened
	Broke   string // replication stopped, the second side did not take the ALTER, or rows, indexes or definitions differ; "" when all is well
	Rows    int    // statements that changed rows while the sides differed
}

// Do makes the tables of a shape, fills them, alters A while B is as it was, has B write rows, then A, alters B, and compares. It does so as the class demands: rows travel both ways between the two
// ALTERs for what is instant or invisible; B's applier is held for everything else.
func (p *Pair) Do(t testing.TB, r *rand.Rand, s Shape, change schema.Change, j schema.Judgement) Outcome {
	t.Helper()
	p.n++
	d := &deed{t: t, p: p, r: r, db: fmt.Sprintf("c%d", p.n), shape: s, change: change, judged: j}
	return d.do()
}

// deed is one change while it is done.
type deed struct {
	t      testing.TB
	p      *Pair
	r      *rand.Rand
	db     string
	shape  Shape
	change schema.Change
	judged schema.Judgement
}

const patience = 30 * time.Second

// do never leaves anything behind: clear runs however it ends.
func (d *deed) do() (o Outcome) {
	defer func() { d.clear() }()
	d.exec(d.p.b, append([]string{"CREATE DATABASE " + d.db, "USE " + d.db}, d.shape.Tables...)...)
	d.write(d.p.b, 60)
	if why := d.applied(d.p.a, d.p.b); why != "" {
		d.t.Fatalf("%s: before anything is changed: %s", d.shape.Name, why)
	}
	conversions := ""
	if d.judged.Conversions || d.judged.Class == schema.Breaking {
		conversions = "ALL_NON_LOSSY"
	}
	d.exec(d.p.a, "STOP SLAVE SQL_THREAD")
	if err := d.alter(d.p.a); err != nil {
		o.Refused = err.Error()
		return o
	}
	d.exec(d.p.a, "SET GLOBAL slave_type_conversions='"+conversions+"'", "START SLAVE SQL_THREAD")
	o.Rows = d.write(d.p.b, 160)
	if o.Broke = d.applied(d.p.a, d.p.b); o.Broke != "" {
		return o
	}
	held := d.judged.Class == schema.Directional || d.judged.Class == schema.Breaking
	if held {
		d.exec(d.p.b, "STOP SLAVE SQL_THREAD")
	}
	o.Rows += d.write(d.p.a, 40)
	if !held {
		if o.Broke = d.applied(d.p.b, d.p.a); o.Broke != "" {
			o.Broke = "back: " + o.Broke
			return o
		}
	}
	if err := d.alter(d.p.b); err != nil {
		o.Broke = "the second side: " + err.Error()
		return o
	}
	d.exec(d.p.a, "SET GLOBAL slave_type_conversions=''")
	if held {
		d.exec(d.p.b, "START SLAVE SQL_THREAD")
	}
	if o.Broke = d.applied(d.p.b, d.p.a); o.Broke != "" {
		o.Broke = "new shape on new shape: " + o.Broke
		return o
	}
	o.Broke = d.compare()
	return o
}

// tables are t and those beside it.
func (d *deed) tables() []string {
	var out []string
	for _, text := range d.shape.Tables {
		out = append(out, strings.Fields(text)[2])
	}
	return out
}

func (d *deed) write(on *sql.DB, statements int) int {
	conn := d.conn(on)
	defer conn.Close()
	taken := 0
	for _, table := range d.tables() {
		n := statements
		if table != "t" {
			n = statements / 3
		}
		for range 2 {
			took, err := writeRows(d.t.Context(), conn, d.r, d.db, table, n/2)
			if err != nil {
				d.t.Fatal(err)
			}
			taken += took
		}
	}
	return taken
}

// alter changes the table on one side only.
func (d *deed) alter(on *sql.DB) error {
	conn := d.conn(on)
	defer conn.Close()
	for _, s := range []string{"SET SESSION sql_log_bin = 0", "USE " + d.db, d.change.Text, "SET SESSION sql_log_bin = 1"} {
		if _, err := conn.ExecContext(d.t.Context(), s); err != nil {
			_, _ = conn.ExecContext(d.t.Context(), "SET SESSION sql_log_bin = 1")
			return err
		}
	}
	return nil
}

func (d *deed) conn(on *sql.DB) *sql.Conn {
	d.t.Helper()
	conn, err := on.Conn(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return conn
}

func (d *deed) exec(on *sql.DB, statements ...string) {
	d.t.Helper()
	conn := d.conn(on)
	defer conn.Close()
	for _, s := range statements {
		if _, err := conn.ExecContext(d.t.Context(), s); err != nil {
			d.t.Fatalf("%s: %v", s, err)
		}
	}
}

func (d *deed) value(on *sql.DB, query string, args ...any) string {
	d.t.Helper()
	var v sql.NullString
	if err := on.QueryRowContext(d.t.Context(), query, args...).Scan(&v); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// applied waits until a replica has all that its source has written; else it says what its applier met.
func (d *deed) applied(replica, source *sql.DB) string {
	d.t.Helper()
	domain := d.value(source, "SELECT @@gtid_domain_id")
	position := ""
	for _, g := range strings.Split(d.value(source, "SELECT @@gtid_binlog_pos"), ",") {
		if strings.HasPrefix(g, domain+"-") {
			position = g
		}
	}
	for end := time.Now().Add(patience); ; {
		if d.value(replica, "SELECT MASTER_GTID_WAIT(?, 0.1)", position) == "0" {
			return ""
		}
		if why := d.stopped(replica); why != "" {
			return why
		}
		if time.Now().After(end) {
			d.t.Fatalf("%s is not applied", position)
		}
	}
}

func (d *deed) stopped(replica *sql.DB) string {
	side := d.p.A
	if replica == d.p.b {
		side = d.p.B
	}
	s := side.ReplicaStatus(d.t)
	if s["Slave_SQL_Running"] == "No" {
		return "applier: " + s["Last_SQL_Errno"] + " " + s["Last_SQL_Error"]
	}
	return ""
}

// clear takes the database away on both sides and makes both follow again, as if nothing had been written.
func (d *deed) clear() {
	d.t.Helper()
	sides := []*sql.DB{d.p.a, d.p.b}
	for _, side := range sides {
		d.exec(side, "STOP SLAVE")
	}
	for _, side := range sides {
		d.exec(side, "SET SESSION sql_log_bin = 0", "SET SESSION foreign_key_checks = 0", "DROP DATABASE IF EXISTS "+d.db, "SET SESSION foreign_key_checks = 1", "SET SESSION sql_log_bin = 1",
			"SET GLOBAL slave_type_conversions=''", "RESET MASTER", "SET GLOBAL gtid_slave_pos = ''", "RESET SLAVE")
	}
	for _, side := range sides {
		d.exec(side, "START SLAVE")
	}
}
