package move

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/placement"
	"stowage/workspace"
)

// TestOptionFileQuestionSpeaks: all that made a move fail half way, or a copy be
// made for nothing, is said before anything begins.
func TestOptionFileQuestionSpeaks(t *testing.T) {
	t.Parallel() // it mostly waits
	l, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a, b := mariadbtest.Start(t, "a", "--sync-binlog=1"), mariadbtest.Start(t, "b")
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	m := mariadbtest.Together(t, filepath.Join(dir, "all.cnf"), "sql_mode = traditional\n", []string{"1", "2"}, a, b)
	here := host.Instance{Name: "a", Address: a.Host, Port: a.Port, Datadir: a.Datadir, Config: m.Config, GroupSuffix: "1"}
	said := func(i host.Instance) []farm.Finding {
		t.Helper()
		out, err := askOptionFile(t.Context(), peerOf(t, a), l, i, "db1", farm.Blocker)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := said(here); len(out) > 0 {
		t.Fatalf("nothing is wrong, and it says %v", out)
	}
	for name, x := range map[string]struct {
		change func(*host.Instance)
		want   string
		remedy string
	}{
		"the file is not there":     {func(i *host.Instance) { i.Config = filepath.Join(dir, "my.cnf") }, "my.cnf does not exist on host db1", m.Config},
		"it is another server's":    {func(i *host.Instance) { i.Config = b.Config }, "does not read " + b.Config + ": it reads " + m.Config, "config of a in farm.yaml"},
		"the suffix is unknown":     {func(i *host.Instance) { i.GroupSuffix = "7" }, `farm.yaml has group_suffix "7", and its server`, `"1"`},
		"the suffix is another's":   {func(i *host.Instance) { i.GroupSuffix = "2" }, `farm.yaml has group_suffix "2", and its server`, `"1"`},
		"there is no suffix":        {func(i *host.Instance) { i.GroupSuffix = "" }, `farm.yaml has group_suffix none, and its server`, `"1"`},
		"the datadir is not there":  {func(i *host.Instance) { i.Datadir = filepath.Join(dir, "data") }, "no server process on host db1 works in", "datadir and host of a"},
		"the file is one directory": {func(i *host.Instance) { i.Config = dir }, "cannot be read, on host db1", m.Config},
	} {
		i := here
		x.change(&i)
		out := said(i)
		if len(out) != 1 || out[0].Severity != farm.Blocker || !strings.Contains(out[0].Text, x.want) || !strings.Contains(out[0].Remedy, x.remedy) {
			t.Errorf("%s: %v", name, out)
		}
	}
	a.Exec(t, "SET GLOBAL gtid_domain_id = 6", "SET GLOBAL binlog_row_image = MINIMAL", "SET GLOBAL sync_binlog = 7")
	var texts []string
	for _, f := range said(here) {
		texts = append(texts, f.Text+" -> "+f.Remedy)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{`gtid_domain_id is "6", and it would start with "`, `binlog_row_image is "MINIMAL", and it would start with "FULL" (no option file sets it)`, `sync_binlog is "7", and it would start with "1" (` + m.Config + ":",
		"write gtid_domain_id = 6 into [mysqld1] of " + m.Config} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
	if len(texts) != 3 {
		t.Errorf("it says\n%s", all)
	}
}

// TestHostWithoutADirHasNoWayBack: it used to be found out at the undo, when the
// side had retired.
func TestHostWithoutADirHasNoWayBack(t *testing.T) {
	m := &Mover{Workspace: &workspace.Workspace{Dir: t.TempDir()}}
	write := func(dir string) {
		text := "farm: f\nhost_types:\n  t: {cores: 1}\nhosts:\n  - {name: old, type: t, address: 10.0.0.1" + dir + "}\n  - {name: ssd, type: t, address: 10.0.0.2, dir: /srv}\n"
		if err := os.WriteFile(m.Workspace.Path("farm.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	mv := placement.Move{Instance: "p1a", From: placement.Place{Host: "old"}, To: placement.Place{Host: "ssd"}}
	out, err := askWayBack(m, mv)
	if err != nil || len(out) != 1 || out[0].Severity != farm.Warning || !strings.Contains(out[0].Text, "host old has no dir") {
		t.Errorf("%v, %v", out, err)
	}
	write(", dir: /var/lib/stowage")
	if out, err := askWayBack(m, mv); err != nil || len(out) > 0 {
		t.Errorf("%v, %v", out, err)
	}
}

// TestServerInAContainerIsNamedSo: preflight said that no server process worked in
// the data directory of a server that answered.
func TestServerInAContainerIsNamedSo(t *testing.T) {
	out := whoseFile(peer{name: "a"}, host.Start{Contained: 77}, host.Instance{}, "db1", "config of a in farm.yaml")
	if len(out) != 1 || out[0].Severity != farm.Blocker || !strings.Contains(out[0].Text, "pid 77 on host db1, runs in a container") || !strings.Contains(out[0].Remedy, "from a unit of the host") {
		t.Errorf("%v", out)
	}
}
