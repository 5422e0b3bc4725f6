// Package roll rolls the hosts of a farm under load, as people do who patch it,
// and kills once what does it.
package roll

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/roll"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

var hosts = []farm.HostName{"db001", "db002", "db003", "db004"}

// A person restarts all servers of a farm, two hosts at a time; a command fails on one; then what runs a command on each is killed. Clients notice nothing.
// It is one test: on this machine all servers are on one host, and what tune finds new in another farm would stop a roll.
func TestHostsAreRolledUnderLoad(t *testing.T) {
	r := farmtest.StartRolledFarm(t)
	r.File("goals.yaml", "budgets: {hosts_out: 2}\n")
	refused(t, r)
	restarted(t, r)
	shown(t, r)
	t.Run("what goes wrong", func(t *testing.T) {
		turns.Heavy(t, 9)
		failing(t, r)
		advised(t, r)
		drifted(t, r)
	})

	name := r.Plan(append([]string{"--hosts", "db00[12]", "--"}, r.AddsALine()...)...)
	book, _ := roll.RollKind(nil).Runbook(roll.ByCommand)
	points := book.Points()
	at := points[farmtest.Turn()%len(points)]
	out := r.Once("both", at, name)
	for _, h := range hosts[:2] {
		if n := r.Lines(h); n != 1 {
			t.Errorf("killed at %q: the command has run %d times on %s", at, n, h)
		}
	}
	for _, h := range out.Hosts {
		if h.End != "done" || h.CommandRC == nil || *h.CommandRC != 0 || h.Runs != 1 || h.SecondsOut <= 0 || len(h.Pairs) != 1 {
			t.Errorf("killed at %q: %+v", at, h)
		}
	}
	r.AllServe()
	r.F.CheckLedger()
}

// Primaries and replicas of pairs with one writer are rolled: a replica takes the writes of its primary for a while. Then what does it is killed once.
func TestPrimariesAreRolledUnderLoad(t *testing.T) {
	turns.Heavy(t, 7)
	r := farmtest.StartRolledWriters(t, farm.PrimaryReplica)
	files := r.OptionFiles()
	name := r.Plan("--hosts", "db*", "--restart")
	p := r.Run(farmtest.ExitFine, "the replica on db002 takes the writes", "roll", "show", name)
	if replica, primary := strings.Index(p.Stdout, "dbshard001/B is out"), strings.Index(p.Stdout, "dbshard001/A is out"); replica < 0 || primary < replica {
		t.Errorf("the replica is not rolled before its primary:\n%s", p.Stdout)
	}
	was := r.Processes()
	out := r.Read(r.Run(farmtest.ExitFine, "", "roll", name, "--json"))
	if len(out.Hosts) != 4 || out.State != "done" {
		t.Errorf("%+v", out)
	}
	for server, pid := range r.Processes() {
		if pid == was[server] {
			t.Errorf("%s was not restarted", server)
		}
	}
	r.WritersServe(files)
	options(t, r)
	files = r.OptionFiles()

	book, _ := roll.RollKind(nil).Runbook(roll.ByCommand + roll.OneWriter)
	points := book.Points()
	at := points[farmtest.Turn()%len(points)]
	out = r.Once("both", at, r.Plan(append([]string{"--hosts", "db001", "--"}, r.AddsALine()...)...))
	if n := r.Lines("db001"); n != 1 || len(out.Hosts) != 1 || out.Hosts[0].End != "done" {
		t.Errorf("killed at %q: the command has run %d times: %+v", at, n, out)
	}
	r.WritersServe(files)
	r.F.CheckLedger()
}

// Servers are brought to the options of their host type: what they can change is set, the rest needs a restart, and who has everything is left alone.
func options(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	raw, err := os.ReadFile(r.F.Path("farm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.Run(farmtest.ExitUsage, "no host type of these hosts has options", "roll", "options")
	r.TypeOptions(raw, "innodb_no_such_thing", "3")
	name := r.Plan("options", "--hosts", "db001")
	r.Run(farmtest.ExitRefused, "it has no variable innodb_no_such_thing", "roll", name)

	r.TypeOptions(raw, "innodb_io_capacity", "1500", "innodb_io_capacity_max", "3000")
	was := r.Processes()
	name = r.Plan("options", "--hosts", "db00[12]")
	r.Run(farmtest.ExitFine, "db001, each of its 1 server: innodb_io_capacity = 1500, innodb_io_capacity_max = 3000", "roll", "show", name)
	r.TypeOptions(raw, "innodb_io_capacity", "1600", "innodb_io_capacity_max", "3000")
	r.Run(farmtest.ExitRefused, "options of host db001 are innodb_io_capacity = 1600", "roll", name)
	r.TypeOptions(raw, "innodb_io_capacity", "1500", "innodb_io_capacity_max", "3000")
	r.Run(farmtest.ExitFine, "", "roll", name)
	for side, server := range map[farm.SideName]farm.InstanceName{farm.A: "dbshard001a", farm.B: "dbshard001b"} {
		if got := r.F.Value(side, "SELECT CONCAT(@@innodb_io_capacity, ' ', @@innodb_io_capacity_max)"); got != "1500 3000" {
			t.Errorf("%s runs with %s", server, got)
		}
		if text := r.OptionFiles()[server]; !strings.Contains(text, "innodb_io_capacity = 1500") || r.Processes()[server] != was[server] {
			t.Errorf("%s was restarted (%s, was %s), or would start without:\n%s", server, r.Processes()[server], was[server], text)
		}
	}
	r.Run(farmtest.ExitFine, "nothing to do", "roll", "options", "--hosts", "db00[12]")

	r.TypeOptions(raw, "innodb_io_capacity", "1500", "thread_stack", "256K")
	r.Run(farmtest.ExitFine, "", "roll", "options", "--hosts", "db001", "--yes")
	if got := r.F.Value(farm.A, "SELECT @@thread_stack"); got != "262144" || r.Processes()["dbshard001a"] == was["dbshard001a"] {
		t.Errorf("thread_stack is %s (restarted: %v)", got, r.Processes()["dbshard001a"] != was["dbshard001a"])
	}
	r.File("farm.yaml", string(raw))
}

// What cannot be done is said before anything is touched, with file and line where there is one.
func refused(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	r.File("rolls/bad.yaml", "hosts: db*\nsteps:\n  - {comand: [/bin/true]}\n")
	r.File("rolls/nobody.yaml", "hosts:\n  - db*\n  - web*\nsteps: [{restart: true}]\n")
	for _, x := range []struct {
		code int
		want string
		args string
	}{
		{farmtest.ExitUsage, `rolls/bad.yaml:3: unknown key "comand" in a step; did you mean "command"?`, "roll bad"},
		{farmtest.ExitUsage, "rolls/nobody.yaml:3: no host of farm.yaml is called web*", "roll nobody"},
		{farmtest.ExitUsage, "no host of farm.yaml is called web*", "roll --hosts web* --restart"},
		{farmtest.ExitUsage, "say which hosts", "roll --restart"},
		{farmtest.ExitUsage, "say what is to be done", "roll --hosts db*"},
		{farmtest.ExitUsage, "none of the variables that are compared", "roll --hosts db* --restart --changed vershion"},
		{farmtest.ExitUsage, "is a relative path", "roll --hosts db* -- bin/patch"},
		{farmtest.ExitUsage, "there is no rolls/nothing.json", "roll nothing"},
		{farmtest.ExitRefused, "no roll has taken it out", "roll in db001"},
	} {
		r.Run(x.code, x.want, strings.Fields(x.args)...)
	}
	r.File("goals.yaml", "budgets: {hosts_out_per_power: 1}\n")
	r.Run(farmtest.ExitUsage, "farm.yaml:", "roll", "--hosts", "db*", "--restart")
	r.Run(farmtest.ExitUsage, "host db001 has no label power", "roll", "--hosts", "db001", "--restart")
	r.File("goals.yaml", "windows: [{from: \"22:00\", to: \"04:00\"}]\n")
	r.Run(farmtest.ExitUsage, "no window of goals.yaml is open for so long", "roll", "--hosts", "db001", "--restart", "--takes", "7h")
	r.File("goals.yaml", "budgets: {hosts_out: 2}\n")
	r.Run(farmtest.ExitUsage, "there is no rolls/nothing.json", "roll", "announce", "nothing")
	name := r.Plan("--hosts", "db001", "--", "no-such-program-here")
	r.Run(farmtest.ExitRefused, "is not installed here", "roll", name)
	name = r.Plan("--hosts", "db001", "--reboot")
	r.Run(farmtest.ExitRefused, "it has no agent: this machine would be rebooted instead", "roll", name)
	if entries, err := os.ReadDir(r.F.Path(".stowage/commands")); err == nil && len(entries) > 0 {
		t.Errorf("refused, and there are orders: %v", entries)
	}
	r.AllServe()
}

// All servers are other processes afterwards, and nobody has noticed.
func restarted(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	name := r.Plan("--hosts", "db*", "--restart")
	r.Run(farmtest.ExitFine, "batch 2, from 1m to 2m: db002, db004", "roll", "show", name)
	r.Run(farmtest.ExitFine, "| Thu 3 Dec 2026 22:01 UTC | Thu 3 Dec 2026 22:02 UTC | db002, db004 |", "roll", "announce", name, "--begin", "2026-12-03 22:00")
	was := r.Processes()
	out := r.Read(r.Run(farmtest.ExitFine, "", "roll", name, "--json"))
	if len(out.Hosts) != 4 || out.State != "done" {
		t.Errorf("%+v", out)
	}
	for _, h := range out.Hosts {
		if h.End != "done" || h.CommandRC != nil || h.Runs != 0 || h.SecondsOut <= 0 {
			t.Errorf("%+v", h)
		}
	}
	for server, pid := range r.Processes() {
		if pid == was[server] {
			t.Errorf("%s was not restarted", server)
		}
	}
	r.AllServe()
	r.Run(farmtest.ExitFine, "done, 4 hosts done", "status")
	r.Run(farmtest.ExitFine, "nothing to do: the plan has rolled every host", "roll", name)
	r.Run(farmtest.ExitFine, `"over": true`, "roll", "announce", name, "--json")
	for file, want := range map[string]string{".md": "## What happened", ".ics": "SEQUENCE:1\r\n"} {
		if text, err := os.ReadFile(r.F.Path("rolls/" + name + file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q (%v):\n%s", file, want, err, text)
		}
	}
}

// A command fails on one host: it stays out, no other begins, and nothing runs twice.
func failing(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	r.File("goals.yaml", "budgets: {hosts_out: 1}\n")
	name := r.Plan("--hosts", "db*", "--", "/bin/sh", "-c", `echo "$STOWAGE_HOST" >> `+r.Trace+`; echo "$STOWAGE_INSTANCES of $STOWAGE_HOST"; test "$STOWAGE_HOST" != db002`)
	out := r.Read(r.Run(farmtest.ExitUnknown, "stowage roll in db002", "roll", name, "--json"))
	for n, want := range []struct {
		end  string
		code int
		runs int
	}{{"done", 0, 1}, {"stuck", 1, 1}, {"not-started", -1, 0}, {"not-started", -1, 0}} {
		h := out.Hosts[n]
		code := -1
		if h.CommandRC != nil {
			code = *h.CommandRC
		}
		if string(h.End) != want.end || code != want.code || h.Runs != want.runs || r.Lines(h.Host) != want.runs {
			t.Errorf("%+v (code %d, ran %d times), want %+v", h, code, r.Lines(h.Host), want)
		}
	}
	r.Run(farmtest.ExitFine, "next: stowage -C "+r.F.Dir+" roll in db002", "status")
	r.Run(farmtest.ExitFine, "failed, 1 host done", "status")
	r.Run(farmtest.ExitFine, "exit code 1", "log")
	for _, path := range []string{"/rolls", "/report"} {
		_, page := farmtest.OpenPages(t, r.F.Dir).Get(path)
		for _, want := range []string{`title="db002: stuck: work; dbshard001/B; out since`, `title="db001: done; dbshard001/A; was out for`, "roll in db002", "exit code 1", "1 of 4 hosts done"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not have %q", path, want)
			}
		}
	}
	r.Run(farmtest.ExitFine, "dbshard001b of db002", "log")
	r.Run(farmtest.ExitUnknown, "the host stays out", "resume") // it is not run again
	r.Run(farmtest.ExitRefused, "finish what took it out", "roll", name)
	r.Run(farmtest.ExitUsage, "none of the variables that are compared", "roll", "in", "db002", "--changed", "max_conections")
	r.Run(farmtest.ExitFine, "", "roll", "in", "db002")
	r.AllServe()
	out = r.Read(r.Run(farmtest.ExitFine, "", "roll", name, "--json")) // the others
	if len(out.Hosts) != 2 || out.Hosts[0].Host != "db003" || out.Hosts[1].Host != "db004" {
		t.Errorf("%+v", out.Hosts)
	}
	for _, h := range hosts {
		if n := r.Lines(h); n != 1 {
			t.Errorf("the command has run %d times on %s", n, h)
		}
	}
	r.AllServe()
}

// The dashboard shows a host that is out while it is, which pair is served by one side, and the host when it serves again.
func shown(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	goOn := filepath.Join(t.TempDir(), "go-on")
	name := r.Plan("--hosts", "db001", "--", "/bin/sh", "-c", "until test -e "+goOn+"; do sleep 0.1; done")
	pages := farmtest.OpenPages(t, r.F.Dir)
	ended := make(chan farmtest.Program, 1)
	go func() { ended <- farmtest.RunProgram(t, "", "-C", r.F.Dir, "roll", name) }()
	has := func(wants ...string) {
		t.Helper()
		for _, want := range wants {
			farmtest.Await(t, "the page has "+want, func() bool { _, text := pages.Get("/rolls"); return strings.Contains(text, want) })
		}
	}
	has(`title="db001: at work: run: /bin/sh`, `title="db002: not in this roll"`, "dbshard001</th><td>side A</td><td>db002 serves all its clients", "0 of 1 host done")
	if _, text := pages.Get("/api/rolls"); !strings.Contains(text, `"stand": "at work"`) {
		t.Error(text)
	}
	r.File(goOn, "")
	has("1 of 1 host done", `title="db001: done; dbshard001/A; was out for`)
	if p := <-ended; p.Code != farmtest.ExitFine {
		t.Errorf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
}

// What tune finds after the work and not before keeps the host out, unless the playbook or a person names its rule; what it no longer finds is told.
func advised(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	file := r.OptionFile("dbshard001a")
	add := `steps: [{command: [/bin/sh, -c, 'printf "[mysqld]\nloose_innodb_file_format = Barracuda\n" >> ` + file + `']}]` + "\n"
	r.File("rolls/gone.yaml", "hosts: db00[12]\n"+add)
	out := r.Read(r.Run(farmtest.ExitUnknown, "tune has a new finding: "+file+":", "roll", r.Plan("gone"), "--json"))
	if len(out.Hosts) != 2 || out.Hosts[0].End != "stuck" || out.Hosts[0].CommandRC == nil || out.Hosts[1].End != "not-started" {
		t.Errorf("%+v", out.Hosts)
	}
	r.Run(farmtest.ExitUsage, "no rule of tune", "roll", "in", "db001", "--changed", "DB-GON")
	r.Run(farmtest.ExitUnknown, "stowage roll in db001 --changed DB-GONE", "resume")
	r.Run(farmtest.ExitFine, "", "roll", "in", "db001", "--changed", "DB-GONE")

	r.Run(farmtest.ExitFine, "", "roll", r.Plan("--hosts", "db001", "--", "/bin/sed", "-i", "/loose_innodb_file_format/d", file))
	r.Run(farmtest.ExitFine, "tune no longer finds: "+file+":", "log")

	r.File("rolls/known.yaml", "hosts: db001\nchanges: [DB-GONE]\n"+add)
	r.Run(farmtest.ExitFine, "", "roll", r.Plan("known"))
	r.Run(farmtest.ExitFine, "tune finds, as announced: "+file+":", "log")
	r.AllServe()
}

// A plan is carried out as it was reviewed, or not at all.
func drifted(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	name := r.Plan("--hosts", "db*", "--restart")
	raw, err := os.ReadFile(r.F.Path("farm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.File("farm.yaml", strings.Replace(string(raw), "name: db003", "name: db003x", 1))
	p := farmtest.RunProgram(t, "", "-C", r.F.Dir, "roll", name)
	if p.Code != farmtest.ExitUsage && p.Code != farmtest.ExitRefused { // the file itself is wrong then, too
		t.Errorf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	r.File("farm.yaml", strings.Replace(string(raw), "rack: r2", "rack: r7", 1))
	r.Run(farmtest.ExitRefused, fmt.Sprintf("rack of host db002 is %q, was %q", "r7", "r2"), "roll", name)
	r.File("farm.yaml", string(raw))
}
