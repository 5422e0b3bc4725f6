package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"stowage/host"
	"stowage/internal/mariadbtest"
)

// TestSendOfABackupThatDoesNotEnd: mariadb-backup sometimes copies everything, says so, and waits for one of its threads for ever. The one here does what
// that one does, and sleeps instead.
func TestSendOfABackupThatDoesNotEnd(t *testing.T) {
	line := mariadbtest.Named(t, mariadbtest.MariaDB10)
	dir, err := os.MkdirTemp("", "stowage-test-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // nothing of ours is left but this
	must(t, os.Chmod(dir, 0o755))               // servers' account runs what is in it
	backup := program(t, line.Path(), "mariadb-backup")
	script := "#!/bin/bash\n" + backup + ` "$@" 2> >(grep --line-buffered -v -e 'Starting shutdown' -e 'completed OK' >&2)` + "\nexec sleep 1000\n"
	must(t, os.WriteFile(filepath.Join(dir, "mariadb-backup"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+line.Path())
	l := local(t)
	s := line.Start(t, "source")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	var stream bytes.Buffer
	must(t, l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: loginTo(s)}, &stream))
	if !bytes.HasSuffix(stream.Bytes(), []byte("xtrabackup_info")) { // the end of the last file
		t.Errorf("%d bytes, which end in %q", stream.Len(), stream.Bytes()[max(0, stream.Len()-40):])
	}
}

// program is where a path has a program.
func program(t *testing.T, path, name string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); filepath.IsAbs(p) {
			if _, err := os.Stat(p); err == nil {
				return p
			}
		}
	}
	t.Fatalf("no %s in %s", name, path)
	return ""
}
