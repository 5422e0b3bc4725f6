package host_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stowage/host"
	"stowage/vault"
)

// TestFilesOfAStoppedServer: the data directory of a server that was shut down goes into a vault and out of it, byte by byte, but for what is its own; a new server starts on it
// with another uuid. One that runs, what is cut, and names that lead elsewhere are refused.
func TestFilesOfAStoppedServer(t *testing.T) {
	l, line := mysqlHost(t)
	s := line.Start(t, "s")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT PRIMARY KEY, v VARCHAR(50))", "INSERT d.a VALUES (1, 'one')")
	uuid := s.Value(t, "SELECT @@server_uuid")
	var raw bytes.Buffer
	if err := l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Files: true}, &raw); err == nil || !strings.Contains(err.Error(), "its server runs") {
		t.Errorf("a server that runs: %v", err)
	}
	s.Stop(t)
	sparse := filepath.Join(s.Datadir, "d", "hole.ibd")
	must(t, os.WriteFile(sparse, []byte("begin"), 0o640))
	must(t, os.Truncate(sparse, 8<<20))

	stored := host.Stored{Place: vault.Place{Dir: t.TempDir()}, Set: "s/one", Name: host.FilesPart}
	copied, err := host.Copy{From: l, Origin: host.Origin{Instance: sourceOf(s), Files: true}, To: l, Target: host.Destination{Stored: stored}}.Run(t.Context())
	must(t, err)
	v := l.Vault(stored.Place)
	must(t, v.Seal(t.Context(), vault.Manifest{FormatVersion: vault.Format, Set: stored.Set, Parts: []vault.Part{copied.Part}}, nil))
	r := line.Prepare(t, "r")
	to := sourceOf(r)
	must(t, os.RemoveAll(r.Datadir))
	must(t, os.RemoveAll(to.Dir()))
	must(t, l.Claim(t.Context(), to, "the test"))
	_, err = host.Copy{From: l, Origin: host.Origin{Stored: stored}, To: l, Target: host.Destination{Instance: to, Files: true}}.Run(t.Context())
	must(t, err)
	files := 0
	must(t, filepath.WalkDir(s.Datadir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		name, _ := filepath.Rel(s.Datadir, path)
		if d.IsDir() || strings.HasPrefix(name, "#innodb_temp") {
			return nil
		}
		was, err := os.ReadFile(path)
		must(t, err)
		is, err := os.ReadFile(filepath.Join(r.Datadir, name))
		own := name == "auto.cnf" || name == "ibtmp1" || strings.HasSuffix(name, ".pem")
		if own != os.IsNotExist(err) || !own && !bytes.Equal(is, was) {
			t.Errorf("%s: %v, %d bytes, and %d before", name, err, len(is), len(was))
		}
		if !own {
			files++
		}
		return nil
	}))
	if files != copied.Files || files < 10 {
		t.Errorf("%d files; it is said that there are %d", files, copied.Files)
	}
	blocks := func(path string) int64 {
		info, err := os.Stat(path)
		must(t, err)
		return info.Sys().(*syscall.Stat_t).Blocks
	}
	if a, b := blocks(sparse), blocks(filepath.Join(r.Datadir, "d", "hole.ibd")); b > a {
		t.Errorf("a file with a hole had %d blocks, and has %d", a, b)
	}
	must(t, os.Remove(filepath.Join(r.Datadir, "d", "hole.ibd")))
	r.Restart(t)
	if v := r.Value(t, "SELECT v FROM d.a"); v != "one" || r.Value(t, "SELECT @@server_uuid") == uuid {
		t.Errorf("%q, and its uuid is %s", v, uuid)
	}
	r.Stop(t)

	// What is not whole, or leads elsewhere.
	must(t, l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Files: true}, &raw))
	stored.Set = "s/two"
	for _, n := range []int{1000, raw.Len() / 2, raw.Len() - 1500} {
		if _, err := l.Receive(t.Context(), host.Destination{Stored: stored}, bytes.NewReader(raw.Bytes()[:n])); err == nil {
			t.Errorf("%d of %d bytes are taken for a copy", n, raw.Len())
		}
		must(t, v.Drop(t.Context(), stored.Set))
	}
	for _, h := range []tar.Header{{Name: "../out", Typeflag: tar.TypeReg}, {Name: "/tmp/out", Typeflag: tar.TypeReg}, {Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, {Name: "d/a.ibd", Typeflag: tar.TypeReg}} {
		var one bytes.Buffer
		out := tar.NewWriter(&one)
		must(t, out.WriteHeader(&h))
		must(t, out.Close())
		if _, err := l.Receive(t.Context(), host.Destination{Instance: to, Files: true}, &one); err == nil {
			t.Errorf("%s is taken, or written over", h.Name)
		}
	}
}
