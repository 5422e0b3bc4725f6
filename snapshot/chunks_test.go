package snapshot

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/latest"
)

// chunkedFiles is a server with files, whose tenant is filled in or not.
func chunkedFiles(t *testing.T, active bool) (*mariadbtest.Instance, *mysql.Server, latest.Shape) {
	t.Helper()
	i := mariadbtest.Start(t, "files")
	server, ctx := mysqltest.Open(t, i), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(server.Build(ctx, filesSchema))
	shape, err := ShapeOf(ctx, server, filesSpec, "fs1")
	must(err)
	if !active {
		return i, server, shape
	}
	tables, err := latest.Tables(ctx, server, "fs1", filesSpec.Names())
	must(err)
	must(server.Build(ctx, append([]string{"USE fs1"}, shape.AddColumns(tables)...)))
	for _, trigger := range shape.Triggers(tables) {
		must(server.Build(ctx, []string{"USE fs1", trigger.Create}))
	}
	session, err := shape.Open(ctx, server, nil)
	must(err)
	defer session.Close()
	for after := latest.Key(nil); ; {
		c, err := session.Fill(ctx, "fs1", "2", after, 500)
		must(err)
		if after = c.Last; after == nil {
			break
		}
	}
	must(session.Set(ctx, "fs1", "2", map[string]bool{"latest_entry_migrated": true, "latest_entry_active": true}))
	return i, server, shape
}

// writes are what an application does to files; each is one transaction of one statement, or fails.
var writes = []func(n int) string{
	func(n int) string {
		return fmt.Sprintf("INSERT INTO versions (tenant_id, file_id, version_no, size) SELECT tenant_id, file_id, 100 + %d, %d FROM files WHERE file_id = %d", n, n, 1+n%2100)
	},
	func(n int) string {
		return fmt.Sprintf("UPDATE versions SET deleted_at = IF(deleted_at IS NULL, NOW(6), NULL) WHERE file_id = %d ORDER BY version_no DESC LIMIT 1", 1+n%2100)
	},
	func(n int) string {
		return fmt.Sprintf("DELETE FROM versions WHERE file_id = %d ORDER BY version_no DESC LIMIT 1", 1+n%2100)
	},
	func(n int) string {
		return fmt.Sprintf("UPDATE folders SET path = CONCAT('/renamed/', %d) WHERE folder_id = %d", n, 1+n%10)
	},
	func(n int) string {
		return fmt.Sprintf("UPDATE files SET folder_id = %d, name = CONCAT('n', %d) WHERE file_id = %d", 1+n%10, n, 1+n%2100)
	},
	func(n int) string {
		return fmt.Sprintf("INSERT IGNORE INTO files (file_id, tenant_id, folder_id, name) VALUES (%d, %d, 1, 'new')", 2000+n%100, 1+n%2)
	},
	func(n int) string { return fmt.Sprintf("DELETE FROM files WHERE file_id = %d", 1+n%2100) },
	func(n int) string { // it goes to the other tenant
		return fmt.Sprintf("UPDATE files SET tenant_id = 3 - tenant_id WHERE file_id = %d", 1+n%2100)
	},
	func(n int) string {
		return fmt.Sprintf("UPDATE IGNORE files SET file_id = %d WHERE file_id = %d", 1+n*7%2100, 1+n%2100)
	},
}

// After writers of every kind, kills at random borders and half-written spools, what comes out is exactly what one query says at its position.
func TestChunksAreOneSnapshot(t *testing.T) {
	t.Parallel()
	for name, active := range map[string]bool{"normalised": false, "denormalised": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, server, shape := chunkedFiles(t, active)
			if !active { // a file that is deleted, or gets another key, takes its versions along
				i.Exec(t, "ALTER TABLE fs1.versions ADD CONSTRAINT of_file FOREIGN KEY (file_id) REFERENCES fs1.files (file_id) ON DELETE CASCADE ON UPDATE CASCADE")
			}
			stop := writing(t, i.DB(t, mariadbtest.Stowage, "fs1"))
			defer stop()
			spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
			if err != nil {
				t.Fatal(err)
			}
			defer spool.Close()
			var kept []byte // as a state file has it
			killed, again := errors.New("killed"), 0
			for {
				c := &Chunked{Shape: shape, Shard: "fs1", Tenant: "2", Server: server, Spool: spool, Rows: 90, Progress: Progress{ServerID: 4_000_000_001}}
				if kept != nil {
					c.Progress = Progress{}
					if err := json.Unmarshal(kept, &c.Progress); err != nil {
						t.Fatal(err)
					}
				}
				c.Keep = func(p Progress) error {
					if again < 30 && rand.IntN(3) == 0 {
						return killed // the rows are in the spool, and nobody knows
					}
					kept, _ = json.Marshal(p)
					if p.IsRead {
						stop()
					}
					if again < 30 && rand.IntN(3) == 0 {
						return killed
					}
					return nil
				}
				var out bytes.Buffer
				sum, err := c.Run(t.Context(), &out)
				if errors.Is(err, killed) {
					again++
					_, _ = spool.WriteString("half a li") // what a kill leaves
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want, whole := take(t, server, Of(shape, "fs1", "2", ""), "jsonl")
				if got := out.String(); !slices.Equal(sorted(got), sorted(want)) || sum.Rows != whole.Rows || sum.Bytes != int64(len(got)) {
					t.Errorf("%d rows, one view has %d", sum.Rows, whole.Rows)
					reportDifference(t, sorted(got), sorted(want))
				}
				if !sum.Position.Equal(whole.Position) {
					t.Errorf("at %s, nobody wrote until %s", sum.Position, whole.Position)
				}
				if first, err := mysql.ParsePosition(c.Progress.From); err != nil || first.Equal(sum.Position) || again == 0 {
					t.Errorf("nobody wrote meanwhile (%s), or nothing was killed (%d): %v", first, again, err)
				}
				return
			}
		})
	}
}

func writing(t *testing.T, db *sql.DB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for w := range 2 {
		all.Go(func() {
			for n := w; ctx.Err() == nil; n += 2 {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return
				}
				for range 1 + rand.IntN(3) {
					_, _ = tx.Exec(writes[rand.IntN(len(writes))](rand.IntN(100_000)))
				}
				if rand.IntN(5) == 0 {
					_ = tx.Rollback()
				} else {
					_ = tx.Commit()
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

func reportDifference(t *testing.T, got, want []string) {
	t.Helper()
	shown := 0
	for _, line := range got {
		if _, found := slices.BinarySearch(want, line); !found && shown < 5 {
			t.Errorf("too many: %s", line)
			shown++
		}
	}
	for _, line := range want {
		if _, found := slices.BinarySearch(got, line); !found && shown < 10 {
			t.Errorf("missing: %s", line)
			shown++
		}
	}
}

// What cannot be corrected is refused: a definition that changed, a log that is gone.
func TestChunksRefuse(t *testing.T) {
	t.Parallel()
	i, server, shape := chunkedFiles(t, false)
	run := func(shape latest.Shape, between func()) error {
		spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
		if err != nil {
			t.Fatal(err)
		}
		defer spool.Close()
		c := &Chunked{Shape: shape, Shard: "fs1", Tenant: "2", Server: server, Spool: spool, Progress: Progress{ServerID: 4_000_000_002}}
		c.Keep = func(Progress) error { between(); return nil }
		_, err = c.Run(t.Context(), &bytes.Buffer{})
		return err
	}
	if err := run(shape, func() { purge(t, i) }); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("purged: %v", err)
	}
	if err := run(shape, func() { i.Exec(t, "ALTER TABLE fs1.folders ADD COLUMN colour INT") }); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a definition: %v", err)
	}
}

// purge writes something and has the server forget that it did.
func purge(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	i.Exec(t, "INSERT INTO fs1.tenants VALUES (9, 'x')", "FLUSH BINARY LOGS")
	db := i.DB(t, mariadbtest.Stowage, "")
	until(t, func() bool { // the server keeps a log until InnoDB has made a checkpoint behind it
		if _, err := db.Exec("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY"); err != nil {
			t.Fatal(err)
		}
		rows, err := db.Query("SHOW BINARY LOGS")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		logs := 0
		for rows.Next() {
			logs++
		}
		return rows.Err() == nil && logs == 1
	})
}

// A side that lacks what was read before, on the other one, is not read on: the end would be at a position before some of the rows.
func TestChunksNeedWhatWasReadBefore(t *testing.T) {
	t.Parallel()
	_, server, shape := chunkedFiles(t, false)
	at, err := server.BinlogPosition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var domain, id, seq int
	if _, err := fmt.Sscanf(at.String(), "%d-%d-%d", &domain, &id, &seq); err != nil {
		t.Fatal(err)
	}
	spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	c := &Chunked{Shape: shape, Shard: "fs1", Tenant: "2", Server: server, Spool: spool, Keep: func(Progress) error { return nil }, Progress: Progress{ServerID: 4_000_000_001, From: at.String(), Reached: fmt.Sprintf("%d-%d-%d", domain, id, seq+1)}}
	if err := c.chunk(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("it was read: %v", err)
	}
}
