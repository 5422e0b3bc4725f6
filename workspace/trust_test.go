package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/workspace"
)

const (
	nobody    = 65534
	smallFarm = "farm: f\nnext_server_id: 2\naccounts: accounts.cnf\nrouting: {kind: exec, program: [hooks/route]}\n" +
		"host_types: {t: {cores: 1, memory: 1GB, disk: 2TB, iops: 1, network: 1Gbit/s}}\n" +
		"hosts: [{name: h, type: t, address: 10.0.0.1}]\n" +
		"pairs: [{name: p1, topology: single, sides: {A: {host: h, port: 1, datadir: /1}}}]\n"
)

// routing: {kind: exec} in a farm.yaml that another user could write ran a
// program of his as root.
func TestAWorkspaceThatAnotherUserCanWriteIsObeyed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	give := func(name string) func(string) error {
		return func(dir string) error { return os.Chown(filepath.Join(dir, name), nobody, nobody) }
	}
	open := func(name string) func(string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, name), 0o777) }
	}
	names := []string{".", "farm.yaml", "goals.yaml", "routing.json", "plans", "plans/first.json", ".stowage", ".stowage/lock", ".stowage/records", ".stowage/records/one.json", "accounts.cnf", "hooks", "hooks/route"}
	spoils := map[string]func(string) error{"": func(string) error { return nil }}
	for _, n := range names {
		spoils[n+" of another user"], spoils[n+" open to all"] = give(n), open(n)
	}
	for what, spoil := range spoils {
		dir := layWorkspace(t)
		must(t, spoil(dir))
		err := obey(dir)
		switch {
		case what == "" && err != nil:
			t.Errorf("a workspace of root's is refused: %v", err)
		case what == "":
		case !errors.Is(err, farm.ErrRefused):
			t.Errorf("%s: %v", what, err)
		case !strings.Contains(err.Error(), "mode ") || !strings.Contains(err.Error(), "owner ") || !strings.HasPrefix(farm.Hint(err), "ch"):
			t.Errorf("%s: no help in %q, %q", what, err, farm.Hint(err))
		}
	}
}

func TestAFarmFileThatIsAFIFOHangs(t *testing.T) {
	dir := layWorkspace(t)
	must(t, os.Remove(filepath.Join(dir, "farm.yaml")), unix.Mkfifo(filepath.Join(dir, "farm.yaml"), 0o644))
	if err := obey(dir); err == nil {
		t.Error("read")
	}
}

func layWorkspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "plans"), 0o755), os.MkdirAll(filepath.Join(dir, ".stowage", "records"), 0o700), os.Mkdir(filepath.Join(dir, "hooks"), 0o755))
	for name, text := range map[string]string{"farm.yaml": smallFarm, "goals.yaml": "", "routing.json": "{}", "plans/first.json": "{}",
		".stowage/lock": "", ".stowage/records/one.json": "{}", "accounts.cnf": "", "hooks/route": "#!/bin/sh\n"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// obey reads what names files and programs.
func obey(dir string) error {
	w, err := workspace.Open(dir)
	if err != nil {
		return err
	}
	_, err = w.Farm()
	return err
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
