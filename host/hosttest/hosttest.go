// Package hosttest holds what every implementation of host.Host must do.
//
// It answers: "does this way of reaching a machine keep the promises that acts
// rely on?" Run is all of it: an implementation's own test calls it with a
// machine on which MariaDB is installed and which this process shares files
// and network with.
//
// Invariants: real servers and real directories; every call is also made a
// second time where Host promises that it may be. It never looks at how an
// implementation works.
package hosttest

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/mariadbtest"
)

// Patience is the budget of what should take less than a second; it is spent
// only when a test fails.
const Patience = time.Minute

// Run tests an implementation.
func Run(t *testing.T, h host.Host) {
	t.Run("claim, wipe, remove", func(t *testing.T) { claimWipeRemove(t, h) })
	t.Run("foreign directories", func(t *testing.T) { foreign(t, h) })
	t.Run("removal cut short", func(t *testing.T) { cutShort(t, h) })
	t.Run("files", func(t *testing.T) { files(t, h) })
	t.Run("start and stop", func(t *testing.T) { startStop(t, h) })
	t.Run("retire", func(t *testing.T) { retire(t, h) })
	t.Run("free room and ports", func(t *testing.T) { roomAndPorts(t, h) })
}

const owner = "hosttest"

// Place gives the place of an instance, at an address of its own, in a
// directory that servers may enter. Nothing is made yet; what is made is
// removed when the test ends, and the server h has there is ended.
func Place(t testing.TB, h host.Host, name string) host.Instance {
	t.Helper()
	spot := mariadbtest.Prepare(t, name)
	dir := filepath.Join(spot.Dir, name)
	i := host.Instance{Name: farm.InstanceName(name), Address: spot.Host, Port: spot.Port,
		Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
	t.Cleanup(func() {
		if err := h.Stop(context.Background(), i, Patience); err != nil {
			t.Error(err)
		}
	})
	return i
}

// Config writes an instance's option file: that of a test server with the
// names and places changed.
func Config(t testing.TB, h host.Host, i host.Instance, like *mariadbtest.Instance, values map[string]string) {
	t.Helper()
	text, err := os.ReadFile(like.Config)
	Must(t, err)
	all := map[string]string{
		"datadir": i.Datadir, "socket": "mysqld.sock", "bind_address": i.Address, "report_host": i.Address,
		"pid_file": filepath.Join(i.Dir(), host.PidFile), "log_error": filepath.Join(i.Dir(), host.ErrorLog), "tmpdir": filepath.Join(i.Dir(), host.TempDir),
	}
	for k, v := range values {
		all[k] = v
	}
	Must(t, h.WriteFile(t.Context(), i.Config, []byte(host.RewriteOptions(string(text), "mariadbd", all))))
}

// Filled gives a claimed, startable instance with an empty set of databases,
// and the stopped test server it was copied from.
func Filled(t testing.TB, h host.Host, name string) (host.Instance, *mariadbtest.Instance) {
	t.Helper()
	like := mariadbtest.Start(t, name+"-like")
	like.Stop(t)
	i := Place(t, h, name)
	Must(t, h.Claim(t.Context(), i, owner))
	Must(t, os.RemoveAll(i.Datadir))
	Must(t, os.Rename(like.Datadir, i.Datadir))
	Config(t, h, i, like, nil)
	return i, like
}

// Value is the one value a query returns on an instance.
func Value(t testing.TB, i host.Instance, query string) string {
	t.Helper()
	as := mariadbtest.Stowage
	db, err := sql.Open("mysql", string(as)+":"+as.Password()+"@tcp("+i.Dial()+")/")
	Must(t, err)
	defer db.Close()
	var v sql.NullString
	Must(t, db.QueryRowContext(t.Context(), query).Scan(&v))
	return v.String
}

// Must fails the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, farm.Hint(err))
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func claimWipeRemove(t *testing.T, h host.Host) {
	ctx, i := t.Context(), Place(t, h, "one")
	Must(t, h.Claimable(ctx, i, owner))
	if exists(i.Dir()) {
		t.Error("asking whether a directory could be claimed made it")
	}
	for range 2 {
		Must(t, h.Claim(ctx, i, owner))
		Must(t, h.Claimable(ctx, i, owner))
		if !exists(i.Datadir) || !exists(filepath.Join(i.Dir(), host.TempDir)) {
			t.Fatal("claimed, and there is no data or temporary directory")
		}
	}
	content := filepath.Join(i.Datadir, "deep", "file")
	Must(t, os.MkdirAll(filepath.Dir(content), 0o755))
	Must(t, h.WriteFile(ctx, content, []byte("x")))
	note := filepath.Join(i.Dir(), "note")
	Must(t, h.WriteFile(ctx, note, []byte("kept")))
	Must(t, h.Claim(ctx, i, owner))
	if !exists(content) {
		t.Error("claiming again emptied the directory")
	}
	for range 2 {
		Must(t, h.Wipe(ctx, i, owner))
		if exists(content) || !exists(i.Datadir) || !exists(note) {
			t.Error("wiping must empty the data directory and nothing else")
		}
	}
	for range 2 {
		Must(t, h.Remove(ctx, i, owner))
		if left, _ := os.ReadDir(filepath.Dir(i.Dir())); len(left) > 0 {
			t.Errorf("removed, and there is still %v", left)
		}
	}
	Must(t, h.Claim(ctx, i, owner)) // and the name is free again
}

func foreign(t *testing.T, h host.Host) {
	ctx := t.Context()
	other := Place(t, h, "others")
	Must(t, h.Claim(ctx, other, "another act"))
	unmarked := Place(t, h, "unmarked")
	Must(t, os.MkdirAll(unmarked.Datadir, 0o755))
	file := Place(t, h, "file")
	Must(t, os.WriteFile(file.Dir(), []byte("x"), 0o644))
	t.Cleanup(func() { Must(t, os.Remove(file.Dir())) })
	link := Place(t, h, "link")
	Must(t, os.Symlink(other.Dir(), link.Dir()))
	for _, i := range []host.Instance{other, unmarked, file, link} {
		precious := filepath.Join(i.Datadir, "precious")
		_ = os.WriteFile(precious, []byte("x"), 0o644)
		before := exists(precious)
		for what, err := range map[string]error{
			"claimable": h.Claimable(ctx, i, owner), "claim": h.Claim(ctx, i, owner),
			"wipe": h.Wipe(ctx, i, owner), "remove": h.Remove(ctx, i, owner),
		} {
			if err == nil {
				t.Errorf("%s of %s: allowed", what, i.Name)
			}
			if i.Name != "file" && (!errors.Is(err, host.ErrForeign) || !errors.Is(err, farm.ErrRefused)) {
				t.Errorf("%s of %s: %v, want ErrForeign, refused", what, i.Name, err)
			}
		}
		if exists(precious) != before || !exists(i.Dir()) {
			t.Errorf("%s: something was deleted", i.Name)
		}
	}
	// A data directory elsewhere is not ours, whatever the mark says.
	i := Place(t, h, "astray")
	Must(t, h.Claim(ctx, i, owner))
	i.Datadir = unmarked.Datadir
	if err := h.Wipe(ctx, i, owner); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("wiping a data directory outside of the claimed directory: %v", err)
	}
	if !exists(filepath.Join(unmarked.Datadir, "precious")) {
		t.Error("a foreign data directory was emptied")
	}
}

// cutShort: claims and removals that a kill has left half done.
func cutShort(t *testing.T, h host.Host) {
	ctx, i := t.Context(), Place(t, h, "half")
	// Killed while claiming: whatever is there under another name.
	half := filepath.Join(filepath.Dir(i.Dir()), ".claim-123")
	Must(t, os.MkdirAll(filepath.Join(half, "data"), 0o755))
	Must(t, h.Claim(ctx, i, owner))
	// Killed while removing or wiping: the parts are gone, the mark is there.
	for _, part := range []string{i.Datadir, filepath.Join(i.Dir(), host.TempDir)} {
		Must(t, os.RemoveAll(part))
		Must(t, h.Claim(ctx, i, owner))
		if !exists(part) {
			t.Errorf("%s is not made again", part)
		}
		Must(t, os.RemoveAll(part))
	}
	Must(t, h.Wipe(ctx, i, owner))
	Must(t, h.Remove(ctx, i, owner))
	if exists(i.Dir()) {
		t.Error("still there")
	}
}

func files(t *testing.T, h host.Host) {
	ctx, i := t.Context(), Place(t, h, "files")
	Must(t, h.Claim(ctx, i, owner))
	path := filepath.Join(i.Dir(), "note")
	if _, err := h.ReadFile(ctx, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading what is not there: %v", err)
	}
	if err := h.WriteFile(ctx, filepath.Join(i.Dir(), "no", "note"), []byte("x")); err == nil {
		t.Error("wrote into a directory that is not there")
	}
	// A reader sees the one or the other, never a part.
	long, short := slices.Repeat([]byte("long "), 100_000), []byte("short")
	Must(t, h.WriteFile(ctx, path, short))
	stop := make(chan struct{})
	read := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				read <- nil
				return
			default:
			}
			got, err := h.ReadFile(ctx, path)
			if err == nil && len(got) != len(long) && len(got) != len(short) {
				err = errors.New("read a part of a file")
			}
			if err != nil {
				read <- err
				return
			}
		}
	}()
	for range 15 {
		Must(t, h.WriteFile(ctx, path, long))
		Must(t, h.WriteFile(ctx, path, short))
	}
	close(stop)
	Must(t, <-read)
	if got, err := h.ReadFile(ctx, path); err != nil || string(got) != "short" {
		t.Errorf("read %.20q, %v", got, err)
	}
	entries, err := os.ReadDir(i.Dir())
	Must(t, err)
	for _, e := range entries {
		if e.Name()[0] == '.' {
			t.Errorf("a temporary file is left: %s", e.Name())
		}
	}
}

// retire: an instance that was made by an act is stopped; one that was not cannot
// be started any more besides.
func retire(t *testing.T, h host.Host) {
	ctx := t.Context()
	i, _ := Filled(t, h, "leaves")
	Must(t, h.Start(ctx, i, Patience))
	if is, err := h.Retire(ctx, i, Patience, "It lives elsewhere."); err != nil || is != (host.Retired{}) {
		t.Errorf("one that was made by an act: %+v, %v", is, err)
	}
	Must(t, h.Start(ctx, i, Patience)) // the fence in its own file is what keeps writes out
	Must(t, os.Remove(filepath.Join(i.Dir(), "stowage-owner")))
	t.Cleanup(func() { _ = os.Chmod(i.Datadir, 0o700) })
	for range 2 {
		if is, err := h.Retire(ctx, i, Patience, "It lives elsewhere."); err != nil || is != (host.Retired{Closed: true}) {
			t.Errorf("one that was not: %+v, %v", is, err)
		}
	}
	if err := h.Start(ctx, i, Patience); err == nil {
		t.Error("it was started again")
	}
	if pid, err := h.Running(ctx, i); pid != 0 || err != nil {
		t.Errorf("retired and runs: %d, %v", pid, err)
	}
}

func startStop(t *testing.T, h host.Host) {
	ctx := t.Context()
	i, _ := Filled(t, h, "server")
	if pid, err := h.Running(ctx, i); pid != 0 || err != nil {
		t.Fatalf("runs before it is started: %d, %v", pid, err)
	}
	Must(t, h.Stop(ctx, i, Patience)) // one that does not run is left alone
	Must(t, h.Start(ctx, i, Patience))
	pid, err := h.Running(ctx, i)
	if pid == 0 || err != nil {
		t.Fatalf("started and does not run: %d, %v", pid, err)
	}
	if got := Value(t, i, "SELECT @@datadir"); filepath.Clean(got) != i.Datadir {
		t.Errorf("the server that answers has datadir %s", got)
	}
	started, err := h.Options(ctx, i)
	if v, _, ok := started.Value("datadir"); err != nil || started.PID != pid || !started.Reads(i.Config) || !ok || v != i.Datadir || started.Fence+started.Unwritable != "" || len(started.Sharers) > 0 {
		t.Errorf("it is started with %+v, %v", started, err)
	}
	Must(t, h.Start(ctx, i, Patience)) // a second time is as good as once
	if again, _ := h.Running(ctx, i); again != pid {
		t.Errorf("starting again made process %d of %d", again, pid)
	}
	for what, err := range map[string]error{"wipe": h.Wipe(ctx, i, owner), "remove": h.Remove(ctx, i, owner)} {
		if !errors.Is(err, farm.ErrRefused) {
			t.Errorf("%s of a running instance: %v, want refused", what, err)
		}
	}
	if got := Value(t, i, "SELECT COUNT(*) > 0 FROM mysql.global_priv"); got != "1" {
		t.Error("its tables are gone")
	}
	if free, err := h.PortFree(ctx, i.Dial()); free || err != nil {
		t.Errorf("its port is free: %v, %v", free, err)
	}
	for range 2 {
		Must(t, h.Stop(ctx, i, Patience))
		if pid, err := h.Running(ctx, i); pid != 0 || err != nil {
			t.Errorf("stopped and runs: %d, %v", pid, err)
		}
	}
	// Two that both took over from a killed program start it at once.
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- h.Start(ctx, i, Patience) }()
		time.Sleep(20 * time.Millisecond)
	}
	for range 2 {
		Must(t, <-errs)
	}
	Must(t, h.Stop(ctx, i, Patience))
	Must(t, h.Remove(ctx, i, owner))
}

func roomAndPorts(t *testing.T, h host.Host) {
	ctx, i := t.Context(), Place(t, h, "room")
	here, err := h.FreeBytes(ctx, filepath.Dir(i.Dir()))
	Must(t, err)
	below, err := h.FreeBytes(ctx, filepath.Join(i.Dir(), "not", "made", "yet"))
	Must(t, err)
	if here <= 0 || below <= 0 || below > here*2 || here > below*2 {
		t.Errorf("%d bytes free, and %d in a directory to be made there", here, below)
	}
	if free, err := h.PortFree(ctx, i.Dial()); !free || err != nil {
		t.Errorf("nobody listens and the port is not free: %v, %v", free, err)
	}
	l, err := net.Listen("tcp", i.Dial())
	Must(t, err)
	defer l.Close()
	for range 2 {
		if free, err := h.PortFree(ctx, i.Dial()); free || err != nil {
			t.Errorf("somebody listens and the port is free: %v, %v", free, err)
		}
	}
	if free, err := h.PortFree(ctx, "192.0.2.1:1"); free || err == nil {
		t.Errorf("an address of another machine: %v, %v", free, err)
	}
}
