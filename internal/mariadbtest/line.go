package mariadbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"stowage/internal/turns"
)

// Line is a line of servers that is installed here: which programs to run.
type Line struct {
	Name      string // MariaDB 11.8
	MySQL     bool
	Server    string // path of mariadbd or mysqld
	InstallDB string // path of mariadb-install-db; MySQL needs none
	Bin       string // the directory to put in front of PATH for host programs; "" for what is there already
}

// flavorsDir is where scripts/flavors.sh puts servers of other lines.
func flavorsDir() string {
	if dir := os.Getenv("STOWAGE_FLAVORS"); dir != "" {
		return dir
	}
	return "/var/cache/stowage-flavors"
}

// Default is the server that is found first on the PATH, or the line that
// $STOWAGE_TEST_LINE names: that is how a suite that was written for one line
// is tried on another.
func Default(t testing.TB) Line {
	t.Helper()
	wanted(t)
	if name := os.Getenv("STOWAGE_TEST_LINE"); name != "" && name != MariaDB10 {
		return Named(t, name)
	}
	return installed(t)
}

// installed is the machine's own MariaDB.
func installed(t testing.TB) Line {
	t.Helper()
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd"} {
		if path, err := exec.LookPath(name); err == nil {
			return Line{Name: "MariaDB", Server: path, InstallDB: "mariadb-install-db"}
		}
	}
	t.Skip("NOT TESTED: mariadbd is not installed (Debian: mariadb-server), so nothing that needs a real server was run")
	return Line{}
}

// The lines that Stowage is tested on.
const (
	MariaDB10 = "mariadb-10.11" // the machine's own
	MariaDB11 = "mariadb-11.8"
	MySQL9    = "mysql-9.7"
)

// wanted skips the test where no servers are: make check.
func wanted(t testing.TB) {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" {
		t.Skip("SKIPPED: no servers are wanted")
	}
}

// Named is one line. A test that needs one that is not here is skipped, loudly. With -short, tests of lines other than the machine's
// own take turns: one commit in two has each of them.
func Named(t testing.TB, name string) Line {
	t.Helper()
	wanted(t)
	if name == MariaDB10 {
		return installed(t)
	}
	turns.One(t, 2)
	dir := filepath.Join(flavorsDir(), name)
	if _, err := os.Stat(filepath.Join(dir, "version")); err != nil {
		t.Skipf("NOT TESTED: there is no %s in %s (make flavors puts it there), so nothing of this was tried on that server", name, flavorsDir())
	}
	bin := filepath.Join(dir, "bin")
	if name == MySQL9 {
		return Line{Name: "MySQL 9.7", MySQL: true, Server: filepath.Join(bin, "mysqld"), Bin: bin}
	}
	return Line{Name: "MariaDB 11.8", Server: filepath.Join(bin, "mariadbd"), InstallDB: filepath.Join(bin, "mariadb-install-db"), Bin: bin}
}

// OnEach runs a test on a server of every line; those that are not here are
// skipped one by one.
func OnEach(t *testing.T, test func(t *testing.T, l Line)) {
	for _, name := range []string{MariaDB10, MariaDB11, MySQL9} {
		t.Run(name, func(t *testing.T) { test(t, Named(t, name)) })
	}
}

// Path is the PATH with the line's programs in front, for programs under test
// that look for them there.
func (l Line) Path() string {
	if l.Bin == "" {
		return os.Getenv("PATH")
	}
	return l.Bin + string(os.PathListSeparator) + os.Getenv("PATH")
}

func (l Line) group() string {
	if l.MySQL {
		return "mysqld"
	}
	return "mariadbd"
}

func (l Line) lean() string {
	if l.MySQL {
		return leanMySQL
	}
	return leanMariaDB
}

func (l Line) replicating() string {
	if l.MySQL {
		return replicatingMySQL
	}
	return replicatingMariaDB
}

func (l Line) recipe() []string {
	if l.MySQL {
		return recipeMySQL
	}
	return recipeMariaDB
}

// leanMySQL keeps a server at about 200 MB, most of it performance_schema,
// which stays on: Stowage reads sessions there.
const leanMySQL = `skip-name-resolve
mysqlx=OFF
secure-file-priv=
performance_schema=ON
performance_schema_max_table_instances=200
performance_schema_max_thread_instances=200
innodb_buffer_pool_size=16M
innodb_redo_log_capacity=16M
innodb_log_buffer_size=2M
innodb_buffer_pool_dump_at_shutdown=0
innodb_buffer_pool_load_at_startup=0
innodb_read_io_threads=1
innodb_write_io_threads=2
innodb_purge_threads=1
innodb_use_native_aio=0
key_buffer_size=64K
tmp_table_size=256K
table_open_cache=200
table_open_cache_instances=1
table_definition_cache=400
max_connections=100
thread_cache_size=4
binlog_cache_size=32K
innodb_flush_log_at_trx_commit=2
sync_binlog=0
`

// replicatingMySQL is what every side of a pair needs.
const replicatingMySQL = `log-bin=bl
relay-log=rl
log-replica-updates=ON
gtid-mode=ON
enforce-gtid-consistency=ON
auto-increment-increment=2
auto-increment-offset=1
skip-replica-start
replica-parallel-workers=2
replica-net-timeout=10
plugin-load-add=mysql_clone.so
`

// recipeMySQL makes the same accounts in MySQL's words.
var recipeMySQL = []string{
	"CREATE USER app@'%' IDENTIFIED BY 'app-password'",
	"GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO app@'%'",
	"CREATE USER repl@'%' IDENTIFIED BY 'repl-password'",
	"GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
	"CREATE USER stowage@'%' IDENTIFIED BY 'stowage-password'",
	"GRANT ALL PRIVILEGES ON *.* TO stowage@'%' WITH GRANT OPTION",
	"CREATE USER root@'127.%' IDENTIFIED BY 'root-password'",
	"GRANT ALL PRIVILEGES ON *.* TO root@'127.%' WITH GRANT OPTION",
	"ALTER USER root@localhost IDENTIFIED BY 'root-password'",
}

// makeTemplateMySQL makes a datadir with the system tables and the accounts.
// auto.cnf goes: each copy makes a server_uuid of its own.
func (h *home) makeTemplateMySQL(dir, config string) error {
	cmd := exec.Command(h.line.Server, "--defaults-file="+config, "--initialize-insecure", "--datadir="+dir, "--log-error-verbosity=1")
	cmd.SysProcAttr = h.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mysqld --initialize-insecure: %w\n%s", err, out)
	}
	if err := h.applyRecipe(dir, config); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, "auto.cnf"))
}
