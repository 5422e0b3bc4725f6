package bench

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stowage/farm"
)

// leave makes a directory as a run that was killed would have left it.
func leave(t *testing.T, names map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, placeName), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range names {
		if err := os.WriteFile(filepath.Join(dir, placeName, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const oldMarker = `{"made_by":"stowage bench run","pid":1}`

func TestPlaceIsSwept(t *testing.T) {
	for name, left := range map[string]map[string]string{
		"nothing":                {},
		"a marker that is empty": {fileMarker: "", fileData: "x"},
		"everything":             {fileMarker: oldMarker, fileData: "xx", fileLog: "x", fileProbe: "", "series-MIX_iops.log": "1"},
	} {
		dir := leave(t, left)
		p, swept, err := openPlace(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := int64(len(left[fileData] + left[fileLog] + left["series-MIX_iops.log"])); swept != want {
			t.Errorf("%s: %d bytes swept, want %d", name, swept, want)
		}
		if _, _, err := openPlace(dir); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "another bench") {
			t.Errorf("%s: a second one in the same place: %v", name, err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: left behind: %v %v", name, entries, err)
		}
	}
}

// TestPlaceOfServersIsSwept: by either bench, and only where the marker says that servers were there.
func TestPlaceOfServersIsSwept(t *testing.T) {
	const engines = `{"made_by":"stowage bench engine","pid":1}`
	for name, tt := range map[string]struct {
		marker string
		by     string
		ours   bool
	}{
		"by its own": {engines, MadeByEngine, true}, "by bench run": {engines, madeBy, true}, "of a bench run": {oldMarker, MadeByEngine, false}, "of nobody": {"", MadeByEngine, false},
	} {
		dir := leave(t, map[string]string{fileMarker: tt.marker})
		deep := filepath.Join(dir, placeName, Servers, "innodb-16k", "data", "mysql")
		if err := os.MkdirAll(deep, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(deep, "x.frm"), []byte("four"), 0o600); err != nil {
			t.Fatal(err)
		}
		p, swept, err := openPlaceFor(dir, tt.by)
		if !tt.ours {
			if _, stat := os.Stat(deep); !errors.Is(err, farm.ErrRefused) || stat != nil {
				t.Errorf("%s: %v, and the data: %v", name, err, stat)
			}
			continue
		}
		if err != nil || swept != 4 {
			t.Fatalf("%s: %d bytes swept, %v", name, swept, err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: left behind: %v %v", name, entries, err)
		}
	}
}

// TestServersBelowAreEnded: a process that works below a directory of ours is ended before its files go; one that works beside it is not.
func TestServersBelowAreEnded(t *testing.T) {
	dir := t.TempDir()
	start := func(arg string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "sleep 60 & wait", arg)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
		return cmd
	}
	_, other := start("--datadir="+filepath.Join(dir, "servers", "data")), start("--datadir="+filepath.Join(dir, "servers-of-others"))
	if _, err := removeTree(filepath.Join(dir, "servers")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(other.Process.Pid, 0); err != nil {
		t.Errorf("one that is not ours was ended: %v", err)
	}
	if got := serversBelow(filepath.Join(dir, "servers")); len(got) > 0 {
		t.Errorf("%v still works there", got)
	}
}

// TestPlaceLeavesWhatIsNotOurs: whatever is not surely ours stays as it is, and the run is refused.
func TestPlaceLeavesWhatIsNotOurs(t *testing.T) {
	for name, left := range map[string]map[string]string{
		"no marker":            {fileData: "precious"},
		"another's marker":     {fileMarker: `{"made_by":"me"}`, fileData: "precious"},
		"a marker that is not": {fileMarker: "hello", fileData: "precious"},
		"a foreign file":       {fileMarker: oldMarker, fileData: "x", "ibdata1": "precious"},
	} {
		dir := leave(t, left)
		_, _, err := openPlace(dir)
		if !errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		for file, text := range left {
			if got, err := os.ReadFile(filepath.Join(dir, placeName, file)); err != nil || string(got) != text {
				t.Errorf("%s: %s is %q, %v", name, file, got, err)
			}
		}
	}
	// A link that leads to somebody's data.
	dir, data := t.TempDir(), leave(t, map[string]string{fileMarker: oldMarker, fileData: "precious"})
	if err := os.Symlink(filepath.Join(data, placeName), filepath.Join(dir, placeName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openPlace(dir); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(data, placeName, fileData)); err != nil {
		t.Error(err)
	}
}

// TestPlaceKeepsFilesThatCameMeanwhile: nor at the end.
func TestPlaceKeepsFilesThatCameMeanwhile(t *testing.T) {
	dir := t.TempDir()
	p, _, err := openPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err == nil {
		t.Error("nothing is said of a file that stays")
	}
	if _, err := os.Stat(filepath.Join(p.dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}
