package alter

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/route"
)

// table is what is altered, by widening: MariaDB 10.11 and MySQL 9.7 write every row anew for it.
const (
	table    = "orders"
	widening = "MODIFY n BIGINT NOT NULL DEFAULT 0"
	column   = "n INT NOT NULL DEFAULT 0"
)

// login is an account, for programs that are given one.
type login struct{ user, password string }

// alteredPair is a primary and its replica that hold the same table, and clients' way to them.
type alteredPair struct {
	t       *testing.T
	mysql   bool
	address map[farm.SideName]string // host:port
	owner   map[farm.SideName]*sql.DB
	all     login // may do everything, on both
	app     login // what clients are
	routing string
	shard   farm.ShardName
	farm    *farmtest.LiveFarm // nil for a pair that Stowage knows nothing of
	rows    int
}

// big are settings of a server whose pool has ALTER_POOL MB, and holds the table without it; durability is as shipped.
func (p *alteredPair) big() []string {
	pool := fmt.Sprintf("innodb_buffer_pool_size=%d", farmtest.Number("ALTER_POOL", 1024)<<20)
	if p.mysql {
		return []string{pool, "innodb_redo_log_capacity=1073741824"}
	}
	return []string{pool, "innodb_log_file_size=536870912", "slow_query_log=0"}
}

// startFarm is a farm of one pair, as `stowage demo` makes it, with larger servers.
func startFarm(t *testing.T, name string, rows int) *alteredPair {
	t.Helper()
	f := farmtest.EmptyFarm(t, "", 0)
	line := mariadbtest.Named(t, name)
	f.Servers = line.Path()
	t.Cleanup(f.Down)
	if up := farmtest.RunWith(t, f.Env(""), "demo", "up", "-C", f.Dir, "--topology", string(farm.PrimaryReplica), "--pairs", "1", "--shards", "1", "--hosts", "2"); up.Code != farmtest.ExitFine {
		t.Fatalf("demo up: exit %d\n%s", up.Code, up.Stderr)
	}
	_, fm, app, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &alteredPair{t: t, mysql: line.MySQL, address: map[farm.SideName]string{}, owner: map[farm.SideName]*sql.DB{}, all: login{"peer", "peer-password"}, app: login{app.User, app.Password},
		routing: f.Dir + "/routing.json", shard: fm.Pairs[0].Shards[0].Name, farm: f, rows: rows}
	for _, side := range farm.SideNames {
		p.address[side], p.owner[side] = fm.Address(fm.Pairs[0].Sides[side]), f.Root(side)
	}
	if p.mysql { // root is bound by it, too
		p.exec(farm.B, "SET GLOBAL super_read_only = OFF")
	}
	p.fill()
	if p.mysql {
		p.exec(farm.B, "SET GLOBAL super_read_only = ON")
	}
	p.exec(farm.A, "SET sql_log_bin = 1", "CREATE USER peer@'%' IDENTIFIED BY 'peer-password'", "GRANT ALL PRIVILEGES ON *.* TO peer@'%' WITH GRANT OPTION")
	p.caughtUp()
	return p
}

// observed are options with which performance_schema shows who waits for a table: gh-ost looks there, right before it swaps two, and refuses without. MySQL has them by default.
var observed = []string{"--performance-schema=ON", "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON"}

// startBare is a pair that Stowage knows nothing of.
func startBare(t *testing.T, name string, rows int) *alteredPair {
	t.Helper()
	line := mariadbtest.Named(t, name)
	readOnly := map[bool]string{false: "read_only", true: "super_read_only"}[line.MySQL]
	p := &alteredPair{t: t, mysql: line.MySQL, address: map[farm.SideName]string{}, owner: map[farm.SideName]*sql.DB{},
		all:     login{string(mariadbtest.Stowage), mariadbtest.Stowage.Password()},
		app:     login{string(mariadbtest.App), mariadbtest.App.Password()},
		routing: t.TempDir() + "/routing.json", shard: "shop", rows: rows}
	servers := map[farm.SideName]*mariadbtest.Instance{}
	for _, side := range farm.SideNames {
		s := line.Start(t, "side"+string(side), append([]string{"--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--auto-increment-increment=1"}, observed...)...)
		servers[side], p.address[side], p.owner[side] = s, s.Address, s.DB(t, mariadbtest.Root, "")
		p.owner[side].SetMaxOpenConns(1)
	}
	mariadbtest.Replicate(t, servers[farm.B], servers[farm.A])
	p.fill()
	p.exec(farm.B, "SET GLOBAL "+readOnly+" = ON")
	p.exec(farm.A, "SET sql_log_bin = 1")
	pairs := map[farm.PairName]*route.Pair{"pair": route.NewPrimary([]farm.ShardName{p.shard}, p.address[farm.A], p.address[farm.B])}
	if err := route.NewFile(p.routing).Create(pairs); err != nil {
		t.Fatal(err)
	}
	p.caughtUp()
	return p
}

// fill makes the table with the same rows on both, past the binary logs.
func (p *alteredPair) fill() {
	p.t.Helper()
	var both sync.WaitGroup
	for _, side := range farm.SideNames {
		statements := []string{"SET sql_log_bin = 0"}
		for _, s := range p.big() {
			statements = append(statements, "SET GLOBAL "+s)
		}
		statements = append(statements,
			fmt.Sprintf("CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4", p.shard),
			fmt.Sprintf("CREATE TABLE %s (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, %s, state VARCHAR(20) NOT NULL, note VARCHAR(160) NOT NULL) ENGINE=InnoDB", p.name(), column),
			fmt.Sprintf("INSERT INTO %s (id, customer, n, state, note) VALUES (1, 7919, 0, 'state 1', REPEAT('1', 120))", p.name()))
		for have := 1; have < p.rows; have *= 2 {
			statements = append(statements, fmt.Sprintf("INSERT INTO %[1]s (id, customer, n, state, note) SELECT id + %[2]d, (id + %[2]d) * 7919 %% 100003, 0, CONCAT('state ', (id + %[2]d) %% 7), "+
				"RPAD(SHA2(id + %[2]d, 256), 120, id) FROM %[1]s WHERE id <= %[3]d", p.name(), have, p.rows-have))
		}
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD KEY (customer), ADD KEY (state, customer)", p.name()), "ANALYZE TABLE "+p.name())
		both.Go(func() { p.exec(side, statements...) })
	}
	both.Wait()
}

func (p *alteredPair) name() string { return fmt.Sprintf("`%s`.%s", p.shard, table) }

func (p *alteredPair) exec(side farm.SideName, statements ...string) {
	p.t.Helper()
	for _, s := range statements {
		if _, err := p.owner[side].Exec(s); err != nil {
			p.t.Errorf("%s: %s: %v", side, s, err)
			return
		}
	}
}

func (p *alteredPair) value(side farm.SideName, query string, args ...any) string {
	p.t.Helper()
	var v sql.NullString
	if err := p.owner[side].QueryRow(query, args...).Scan(&v); err != nil {
		p.t.Fatalf("%s: %s: %v", side, query, err)
	}
	return v.String
}

// caughtUp waits until the replica has applied what the primary has written by now.
func (p *alteredPair) caughtUp() {
	p.t.Helper()
	position, wait := "SELECT @@gtid_binlog_pos", "SELECT MASTER_GTID_WAIT(?, 900)"
	if p.mysql {
		position, wait = "SELECT @@gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET(?, 900)"
	}
	if got := p.value(farm.B, wait, p.value(farm.A, position)); got != "0" {
		p.t.Fatalf("the replica has not caught up after 900 s: %s", got)
	}
}

// logged is how much both servers have in their binary logs, in bytes.
func (p *alteredPair) logged() (sum int64) {
	p.t.Helper()
	for _, side := range farm.SideNames {
		rows, err := p.owner[side].Query("SHOW BINARY LOGS")
		if err != nil {
			p.t.Fatal(err)
		}
		columns, err := rows.Columns() // MySQL has a third
		if err != nil {
			p.t.Fatal(err)
		}
		for rows.Next() {
			var name, other sql.NullString
			var size int64
			if err := rows.Scan([]any{&name, &size, &other}[:len(columns)]...); err != nil {
				p.t.Fatal(err)
			}
			sum += size
		}
		if err := rows.Err(); err != nil {
			p.t.Fatal(err)
		}
		_ = rows.Close()
	}
	return sum
}

// isWide says whether a side has the new column.
func (p *alteredPair) isWide(side farm.SideName) bool {
	p.t.Helper()
	return p.value(side, "SELECT DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = 'n'", p.shard, table) == "bigint"
}

// awaitWide waits until a side has the new column: a server that has answered its ALTER may still be showing the old one.
func (p *alteredPair) awaitWide(side farm.SideName) {
	p.t.Helper()
	for end := time.Now().Add(10 * time.Second); !p.isWide(side); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Errorf("side %s does not have the new column", side)
			return
		}
	}
}

// check compares the two servers, and each with the acknowledged writes: every row is on both, and every acknowledged write is there exactly once. It says how
// many are not.
func (p *alteredPair) check(told writes) (lost int64) {
	p.t.Helper()
	p.caughtUp()
	sums := map[farm.SideName]string{}
	for _, side := range farm.SideNames {
		sums[side] = p.value(side, "SELECT CONCAT_WS(' ', COUNT(*), SUM(n), BIT_XOR(CRC32(CONCAT_WS('#', id, customer, n, state, note)))) FROM "+p.name())
	}
	if sums[farm.A] != sums[farm.B] {
		p.t.Errorf("rows, sum and checksum differ: %s on A, %s on B", sums[farm.A], sums[farm.B])
	}
	var rows, sum int64
	if _, err := fmt.Sscan(strings.TrimSpace(sums[farm.A]), &rows, &sum); err != nil {
		p.t.Fatal(err)
	}
	inserted := rows - int64(p.rows)
	if more := max(inserted-told.inserted, sum-told.updated); more > told.unknown {
		p.t.Errorf("clients were told of %+v, and there are %d inserts and %d updates", told, inserted, sum)
	}
	return max(0, told.inserted-inserted) + max(0, told.updated-sum)
}
