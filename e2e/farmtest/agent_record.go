package farmtest

import (
	"database/sql"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// BehindLine is a server asked through its socket: no network is needed.
type BehindLine struct {
	t    *testing.T
	Name string
	db   *sql.DB
}

func (f *NetFarm) BehindTheLine(name, socket string) *BehindLine {
	f.T.Helper()
	cfg := driver.NewConfig()
	who := f.account("stowage")
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = who.User, who.Password, "unix", socket
	c, err := driver.NewConnector(cfg)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(c)
	db.SetMaxIdleConns(0)
	f.T.Cleanup(func() { db.Close() })
	return &BehindLine{f.T, name, db}
}

func (b *BehindLine) Value(query string) (v string) {
	b.t.Helper()
	if err := b.db.QueryRow(query).Scan(&v); err != nil {
		b.t.Fatalf("%s: %v", b.Name, err)
	}
	return v
}

func (b *BehindLine) Settings() string { return b.Value(SlowSettings) }

// SettingsSoon are those it waits for, or the last it saw.
func (b *BehindLine) SettingsSoon(want string, patience time.Duration) (now string) {
	b.t.Helper()
	for end := time.Now().Add(patience); now != want && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now = b.Settings()
	}
	return now
}

// Turns waits until the server logs its statements, or does not.
func (b *BehindLine) Turns(on string, patience time.Duration) bool {
	return b.Comes("SELECT @@GLOBAL.slow_query_log", on, patience)
}

// Comes waits until a query has this answer.
func (b *BehindLine) Comes(query, want string, patience time.Duration) bool {
	b.t.Helper()
	for end := time.Now().Add(patience); b.Value(query) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
