package farmtest

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

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

// Recorded is a workspace of two servers with odd settings of the slow log.
type Recorded struct {
	T    *testing.T
	Dir  string
	A, B *mariadbtest.Instance
}

func StartRecorded(t *testing.T) *Recorded {
	t.Helper()
	options := []string{"--slow-query-log=0", "--slow-query-log-file=theirs.log", "--long-query-time=3.5", "--log-slow-rate-limit=7", "--min-examined-row-limit=9"}
	r := &Recorded{T: t, Dir: t.TempDir(), A: mariadbtest.Start(t, "p1a", options...), B: mariadbtest.Start(t, "p1b", options...)}
	file := fmt.Sprintf(`farm: recorded
next_server_id: 1000000
accounts: accounts.cnf
host_types:
  t: {cores: 2}
hosts:
  - {name: h1, type: t, address: %s}
  - {name: h2, type: t, address: %s}
pairs:
  - name: p1
    topology: active-active
    sides:
      A: {host: h1, port: %d, datadir: %s}
      B: {host: h2, port: %d, datadir: %s}
    shards:
      - {name: d}
`, r.A.Host, r.B.Host, r.A.Port, r.A.Datadir, r.B.Port, r.B.Datadir)
	accounts := fmt.Sprintf("[stowage]\nuser=%s\npassword=%s\n[replication]\nuser=%s\npassword=%s\n", mariadbtest.Stowage, mariadbtest.Stowage.Password(), mariadbtest.Repl, mariadbtest.Repl.Password())
	for name, text := range map[string]string{"farm.yaml": file, "accounts.cnf": accounts} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

const SlowSettings = `SELECT GROUP_CONCAT(VARIABLE_NAME, '=', VARIABLE_VALUE ORDER BY 1) FROM information_schema.GLOBAL_VARIABLES
	WHERE VARIABLE_NAME LIKE '%SLOW%' OR VARIABLE_NAME IN ('LOG_OUTPUT', 'LONG_QUERY_TIME', 'MIN_EXAMINED_ROW_LIMIT', 'LOG_QUERIES_NOT_USING_INDEXES')`

// AsBefore compares settings, files and journals with those of before.
func (r *Recorded) AsBefore(i *mariadbtest.Instance, before, when string) {
	r.T.Helper()
	if now := i.Value(r.T, SlowSettings); now != before {
		r.T.Errorf("%s: the settings of %s were\n%s\nand are\n%s", when, i.Name, before, now)
	}
	if left, _ := filepath.Glob(filepath.Join(i.Datadir, "stowage-record-*")); len(left) > 0 {
		r.T.Errorf("%s: left in the datadir: %v", when, left)
	}
	if left, _ := filepath.Glob(filepath.Join(r.Dir, ".stowage/record/*.json")); len(left) > 0 {
		r.T.Errorf("%s: journals are left: %v", when, left)
	}
}

// Load sends statements over ever new connections until stopped.
func (r *Recorded) Load(i *mariadbtest.Instance) (stop func()) {
	ctx, cancel := context.WithCancel(r.T.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			db, err := sql.Open("mysql", i.DSN(mariadbtest.App, ""))
			if err != nil {
				return
			}
			for n := 0; n < 20 && err == nil; n++ {
				_, err = db.ExecContext(ctx, fmt.Sprintf("SELECT %d, '%s'", n, strings.Repeat("x", 300)))
			}
			db.Close()
			time.Sleep(time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// Plan is what a recording changes on these servers.
func (r *Recorded) Plan() []traffic.SlowLogSetting {
	r.T.Helper()
	s := mysql.Open("plan", r.A.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	defer s.Close()
	l, err := traffic.OpenSlowLog(r.T.Context(), s)
	if err != nil {
		r.T.Fatal(err)
	}
	defer l.Close()
	plan, err := l.Plan(r.T.Context(), "x", 1)
	if err != nil || len(plan) < 5 {
		r.T.Fatalf("plan %+v: %v", plan, err)
	}
	return plan
}
