package farmtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	egnyte "stowage/examples/egnyte-files"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/store"
)

// FilesShard is the database of a FilesFarm that is reshaped.
const FilesShard = "fs01"

// FilesFarm is a farm one of whose shards holds a cloud file system, of which clients write.
type FilesFarm struct {
	*LiveFarm
	Writers *files.Writers
	Tenants []files.Tenant
	// Behind says that an applier keeps the columns: when clients rest, what it has still to write is waited for.
	Behind bool
	Held   func() // called by a client that waits for a gate; nil: nobody wants to know

	isMySQL bool

	dsn  func(address string) string
	stop context.CancelFunc
	done chan error
}

// StartFilesFarm is one of a single pair, with so many versions. The spec is that of the example.
func StartFilesFarm(t *testing.T, topology farm.Topology, versions int64, clients files.Clients) *FilesFarm {
	t.Helper()
	return StartFilesFarmOf(t, mariadbtest.MariaDB10, topology, 1, versions, clients)
}

// StartFilesFarmOf has servers of a line, and pairs to which the shard can move. The program makes it, whose PATH has the line's servers in front.
func StartFilesFarmOf(t *testing.T, line string, topology farm.Topology, pairs int, versions int64, clients files.Clients) *FilesFarm {
	t.Helper()
	servers := mariadbtest.Named(t, line) // or there is nothing to test
	f := &FilesFarm{LiveFarm: EmptyFarm(t, "r630-ssd", 1)}
	if f.isMySQL = servers.MySQL; line != mariadbtest.MariaDB10 {
		f.Servers = servers.Path()
	}
	t.Cleanup(f.Down)
	hosts := strconv.Itoa(pairs * len(topology.Sides()))
	f.Must("demo", "up", "--topology", string(topology), "--pairs", strconv.Itoa(pairs), "--shards", "1", "--hosts", hosts)
	ws, fm, client, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	at := fm.Pairs[0].Sides[farm.A]
	db := f.Dial("unix", f.Path(at.Datadir)+"/mysqld.sock", "root", "")
	f.localInfile(db, "ON")
	if f.Tenants, err = files.Generate(t.Context(), db, FilesShard, files.Plan{Seed: 1, Versions: versions, Smallest: 200, Largest: versions / 4}); err != nil {
		t.Fatal(err)
	}
	f.localInfile(db, "OFF")
	if len(fm.Pairs[0].Sides) > 1 {
		f.caughtUp(db)
	}
	f.takeIn(ws)
	f.Spec("", "")
	f.add("due: {load: off, hosts: off, sizes: off, sources: off}\n")
	clients.Shard = FilesShard
	clients.DSN = func(address string) string {
		c := driver.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName, c.Logger, c.ParseTime, c.InterpolateParams = client.User, client.Password, "tcp", address, FilesShard, &driver.NopLogger{}, true, true
		return c.FormatDSN()
	}
	f.dsn, clients.Where = clients.DSN, f.where
	if f.Writers, err = files.NewWriters(t.Context(), db, clients); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Writers.Close() })
	return f
}

// localInfile lets MySQL take rows from its client, as MariaDB does, or not.
func (f *FilesFarm) localInfile(db *sql.DB, value string) {
	f.T.Helper()
	if !f.isMySQL {
		return
	}
	if _, err := db.ExecContext(f.T.Context(), "SET GLOBAL local_infile = "+value); err != nil {
		f.T.Fatal(err)
	}
}

// Spec writes the example's spec, with one text replaced by another.
func (f *FilesFarm) Spec(from, to string) {
	f.T.Helper()
	text := "shards: [" + FilesShard + "]\n" + egnyte.Spec
	if !strings.Contains(text, from) {
		f.T.Fatalf("the spec has no %q", from)
	}
	err := os.MkdirAll(filepath.Join(f.Dir, "reshape"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.Dir, "reshape/latest-version.yaml"), []byte(strings.Replace(text, from, to, 1)), 0o644)
	}
	if err != nil {
		f.T.Fatal(err)
	}
}

// Write lets clients write until Rest.
func (f *FilesFarm) Write() {
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.done = stop, make(chan error, 1)
	f.T.Cleanup(stop)
	go func() { f.done <- f.Writers.Run(ctx) }()
}

// Rest stops the clients. Then it compares both sides with what the clients were told, and the carried columns of active tenants with their versions.
func (f *FilesFarm) Rest() {
	f.T.Helper()
	f.stop()
	if err := <-f.done; err != nil {
		f.T.Error(err)
	}
	for name, db := range f.Sides() {
		var faults []string
		for deadline := time.Now().Add(WaitLimit); ; PauseTest() { // the other side applies what it has received
			var err error
			if faults, err = f.Writers.Compare(f.T.Context(), db); err != nil {
				f.T.Fatal(err)
			}
			if len(faults) == 0 || time.Now().After(deadline) {
				break
			}
		}
		if len(faults) > 0 {
			f.T.Errorf("%s: %d rows are not what clients were told, the first: %s", name, len(faults), faults[0])
		}
		f.Right(name, db)
	}
}

// Right holds the active tenants of one server against their versions, and says how many there are.
func (f *FilesFarm) Right(name farm.InstanceName, db *sql.DB) int64 {
	f.T.Helper()
	c, err := files.Look(f.T.Context(), db, FilesShard)
	for deadline := time.Now().Add(WaitLimit); err == nil && f.Behind && len(c.Mismatches) > 0 && time.Now().Before(deadline); c, err = files.Look(f.T.Context(), db, FilesShard) {
		PauseTest()
	}
	if err != nil {
		f.T.Fatal(err)
	}
	if len(c.Mismatches) > 0 {
		f.T.Errorf("%s: %d columns of active tenants are wrong, the first: %v", name, len(c.Mismatches), c.Mismatches[0])
	}
	return c.Tenants
}

// Sides are connections at the console of each server.
func (f *FilesFarm) Sides() map[farm.InstanceName]*sql.DB {
	f.T.Helper()
	_, p := f.Pair()
	out := map[farm.InstanceName]*sql.DB{}
	for _, side := range p.SideNames() {
		out[p.Instance(side)] = f.Dial("unix", f.Path(p.Sides[side].Datadir)+"/mysqld.sock", "root", "")
	}
	return out
}

// Stowage runs the program in the workspace, which must end with a code and say something.
func (f *FilesFarm) Stowage(code int, want string, args ...string) Program {
	f.T.Helper()
	p := RunWith(f.T, f.Env(""), append(args, "-C", f.Dir)...)
	if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
		f.T.Fatalf("stowage %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), p.Code, code, want, p.Stdout, p.Stderr)
	}
	return p
}

// TenantState is a tenant as `reshape status --json` has it.
type TenantState struct {
	ID         string     `json:"id"`
	Migrated   bool       `json:"migrated"`
	Active     bool       `json:"active"`
	Rows       int64      `json:"rows"`
	Mismatches int64      `json:"mismatches"`
	VerifiedAt *time.Time `json:"verified_at"`
}

// States are all of them.
func (f *FilesFarm) States() []TenantState {
	f.T.Helper()
	p := f.Stowage(ExitFine, "", "reshape", "status", "--json")
	var out struct {
		Tenants []TenantState `json:"tenants"`
	}
	if err := json.Unmarshal([]byte(p.Stdout), &out); err != nil {
		f.T.Fatalf("%v\n%s", err, p.Stdout)
	}
	return out.Tenants
}

// Active is how many are.
func (f *FilesFarm) Active() (n int) {
	f.T.Helper()
	for _, t := range f.States() {
		if t.Active {
			n++
		}
	}
	return n
}

// Definitions are the tables and triggers of the shard, by server.
func (f *FilesFarm) Definitions() map[farm.InstanceName]string {
	f.T.Helper()
	out := map[farm.InstanceName]string{}
	for name, db := range f.Sides() {
		text := ""
		for _, table := range []string{"tenants", "folders", "files", "versions"} {
			var n, create string
			if err := db.QueryRowContext(f.T.Context(), "SHOW CREATE TABLE "+FilesShard+"."+table).Scan(&n, &create); err != nil {
				f.T.Fatal(err)
			}
			text += create + "\n"
		}
		var triggers sql.NullString
		if err := db.QueryRowContext(f.T.Context(), "SELECT GROUP_CONCAT(TRIGGER_NAME ORDER BY TRIGGER_NAME) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ?", FilesShard).Scan(&triggers); err != nil {
			f.T.Fatal(err)
		}
		var leases string
		if err := db.QueryRowContext(f.T.Context(), "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'stowage_latest'", FilesShard).Scan(&leases); err != nil {
			f.T.Fatal(err)
		}
		out[name] = text + triggers.String + "\n" + leases + " table of leases"
		_ = db.Close()
	}
	return out
}

// Forget makes a task of due be due again, as if its last time were a day ago.
func (f *FilesFarm) Forget(task string) {
	f.T.Helper()
	db, err := store.Open(filepath.Join(f.Dir, ".stowage/stowage.db"))
	if err == nil {
		at := time.Now().Add(-24 * time.Hour)
		err = errors.Join(db.PutDuty(store.Duty{Task: task, Begun: at, Ended: at, IsDone: true}, store.Yield{}, store.Keep{Hours: 1000 * time.Hour, Days: 10000 * time.Hour}), db.Close())
	}
	if err != nil {
		f.T.Fatal(err)
	}
}

// Past runs a statement at the console of side A, with a tenant, and waits until the other side has it.
func (f *FilesFarm) Past(statement, tenant string) {
	f.T.Helper()
	db := f.Root(farm.A)
	if _, err := db.ExecContext(f.T.Context(), statement, tenant); err != nil {
		f.T.Fatal(err)
	}
	f.caughtUp(db)
}

// caughtUp waits until side B has what side A has.
func (f *FilesFarm) caughtUp(db *sql.DB) {
	f.T.Helper()
	position, wait := "SELECT @@GLOBAL.gtid_current_pos", "SELECT MASTER_GTID_WAIT(?, 30)"
	if f.isMySQL {
		position, wait = "SELECT @@GLOBAL.gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET(?, 30)"
	}
	var at string
	if err := db.QueryRowContext(f.T.Context(), position).Scan(&at); err != nil {
		f.T.Fatal(err)
	}
	var code sql.NullInt64
	if err := f.Root(farm.B).QueryRowContext(f.T.Context(), wait, at).Scan(&code); err != nil || code.Int64 != 0 {
		f.T.Fatalf("side B does not come to %s: %v %v", at, code, err)
	}
}
