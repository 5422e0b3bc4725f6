package record

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// odd settings, so that a restored value is not a default by chance.
var odd = []string{"--slow-query-log=0", "--slow-query-log-file=theirs.log", "--long-query-time=3.5", "--log-slow-rate-limit=7",
	"--min-examined-row-limit=9", "--log-slow-filter=full_scan", "--log-slow-disabled-statements=admin", "--log-output=TABLE"}

// bench is one server and what a recording of it needs.
type bench struct {
	t *testing.T
	i *mariadbtest.Instance
	r *Recorder
}

func start(t *testing.T, name string, options ...string) *bench {
	t.Helper()
	i := mariadbtest.Start(t, name, options...)
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT d.t VALUES (1,1),(2,2)")
	o := Defaults()
	o.For, o.Reserve = 20*time.Second, 1<<20
	return &bench{t, i, &Recorder{Dir: filepath.Join(t.TempDir(), "record"), Options: o, Log: slog.New(slog.DiscardHandler)}}
}

func (b *bench) target() Target {
	return Target{Instance: farm.InstanceName(b.i.Name), Address: b.i.Address, Server: as(mariadbtest.Stowage), Place: Here{}, Shared: true}
}

func as(a mariadbtest.Account) func(farm.InstanceName, string) *mysql.Server {
	return func(n farm.InstanceName, address string) *mysql.Server {
		return mysql.Open(n, address, mysqltest.Account(a), slog.New(slog.DiscardHandler))
	}
}

// settings are the server's own values of everything a recording touches.
func (b *bench) settings() map[string]string {
	b.t.Helper()
	rows, err := b.i.DB(b.t, mariadbtest.Stowage, "").Query("SHOW GLOBAL VARIABLES WHERE Variable_name LIKE '%slow%' OR Variable_name LIKE 'log_output' OR Variable_name LIKE 'long_query_time' OR Variable_name LIKE '%examined_row%' OR Variable_name LIKE 'log_queries%'")
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			b.t.Fatal(err)
		}
		out[name] = value
	}
	if err := rows.Err(); err != nil || len(out) < 10 {
		b.t.Fatalf("settings were not read: %v, %v", out, err)
	}
	return out
}

func same(t *testing.T, before, now map[string]string) {
	t.Helper()
	for name, was := range before {
		if now[name] != was {
			t.Errorf("%s was %q, is %q", name, was, now[name])
		}
	}
}

// nothingLeft: no file of the log, no journal.
func (b *bench) nothingLeft() {
	b.t.Helper()
	for _, dir := range []string{b.i.Datadir, b.r.Options.LogDir} {
		if left, _ := filepath.Glob(filepath.Join(dir, markOfName+"*")); len(left) > 0 {
			b.t.Errorf("files are left: %v", left)
		}
	}
	if left, err := Left(b.r.Dir); err != nil || len(left) > 0 {
		b.t.Errorf("journals are left: %v %v", left, err)
	}
}

type taken struct {
	res Result
	d   *digest.Digest
	err error
}

// during runs work while a window is recorded, then ends the window as Ctrl-C
// would.
func (b *bench) during(take func(context.Context, Target) (Result, *digest.Digest, error), work func()) taken {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	defer stop()
	began, end := make(chan struct{}), make(chan taken, 1)
	told := b.r.Progress
	b.r.Progress = func(p Progress) {
		if p.Began {
			close(began)
		}
		if told != nil {
			told(p)
		}
	}
	defer func() { b.r.Progress = told }()
	go func() {
		res, d, err := take(ctx, b.target())
		end <- taken{res, d, err}
	}()
	select {
	case <-began:
	case x := <-end:
		b.t.Fatalf("the window never began: %+v, %v", x.res, x.err)
	}
	work()
	time.Sleep(3 * look / 2) // a server writes its line after its answer
	stop()
	return <-end
}

// ask sends statements over connections of their own and returns how many of
// each class were answered.
func (b *bench) ask(connections, each int) map[string]int {
	b.t.Helper()
	done := make(chan error, connections)
	for c := range connections {
		go func() { done <- b.askOnce(c, each) }()
	}
	for range connections {
		if err := <-done; err != nil {
			b.t.Fatal(err)
		}
	}
	return map[string]int{"select v from t where id = ?": connections * each, "update t set v = ? where id = ?": connections * each}
}

func (b *bench) askOnce(c, each int) error {
	db, err := sql.Open("mysql", b.i.DSN(mariadbtest.App, "d"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for n := range each {
		var v int
		if err := db.QueryRow(fmt.Sprintf("SELECT v FROM t WHERE id = %d", 1+n%2)).Scan(&v); err != nil {
			return err
		}
		if _, err := db.Exec(fmt.Sprintf("UPDATE t SET v = 7 WHERE id = %d", 1+c%2)); err != nil {
			return err
		}
	}
	return db.Ping() // when it is answered, the session has written its last line
}

// counted compares a digest with what was asked.
func counted(t *testing.T, d *digest.Digest, want map[string]int) {
	t.Helper()
	if d == nil {
		t.Fatal("there is no digest")
	}
	got := map[string]int{}
	for _, c := range d.Report().Classes {
		got[c.Fingerprint] = int(c.Count)
	}
	for class, n := range want {
		if got[class] != n {
			t.Errorf("%q was asked %d times and counted %d times: %v", class, n, got[class], got)
		}
	}
}

// classes is counted, and none of our own statements.
func classes(t *testing.T, d *digest.Digest, want map[string]int) {
	t.Helper()
	counted(t, d, want)
	for _, c := range d.Report().Classes {
		for _, ours := range []string{"set global", "show global", "processlist", "connection_id", "slow_query_log"} {
			if strings.Contains(c.Fingerprint, ours) {
				t.Errorf("a statement of our own was counted: %s", c.Fingerprint)
			}
		}
	}
}

// mountSmall is a file system of its own that the server may write to.
func mountSmall(t *testing.T, i *mariadbtest.Instance, mebibytes int) string {
	t.Helper()
	dir := filepath.Join(i.Dir, "small")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	mountTmpfs(t, dir, mebibytes)
	return dir
}

// overSocket is a client on the server's own Unix socket.
func overSocket(t *testing.T, i *mariadbtest.Instance) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@unix(%s)/", mariadbtest.Root, mariadbtest.Root.Password(), i.Socket))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}
