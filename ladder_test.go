package stowage_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The ladder: which package may be on which. Imports go downwards only,
// never up and never to a neighbour of the same rung. Every package of the
// module has its place here, with the reason for it.
//
// Test files are not bound by the direction: a test may use a package above
// as its judge (placement's tests ask placement/check).
var ladder = []rung{
	{
		"cmd/stowage": "the program: wires the verbs, and is the one place that exits",
	},
	{
		"serve": "shows a workspace in a browser; above report, whose pieces its pages frame. What it shows is handed in",
	},
	{
		"report": "shows what was kept; asks nobody anything",
	},
	{
		"demo":    "makes and removes a farm to try things on; knows nothing of moving",
		"domains": "a verb: leads sides out of a GTID domain that others write; is handed what edits option files and keeps its records",
		"move":    "a verb: reads like the runbook it replaces",
		"reshape": "a verb: carries columns of children onto their parents, tenant by tenant",
		"alter":   "a verb: changes tables on both sides of a pair, one after the other",
		"backup":  "a verb: copies instances into vaults, and makes instances of them",
		"roll":    "a verb: takes sides out for whoever works on their servers, and brings them back",
		"replay":  "a verb: sends recorded statements to a candidate, and writes only where its guard finds nobody else",
	},
	{
		"sides": "opens sides by their role for acts that work on servers in place; above act, whose tasks and questions it uses, and below the verbs, which share it",
	},
	{
		"backup/kept": "the catalogue in the store; above store, whose documents backups are",
	},
	{
		"act": "what makes a list of steps durable, steered and seen; below every act, knows no topology",
	},
	{
		"session": "opens and closes what a program works with: workspace, store, accounts, router, engine, agents; above all of these, below what runs in it, and knows no runs",
	},
	{
		"follow/kafka": "a sink of follow: knows the protocol and nothing of rows",
		"follow":       "hands what is written to a shard to a consumer outside; above feed, which it reads, and workspace, whose way of writing files it uses. Where the shard is, is handed in",
		"bench/trial":  "measures the cells of a matrix, round by round: testbeds are made, measured, and taken away",
		"survey":       "reads counters and settings of servers and machines. An agent is handed its Station and knows it as an interface, as it does record's",
		"command":      "runs a command on this machine exactly once; above host, which finds the program, and workspace, whose way of writing files it uses. An agent is handed its Station and knows it as an interface",
		"packages":     "brings packages of this machine to pinned versions; runs as the command of an order and knows no farm",
		"record":       "collects a window of live traffic and keeps its digest; above workspace because its journals are files of one. An agent is handed its Station and knows it as an interface, as it knows the machine",
		"backup/kept":  "what is known of backups, in the store; above it",
		"agent":        "plays a host over the network; above engine, on whose queues calls wait, and host, which it plays",
		"bench/engine": "runs servers of its own and loads them; above bench, whose place, lock and ear for others it uses, and host, which finds the programs",
		"swing":        "the one place that knows how a side leaves and returns; above routing and servers, below every verb",
		"demo/load":    "an outside client of the farm; stands above route because it follows routing.json as any client does",
		"tune/prove":   "tries what a rule proposes by measuring; above bench, which measures, and tune/fix, which sets and takes back, and neither knows it",
	},
	{
		"snapshot":           "reads one tenant's rows of one view and writes them down; is handed a server",
		"copier":             "carries one database by rows and by the binary log; asks nobody which side serves",
		"fresh":              "starts servers that nobody knows yet, with options after another's; knows no farm file",
		"compare":            "compares a copy with a server that it follows, at a barrier; asks nobody which side serves",
		"engine":             "durable execution; knows no farm",
		"bench/testbed":      "makes what a cell of a matrix is measured on, and takes it away, also after a kill: files, loop devices, arrays, file systems, mounts, queue settings",
		"bench":              "makes I/O on a storage through fio, and finds out what disturbed it; knows no farm",
		"route":              "who is in rotation; talks to no server",
		"store":              "what is kept: runs, events, documents",
		"inventory":          "what the servers say against what farm.yaml says",
		"inventory/graph":    "pure: which source is made of which, and what breaks if one is wrong; above inventory/claims, whose report it reads",
		"inventory/discover": "what servers say, where there is no farm.yaml yet; knows no inventory, which begins with one",
		"schema/ask":         "which tables the shards of these servers have; thinks nothing of it",
		"schema/scratch":     "has a throw-away server of this machine read what people wrote; above host, which founds it",
		"inventory/sources":  "what each source of inventory.yaml claims; is handed what opens servers",
		"workspace":          "the team's files and the lock; above placement because plans and goals are files",
		"tune/probe":         "reads a machine, or a tree recorded from one, into the facts of tune; is handed what runs the machine's tools",
		"tune/fix":           "carries out what tune proposes, and takes it back by its journal; is handed what reads and writes settings",
	},
	{
		"feed":          "reads a database's changes behind a position; is handed what says which server, and decides nothing of what becomes of a change",
		"mysql/traffic": "what servers were asked, and asking it again; reads no rows of tables",
		"mysql/latest":  "the columns that a reshape carries, read and written; above reshape/spec, which says which",
	},
	{
		"mysql/rows": "a table's rows, read, carried, compared and corrected; above mysql, whose sessions it uses, and backup/dump, whose streams it writes",
	},
	{
		"mysql":      "the door to database servers",
		"host":       "the door to machines; above vault, into which it brings copies, and binlog, whose files it archives",
		"bench/disk": "which block device is meant, and whether its data may be destroyed",
	},
	{
		"backup/catalogue": "pure: backups to chains, what may go and what is wrong; above vault for the words of a place only",
		"backup/window":    "pure: how long a backup of a farm takes, and what binds; above capacity, whose rates and shares of load it uses",
	},
	{
		"vault": "keeps streams in directories and repositories, whole or not at all; knows no database",
	},
	{
		"alter/plan":   "pure: which tables are changed, how and in which order; above schema, whose judgements it holds, and below workspace, because its plans are files",
		"reshape/spec": "pure: what a reshape carries, and whether tables allow it; below workspace, because specs are files",
		"explain":      "pure: what each code means; above tune, whose rules explain themselves",
		"metrics":      "pure: what is known of a farm to what Prometheus reads; above capacity and digest, whose answers it tells",
	},
	{
		"placement/check": "judges plans; above placement for the words of a plan only, it shares no code with the solver",
	},
	{
		"placement":              "pure: farm and goals to a plan",
		"schema":                 "pure: definitions of tables, the difference between two of them, and what a change means",
		"roll/agenda":            "pure: hosts and limits to the order in which they are rolled; below workspace, because its plans and playbooks are files",
		"capacity":               "pure: measured series to days with an interval",
		"inventory/claims":       "pure: what sources say to conflicts and culprits; reads no source",
		"inventory/shardload":    "pure: counters of servers, processes and disks to the load of each shard; below mysql and host, which read them",
		"placement/bound/verify": "proves the certificates of bounds again; above placement/bound for its words only, it shares no code with it",
		"bench/decide":           "pure: goals and candidates to an outcome; above bench/result, whose figures it weighs",
		"digest":                 "pure: a stream of events to classes and comparisons",
		"bench/transcript":       "pure: what other programs printed to results; above bench/result, whose document it makes",
		"bench/matrix":           "pure: axes to cells, and what their results say of each other",
		"tune":                   "pure: facts about a machine to findings",
		"bench/engine/sheet":     "pure: the document of a bench of engines, and its words; above bench/result, whose noise and latencies it shares",
	},
	{
		"bench/engine/flame": "pure: samples of a profiler to a picture",
		"bench/result":       "pure: the document that a bench leaves, and what two of them say",
		"placement/schedule": "pure: moves to an order that overloads no host on the way, and its time",
	},
	{
		"backup/dump":     "pure: a stream of SQL texts, made and taken apart; below mysql/rows, which writes the texts, and host, which keeps the stream and has it loaded",
		"internal/border": "kills the program where a test says so; only the program that tests run is built with it (tag livetest)",
		"capture":         "pure: packets to statements with their values, answers and times; below digest, which counts them, so that there is one reader of captures",
	},
	{
		"bench/stat": "pure: runs to means, intervals, ratios and verdicts; knows no storage",
	},
	{
		"farm":                "the words all of the above share; imports none of ours",
		"replay/effect":       "pure: what a statement does, by its text; knows no recording, so that whoever sends recorded statements asks it",
		"binlog":              "pure: bytes of a binary log to transactions, where they begin and when they were written",
		"due":                 "pure: intervals and what was done to what is due; knows no task",
		"pace":                "pure: readings of servers to the rate of a copy",
		"placement/pack":      "pure: demands and capacities to an assignment; knows no farm",
		"placement/bound":     "pure: what no packing can do without, in numbers; knows no farm",
		"snapshot/format":     "pure: rows to JSON lines, CSV and Parquet; knows no server",
		"packages/pin":        "pure: names and versions of packages; asks no package manager",
		"internal/student":    "the t distribution; no opinion about what was measured",
		"internal/lasting":    "makes the names of files survive a power cut",
		"internal/nested":     "how deep JSON and YAML may be nested, for every reader of them",
		"internal/safefile":   "opens files where somebody else may have prepared something",
		"internal/lazy":       "what only some commands need, made when it is asked for first",
		"internal/keeper":     "starts processes that the kernel ends with ours",
		"internal/optionfile": "one line of an option file; no opinion about databases",
		"internal/manpage":    "pure: words to a manual page; is told what is in it",
		"internal/table":      "pure: rows of cells to lines of text; knows no terminal",
	},
}

// rung holds packages of one height, with the reason why they are there.
type rung map[string]string

// support is for tests: no other file may import these packages.
var support = map[string]string{
	"internal/altertest":             "changes tables on a real pair, for tests",
	"internal/mariadbtest":           "starts throw-away servers",
	"internal/mysqltest":             "opens our connections to throw-away servers",
	"examples/egnyte-files":          "the texts of an example: its schema and the queries of its application",
	"examples/egnyte-files/files":    "the rows, the clients and the judge of an example; shares no statement with what it judges",
	"examples/egnyte-files/generate": "a program of an example: makes rows in a server",
	"examples/egnyte-files/app":      "a program of an example: an application that heeds the flags",
	"e2e/attack":                     "plays nobody against the built programs",
	"e2e/farmtest":                   "makes farms under load, runs the program on them, and judges",
	"internal/promtest":              "runs Debian's Prometheus with a past, for tests",
	"internal/turns":                 "says whether it is a test's turn",
	"internal/raced":                 "says whether the race detector is on",
	"internal/heard":                 "keeps what a process says while it runs",
	"internal/netlab":                "makes machines out of network namespaces, for tests",
	"internal/browsertest":           "opens pages in Chromium",
	"internal/notices":               "writes down whose licences are in the binaries; in none of them",
	"internal/treetest":              "makes trees of files as machines show them",
	"route/routetest":                "the conformance suite of every route.Router, and a HAProxy and an etcd to run it against",
	"swing/swingtest":                "puts pairs in rotation on real servers, for tests of swings",
	"host/hosttest":                  "the conformance suite of every host.Host",
	"vault/vaulttest":                "the conformance suite of every vault.Vault",
	"digest/internal/gen":            "makes slow logs of any size",
}

// pure packages take values and return values. They have no clock, no
// context, no connection and no logger, so that everything they say can be
// said again.
var pure = map[string]string{
	"farm":                   "the invariants of a farm hold whoever asks and whenever",
	"placement":              "the same farm and goals give the same plan, byte for byte",
	"placement/schedule":     "the same moves give the same order",
	"schema":                 "the same texts give the same differences",
	"roll/agenda":            "the same farm gives the same plan",
	"reshape/spec":           "the same spec on the same tables has the same problems",
	"alter/plan":             "the same farm and definitions give the same plan",
	"placement/check":        "a verdict about a plan is a function of the plan",
	"backup/catalogue":       "the same backups give the same chains, and the same rules keep the same",
	"backup/window":          "the same farm gives the same window",
	"capacity":               "the same series give the same days",
	"explain":                "a code means the same whoever asks",
	"due":                    "the same times give the same turns",
	"metrics":                "the same facts give the same text",
	"inventory/claims":       "the same claims give the same culprits",
	"inventory/shardload":    "the same counters give the same load",
	"inventory/graph":        "the same report gives the same graph",
	"placement/pack":         "equal problems and seeds give equal solutions, whatever the machine",
	"placement/bound":        "effort is counted in steps, so that a bound can be found again",
	"placement/bound/verify": "a proof is a function of the certificate",
	"binlog":                 "the same bytes have the same transactions",
	"replay/effect":          "the same text gives the same judgement",
	"bench/stat":             "the same runs give the same verdict",
	"bench/result":           "a document says the same whoever reads it",
	"bench/engine/flame":     "the same samples make the same picture",
	"bench/engine/sheet":     "a document says the same whoever reads it",
	"bench/transcript":       "the same files give the same result",
	"snapshot/format":        "the same rows give the same bytes",
	"bench/matrix":           "the same file gives the same cells and the same order",
	"bench/decide":           "the same decision has the same outcome",
	"digest":                 "the same logs give the same digest",
	"capture":                "the same packets give the same statements",
	"packages/pin":           "the same text is the same pin",
	"pace":                   "the same readings give the same rate",
	"tune":                   "the same facts give the same findings, of this machine and of one that was recorded",
}

// impure are the imports a pure package does without.
var impure = []string{
	"context", "database/sql", "log", "log/slog", "net/http", "os", "os/exec", "os/signal", "os/user", "syscall", "golang.org/x/sys/unix",
}

// clocks are the functions of package time that look at a clock or wait for
// one. The types and the arithmetic of time are pure.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// doors are imports that few packages may have, each with its reason. A key
// that ends in / stands for everything below.
var doors = map[string]rung{
	"github.com/go-sql-driver/mysql": {
		"mysql":         "every statement that Stowage sends is written there, or below it",
		"mysql/traffic": "it sits on the wire of a session, and reads what the server says of statements",
		"mysql/rows":    "it hands the driver the lines of LOAD DATA LOCAL, and sets what its sessions are like",
		"demo/load":     "a client of the farm that must not share the code, or the mistakes, of what it judges",
		"bench/engine":  "a load whose own cost must be small, on servers that are not part of any farm",
	},
	"github.com/go-mysql-org/go-mysql/": {
		"mysql": "the binary log is read over a connection to a server",
	},
	"os/exec": {
		"bench":             "runs fio, which makes the I/O, and asks smartctl for heat",
		"bench/engine":      "runs the servers it measures as children, which die with it",
		"command":           "runs what a person orders on a host, once, through a process of its own",
		"bench/testbed":     "runs mkfs, and mdadm where an array is asked for",
		"packages":          "runs apt, dpkg and mariadb-upgrade, as the command of an order",
		"host":              "the only package that runs commands on machines",
		"internal/keeper":   "starts what others made, on a thread that does not end",
		"engine":            "starts stowage-engine as its child",
		"inventory/sources": "the exec source is a program of the owner's, beside Stowage and not on a host of the farm",
		"route":             "the exec hook is a program of the owner's, beside Stowage and not on a host of the farm",
		"vault":             "runs restic, and zstd where it is installed",
	},
	"go.temporal.io/": {
		"engine": "the rest of Stowage knows jobs, lanes and steps",
	},
	"github.com/twmb/franz-go/": {
		"follow/kafka": "the one place that speaks with Kafka",
	},
	"modernc.org/sqlite": {
		"store": "results that last",
	},
	"go.yaml.in/yaml/": {
		"workspace":         "farm.yaml and goals.yaml are read strictly, in one place",
		"inventory/sources": "YAML files of others are read, and none of ours",
	},
	"github.com/spf13/cobra": {
		"cmd/stowage": "flags and verbs are the program's",
	},
}

// only lists the packages of ours that these may import, where the ladder
// alone would let them import more.
var only = map[string]struct {
	ours []string
	why  string
}{
	"report":                 {[]string{"backup/catalogue", "backup/window", "bench/decide", "bench/engine/sheet", "bench/result", "bench/stat", "capacity", "digest", "farm", "internal/lazy", "inventory", "inventory/claims", "inventory/graph", "inventory/shardload", "placement", "placement/check"}, "it shows what was kept and never touches a server, a host or routing"},
	"serve":                  {[]string{"farm", "internal/lazy", "report"}, "it is handed facts, and never touches a server, a store or a file of the workspace"},
	"demo/load":              {[]string{"farm", "route"}, "it is a client written from docs/reference/routing.md, and nothing more"},
	"feed":                   {[]string{"farm", "mysql"}, "which server serves, and where a position is kept, is decided above it"},
	"copier":                 {[]string{"farm", "feed", "mysql", "mysql/rows"}, "where clients go is decided above it"},
	"tune":                   {[]string{"farm", "internal/lazy"}, "it thinks; tune/probe reads, and who calls it writes"},
	"tune/probe":             {[]string{"internal/lazy", "internal/nested", "internal/optionfile", "internal/safefile", "tune"}, "it reads trees and nothing else: programs are run by who calls it"},
	"tune/fix":               {[]string{"farm", "internal/lasting", "internal/nested", "tune"}, "it knows no rules, no tree and no server"},
	"tune/prove":             {[]string{"bench", "bench/result", "bench/stat", "farm", "tune", "tune/fix"}, "it joins a measurement to a change; how a machine is read and written is handed to it"},
	"engine":                 {[]string{"internal/nested"}, "names and arguments pass through it unread"},
	"route":                  {[]string{"farm", "internal/lasting", "internal/nested", "internal/safefile"}, "waiting until a gate may open is the business of swing"},
	"placement/check":        {[]string{"farm", "placement", "placement/bound", "placement/bound/verify"}, "it judges, and must be judged by nothing else"},
	"placement/pack":         {nil, "a packing problem is numbers; what they mean is the caller's"},
	"placement/bound":        {nil, "a packing problem is numbers; what they mean is the caller's"},
	"placement/bound/verify": {[]string{"placement/bound"}, "it judges, and must be judged by nothing else"},
}

// source is what the ladder looks at in one file.
type source struct {
	pkg     string // "placement/check"
	file    string
	isTest  bool
	imports []string
	calls   []string // "time.Now": functions of other packages, by import path and name
}

func TestImportLadder(t *testing.T) {
	sources := readModule(t, ".")
	for _, fault := range append(checkLadder(sources), unusedExceptions(sources)...) {
		t.Error(fault)
	}
}

// TestLadderFails shows the checker sources that break one rule each, and
// expects the sentence that says so.
func TestLadderFails(t *testing.T) {
	tests := []struct {
		name, file, text, want string
	}{
		{"up", "mysql/x.go", `import "stowage/swing"`, "mysql/x.go imports swing, which is above mysql"},
		{"from the very bottom", "farm/x.go", `import "stowage/placement"`, "farm/x.go imports placement, which is above farm"},
		{"to a neighbour", "mysql/x.go", `import "stowage/host"`, "mysql/x.go imports its neighbour host"},
		{"no place", "nowhere/x.go", `import "fmt"`, "package nowhere has no place in the ladder"},
		{"unknown target", "move/x.go", `import "stowage/util"`, "move/x.go imports util, which has no place in the ladder"},
		{"test support", "move/x.go", `import "stowage/internal/mariadbtest"`, "move/x.go imports internal/mariadbtest, which is for tests only"},
		{"pure import", "digest/x.go", `import "log/slog"`, "digest/x.go imports log/slog, and digest is pure"},
		{"pure clock", "placement/x.go", "import \"time\"\nvar _ = time.Now", "placement/x.go uses time.Now, and placement is pure"},
		{"pure clock, renamed", "farm/x.go", "import t \"time\"\nvar _ = t.Since", "farm/x.go uses time.Since, and farm is pure"},
		{"pure clock, hidden", "farm/x.go", `import . "time"`, "farm/x.go imports time with a dot"},
		{"driver", "swing/x.go", `import _ "github.com/go-sql-driver/mysql"`, "swing/x.go imports github.com/go-sql-driver/mysql, which is for bench/engine (a load whose own cost must be small, on servers that are not part of any farm) and demo/load"},
		{"statements", "move/x.go", "import \"stowage/mysql\"\nvar _ = mysql.Through(nil)", "move/x.go uses mysql.Through; only packages below mysql write statements"},
		{"commands", "move/x.go", `import "os/exec"`, "move/x.go imports os/exec, which is for"},
		{"below a door", "move/x.go", `import "go.temporal.io/sdk/client"`, "move/x.go imports go.temporal.io/sdk/client, which is for engine"},
		{"exit", "move/x.go", "import \"os\"\nfunc f() { os.Exit(1) }", "move/x.go uses os.Exit; only cmd/stowage exits"},
		{"fatal", "swing/x.go", "import \"log\"\nfunc f() { log.Fatal(1) }", "swing/x.go uses log.Fatal; only cmd/stowage exits"},
		{"page asks a server", "serve/x.go", `import "stowage/mysql"`, "serve/x.go imports mysql: it is handed facts"},
		{"page reads the store", "serve/x.go", `import "stowage/store"`, "serve/x.go imports store: it is handed facts"},
		{"show asks a server", "report/x.go", `import "stowage/mysql"`, "report/x.go imports mysql: it shows what was kept"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := readSource(tt.file, "package x\n"+tt.text)
			if err != nil {
				t.Fatal(err)
			}
			faults := checkLadder([]source{s})
			if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tt.want) }) {
				t.Errorf("got %q, want one with %q", faults, tt.want)
			}
		})
	}
	allowed := []struct{ file, text string }{
		{"move/x.go", `import "stowage/swing"`},
		{"cmd/stowage/x.go", "import \"os\"\nfunc f() { os.Exit(1) }"},
		{"farm/x.go", "import \"time\"\nvar _ = time.Second"},
		{"placement/x_test.go", "import (\n\"os\"\n\"stowage/placement/check\"\n)"},
		{"move/x_test.go", "import (\n\"os/exec\"\n\"stowage/internal/mariadbtest\"\n)"},
	}
	for _, tt := range allowed {
		s, err := readSource(tt.file, "package x\n"+tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if faults := checkLadder([]source{s}); len(faults) > 0 {
			t.Errorf("%s with %q: %q, want nothing", tt.file, tt.text, faults)
		}
	}
}

// checkLadder reports every broken rule as a sentence.
func checkLadder(sources []source) []string {
	var faults []string
	for _, s := range sources {
		if s.isTest {
			continue
		}
		faults = append(faults, checkDirection(s)...)
		faults = append(faults, checkDoors(s)...)
		faults = append(faults, checkStatements(s)...)
		faults = append(faults, checkPurity(s)...)
		faults = append(faults, checkExits(s)...)
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func checkDirection(s source) []string {
	if support[s.pkg] != "" {
		return nil
	}
	from := height(s.pkg)
	if from < 0 {
		return []string{fmt.Sprintf("package %s has no place in the ladder: give it one in ladder_test.go, with a reason", s.pkg)}
	}
	var faults []string
	say := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s imports ", s.file)+fmt.Sprintf(format, args...))
	}
	for _, target := range s.imports {
		ours, ok := strings.CutPrefix(target, "stowage/")
		if !ok {
			continue
		}
		to := height(ours)
		switch {
		case support[ours] != "":
			say("%s, which is for tests only (%s)", ours, support[ours])
		case to < 0:
			say("%s, which has no place in the ladder", ours)
		case to < from:
			say("%s, which is above %s: %s", ours, s.pkg, ladder[to][ours])
		case to == from:
			say("its neighbour %s: packages of one rung do not know each other", ours)
		}
		if rule, limited := only[s.pkg]; limited && !slices.Contains(rule.ours, ours) {
			say("%s: %s", ours, rule.why)
		}
	}
	return faults
}

func checkDoors(s source) []string {
	if support[s.pkg] != "" {
		return nil
	}
	var faults []string
	for _, target := range s.imports {
		for door, owners := range doors {
			if passes(target, door) && owners[s.pkg] == "" {
				faults = append(faults, fmt.Sprintf("%s imports %s, which is for %s", s.file, target, reasons(owners)))
			}
		}
	}
	return faults
}

// checkStatements: SQL for servers is written in package mysql and below it.
func checkStatements(s source) []string {
	if slices.Contains(s.calls, "stowage/mysql.Through") && !strings.HasPrefix(s.pkg, "mysql/") {
		return []string{fmt.Sprintf("%s uses mysql.Through; only packages below mysql write statements", s.file)}
	}
	return nil
}

func checkPurity(s source) []string {
	if pure[s.pkg] == "" {
		return nil
	}
	var faults []string
	for _, target := range s.imports {
		if slices.Contains(impure, target) {
			faults = append(faults, fmt.Sprintf("%s imports %s, and %s is pure: %s", s.file, target, s.pkg, pure[s.pkg]))
		}
	}
	for _, call := range s.calls {
		name, isTime := strings.CutPrefix(call, "time.")
		switch {
		case isTime && name == ".":
			faults = append(faults, fmt.Sprintf("%s imports time with a dot, which hides its clock", s.file))
		case isTime && slices.Contains(clocks, name):
			faults = append(faults, fmt.Sprintf("%s uses %s, and %s is pure: %s", s.file, call, s.pkg, pure[s.pkg]))
		}
	}
	return faults
}

func checkExits(s source) []string {
	if s.pkg == "cmd/stowage" || support[s.pkg] != "" {
		return nil
	}
	var faults []string
	for _, call := range s.calls {
		if call == "os.Exit" || strings.HasPrefix(call, "log.Fatal") {
			faults = append(faults, fmt.Sprintf("%s uses %s; only cmd/stowage exits", s.file, call))
		}
	}
	return faults
}

// unusedExceptions keeps the tables honest: a place, a door or a support
// package that nobody uses any more has to go. It also shows that the files
// were really read.
func unusedExceptions(sources []source) []string {
	var faults []string
	exists := map[string]bool{}
	uses := map[string]bool{} // "host os/exec"
	for _, s := range sources {
		exists[s.pkg] = true
		for _, target := range s.imports {
			for door := range doors {
				if passes(target, door) && !s.isTest {
					uses[s.pkg+" "+door] = true
				}
			}
		}
	}
	for _, table := range append(slices.Clone(ladder), support, pure) {
		for name := range table {
			if !exists[name] {
				faults = append(faults, fmt.Sprintf("ladder_test.go speaks of package %s, which does not exist", name))
			}
		}
	}
	for door, owners := range doors {
		for name := range owners {
			if !uses[name+" "+door] {
				faults = append(faults, fmt.Sprintf("ladder_test.go lets %s import %s, which it does not do", name, door))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// height is the rung of a package, 0 at the top, or -1.
func height(pkg string) int {
	return slices.IndexFunc(ladder, func(r rung) bool { return r[pkg] != "" })
}

func passes(target, door string) bool {
	return target == door || strings.HasSuffix(door, "/") && strings.HasPrefix(target, door)
}

func reasons(owners rung) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		out = append(out, name+" ("+owners[name]+")")
	}
	return strings.Join(out, " and ")
}

// readModule reads every Go file of the module below dir. The root itself
// holds tests only, and a directory with a go.mod is a module of its own.
func readModule(t *testing.T, dir string) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != dir && (e.Name() == "testdata" || isModule(name) || strings.HasPrefix(e.Name(), ".")):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || filepath.Dir(name) == ".":
			return nil
		}
		s, err := readSource(filepath.ToSlash(name), nil)
		sources = append(sources, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// readSource parses one file; text is nil to read it from the disk.
func readSource(name string, text any) (source, error) {
	s := source{pkg: path.Dir(name), file: name, isTest: strings.HasSuffix(name, "_test.go")}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return s, err
	}
	paths := map[string]string{} // local name -> import path
	for _, i := range file.Imports {
		target, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return s, err
		}
		s.imports = append(s.imports, target)
		local := path.Base(target)
		if i.Name != nil {
			local = i.Name.Name
		}
		if local == "." {
			s.calls = append(s.calls, target+"..")
		}
		paths[local] = target
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && paths[x.Name] != "" {
				s.calls = append(s.calls, paths[x.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return s, nil
}
