package host_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/mariadbtest"
)

// together are two servers that start with one option file, as instances.
func together(t *testing.T, suffixes ...string) (*mariadbtest.Multi, []host.Instance) {
	t.Helper()
	a, b := mariadbtest.Start(t, "first", "--event-scheduler=ON"), mariadbtest.Start(t, "second", "--event-scheduler=ON")
	dir := t.TempDir() // as /etc/mysql: the servers' account may read there and not write
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	m := mariadbtest.Together(t, filepath.Join(dir, "all.cnf"), "sync_binlog = 1\nmax_connections = 55\n", suffixes, a, b)
	var out []host.Instance
	for n, i := range m.Instances {
		out = append(out, host.Instance{Name: farm.InstanceName(i.Name), Address: i.Host, Port: i.Port, Datadir: i.Datadir, Config: m.Config, GroupSuffix: suffixes[n]})
	}
	return m, out
}

// TestMoveOfOneFencesTheNeighbourInItsFile: two servers of one option file. What
// is written for one, the other does not start with, by mysqld_multi and by
// group suffix, and afterwards the file is as it was, its owner and mode too.
func TestMoveOfOneFencesTheNeighbourInItsFile(t *testing.T) {
	for name, suffixes := range map[string][]string{"mysqld_multi": {"1", "2"}, "group suffix": {".s1", ".s2"}} {
		t.Run(name, func(t *testing.T) {
			l := local(t)
			m, is := together(t, suffixes...)
			must(t, os.Chmod(m.Config, 0o604))
			before, err := os.ReadFile(m.Config)
			must(t, err)
			must(t, l.WriteFile(t.Context(), m.Config, []byte(host.FenceOptions(is[0], string(before)))))
			for n, want := range []string{"ON OFF", "OFF ON"} {
				m.Restart(t, n)
				if got := hosttest.Value(t, is[n], "SELECT CONCAT(@@read_only, ' ', @@event_scheduler)"); got != want {
					t.Errorf("%s starts with read_only and event_scheduler %s, want %s", is[n].Name, got, want)
				}
			}
			fenced, err := os.ReadFile(m.Config)
			must(t, err)
			must(t, l.WriteFile(t.Context(), m.Config, []byte(host.UnfenceOptions(is[0], string(fenced)))))
			after, err := os.ReadFile(m.Config)
			must(t, err)
			if info, err := os.Stat(m.Config); string(after) != string(before) || err != nil || info.Mode().Perm() != 0o604 {
				t.Errorf("the file became\n%s\nwith mode %v", after, info.Mode())
			}
			m.Restart(t, 0)
			if got := hosttest.Value(t, is[0], "SELECT CONCAT(@@read_only, ' ', @@event_scheduler)"); got != "OFF ON" {
				t.Errorf("open again it starts with %s", got)
			}
		})
	}
}

// TestServerOfAnotherStarterDoesNotRun: a server that mysqld_multi or a unit has
// started is found, and only that one is stopped.
func TestServerOfAnotherStarterDoesNotRun(t *testing.T) {
	l := local(t)
	m, is := together(t, "1", "2")
	for n, i := range is {
		if pid, err := l.Running(t.Context(), i); err != nil || pid != m.PID(n) || pid == 0 {
			t.Errorf("%s: process %d, %v; want %d", i.Name, pid, err, m.PID(n))
		}
	}
	must(t, l.Stop(t.Context(), is[0], patience))
	if pid, _ := l.Running(t.Context(), is[0]); pid != 0 {
		t.Errorf("stopped, and process %d runs", pid)
	}
	if got := hosttest.Value(t, is[1], "SELECT 1"); got != "1" {
		t.Errorf("its neighbour answers %s", got)
	}
}

// TestCopyStartsWithoutTheOptionsOfItsGroup: what a server reads is found as it
// reads it, and a copy with that text starts with the same.
func TestCopyStartsWithoutTheOptionsOfItsGroup(t *testing.T) {
	l := local(t)
	m, is := together(t, "1", "2")
	dir := filepath.Join(filepath.Dir(m.Config), "conf.d")
	all(t, os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "a.cnf"), []byte("[mysqld2]\nmax_connections = 66\n[client]\nport = 1\n[mysqld1]\nskip-log-bin\n"), 0o644))
	text, err := os.ReadFile(m.Config)
	must(t, err)
	must(t, os.WriteFile(m.Config, append(text, "!includedir "+dir+"\n"...), 0o644))
	m.Restart(t, 1)
	start, err := l.Options(t.Context(), is[1])
	must(t, err)
	if start.PID != m.PID(1) || start.Suffix != "2" || !slices.Equal(start.Files, []string{m.Config, filepath.Join(dir, "a.cnf")}) || len(start.Sharers)+len(start.Skipped) > 0 || start.Fence != "" {
		t.Errorf("%+v", start)
	}
	for key, want := range map[string]string{"max_connections": "66", "sync_binlog": "0", "log_bin": "bl", "gtid_domain_id": hosttest.Value(t, is[1], "SELECT @@gtid_domain_id")} {
		if v, where, ok := start.Value(key); !ok || v != want {
			t.Errorf("%s is %q at %s, want %s", key, v, where, want)
		}
	}
	// What the server says of itself is the judge.
	copied := filepath.Join(t.TempDir(), "my.cnf")
	must(t, os.WriteFile(copied, []byte(start.Text(is[1], "")), 0o644))
	read := func(args ...string) []string {
		out, err := exec.Command("my_print_defaults", args...).Output()
		must(t, err)
		last := map[string]string{}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			k, v, _ := strings.Cut(line, "=")
			last[strings.ReplaceAll(k[2:], "-", "_")] = v
		}
		var all []string
		for k, v := range last {
			all = append(all, k+"="+v)
		}
		slices.Sort(all)
		return all
	}
	if got, want := read("--defaults-file="+copied, "mysqld"), read("--defaults-file="+m.Config, "--defaults-group-suffix=2", "--mysqld"); !slices.Equal(got, want) {
		t.Errorf("a copy reads\n%v\nthe server\n%v", got, want)
	}
}

// TestOptionFileOfNobody: each way in which a file is not what a move may write
// into is found before anything is written.
func TestOptionFileOfNobody(t *testing.T) {
	l := local(t)
	m, is := together(t, ".s1", ".s2")
	a := is[0]
	alone := a
	alone.GroupSuffix = ""
	if start, err := l.Options(t.Context(), alone); err != nil || len(start.Sharers) != 1 || !strings.Contains(start.Sharers[0], m.Instances[1].Datadir) {
		t.Errorf("its neighbour reads [mysqld] of it, too: %v, %v", start.Sharers, err)
	}
	wrong := a
	wrong.GroupSuffix = "7"
	if start, err := l.Options(t.Context(), wrong); err != nil || start.Suffix != ".s1" || start.Fence == "" {
		t.Errorf("suffix 7: %q, fence %q, %v", start.Suffix, start.Fence, err)
	}
	missing := a
	missing.Config = filepath.Join(filepath.Dir(m.Config), "none.cnf")
	if _, err := l.Options(t.Context(), missing); err == nil || !strings.Contains(farm.Hint(err), m.Config) || !strings.Contains(farm.Hint(err), "group_suffix .s1") {
		t.Errorf("error %v, hint %s", err, farm.Hint(err))
	}
	other := m.Instances[0].Config // the file that it had
	unread := a
	unread.Config = other
	if start, err := l.Options(t.Context(), unread); err != nil || start.Reads(other) || !start.Reads(m.Config) {
		t.Errorf("%v, %v", start.Files, err)
	}
	text, err := os.ReadFile(m.Config)
	must(t, err)
	dir := filepath.Dir(m.Config)
	late, secret, open := filepath.Join(dir, "late.cnf"), filepath.Join(dir, "secret.cnf"), filepath.Join(dir, "open.cnf")
	all(t, os.WriteFile(late, []byte("[mariadb]\nread-only = 0\n"), 0o644), os.WriteFile(secret, []byte("[mysqld]\nmax_connections = 9\n"), 0o600),
		os.WriteFile(open, []byte("[mysqld]\nmax_connections = 8\n"), 0o666), os.Chmod(open, 0o666))
	top := filepath.Join(dir, "top.cnf")
	must(t, os.WriteFile(top, []byte("!include "+m.Config+"\n!include "+secret+"\n!include "+open+"\n!include "+late+"\n"), 0o644))
	all(t, os.Rename(m.Config, m.Config+".real"), os.Symlink(top, m.Config), os.WriteFile(top, append(text, "!include "+secret+"\n!include "+open+"\n!include "+late+"\n"...), 0o644))
	start, err := l.Options(t.Context(), a)
	must(t, err)
	// Lines at the end of the file that is read last would hold: these do.
	if start.Fence != "" || !start.Reads(m.Config) {
		t.Errorf("fence: %q, reads %v", start.Fence, start.Files)
	}
	inner := a
	inner.Config = late
	if start, err := l.Options(t.Context(), inner); err != nil || start.Fence != "" {
		t.Errorf("in the file that is read last: fence %q, %v", start.Fence, err)
	}
	first := a
	first.Config = secret
	must(t, os.Chmod(secret, 0o644))
	if start, err := l.Options(t.Context(), first); err != nil || !strings.Contains(start.Fence, late+":2 is read later and sets read_only = 0") {
		t.Errorf("in a file that is read before: fence %q, %v", start.Fence, err)
	}
	must(t, os.Chmod(secret, 0o600))
	start, err = l.Options(t.Context(), a)
	must(t, err)
	if os.Geteuid() == 0 && (len(start.Skipped) != 2 || !strings.Contains(start.Skipped[0], "secret.cnf (account mysql, which reads it, may not)")) || !strings.Contains(strings.Join(start.Skipped, " "), "open.cnf (everybody may write to it)") {
		t.Errorf("passed over: %v", start.Skipped)
	}
}

func all(t *testing.T, errs ...error) {
	t.Helper()
	must(t, errors.Join(errs...))
}
