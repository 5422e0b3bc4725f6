package alter

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// leg is one way to widen the column.
type leg struct {
	name string
	what string // in the table of docs/measuring/benchmarks.md
	peer bool   // a program that others have written
	// half: it widens the column of one side only, and is no whole change.
	half bool
	// bare: on a pair with other options than the farm's.
	bare bool
	run  func(p *alteredPair)
}

const quiet = "quiet"

var (
	baseline = leg{name: quiet, what: "no change, 20 s", run: func(*alteredPair) { time.Sleep(quietFor) }}
	plain    = leg{name: "plain", what: "the server's `ALTER TABLE` on the primary, replicated", run: (*alteredPair).plain}
	alone    = leg{name: "alone", what: "the server's `ALTER TABLE` on the replica alone, and its replication caught up: one side of two", half: true, run: (*alteredPair).alone}
	ghost    = leg{name: "gh-ost", what: "gh-ost 1.1.8", peer: true, bare: true, run: (*alteredPair).ghost}
	triggers = leg{name: "pt-osc", what: "pt-online-schema-change 3.2.1", peer: true, run: (*alteredPair).triggers}
	spirit   = leg{name: "spirit", what: "spirit 0.10.1", peer: true, bare: true, run: (*alteredPair).spirit}
	ours     = leg{name: "stowage", what: "`stowage alter`", run: (*alteredPair).stowage}
)

// quietFor is how long clients are measured while nothing is changed; a test, which looks at no time, needs less.
var quietFor = 20 * time.Second

// line is a line of servers, with the ways that are tried on it.
type line struct {
	name  string // as mariadbtest has it
	start func(t *testing.T, name string, rows int) *alteredPair
	legs  []leg
}

// What each program says of the other lines: gh-ost 1.1.8 on MariaDB 10.11 "Unknown system variable 'transaction_isolation'" (it came with 11.1), spirit 0.10.1 on MySQL 9.7
// "MySQL 8.0 is required"; pt-online-schema-change 3.2.1 is older than MySQL 9, and spirit knows no MariaDB.
var lines = []line{
	{mariadbtest.MariaDB10, startFarm, []leg{baseline, triggers, plain, alone, ours}},
	{mariadbtest.MariaDB11, startFarm, []leg{ghost, triggers, plain, alone, ours}},
	{mariadbtest.MySQL9, startFarm, []leg{baseline, ghost, spirit, plain, alone, ours}},
}

func (p *alteredPair) plain() {
	p.exec(farm.A, fmt.Sprintf("ALTER TABLE %s %s", p.name(), widening))
}

// alone is what each side of a pair is put through by `stowage alter`, without what it takes to lead clients away.
func (p *alteredPair) alone() {
	stop, start := "STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"
	conversions := "SET GLOBAL slave_type_conversions = 'ALL_NON_LOSSY'"
	if p.mysql {
		stop, start = "STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"
		conversions = "SET GLOBAL replica_type_conversions = 'ALL_NON_LOSSY'"
		p.exec(farm.B, "SET GLOBAL super_read_only = OFF")
	}
	p.exec(farm.B, stop, conversions, "SET sql_log_bin = 0", fmt.Sprintf("ALTER TABLE %s %s", p.name(), widening), start)
	p.caughtUp()
}

// ghost reads the replica's binary log and writes to the primary, which is how gh-ost is meant to be used.
func (p *alteredPair) ghost() {
	host, port, _ := net.SplitHostPort(p.address[farm.B])
	p.program(peerFile(p.t, "gh-ost-v1.1.8"), "--execute", "--host="+host, "--port="+port, "--user="+p.all.user, "--password="+p.all.password,
		"--assume-master-host="+p.address[farm.A], "--assume-rbr", "--database="+string(p.shard), "--table="+table, "--alter="+widening,
		"--ok-to-drop-table", "--initially-drop-ghost-table", "--initially-drop-old-table", "--initially-drop-socket-file",
		"--serve-socket-file="+filepath.Join(p.t.TempDir(), "gh-ost.sock"))
}

func (p *alteredPair) triggers() {
	path, err := exec.LookPath("pt-online-schema-change")
	if err != nil {
		p.t.Fatal("pt-online-schema-change is not installed (scripts/setup.sh bench)")
	}
	host, port, _ := net.SplitHostPort(p.address[farm.A])
	p.program(path, "--execute", "--no-version-check", "--recursion-method=hosts", "--alter="+widening,
		fmt.Sprintf("h=%s,P=%s,u=%s,p=%s,D=%s,t=%s", host, port, p.all.user, p.all.password, p.shard, table))
}

func (p *alteredPair) spirit() {
	p.program(peerFile(p.t, "spirit-v0.10.1"), "--host="+p.address[farm.A], "--username="+p.all.user, "--password="+p.all.password,
		"--database="+string(p.shard), "--table="+table, "--alter="+widening,
		fmt.Sprintf("--replica-dsn=%s:%s@tcp(%s)/%s", p.all.user, p.all.password, p.address[farm.B], p.shard))
}

func (p *alteredPair) stowage() {
	if farmtest.RunProgram(p.t, "", "alter", "--help").Code != farmtest.ExitFine {
		p.t.Fatal("this program has no verb alter: `stowage alter --help` fails. Without it: PARTS=\"quiet gh-ost pt-osc spirit plain alone\" BENCH=alter make bench")
	}
	script := filepath.Join(p.farm.Dir, "widen.sql")
	if err := os.WriteFile(script, []byte(fmt.Sprintf("ALTER TABLE %s %s;\n", table, widening)), 0o644); err != nil {
		p.t.Fatal(err)
	}
	out := farmtest.RunWith(p.t, p.farm.Env(""), "-C", p.farm.Dir, "alter", script, "--yes", "--json")
	if out.Code != farmtest.ExitFine {
		p.t.Fatalf("stowage alter: exit %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
}

// program runs a peer to its end. What it says is shown only when it fails.
func (p *alteredPair) program(path string, args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), path, args...)
	cmd.Dir = p.t.TempDir()
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	said := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := said[len(said)-1]; strings.HasSuffix(last, "MySQL 8.0 is required") {
		p.t.Skipf("NOT TESTED: %s refuses this server: %s", filepath.Base(path), last)
	}
	p.t.Fatalf("%s: %v\n%s", filepath.Base(path), err, strings.Join(said[max(0, len(said)-15):], "\n"))
}

// peerFile is a peer that scripts/bench/alter.sh has built.
func peerFile(t *testing.T, name string) string {
	t.Helper()
	home, _ := os.UserHomeDir() // else only STOWAGE_PEERS will do
	path := filepath.Join(cmp.Or(os.Getenv("STOWAGE_PEERS"), filepath.Join(home, ".cache/stowage/peers")), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: BENCH=alter make bench does it (%v)", name, err)
	}
	return path
}
