package farmtest

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

func PauseTest() { time.Sleep(50 * time.Millisecond) }

const (
	Goes              = "etsy_shard_0001" // of dbshard001, beside etsy_shard_0002
	Home, Away        = "dbshard001", "dbshard002"
	MovedShard        = farm.ShardName(Goes)
	HomePair, AwayOne = farm.PairName(Home), farm.PairName(Away)
)

func (f *LiveFarm) FarmFile() string {
	f.T.Helper()
	raw, err := os.ReadFile(f.Dir + "/farm.yaml")
	if err != nil {
		f.T.Fatal(err)
	}
	return string(raw)
}

// ShardIsAt checks that farm.yaml, routing and the servers agree on where a
// shard is, and that nothing of it is left anywhere else.
func (f *LiveFarm) ShardIsAt(shard farm.ShardName, pair farm.PairName) {
	t := f.T
	t.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Serves(shard); !slices.Equal(got, []farm.PairName{pair}) {
		t.Errorf("routing has %s at %v, want %s", shard, got, pair)
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		listed := slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == shard })
		if listed != (p.Name == pair) {
			t.Errorf("farm.yaml lists %s under %s: %v", shard, p.Name, listed)
		}
		for side, place := range p.Sides {
			s := mysql.Open(p.Instance(side), fm.Address(place), admin, slog.New(slog.DiscardHandler))
			defer s.Close()
			f.awaitSchema(s, string(shard), p.Name == pair)
		}
	}
}

// awaitSchema gives replication a moment to bring a DROP DATABASE to the twin.
func (f *LiveFarm) awaitSchema(s *mysql.Server, schema string, want bool) {
	f.T.Helper()
	for end := time.Now().Add(WaitLimit); time.Now().Before(end); PauseTest() {
		there, err := s.HasSchema(f.T.Context(), schema)
		if err != nil {
			f.T.Fatal(err)
		}
		if there == want {
			return
		}
	}
	f.T.Errorf("%s has database %s: %v, want %v", s.Name(), schema, !want, want)
}

// HeldFor waits out the time when no pair lists the shard, and says whether it
// was so.
func (f *LiveFarm) HeldFor(d time.Duration) bool {
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil || len(table.Serves(MovedShard)) > 0 {
		f.heldSince = time.Time{}
		return false
	}
	if f.heldSince.IsZero() {
		f.heldSince = time.Now()
	}
	return time.Since(f.heldSince) > d
}

func (f *LiveFarm) Price(pair farm.PairName, side farm.SideName, row int) int {
	f.T.Helper()
	_, fm, app, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	p, _ := fm.Pair(pair)
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", fm.Address(p.Sides[side])
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var n int
	if err := db.QueryRow(fmt.Sprintf("SELECT price FROM `%s`.listings WHERE id = %d", Goes, row)).Scan(&n); err != nil {
		f.T.Fatal(err)
	}
	return n
}

func (f *LiveFarm) Routing() string {
	f.T.Helper()
	raw, err := os.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		f.T.Fatal(err)
	}
	return string(raw)
}

func (f *LiveFarm) NeighboursNeverWaited() {
	f.T.Helper()
	for shard, n := range f.Load.Stop().GateShards {
		if shard != MovedShard {
			f.T.Errorf("%d transactions of %s, which nobody moved, waited", n, shard)
		}
	}
}
