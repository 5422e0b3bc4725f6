package survey_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // a client that prepares its statements

	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/inventory/shardload"
	"stowage/mysql"
	"stowage/survey"
)

// TestLoadOfARealServer: through a station, as an agent has it, one schema is found to work and the other not, with
// prepared statements, which digests do not have.
func TestLoadOfARealServer(t *testing.T) {
	i := mariadbtest.Start(t, "survey", "--performance-schema=ON")
	for _, s := range []string{"busy", "quiet"} {
		i.Exec(t, "CREATE DATABASE "+s, "CREATE TABLE "+s+".t (id INT PRIMARY KEY, n INT NOT NULL)", "USE "+s, "INSERT INTO t SELECT seq, seq FROM seq_1_to_1000")
	}
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := mysql.Open("survey", i.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	defer server.Close()
	datadir := i.Value(t, "SELECT @@datadir")
	target := &survey.Target{Server: server, Where: host.Instance{Name: "survey", Datadir: datadir, Config: datadir + "/none.cnf"}}
	target.Instance, target.Host, target.Pair, target.Shards = "survey", "db1", "p1", []farm.ShardName{"busy", "quiet"}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- work(ctx, i.Address) }()
	groups := []survey.Group{{Host: "db1", Place: survey.There{Far: survey.Station{Here: survey.Here{Machine: local}}}, Targets: []*survey.Target{target}}}
	windows := survey.Watch(t.Context(), groups, survey.Options{For: 3 * time.Second})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r := shardload.Assess("f", windows)
	if len(r.Instances) != 1 {
		t.Fatalf("silent: %+v", r.Silent)
	}
	busy, quiet := r.Instances[0].Shards[0], r.Instances[0].Shards[1]
	if !busy.CPU.Measured() || *busy.CPU.Value <= 0 || *busy.Session.Share < 0.99 || quiet.CPU.Or(1) > *busy.CPU.Value/2 {
		raw, _ := json.Marshal(r)
		t.Errorf("CPU of busy %+v, of quiet %+v\n%s", busy.CPU, quiet.CPU, raw)
	}
	if busy.Changed.Or(0) <= 0 || quiet.Changed.Or(1) != 0 || busy.Writes.Or(0) < 0 || !busy.IOPS.Measured() {
		t.Errorf("rows changed %+v and %+v, IOPS %+v", busy.Changed, quiet.Changed, busy.IOPS)
	}
	if busy.Disk.Or(0) < 16384 || busy.Memory.Or(0) < 16384 {
		t.Errorf("disk %+v, memory %+v", busy.Disk, busy.Memory)
	}
	if seen := r.Instances[0].Seen; seen > 0.9 {
		t.Errorf("digests have %.2f of the statements, which were prepared", seen)
	}
	if windows[0].Last.Logs.Writes <= windows[0].First.Logs.Writes {
		t.Error("no write of a log was counted")
	}
}

// work keeps one session of busy at it.
func work(ctx context.Context, address string) error {
	db, err := sql.Open("mysql", string(mariadbtest.Stowage)+":"+mariadbtest.Stowage.Password()+"@tcp("+address+")/busy")
	if err != nil {
		return err
	}
	defer db.Close()
	for n := 0; ctx.Err() == nil; n++ {
		if _, err := db.ExecContext(ctx, "UPDATE t SET n = n + 1 WHERE id BETWEEN ? AND ?", n%900, n%900+50); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// A station says what it does not know, and settings come back as they were read.
func TestStationRefusesWhatItDoesNotKnow(t *testing.T) {
	local := &host.Local{}
	s := survey.Station{Here: survey.Here{Machine: local}}
	for _, q := range []string{"{", `{"version": 2, "of": "usage"}`, `{"version": 1, "of": "everything"}`} {
		if _, err := s.Look(t.Context(), []byte(q)); err == nil {
			t.Errorf("%s was answered", q)
		}
	}
	files, err := survey.There{Far: s}.Settings(t.Context())
	if err != nil || files["/proc/meminfo"] == "" {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// FuzzAnswer: whatever an agent answers, it is read or refused.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = survey.There{Far: said(raw)}.Settings(t.Context())
	})
}

type said []byte

func (s said) Look(context.Context, []byte) ([]byte, error) { return s, nil }
