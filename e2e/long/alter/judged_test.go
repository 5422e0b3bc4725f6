package alter

import (
	"context"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/host"
	"stowage/internal/altertest"
	"stowage/mysql"
	"stowage/schema"
	"stowage/schema/scratch"
)

// 200 changes, drawn by a grammar over real table definitions, are judged and then done on a real pair with rows that travel between the sides: what is called safe is safe, always; what is refused
// would have broken, but for one in twenty at most. STOWAGE_SEED=n draws others.
func TestJudgedChangesAreDone(t *testing.T) {
	judged(t, 200, schema.Around{})
}

// The same with rows of which the binary log has only the key and what a client said: changes of columns are refused there, most of them needlessly.
func TestJudgedChangesAreDoneWithMinimalImages(t *testing.T) {
	judged(t, 60, schema.Around{MinimalImages: true}, "--binlog-row-image=MINIMAL")
}

// A row that breaks a new CHECK and comes from the other side is applied; the ALTER of that side is refused for it, and says so. No row differs.
func TestSecondSideRefusesACheckThatRowsBreak(t *testing.T) {
	shape := altertest.Shape{Name: "checked", Tables: []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), n INT, KEY n (n))"}}
	p := altertest.StartPair(t)
	tables := p.Definitions(t, shape)
	all, err := schema.Changes("c.sql", []byte("ALTER TABLE t ADD CONSTRAINT c CHECK (id > -5 OR n > 100)"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := schema.Read(tables["t"])
	if err != nil {
		t.Fatal(err)
	}
	after, err := schema.Read(strings.Replace(tables["t"], "\n) ENGINE", ",\n  CONSTRAINT `c` CHECK (`id` > -5 or `n` > 100)\n) ENGINE", 1))
	if err != nil {
		t.Fatal(err)
	}
	j := schema.JudgeChange(schema.Tried{Change: all[0], Before: before, After: after, Algorithm: schema.Copy}, schema.Around{})
	if j.Class != schema.Directional || len(j.Remarks) == 0 {
		t.Fatalf("%+v", j)
	}
	for seed := range int64(20) { // until the first side has no such row, and the second writes one
		switch o := p.Do(t, rand.New(rand.NewSource(seed)), shape, all[0], j); {
		case strings.HasPrefix(o.Broke, "the second side: Error 4025"):
			return
		case o.Broke != "":
			t.Fatal(o.Broke)
		}
	}
	t.Error("no row has broken the check: nothing was tried")
}

func judged(t *testing.T, changes int, around schema.Around, options ...string) {
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	parent, err := os.MkdirTemp("", "stowage-judged-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := scratch.Open(t.Context(), scratch.Question{Local: local, Dir: filepath.Join(parent, "s"), Open: func(address string, account mysql.Account) *mysql.Server {
		return mysql.Open("scratch", address, account, slog.New(slog.DiscardHandler))
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	seed := farmtest.Number("STOWAGE_SEED", 1)
	r := altertest.Run(t, altertest.StartPair(t, options...), int64(seed), changes, around, func(tables map[string]string, change schema.Change) (schema.Tried, error) {
		return server.Try(t.Context(), tables, change, nil)
	})
	t.Logf("seed %d: %d changes: %v; %d refused by rows of the first side; %d wrongly called safe; %d refused needlessly; %d with safe steps, %d of them not safe; %d without a row",
		seed, r.Changes, r.Classes, r.ByRows, len(r.Wrong), len(r.Needless), r.Steps, len(r.BadSteps), len(r.Unwritten))
	for _, w := range r.Wrong {
		t.Errorf("wrongly called safe: %s", w)
	}
	for _, b := range r.BadSteps {
		t.Errorf("a step that is not safe: %s", b)
	}
	if around.MinimalImages {
		return
	}
	for _, n := range r.Needless {
		t.Logf("refused needlessly: %s", n)
	}
	if len(r.Needless)*20 > r.Changes {
		t.Errorf("%d of %d refused needlessly", len(r.Needless), r.Changes)
	}
}
