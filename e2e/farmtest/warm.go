package farmtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/session"
)

// hotRows and allRows are of the table that ColdSide's readers read: 250 bytes a row, nine times as much as the pool
// holds, and a part of it that fits in.
const (
	hotRows     = 60_000
	batchOfRows = 50_000
)

// coldOptions make a pool of 2,048 pages of which the server keeps nearly all in use, and keep a history of statements: on a machine of two
// processors hardly ever a statement runs at the moment that one looks.
const coldOptions = `[mysqld]
innodb_buffer_pool_size = 32M
innodb_lru_scan_depth = 100
performance_schema = ON
performance_schema_consumer_events_statements_current = ON
performance_schema_consumer_events_statements_history = ON
`

// ColdSide is a side with more data than its buffer pool holds, and clients that read the same part of it most of the
// time: what it costs to come back with an empty pool.
type ColdSide struct {
	*HeldSide
	table string
	rows  int

	mu   sync.Mutex
	took []time.Duration // of the reads that the side itself has answered
}

// StartColdSide fills side A of a farm with so many rows, and has as many clients read on either side.
func StartColdSide(t *testing.T, rows int) *ColdSide {
	t.Helper()
	s := &ColdSide{HeldSide: StartHeldSide(t), rows: rows}
	db, pair := s.F.appDB(farm.A)
	_ = db.Close()
	shard := pair.Shards[0].Name
	s.table = fmt.Sprintf("`%s`.read_often", shard)
	s.F.Load.Stop()
	s.restartWith(farm.B, coldOptions)
	s.restartWith(farm.A, coldOptions)
	if err := s.F.StartClients(); err != nil {
		t.Fatal(err)
	}
	s.F.Sql(farm.A, "USE `"+string(shard)+"`", "CREATE TABLE read_often (id INT PRIMARY KEY, pad CHAR(230) NOT NULL) CHARACTER SET latin1")
	for from := 0; from < rows; from += batchOfRows {
		s.F.Sql(farm.A, fmt.Sprintf("INSERT INTO %s SELECT seq, MD5(seq) FROM `%s`.seq_%d_to_%d", s.table, shard, from+1, from+batchOfRows))
	}
	for s.F.Value(farm.B, "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'read_often'") == "0" ||
		s.F.Value(farm.B, fmt.Sprintf("SELECT COALESCE(MAX(id), 0) FROM %s", s.table)) != fmt.Sprint(rows) {
		time.Sleep(100 * time.Millisecond) // replication
	}
	for _, side := range []farm.SideName{farm.A, farm.B} {
		s.F.Value(side, fmt.Sprintf("SELECT COUNT(pad) FROM %s WHERE id <= %d", s.table, hotRows))
	}
	return s
}

// restartWith adds options to a server, before anybody measures.
func (s *ColdSide) restartWith(side farm.SideName, options string) {
	s.F.T.Helper()
	i := s.instance(side)
	text, err := os.ReadFile(i.Config)
	if err == nil {
		err = os.WriteFile(i.Config, append(text, options...), 0o644)
	}
	if err == nil {
		err = s.host.Stop(s.F.T.Context(), i, time.Minute)
	}
	if err == nil {
		err = s.host.Start(s.F.T.Context(), i, time.Minute)
	}
	if err != nil {
		s.F.T.Fatal(err)
	}
}

func (s *ColdSide) instance(side farm.SideName) host.Instance {
	s.F.T.Helper()
	ws, fm, _, err := FarmAccess(s.F.Dir)
	if err != nil {
		s.F.T.Fatal(err)
	}
	p := fm.Pairs[0]
	h, _ := fm.Host(p.Sides[side].Host)
	return session.InstanceAt(ws, p.Instance(side), h.Address, p.Sides[side])
}

// Read has clients read, at a pace of 50 a second each, until the test ends: as many whom side A serves as of side B's own. 99 of 100
// reads are of the hot part. A read's time counts from when it was due: a client that waits for a slow read sends fewer, and without the
// reads that it could not send, a slow minute would look like a fast one (coordinated omission, Tene 2013).
func (s *ColdSide) Read(clients int) {
	ctx, stop := context.WithCancel(context.Background())
	a, _ := s.F.appDB(farm.A)
	b, _ := s.F.appDB(farm.B)
	var all sync.WaitGroup
	s.F.T.Cleanup(func() { stop(); all.Wait() })
	var share float64
	all.Go(func() {
		for ctx.Err() == nil {
			now := s.Share()
			s.mu.Lock()
			share = now
			s.mu.Unlock()
			time.Sleep(20 * time.Millisecond)
		}
	})
	for c := range 2 * clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 7))
			for next := time.Now(); ctx.Err() == nil; next = next.Add(20 * time.Millisecond) {
				time.Sleep(time.Until(next))
				id := random.IntN(hotRows) + 1
				if random.IntN(100) == 0 {
					id = random.IntN(s.rows) + 1
				}
				s.mu.Lock()
				here := c < clients && random.Float64()*100 < share
				s.mu.Unlock()
				db := b
				if here {
					db = a
				}
				var pad string
				err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT pad FROM %s WHERE id = %d", s.table, id)).Scan(&pad)
				if took := time.Since(next); err == nil && here {
					s.mu.Lock()
					s.took = append(s.took, took)
					s.mu.Unlock()
				}
			}
		})
	}
}

// P95 is that of what side A answers from now on, for so long, and of how many reads.
func (s *ColdSide) P95(during time.Duration) (time.Duration, int) {
	s.mu.Lock()
	s.took = nil
	s.mu.Unlock()
	time.Sleep(during)
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := slices.Sorted(slices.Values(s.took))
	if len(sorted) == 0 {
		s.F.T.Fatal("side A has answered no read")
	}
	return sorted[len(sorted)*95/100], len(sorted)
}

// Settle waits until reads no longer queue behind an empty pool, or for so long.
func (s *ColdSide) Settle(most time.Duration) {
	s.F.T.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); {
		if p95, _ := s.P95(5 * time.Second); p95 < 100*time.Millisecond {
			return
		}
	}
}

// ComesBack brings the side back after a restart; cold: as it would without any warming, restarted again right before its clients come.
func (s *ColdSide) ComesBack(cold bool) (said string) {
	s.F.T.Helper()
	s.Run(ExitFine, "", "side", "out", s.Name)
	s.Restart()
	if cold {
		const before = "before in"
		p := RunProgram(s.F.T, "both @ "+before, "side", "in", s.Name, "-C", s.F.Dir)
		if !strings.Contains(p.Stdout+p.Stderr, MarkOfKill) {
			s.F.T.Fatalf("it was not killed before its clients came: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
		}
		s.Restart()
	}
	p := RunProgram(s.F.T, "", "side", "in", s.Name, "-C", s.F.Dir)
	if p.Code != ExitFine || s.Share() != 100 {
		s.F.T.Fatalf("side in: exit %d, it serves %g %%\n%s%s", p.Code, s.Share(), p.Stdout, p.Stderr)
	}
	return p.Stdout + p.Stderr
}

// Apart moves side B's server into another control group than side A's, by the file of its tasks: each with a disk of its own speed.
func (s *ColdSide) Apart(tasks string) {
	s.F.T.Helper()
	pid, err := os.ReadFile(filepath.Join(s.instance(farm.B).Dir(), host.PidFile))
	if err == nil {
		err = os.WriteFile(tasks, []byte(strings.TrimSpace(string(pid))), 0)
	}
	if err != nil {
		s.F.T.Fatal(err)
	}
}
