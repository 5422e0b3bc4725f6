package replay

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// logging makes a server write everything into its slow log.
var logging = []string{"--slow-query-log=1", "--slow-query-log-file=slow.log", "--long-query-time=0", "--log-slow-verbosity=query_plan", "--log-slow-disabled-statements="}

// shop is what original and candidate hold before anything happens.
var shop = []string{
	"CREATE DATABASE shop", "CREATE DATABASE stock", "USE shop",
	"CREATE TABLE orders (id INT PRIMARY KEY, who INT, what VARCHAR(40), price DOUBLE, KEY (who))",
	"INSERT INTO orders SELECT seq, seq % 50, CONCAT('thing ', seq), seq / 7 FROM seq_1_to_2000",
	"CREATE TABLE stock.items (id INT PRIMARY KEY AUTO_INCREMENT, n INT)", "INSERT INTO stock.items (n) SELECT seq FROM seq_1_to_100",
	"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT)", "INSERT INTO t SELECT seq, seq, seq, seq FROM seq_1_to_100", "CREATE TABLE u LIKE t", "CREATE TABLE v LIKE t",
	"CREATE SEQUENCE s", "CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n",
	"CREATE FUNCTION spoil() RETURNS INT BEGIN INSERT INTO orders VALUES (90000, 1, 'spoilt', 0); RETURN 1; END",
}

func as(t *testing.T, i *mariadbtest.Instance, who mysql.Account) *mysql.Server {
	t.Helper()
	s := mysql.Open(farm.InstanceName(i.Name), i.Address, who, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var (
	reads = mysql.Account{User: "replay", Password: "replay-password"}
	all   = mysqltest.Account(mariadbtest.Stowage)
)

// start starts a server with the shop and an account that may read it.
func start(t *testing.T, name string, options ...string) *mariadbtest.Instance {
	t.Helper()
	i := mariadbtest.Start(t, name, append(options, "--log-bin-trust-function-creators=1")...)
	i.Exec(t, shop...)
	i.Exec(t, "CREATE USER replay@'%' IDENTIFIED BY 'replay-password'", "GRANT SELECT ON *.* TO replay@'%'")
	return i
}

// openLog empties a server's slow log.
func openLog(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	if err := os.Truncate(filepath.Join(i.Datadir, "slow.log"), 0); err != nil {
		t.Fatal(err)
	}
}

func slowLog(t *testing.T, i *mariadbtest.Instance) Input {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(i.Datadir, "slow.log"))
	if err != nil {
		t.Fatal(err)
	}
	return text("slow.log", string(raw))
}

func contentOf(t *testing.T, in Input) string {
	t.Helper()
	r, err := in.Open()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// customers are sessions that read, write, fail and use their own settings.
func customers(t *testing.T, i *mariadbtest.Instance, sessions, rounds int) {
	t.Helper()
	var done sync.WaitGroup
	for n := range sessions {
		done.Add(1)
		go func() {
			defer done.Done()
			db, err := sql.Open("mysql", i.DSN(mariadbtest.App, "shop"))
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			say := func(format string, args ...any) {
				_, _ = conn.ExecContext(context.Background(), fmt.Sprintf(format, args...))
			}
			say("SET SESSION sql_mode = 'ANSI_QUOTES'")
			for k := range rounds {
				who := n*1000 + k
				say("SELECT id, what FROM orders WHERE who = %d ORDER BY id", who%50)
				say("BEGIN")
				say("SELECT COUNT(*) FROM \"orders\" WHERE price > %d.5", who%200)
				say("UPDATE orders SET price = price + 1 WHERE id = %d", 1+who%2000)
				say("COMMIT")
				say("SELECT * FROM missing WHERE id = %d", who)
				say("SELECT twice(%d)", who)
				say("USE stock")
				say("SELECT n FROM items WHERE id = %d", 1+who%100)
				say("SELECT 'a;b', \"n\" FROM items WHERE id = %d -- last", 1+who%100)
				say("USE shop")
			}
			say("SELECT SLEEP(0)")
		}()
	}
	done.Wait()
}

// classes counts the statements of a log by class, and keeps the order of each
// session, without what Stowage and the tests ask themselves.
func classes(t *testing.T, in Input, keep func(text string) bool) (map[string]int, map[uint64][]string) {
	t.Helper()
	b := digest.New(digest.Options{})
	counts, order := map[string]int{}, map[uint64][]string{}
	_, err := Recordings(t.Context(), []Input{in}, digest.Options{}, func(s *Statement) error {
		text := string(s.Query)
		if s.Command == Say && keep(text) {
			counts[string(b.Fingerprint(&s.Statement))]++
			order[s.Thread] = append(order[s.Thread], text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts, order
}

func isRead(text string) bool {
	return strings.HasPrefix(text, "SELECT") && !strings.Contains(text, "twice") && !strings.Contains(text, "SLEEP") && !strings.Contains(text, "CONNECTION_ID") &&
		!strings.Contains(text, "@@") && !strings.Contains(text, "shop.s") && !strings.Contains(text, "information_schema")
}
