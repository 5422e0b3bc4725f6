package move

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
)

// TestOptionFileQuestionSpeaksOfMySQL: what a MySQL server runs with is compared with
// its option files as MySQL reads them, groups of its series and SET PERSIST among
// them, before anything begins; what a copy starts with is what the server says.
func TestOptionFileQuestionSpeaksOfMySQL(t *testing.T) {
	line := mariadbtest.Named(t, mariadbtest.MySQL9)
	t.Setenv("PATH", line.Path())
	l, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a, b := line.Start(t, "a"), line.Start(t, "b")
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "all.cnf")
	m := mariadbtest.Together(t, config, "sync_binlog = 1\n[mysqld-9.7.s1]\nmax_connections = 61\n[mysqld-8.0]\nmax_connections = 62\n[mariadb]\nmax_connections = 63\n", []string{".s1", ".s2"}, a, b)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	// The last of a key wins, whatever its group: the instances' own come after those.
	own := strings.ReplaceAll(string(text), "max_connections=100\n", "")
	if err := os.WriteFile(config, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	m.Restart(t, 0)
	here := host.Instance{Name: "a", Address: a.Host, Port: a.Port, Datadir: a.Datadir, Config: config, GroupSuffix: ".s1"}
	said := func() string {
		t.Helper()
		out, err := askOptionFile(t.Context(), peerOf(t, a), l, here, "db1", farm.Blocker)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range out {
			all = append(all, f.Text+" -> "+f.Remedy)
		}
		return strings.Join(all, "\n")
	}
	if got := a.Value(t, "SELECT @@max_connections"); got != "61" {
		t.Fatalf("the server reads another group than that of its series: max_connections is %s", got)
	}
	if out := said(); out != "" {
		t.Fatalf("nothing is wrong, and it says %s", out)
	}
	a.Exec(t, "SET GLOBAL max_connections = 70", "SET GLOBAL binlog_row_image = MINIMAL", "SET GLOBAL sql_mode = ''")
	all := said()
	for _, want := range []string{`max_connections is "70", and it would start with "61" (` + config + ":", `binlog_row_image is "MINIMAL", and it would start with "FULL" (no option file sets it)`,
		"sql_mode is empty, and it would start with", "write max_connections = 70 into [mysqld.s1] of " + config} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
	if n := strings.Count(all, "\n") + 1; n != 3 {
		t.Errorf("%d findings, want 3:\n%s", n, all)
	}
	a.Exec(t, "SET PERSIST max_connections = 70", "SET PERSIST binlog_row_image = MINIMAL", "SET PERSIST sql_mode = ''")
	if out := said(); out != "" {
		t.Errorf("all of it is persisted, and it says %s", out)
	}
	start, err := l.Options(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copy.cnf")
	if err := os.WriteFile(copied, []byte(start.Text(here, own)), 0o644); err != nil {
		t.Fatal(err)
	}
	m.Restart(t, 0) // what the server then is, is the judge
	got := printed(t, line, "--defaults-file="+copied)
	for _, o := range []string{"max_connections", "binlog_row_image", "sql_mode", "sync_binlog", "gtid_mode"} {
		if now := a.Value(t, "SELECT @@GLOBAL."+o); !slices.Contains(got, "--"+o+"="+now) {
			t.Errorf("a copy starts with %v, and %s of a server that was started again is %q", got, o, now)
		}
	}
	// A fence that SET PERSIST overrides is none.
	a.Exec(t, "SET PERSIST_ONLY event_scheduler = ON")
	if out := said(); !strings.Contains(out, "would not hold: "+filepath.Join(a.Datadir, "mysqld-auto.cnf")+" is read later and sets event_scheduler = ON") {
		t.Errorf("of a fence that does not hold it says %q", out)
	}
	fenced, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(host.FenceOptions(here, string(fenced))), 0o644); err != nil {
		t.Fatal(err)
	}
	m.Restart(t, 0)
	if got := a.Value(t, "SELECT CONCAT(@@read_only, @@event_scheduler)"); got != "1ON" {
		t.Errorf("fenced it starts with %s: the finding above is not true", got)
	}
}

// printed are the options that a server says it would start with, last of each key.
func printed(t *testing.T, l mariadbtest.Line, args ...string) []string {
	t.Helper()
	out, err := exec.Command(l.Server, append(args, "--print-defaults")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, word := range strings.Fields(string(out)) {
		if key, value, is := strings.Cut(word, "="); is && strings.HasPrefix(key, "--") {
			last[strings.ReplaceAll(key[2:], "-", "_")] = value
		}
	}
	var all []string
	for key, value := range last {
		all = append(all, "--"+key+"="+value)
	}
	return all
}
