package disk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
)

// TestFileSystemsAreKnown: what the real mkfs makes is found, known by its UUID, and can be taken away by it, and by no other.
func TestFileSystemsAreKnown(t *testing.T) {
	const uuid = "0d4c2e9a-7f1b-4a55-9c3e-1f2a3b4c5d6e"
	for fs, x := range map[string]struct {
		args []string
		what string
	}{
		"ext4":  {[]string{"-q", "-F", "-U", uuid}, "an ext file system"},
		"xfs":   {[]string{"-q", "-f", "-m", "uuid=" + uuid}, "an xfs file system"},
		"btrfs": {[]string{"-q", "-f", "-U", uuid}, "a btrfs file system"},
	} {
		t.Run(fs, func(t *testing.T) {
			path := image(t, 320<<20)
			if out, err := exec.Command("mkfs."+fs, append(x.args, path)...).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
				t.Skipf("NOT TESTED: there is no mkfs.%s on this machine (scripts/setup.sh test installs it)", fs)
			} else if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got, err := Signature(f, 320<<20); err != nil || got != x.what || UUID(f, fs) != uuid {
				t.Fatalf("%q, %v, UUID %q", got, err, UUID(f, fs))
			}
			if err := Wipe(f, fs, strings.Replace(uuid, "0d", "0e", 1)); err == nil || UUID(f, fs) != uuid {
				t.Errorf("another's file system was wiped: %v", err)
			}
			if err := Wipe(f, fs, uuid); err != nil {
				t.Fatal(err)
			}
			if got, err := Signature(f, 320<<20); err != nil || got != "" || UUID(f, fs) != "" {
				t.Errorf("still there: %q, %v", got, err)
			}
			if out, err := exec.Command("blkid", "-p", path).CombinedOutput(); err == nil {
				t.Errorf("blkid still knows it: %s", out)
			}
		})
	}
}

func image(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTake: a loop device is ours alone, and what is mounted or has something on it is not to be had.
func TestTake(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: taking devices needs root")
	}
	path := image(t, 64<<20)
	out, err := exec.Command("losetup", "--find", "--show", path).Output()
	if err != nil {
		t.Skipf("NOT TESTED: no loop device: %v", err)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	m := Machine{"/"}
	d, err := m.Look(device)
	if err != nil || d.ID != path || d.Size != 64<<20 {
		t.Fatalf("%+v, %v", d, err)
	}
	never := func(string, *os.File) bool { return false }
	c, err := m.Take(d, never)
	if err != nil || c.Found != "" {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := m.Take(d, never); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("taken twice: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a device with a file system: %v\n%s", err, out)
	}
	if _, err := m.Take(d, never); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "there is an ext file system on it") || !strings.Contains(farm.Hint(err), "--overwrite") {
		t.Errorf("with a file system: %v", err)
	}
	c, err = m.Take(d, func(string, *os.File) bool { return true })
	if err != nil || c.Found != "an ext file system" {
		t.Fatalf("allowed: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	point := t.TempDir()
	if out, err := exec.Command("mount", device, point).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a mounted device: %v\n%s", err, out)
	}
	defer func() { _ = exec.Command("umount", point).Run() }()
	if _, err := m.Take(d, func(string, *os.File) bool { return true }); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "is mounted on "+point) {
		t.Errorf("mounted: %v", err)
	}
	d.Size++
	if _, err := m.Take(d, never); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "another device than before") {
		t.Errorf("another device: %v", err)
	}
}
