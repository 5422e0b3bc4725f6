package farmtest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// RestoreAnswer is what `restore --json` prints.
type RestoreAnswer struct {
	Shard    string    `json:"shard"`
	Pair     string    `json:"pair"`
	Database string    `json:"database"`
	LeftOut  []string  `json:"left_out"`
	Instance string    `json:"instance"`
	Address  string    `json:"address"`
	Backup   string    `json:"backup"`
	At       time.Time `json:"at"`
	GTID     string    `json:"gtid"`
	Rows     int64     `json:"rows_compared"`
	Differ   int       `json:"differences"`
	Seconds  float64   `json:"seconds"`
}

// FirstShard is one of its databases.
func (k *KeptFarm) FirstShard() string {
	k.F.T.Helper()
	_, fm, _, err := FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	return string(fm.Pairs[0].Shards[0].Name)
}

// Restore restores the pair, which has to come out well, and says where it serves.
func (k *KeptFarm) Restore(args ...string) RestoreAnswer {
	k.F.T.Helper()
	pair, _, _ := strings.Cut(k.Name, "/")
	return k.RestoreOf(pair, args...)
}

// RestoreOf is Restore of a pair or an instance.
func (k *KeptFarm) RestoreOf(what string, args ...string) RestoreAnswer {
	k.F.T.Helper()
	return k.restore(append([]string{what}, args...))
}

// RestoreShard takes a shard out of the newest backup that fits.
func (k *KeptFarm) RestoreShard(shard string, args ...string) RestoreAnswer {
	k.F.T.Helper()
	return k.restore(append([]string{"--shard", shard}, args...))
}

func (k *KeptFarm) restore(args []string) RestoreAnswer {
	k.F.T.Helper()
	p := RunWith(k.F.T, k.F.Env(""), append([]string{"restore", "--json", "-C", k.F.Dir}, args...)...)
	var out RestoreAnswer
	if err := json.Unmarshal([]byte(p.Stdout), &out); err != nil || p.Code != ExitFine {
		k.F.T.Fatalf("restore %q: exit %d, %v\n%s%s", args, p.Code, err, p.Stdout, p.Stderr)
	}
	return out
}

// Told runs statements on the backed-up side as its administrator does.
func (k *KeptFarm) Told(statements ...string) {
	k.F.T.Helper()
	db := k.F.Root(k.Of)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(k.F.T.Context(), s); err != nil {
			k.F.T.Fatalf("%s: %v", s, err)
		}
	}
}

// ValueAt is the one value of a query on a restored instance, as its administrator asks.
func (k *KeptFarm) ValueAt(r RestoreAnswer, query string) (v string) {
	k.F.T.Helper()
	socket, err := filepath.Glob(filepath.Join(k.F.Dir, "hosts", "*", r.Instance, "data", "mysqld.sock"))
	if err != nil || len(socket) != 1 {
		k.F.T.Fatalf("%q %v", socket, err)
	}
	db := k.F.Dial("unix", socket[0], "root", "")
	defer db.Close()
	if err := db.QueryRowContext(k.F.T.Context(), query).Scan(&v); err != nil {
		k.F.T.Fatalf("%s: %v", query, err)
	}
	return v
}

// lateBy is how much later than its acknowledgement a write of one side may be in the binary log of the other, and how long a write may take.
const lateBy = 10 * time.Second

// CheckSecond is CheckSecondOf the side that is backed up.
func (k *KeptFarm) CheckSecond(r RestoreAnswer, second time.Time) {
	k.F.T.Helper()
	_, fm, _, err := FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	k.CheckSecondOf(fm.Pairs[0].Instance(k.Of), r, second)
}

// CheckSecondOf holds what a restored instance has against the ledger of that second: what the backed-up side had acknowledged by its end is there,
// what was acknowledged well after it is not, and nothing is there twice.
func (k *KeptFarm) CheckSecondOf(instance farm.InstanceName, r RestoreAnswer, second time.Time) {
	k.F.T.Helper()
	_, fm, app, err := FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	name, of := sideOf(fm, instance)
	pair, ok := fm.Pair(name)
	if !ok {
		k.F.T.Fatalf("%s is not an instance of the farm", instance)
	}
	db := k.F.Dial("tcp", r.Address, app.User, app.Password)
	defer db.Close()
	has := map[string]int{}
	var shards []string
	for _, s := range pair.Shards {
		shards = append(shards, string(s.Name))
		if err := receipts(db, string(s.Name), string(s.Name), has); err != nil {
			k.F.T.Fatal(err)
		}
	}
	k.judge(instance, of, shards, has, second)
}

// CheckShardAt is CheckSecond of one shard that was taken out of a backup, on both sides of the pair.
func (k *KeptFarm) CheckShardAt(shard, database string, second time.Time) {
	k.F.T.Helper()
	_, fm, _, err := FarmAccess(k.F.Dir)
	if err != nil {
		k.F.T.Fatal(err)
	}
	for side := range fm.Pairs[0].Sides {
		has := map[string]int{}
		db := k.F.Root(side)
		defer db.Close()
		if err := receipts(db, database, shard, has); err != nil {
			k.F.T.Fatal(err)
		}
		k.judge(fm.Pairs[0].Instance(k.Of), k.Of, []string{shard}, has, second)
	}
}

// judge holds how often each write is there against the ledger.
func (k *KeptFarm) judge(instance farm.InstanceName, of farm.SideName, shards []string, has map[string]int, second time.Time) {
	k.F.T.Helper()
	end := second.Truncate(time.Second).Add(time.Second)
	must, mustNot := 0, 0
	for _, w := range k.ledger() {
		if !slices.Contains(shards, w[1]) {
			continue
		}
		key := w[1] + " " + w[0] + " " + w[2]
		ns, _ := strconv.ParseInt(w[5], 10, 64)
		at := time.Unix(0, ns)
		late := time.Duration(0)
		if farm.SideName(w[3]) != of {
			late = lateBy
		}
		switch {
		case has[key] > 1:
			k.F.T.Errorf("%s is there %d times", key, has[key])
		case at.Before(end.Add(-late)):
			if must++; has[key] == 0 {
				k.F.T.Errorf("%s was acknowledged by side %s at %s, and is not there at %s", key, w[3], at.Format(time.RFC3339Nano), end.Format(time.TimeOnly))
			}
		case at.After(end.Add(lateBy)):
			if mustNot++; has[key] > 0 {
				k.F.T.Errorf("%s was acknowledged at %s, and is there at %s already", key, at.Format(time.RFC3339Nano), end.Format(time.TimeOnly))
			}
		}
	}
	if must == 0 {
		k.F.T.Errorf("nothing had been acknowledged by %s", end)
	}
	k.F.T.Logf("%s at %s: %d writes had to be there, %d not yet; %d are", instance, end.Format(time.TimeOnly), must, mustNot, len(has))
}

func receipts(db *sql.DB, database, shard string, into map[string]int) error {
	rows, err := db.Query(fmt.Sprintf("SELECT client, seq FROM `%s`.receipts", database))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var client, seq string
		if err := rows.Scan(&client, &seq); err != nil {
			return err
		}
		into[shard+" "+client+" "+seq]++
	}
	return rows.Err()
}

// ledger is what clients were told, a line each: client, shard, seq, side, address, nanoseconds.
func (k *KeptFarm) ledger() (out [][]string) {
	k.F.T.Helper()
	files, err := filepath.Glob(filepath.Join(ledgerDir(k.F.Dir), "ledger", "*.tsv"))
	if err != nil || len(files) == 0 {
		k.F.T.Fatalf("no ledger: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			k.F.T.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 6 {
				out = append(out, f)
			}
		}
	}
	return out
}

// KilledIn begins something with the program that is killed at a border, and continues with it until it has come out well.
func (k *KeptFarm) KilledIn(kill, at string, args ...string) {
	k.F.T.Helper()
	p := RunWith(k.F.T, k.F.Env(kill+" @ "+at), append(args, "-C", k.F.Dir)...)
	if !strings.Contains(p.Stdout+p.Stderr, MarkOfKill+at) {
		k.F.T.Fatalf("stowage %s: never met %q: exit %d\n%s%s", strings.Join(args, " "), at, p.Code, p.Stdout, p.Stderr)
	}
}

// Backups are the ids of what `backup list` says there is.
func (k *KeptFarm) Backups() (ids []string) {
	k.F.T.Helper()
	p := RunWith(k.F.T, k.F.Env(""), "backup", "list", "--json", "-C", k.F.Dir)
	var out struct {
		Backups []struct {
			ID string `json:"id"`
		} `json:"backups"`
	}
	if err := json.Unmarshal([]byte(p.Stdout), &out); err != nil || p.Code != ExitFine {
		k.F.T.Fatalf("backup list: exit %d, %v\n%s%s", p.Code, err, p.Stdout, p.Stderr)
	}
	for _, b := range out.Backups {
		ids = append(ids, b.ID)
	}
	return ids
}

// Instances are those that have a backup.
func (k *KeptFarm) Instances() (out []farm.InstanceName) {
	k.F.T.Helper()
	for _, id := range k.Backups() {
		instance, _, _ := strings.Cut(id, "/")
		if !slices.Contains(out, farm.InstanceName(instance)) {
			out = append(out, farm.InstanceName(instance))
		}
	}
	return out
}

// NothingLeft: no half set is in the vault, and no restored instance on a host.
func (k *KeptFarm) NothingLeft() {
	k.F.T.Helper()
	for _, pattern := range []string{"vault/*/*.partial", "hosts/*/*-restored-*", "hosts/*/*-clone-*", "hosts/*/.stowage-seed-*", "hosts/*/*/.stowage-seed-*"} {
		if left, _ := filepath.Glob(filepath.Join(k.F.Dir, pattern)); len(left) > 0 {
			k.F.T.Errorf("left behind: %q", left)
		}
	}
}

// OnBoth is the value of a query on each side of the pair, which has to be the same.
func (k *KeptFarm) OnBoth(query string) string {
	k.F.T.Helper()
	var all []string
	for _, side := range []farm.SideName{farm.A, farm.B} {
		db := k.F.Root(side)
		defer db.Close()
		var v string
		if err := db.QueryRowContext(k.F.T.Context(), query).Scan(&v); err != nil {
			k.F.T.Fatalf("%s on side %s: %v", query, side, err)
		}
		all = append(all, v)
	}
	if all[0] != all[1] {
		k.F.T.Errorf("%s: %q on side A, %q on side B", query, all[0], all[1])
	}
	return all[0]
}

// NothingTakenOut: no database that a restore has made is there, and none that one was making.
func (k *KeptFarm) NothingTakenOut() {
	k.F.T.Helper()
	if left := k.OnBoth("SELECT COALESCE(GROUP_CONCAT(DISTINCT SCHEMA_NAME), '') FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '%then%' OR SCHEMA_NAME LIKE '%restored%'"); left != "" {
		k.F.T.Errorf("left behind: %s", left)
	}
	k.NoMarks()
}

// NoMarks: no copier has left anything.
func (k *KeptFarm) NoMarks() {
	k.F.T.Helper()
	if n := k.OnBoth("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_stowmark%'"); n != "0" {
		k.F.T.Errorf("%s tables of marks are left", n)
	}
}
