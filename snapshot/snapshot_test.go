package snapshot

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
)

// text is a question of one text.
func text(query string, tenant string) Question {
	return Question{Tenant: tenant, Choose: func(context.Context, *rows.View) (latest.Form, string, error) { return latest.Grouped, query, nil }}
}

func take(t *testing.T, s *mysql.Server, q Question, name string) (string, Summary) {
	t.Helper()
	var out bytes.Buffer
	sum, err := Take(t.Context(), s, q, name, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if int64(out.Len()) != sum.Bytes {
		t.Errorf("%d bytes, told %d", out.Len(), sum.Bytes)
	}
	return out.String(), sum
}

const allTypes = `CREATE TABLE d.all_types (id INT PRIMARY KEY, tenant INT, ti TINYINT, u BIGINT UNSIGNED, de DECIMAL(30,5), f FLOAT, dbl DOUBLE, bi BIT(12), y YEAR,
	da DATE, dt DATETIME(6), ts TIMESTAMP(3) NULL, t TIME(2), vc VARCHAR(40), l1 VARCHAR(40) CHARACTER SET latin1, tx MEDIUMTEXT, bn BINARY(4), vb VARBINARY(20), bl BLOB,
	e ENUM('a','b,c') , s SET('x','y'), KEY (tenant))`

// Every type comes as what it is, whatever the character set of its column.
func TestAllTypes(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE DATABASE d CHARACTER SET utf8mb4", allTypes, "SET time_zone = '+00:00'",
		"INSERT d.all_types VALUES (1, 7, -128, 18446744073709551615, -1234567890123456789012345.67890, 16777217, 1e-300, b'101', 2026, '2026-11-26', '2026-11-26 01:02:03.000004', '2026-01-01 00:00:00.5', '-838:59:59', 'ä\"\\\\\n😀', 'äöü', '', x'00', x'00ff', '', 'b,c', 'x,y')",
		"INSERT d.all_types (id, tenant) VALUES (2, 7)", "INSERT d.all_types (id, tenant) VALUES (3, 8)")
	got, sum := take(t, mysqltest.Open(t, a), text("SELECT * FROM d.all_types WHERE tenant = ? ORDER BY id", "7"), "jsonl")
	want := `{"id":1,"tenant":7,"ti":-128,"u":18446744073709551615,"de":"-1234567890123456789012345.67890","f":1.6777216e+07,"dbl":1e-300,"bi":5,"y":2026,` +
		`"da":"2026-11-26","dt":"2026-11-26 01:02:03.000004","ts":"2026-01-01 00:00:00.500","t":"-838:59:59.00","vc":"ä\"\\\n😀","l1":"äöü","tx":"","bn":"AAAAAA==","vb":"AP8=","bl":"",` +
		`"e":"b,c","s":"x,y"}` + "\n" +
		`{"id":2,"tenant":7,"ti":null,"u":null,"de":null,"f":null,"dbl":null,"bi":null,"y":null,"da":null,"dt":null,"ts":null,"t":null,"vc":null,"l1":null,"tx":null,"bn":null,"vb":null,"bl":null,"e":null,"s":null}` + "\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if sum.Rows != 2 || sum.Form != latest.Grouped || len(sum.Position) == 0 {
		t.Errorf("%+v", sum)
	}
	for _, name := range []string{"csv", "parquet"} {
		if out, sum := take(t, mysqltest.Open(t, a), text("SELECT * FROM d.all_types WHERE tenant = ?", "7"), name); sum.Rows != 2 || len(out) == 0 {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

// Writers move amounts between rows; the sum is the same in every snapshot, and each row is of the position that is told.
func TestOneViewWhileOthersWrite(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, tenant INT, amount INT, filler CHAR(200) DEFAULT 'x', KEY (tenant))",
		"INSERT d.t (id, tenant, amount) SELECT seq, 1, 100 FROM d.seq_1_to_3000")
	db := a.DB(t, mariadbtest.Stowage, "d")
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n := range 2 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				from, to := (i*7+n*13)%3000+1, (i*11+n*17)%3000+1
				_, _ = db.ExecContext(ctx, fmt.Sprintf("UPDATE t SET amount = CASE WHEN id = %d THEN amount - 1 ELSE amount + 1 END WHERE id IN (%d, %d) AND %d <> %d", from, from, to, from, to))
			}
		})
	}
	defer writers.Wait()
	defer cancel()
	server := mysqltest.Open(t, a)
	last := ""
	for range 10 {
		out, sum := take(t, server, text("SELECT id, amount FROM d.t WHERE tenant = ?", "1"), "jsonl")
		total, n := 0, 0
		in := json.NewDecoder(strings.NewReader(out))
		for {
			var r struct{ Amount int }
			if err := in.Decode(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			total, n = total+r.Amount, n+1
		}
		if total != 300_000 || n != 3000 {
			t.Fatalf("%d rows with %d in all at %s", n, total, sum.Position)
		}
		if sum.Position.String() == last {
			t.Errorf("nobody wrote between two snapshots: %s", last)
		}
		last = sum.Position.String()
	}
}

// A definition that is changed after the view was opened is said plainly, and refused.
func TestDefinitionChanges(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, tenant INT)", "INSERT d.t VALUES (1, 1)")
	q := Question{Tenant: "1", Choose: func(context.Context, *rows.View) (latest.Form, string, error) {
		a.Exec(t, "ALTER TABLE d.t MODIFY id BIGINT")
		return latest.Grouped, "SELECT * FROM d.t WHERE tenant = ?", nil
	}}
	_, err := Take(t.Context(), mysqltest.Open(t, a), q, "jsonl", io.Discard, nil)
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "definition of a table was changed") {
		t.Error(err)
	}
}

// When the program is interrupted, the query ends on the server, also one that has not sent a row yet.
func TestInterruptEndsTheQuery(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	db := a.DB(t, mariadbtest.Stowage, "")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Take(ctx, mysqltest.Open(t, a), text("SELECT SLEEP(600), ? AS tenant", "1"), "jsonl", io.Discard, nil)
		ended <- err
	}()
	running := func() (n int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	until(t, func() bool { return running() == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	until(t, func() bool { return running() == 0 })
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	for range 400 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("it did not come about within 20 s")
}

// A reader that went away ends the snapshot with its error.
func TestWriterFails(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE DATABASE d")
	r, w := io.Pipe()
	_ = r.CloseWithError(io.ErrClosedPipe)
	_, err := Take(t.Context(), mysqltest.Open(t, a), text("SELECT seq, REPEAT('x', 1000) FROM d.seq_1_to_100000 WHERE seq > ?", "1"), "jsonl", w, nil)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// What the program holds does not grow with the rows, however slowly they are taken.
func TestMemoryIsConstant(t *testing.T) {
	a := mariadbtest.Start(t, "a")
	a.Exec(t, "CREATE DATABASE d")
	server := mysqltest.Open(t, a)
	peak := func(rows int) (most uint64) {
		w := writerFunc(func(b []byte) (int, error) {
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > most {
				most = m.HeapAlloc
			}
			return len(b), nil
		})
		runtime.GC()
		sum, err := Take(t.Context(), server, text(fmt.Sprintf("SELECT seq, REPEAT('x', 200) AS v FROM d.seq_1_to_%d WHERE seq > ?", rows), "0"), "jsonl", w, nil)
		if err != nil || sum.Rows != int64(rows) {
			t.Fatalf("%+v %v", sum, err)
		}
		return most
	}
	few := peak(20_000)
	if many := peak(400_000); many > few+(16<<20) {
		t.Errorf("%d MB with 20,000 rows, %d MB with 400,000", few>>20, many>>20)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// pairs has a parent table with one carried column, and its children.
func pairs(t *testing.T, a *mariadbtest.Instance) *sql.DB {
	t.Helper()
	a.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.files (file_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT, name VARCHAR(50), latest INT, latest_size INT, KEY (tenant_id))",
		"CREATE TABLE d.versions (version_id INT AUTO_INCREMENT PRIMARY KEY, file_id BIGINT UNSIGNED, tenant_id INT, no INT, size INT, UNIQUE (file_id, no))",
		"INSERT d.files (file_id, tenant_id, name) SELECT seq, 1 + seq % 2, CONCAT('n', seq) FROM d.seq_1_to_4000",
		"INSERT d.versions (file_id, tenant_id, no, size) SELECT f.file_id, f.tenant_id, n.seq, f.file_id * n.seq FROM d.files f JOIN d.seq_1_to_3 n",
		"UPDATE d.files f JOIN d.versions v ON v.file_id = f.file_id AND v.no = 3 SET f.latest = v.version_id, f.latest_size = v.size")
	return a.DB(t, mariadbtest.Stowage, "d")
}

var both = queries{
	normalised: "SELECT f.file_id, f.name, v.size FROM d.files f JOIN (SELECT file_id, MAX(no) AS no FROM d.versions WHERE tenant_id = ? GROUP BY file_id) m ON m.file_id = f.file_id" +
		" JOIN d.versions v ON v.file_id = m.file_id AND v.no = m.no",
	denormalised: "SELECT file_id, name, latest_size AS size FROM d.files WHERE tenant_id = ? AND latest IS NOT NULL ORDER BY name DESC",
	key:          []string{"file_id"},
}

// Every kind of difference is found and named, and none where there is none, in whatever order the rows come.
func TestCompare(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	db := pairs(t, a)
	server := mysqltest.Open(t, a)
	c, err := compare(t.Context(), server, both, "1")
	if err != nil || c.Rows != 2000 || c.Different != 0 || c.Differences != nil || c.Normalised == 0 || c.Denormalised == 0 {
		t.Fatalf("%+v %v", c, err)
	}
	for _, st := range []string{"UPDATE files SET latest_size = latest_size + 1 WHERE file_id = 10", "UPDATE files SET latest = NULL WHERE file_id = 20",
		"INSERT files VALUES (5000, 1, 'not there', 1, 1)", "UPDATE files SET latest_size = NULL WHERE file_id = 30", "UPDATE files SET latest_size = 0 WHERE file_id = 11"} {
		if _, err := db.Exec(st); err != nil {
			t.Fatal(err)
		}
	}
	c, err = compare(t.Context(), server, both, "1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`file_id=10 differs; normalised: file_id=10 name="n10" size=30; denormalised: file_id=10 name="n10" size=31`,
		`file_id=20 is missing in the denormalised answer; normalised: file_id=20 name="n20" size=60`,
		`file_id=30 differs; normalised: file_id=30 name="n30" size=90; denormalised: file_id=30 name="n30" size=null`,
		`file_id=5000 should not be in the denormalised answer: file_id=5000 name="not there" size=1`}
	if c.Different != 4 || c.AtLeast || fmt.Sprint(c.Differences) != fmt.Sprint(want) {
		t.Errorf("%d: %q", c.Different, c.Differences)
	}
}

// Where everything differs, the first are named and the others are counted as at least so many.
func TestCompareAllDiffers(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	db := pairs(t, a)
	if _, err := db.Exec("UPDATE files SET latest_size = -1"); err != nil {
		t.Fatal(err)
	}
	c, err := compare(t.Context(), mysqltest.Open(t, a), both, "2")
	if err != nil || len(c.Differences) != Most || !c.AtLeast || c.Different < 1500 || c.Different > 2000 {
		t.Errorf("%d of %d, at least %v, %d named, %v", c.Different, c.Rows, c.AtLeast, len(c.Differences), err)
	}
}

// Both queries are of one view: writers that keep both ways equal are never seen between.
func TestCompareWhileOthersWrite(t *testing.T) {
	t.Parallel()
	a := mariadbtest.Start(t, "a")
	db := pairs(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	wrote := 0
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return
			}
			id := i%4000 + 1
			_, err = tx.Exec("UPDATE versions SET size = ? WHERE file_id = ? AND no = 3", i, id)
			if err == nil {
				_, err = tx.Exec("UPDATE files SET latest_size = ? WHERE file_id = ?", i, id)
			}
			if err == nil && tx.Commit() == nil {
				wrote++
			}
		}
	})
	for range 10 {
		if c, err := compare(t.Context(), mysqltest.Open(t, a), both, "1"); err != nil || c.Different > 0 {
			t.Errorf("%+v %v", c, err)
		}
	}
	cancel()
	writer.Wait()
	if wrote < 10 {
		t.Errorf("the writer wrote %d times", wrote)
	}
}
