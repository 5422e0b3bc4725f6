package farmtest

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/route"
)

// people are those who work on a shard while it moves and follow no gate: each
// connects where routing names the writer at that moment. What they were
// acknowledged must be there when the round has ended.
type people struct {
	mu    sync.Mutex
	next  int
	notes []int // rows of the table notes
	added []int // columns of listings
}

// settlePeople lets them in: dev, whom read_only stops, and boss, whom it does
// not.
func (f *LiveFarm) settlePeople() {
	t := f.T
	t.Helper()
	f.people = &people{}
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	users := []string{
		"CREATE USER dev@'%' IDENTIFIED BY 'dev'", "GRANT ALL ON `etsy\\_shard\\_%`.* TO dev@'%'",
		"CREATE USER boss@'%' IDENTIFIED BY 'boss'", "GRANT ALL ON *.* TO boss@'%'",
	}
	texts := append([]string{"CREATE TABLE " + Goes + ".notes (n INT PRIMARY KEY)"}, users...)
	for _, p := range fm.Pairs {
		root := f.Dial("unix", f.Dir+"/"+p.Sides[farm.A].Datadir+"/mysqld.sock", "root", "")
		for _, text := range texts {
			if _, err := root.Exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		texts = users // the table comes to the others with its shard
	}
}

// writer is where routing has the server that takes the shard's writes.
func (f *LiveFarm) writer() (string, bool) {
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		return "", false
	}
	pairs := table.Serves(MovedShard)
	if len(pairs) != 1 {
		return "", false
	}
	return table.Pairs[pairs[0]].Sides[farm.A].Address, true
}

// as is one session of one of the people; nil when there is no server now.
func (f *LiveFarm) as(ctx context.Context, name string) (*sql.DB, *sql.Conn) {
	address, ok := f.writer()
	if !ok {
		return nil, nil
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = name, name, "tcp", address
	cfg.Timeout, cfg.Logger = time.Second, &driver.NopLogger{}
	cfg.Params = map[string]string{"lock_wait_timeout": "5", "innodb_lock_wait_timeout": "5"}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, nil
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil
	}
	return db, conn
}

func (p *people) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	return p.next
}

func (p *people) acknowledged(list *[]int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, n)
}

// work is what one of them does for a while: ddl changes a table, long keeps a
// transaction open, super writes on and on.
func (f *LiveFarm) work(what string, long time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), long+20*time.Second)
	defer cancel()
	p, name := f.people, "dev"
	if what == "super" {
		name = "boss"
	}
	for end := time.Now().Add(long); ; time.Sleep(5 * time.Millisecond) {
		f.once(ctx, p, what, name, long)
		if what != "super" || time.Now().After(end) {
			return
		}
	}
}

func (f *LiveFarm) once(ctx context.Context, p *people, what, name string, long time.Duration) {
	db, conn := f.as(ctx, name)
	if db == nil {
		return
	}
	defer db.Close()
	defer conn.Close()
	n := p.number()
	note := fmt.Sprintf("INSERT INTO %s.notes VALUES (%d)", Goes, n)
	switch what {
	case "ddl":
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s.listings ADD COLUMN added_%d INT NOT NULL DEFAULT 0, ALGORITHM=COPY", Goes, n)); err == nil {
			p.acknowledged(&p.added, n)
		}
	case "super":
		if _, err := conn.ExecContext(ctx, note); err == nil {
			p.acknowledged(&p.notes, n)
		}
	case "long":
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return
		}
		_, err = tx.ExecContext(ctx, note)
		time.Sleep(long)
		if commit := tx.Commit(); err == nil && commit == nil {
			p.acknowledged(&p.notes, n)
		}
	}
}

// missing is what somebody was acknowledged and a server has not.
func (r *reality) missing(ctx context.Context, p farm.Pair, side farm.SideName, address string) {
	if r.f.people == nil || !r.table.Pairs[p.Name].Lists(MovedShard) {
		return
	}
	db := r.f.Login(address, "stowage")
	defer db.Close()
	r.f.people.mu.Lock()
	defer r.f.people.mu.Unlock()
	for what, n := range map[string][]int{
		"SELECT COUNT(*) FROM " + Goes + ".notes WHERE n = ?": r.f.people.notes,
		"SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '" + Goes + "' AND TABLE_NAME = 'listings' AND COLUMN_NAME = CONCAT('added_', ?)": r.f.people.added,
	} {
		for _, x := range n {
			var has int
			if err := db.QueryRowContext(ctx, what, x).Scan(&has); err != nil || has != 1 {
				r.say("%s %s: lost what somebody was acknowledged: %d of %s: %v", p.Name, side, x, what, err)
			}
		}
	}
}
