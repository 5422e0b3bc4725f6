package main

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// A machine's line is cut while it is recorded, and healed within the window, or long after its end. The agent needs nobody
// to end it: the settings are as before by its own clock, and the digest travels when there is a line again.
func TestLineCutWhileRecording(t *testing.T) {
	long(t)
	const window = 6 * time.Second
	f := startNetFarm(t, 2, 50)
	sockets, err := filepath.Glob(filepath.Join(f.dir, "hosts/old1/*/data/mysqld.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the sockets of old1: %v, %v", sockets, err)
	}
	old := f.behindTheLine("net001/A", sockets[0])
	before := old.settings()
	for name, away := range map[string]time.Duration{"healed in the window": 2 * time.Second, "healed after it": window + 8*time.Second} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan program, 1)
			go func() {
				ended <- runProgram(t, "", "digest", "record", "-C", f.dir, "--for", window.String(), "--save", "cut-"+name[7:9]+name[len(name)-2:],
					"--max-running", "0", "--max-lag", "0", "--reserve", "1MB", "--json")
			}()
			if !old.turns("1", time.Minute) {
				t.Fatalf("the window never opens\n%s", (<-ended).stderr)
			}
			old.value("SELECT 'in the window'") // of a session of its own: those that were there already are not recorded
			f.cut("old1")
			cut := time.Now()
			if away > window {
				if now := old.settingsSoon(before, away); now != before { // nobody can have told it
					t.Errorf("behind a cut line the settings were\n%s\nand are\n%s", before, now)
				}
			}
			time.Sleep(time.Until(cut.Add(away)))
			f.heal("old1")
			var p program
			select {
			case p = <-ended:
			case <-time.After(3 * time.Minute):
				t.Fatal("the recording does not end")
			}
			var s recordSummary
			if err := json.Unmarshal([]byte(p.stdout), &s); err != nil || p.code != exitFine || len(s.Instances) != 2 {
				t.Fatalf("exit %d, %v\n%s\n%s", p.code, err, p.stdout, p.stderr)
			}
			for _, i := range s.Instances {
				if i.Instance == "net001a" && i.Events == 0 || i.Error != "" {
					t.Errorf("%+v", i)
				}
			}
			if now := old.settings(); now != before {
				t.Errorf("afterwards the settings were\n%s\nand are\n%s", before, now)
			}
		})
	}
	f.checkLedger()
}

// behindLine is a server asked through its socket: no network is needed.
type behindLine struct {
	t    *testing.T
	name string
	db   *sql.DB
}

func (f *netFarm) behindTheLine(name, socket string) *behindLine {
	f.t.Helper()
	cfg := driver.NewConfig()
	who := f.account("stowage")
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = who.User, who.Password, "unix", socket
	c, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	db := sql.OpenDB(c)
	db.SetMaxIdleConns(0)
	f.t.Cleanup(func() { db.Close() })
	return &behindLine{f.t, name, db}
}

func (b *behindLine) value(query string) (v string) {
	b.t.Helper()
	if err := b.db.QueryRow(query).Scan(&v); err != nil {
		b.t.Fatalf("%s: %v", b.name, err)
	}
	return v
}

func (b *behindLine) settings() string { return b.value(slowSettings) }

// settingsSoon are those it waits for, or the last it saw.
func (b *behindLine) settingsSoon(want string, patience time.Duration) (now string) {
	b.t.Helper()
	for end := time.Now().Add(patience); now != want && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now = b.settings()
	}
	return now
}

// turns waits until the server logs its statements, or does not.
func (b *behindLine) turns(on string, patience time.Duration) bool {
	return b.comes("SELECT @@GLOBAL.slow_query_log", on, patience)
}

// comes waits until a query has this answer.
func (b *behindLine) comes(query, want string, patience time.Duration) bool {
	b.t.Helper()
	for end := time.Now().Add(patience); b.value(query) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
