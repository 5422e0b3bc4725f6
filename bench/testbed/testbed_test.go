package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"stowage/bench/disk"
	"stowage/farm"
	"stowage/internal/turns"
)

// killAt is the border at which the test binary, playing a process of its own, kills itself; in is the site's directory.
const (
	killAt = "STOWAGE_STAND_KILL"
	in     = "STOWAGE_STAND_DIR"
	on     = "STOWAGE_STAND_DISK" // a device of somebody else's to make the testbed on
)

func TestMain(m *testing.M) {
	if os.Getenv(in) == "" {
		os.Exit(m.Run())
	}
	err := Apart(func() error {
		return makeAndUnmake(os.Getenv(in), func(point string) error {
			if point == os.Getenv(killAt) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // the signal is on its way
			}
			return nil
		})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// wanted is a testbed of everything: two loop devices, queue settings, a file system on one of them, a mount.
var wanted = Spec{Filesystem: "ext4", Mkfs: "-b 1024", Mount: "noatime", Queue: map[string]string{"scheduler": "mq-deadline", "nomerges": "2"}, RAID: "single", Devices: 1}

// makeAndUnmake makes a testbed, writes a file into it, and takes all away.
func makeAndUnmake(dir string, border func(string) error) error {
	o := Options{Loops: 2, Size: 24 << 20, Border: border}
	if given := os.Getenv(on); given != "" {
		d, err := disk.Machine{Root: "/"}.Look(given)
		if err != nil {
			return err
		}
		o.Loops, o.Disks = 0, []disk.Disk{d}
	}
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	st, err := s.Make(context.Background(), wanted)
	if err == nil {
		err = os.WriteFile(filepath.Join(st.Dir, "file"), []byte("data"), 0o600)
		err = errors.Join(err, st.Close())
	}
	return errors.Join(err, s.Close())
}

// needs skips, loudly, where testbeds cannot be made.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: testbeds are made by root")
	}
	if _, err := freeLoop(); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	for _, p := range programs {
		if _, err := find(p); err != nil {
			t.Skipf("NOT TESTED: %v (scripts/setup.sh test installs it)", err)
		}
	}
}

// traces are loop devices over files of a directory, and what is in the directory.
func traces(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	found, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		raw, err := os.ReadFile(f)
		if err == nil && strings.HasPrefix(string(raw), dir+"/") {
			out = append(out, f)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// queues are the acts of a journal that set queue settings, which a loop device keeps when it is detached.
func queues(t *testing.T, dir string) (out []act) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, siteName, fileJournal))
	if err != nil && !isMissing(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var a act
		if json.Unmarshal([]byte(line), &a) == nil && a.Act == "queue" {
			out = append(out, a)
		}
	}
	return out
}

// areBack says whether settings are as they were.
func areBack(t *testing.T, acts []act) {
	t.Helper()
	for _, a := range acts {
		for name, was := range a.From {
			if now, err := setting(a.Device, name); err != nil || now != was {
				t.Errorf("%s of %s is %s, and was %s (%v)", name, a.Device, now, was, err)
			}
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	needs(t, "mkfs.ext4")
	dir := t.TempDir()
	var set []act
	err := Apart(func() error {
		return makeAndUnmake(dir, func(point string) error {
			if point == "testbed queue done" {
				set = queues(t, dir)
				for _, a := range set {
					if now, err := setting(a.Device, "scheduler"); err != nil || now != "mq-deadline" {
						t.Errorf("the scheduler is %s (%v)", now, err)
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := traces(t, dir); len(left) > 0 || len(set) != 1 {
		t.Errorf("left: %q; %d queues were set", left, len(set))
	}
	areBack(t, set)
}

// TestKilledAtEveryBorder: wherever a process is killed, Clean leads to before; and so does the next Open.
func TestKilledAtEveryBorder(t *testing.T) {
	turns.One(t, 6)
	needs(t, "mkfs.ext4")
	for i, point := range []string{
		"testbed file", "testbed file done", "testbed attach", "testbed attach done", "testbed queue", "testbed queue done", "testbed format", "testbed format done", "testbed mount", "testbed mount done",
		"testbed undo mount", "testbed undo format", "testbed undo queue", "testbed undo attach", "testbed undo file",
	} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), in+"="+dir, killAt+"="+point)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("%s: it was to be killed there: %v\n%s", point, err, out)
			continue
		}
		if len(traces(t, dir)) == 0 {
			t.Errorf("%s: nothing was left to undo", point)
		}
		set := queues(t, dir)
		if i%2 == 0 {
			if _, err := Clean(dir, func(string) {}); err != nil {
				t.Errorf("%s: %v", point, err)
			}
			if said, err := Clean(dir, func(string) {}); err != nil || len(said) > 0 {
				t.Errorf("%s: cleaned twice: %q, %v", point, said, err)
			}
		} else if err := Apart(func() error { return makeAndUnmake(dir, nil) }); err != nil {
			t.Errorf("%s: the next start: %v", point, err)
		}
		if left := traces(t, dir); len(left) > 0 {
			t.Errorf("%s: left: %q", point, left)
		}
		areBack(t, set)
	}
}

// TestWhatIsNotOursStays: a foreign file, a directory that somebody else made, a loop device with another file behind it by now.
func TestWhatIsNotOursStays(t *testing.T) {
	needs(t)
	for name, x := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a foreign file":       {map[string]string{fileJournal: journalOf(t), "diary": "dear"}, "it holds diary, which is not ours"},
		"no journal":           {map[string]string{"loop-0": "x"}, "there is no journal of ours in it"},
		"a foreign journal":    {map[string]string{fileJournal: "{\"made_by\":\"me\"}\n"}, "was not written by us"},
		"rubbish in a journal": {map[string]string{fileJournal: journalOf(t) + "rubbish\n"}, "line 2 of its journal cannot be read"},
		"an act of the future": {map[string]string{fileJournal: journalOf(t, act{Act: "nail"})}, `an act "nail", which this program does not know`},
		"a path":               {map[string]string{fileJournal: journalOf(t, act{Act: "file", Path: "../important"})}, "is not a file of ours"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, siteName), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range x.files {
			if err := os.WriteFile(filepath.Join(dir, siteName, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Clean(dir, func(string) {})
		if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), x.want) || farm.Hint(err) == "" {
			t.Errorf("%s: %v\nwant %s", name, err, x.want)
		}
		for file, text := range x.files {
			if raw, err := os.ReadFile(filepath.Join(dir, siteName, file)); err != nil || string(raw) != text {
				t.Errorf("%s: %s was touched: %q, %v", name, file, raw, err)
			}
		}
	}
}

// TestAnothersSite: a journal that somebody else wrote, in a directory where everybody may write, is not carried out.
func TestAnothersSite(t *testing.T) {
	needs(t)
	for name, change := range map[string]func(string) error{
		"another's":           func(dir string) error { return os.Chown(dir, 65534, 65534) },
		"open to others":      func(dir string) error { return os.Chmod(dir, 0o777) },
		"a link to another's": func(dir string) error { return errors.Join(os.Rename(dir, dir+"x"), os.Symlink(dir+"x", dir)) },
	} {
		dir := t.TempDir()
		site := filepath.Join(dir, siteName)
		err := errors.Join(os.Mkdir(site, 0o700), os.WriteFile(filepath.Join(site, fileJournal), []byte(journalOf(t, act{Act: "file", Path: "loop-0"})), 0o600),
			os.WriteFile(filepath.Join(site, "loop-0"), nil, 0o600), change(site))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Clean(dir, func(string) {}); !errors.Is(err, farm.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(site, "loop-0")); err != nil {
			t.Errorf("%s: it was carried out: %v", name, err)
		}
	}
}

// journalOf is a journal of this boot with some acts.
func journalOf(t *testing.T, acts ...act) string {
	t.Helper()
	out := fmt.Sprintf("{\"made_by\":%q,\"boot\":%q}\n", madeBy, bootID())
	for _, a := range acts {
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		out += string(line) + "\n"
	}
	return out
}

// TestForeignLoopStays: the number in the journal has another file behind it by now.
func TestForeignLoopStays(t *testing.T) {
	needs(t)
	image := filepath.Join(t.TempDir(), "foreign")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("NOT TESTED: losetup: %v", err)
	}
	device := strings.TrimPrefix(strings.TrimSpace(string(out)), "/dev/")
	t.Cleanup(func() { _ = detach(device) })
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, siteName), 0o700); err != nil {
		t.Fatal(err)
	}
	text := journalOf(t, act{Act: "attach", Device: device, Path: "loop-0", File: 1, On: 1}, act{Act: "format", Path: "ext4", UUID: "x", Members: []string{device}})
	if err := os.WriteFile(filepath.Join(dir, siteName, fileJournal), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Clean(dir, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := behind(device); err != nil || !ok {
		t.Errorf("a foreign loop device was detached: %v", err)
	}
}

func TestOneAtATime(t *testing.T) {
	needs(t)
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "running there") {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := Clean(dir, func(string) {}); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("cleaned while another is at work: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefusals are results: the kernel's own reason, and the next testbed can be made.
func TestRefusals(t *testing.T) {
	needs(t, "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")
	dir := t.TempDir()
	err := Apart(func() error {
		s, err := Open(dir, Options{Loops: 2, Size: 320 << 20})
		if err != nil {
			return err
		}
		for want, spec := range map[string]Spec{
			"mount refused: xfs: Unknown parameter 'nobarrier'": {Filesystem: "xfs", Mount: "noatime,nobarrier"},
			"mkfs refused: ": {Filesystem: "xfs", Mkfs: "-d agcount=4000"},
			"queue refused: scheduler=noop: invalid argument": {Filesystem: "ext4", Queue: map[string]string{"scheduler": "noop"}},
			"queue refused: loop":                             {Filesystem: "ext4", Queue: map[string]string{"no_such": "1"}},
			"raid refused: ":                                  {Filesystem: "ext4", RAID: "raid1", Devices: 2},
		} {
			if spec.Devices == 0 {
				spec.RAID, spec.Devices = "single", 1
			}
			if _, mdErr := os.Stat("/proc/mdstat"); mdErr == nil && spec.RAID == "raid1" {
				continue // this kernel could
			}
			_, err := s.Make(t.Context(), spec)
			if r := (*Refusal)(nil); !errors.As(err, &r) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
		}
		for _, spec := range []Spec{
			{Filesystem: "btrfs", Mount: "noatime,nodatacow", RAID: "raid1", Devices: 2}, {Filesystem: "xfs", Mkfs: "-m reflink=0", Mount: "noatime", RAID: "single", Devices: 1},
			{Filesystem: "ext4", Mkfs: "-E stride=16 -O ^has_journal", Mount: "barrier=0", RAID: "single", Devices: 1},
		} {
			st, err := s.Make(t.Context(), spec)
			if err != nil {
				t.Errorf("%+v: %v", spec, err)
				continue
			}
			var at unix.Statfs_t
			if err := unix.Statfs(st.Dir, &at); err != nil || len(st.Devices) != spec.Devices {
				t.Errorf("%v %v", err, st.Devices)
			}
			if magic := map[string]int64{"btrfs": unix.BTRFS_SUPER_MAGIC, "xfs": unix.XFS_SUPER_MAGIC, "ext4": unix.EXT4_SUPER_MAGIC}[spec.Filesystem]; at.Type != magic {
				t.Errorf("%s is mounted, by its number %x", spec.Filesystem, at.Type)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
	if left := traces(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestDevicesOfOthers: on a device that was given to us the file system goes again, and nothing but ours.
func TestDevicesOfOthers(t *testing.T) {
	needs(t, "mkfs.ext4")
	image := filepath.Join(t.TempDir(), "disk")
	f, err := os.Create(image)
	if err == nil {
		err = errors.Join(f.Truncate(32<<20), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("NOT TESTED: losetup: %v", err)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	d, err := disk.Machine{Root: "/"}.Look(device)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := Options{Disks: []disk.Disk{d}}
	err = Apart(func() error {
		s, err := Open(dir, o)
		if err != nil {
			return err
		}
		for range 2 { // the second time nothing is on it that would have to be overwritten
			st, err := s.Make(t.Context(), Spec{Filesystem: "ext4", RAID: "single", Devices: 1})
			if err != nil {
				return errors.Join(err, s.Close())
			}
			if !slices.Equal(st.Devices, []string{d.Name}) {
				t.Errorf("%v", st.Devices)
			}
			if err := st.Close(); err != nil {
				return err
			}
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if found, err := disk.Signature(raw, 32<<20); err != nil || found != "" {
		t.Errorf("left on it: %q, %v", found, err)
	}
	for _, point := range []string{"testbed format done", "testbed mount done", "testbed undo format"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), in+"="+dir, on+"="+device, killAt+"="+point)
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: it was to be killed there\n%s", point, out)
		}
		if found, err := disk.Signature(raw, 32<<20); err != nil || found == "" {
			t.Errorf("%s: nothing was left on it: %v", point, err)
		}
		set := queues(t, dir)
		if _, err := Clean(dir, func(string) {}); err != nil || len(set) != 1 {
			t.Errorf("%s: %d queues, %v", point, len(set), err)
		}
		areBack(t, set)
		if found, err := disk.Signature(raw, 32<<20); err != nil || found != "" {
			t.Errorf("%s: left on it: %q, %v", point, found, err)
		}
	}
	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := Open(dir, o); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "there is an ext file system on it") {
		t.Errorf("with somebody's file system on it: %v", err)
	}
	if left := traces(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestMkfsCommand(t *testing.T) {
	for want, x := range map[string]struct {
		spec    Spec
		devices []string
	}{
		"mkfs.ext4 -q -F -U u -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=16,discard -b 1024 /dev/a": {Spec{Filesystem: "ext4", Mkfs: "-E stride=16 -b 1024 -Ediscard"}, []string{"a"}},
		"mkfs.xfs -q -f -K -m uuid=u -m reflink=0 /dev/a":                                                           {Spec{Filesystem: "xfs", Mkfs: "-m reflink=0"}, []string{"a"}},
		"mkfs.btrfs -q -f -K -U u /dev/a":                                                                           {Spec{Filesystem: "btrfs", RAID: "single"}, []string{"a"}},
		"mkfs.btrfs -q -f -K -U u -d raid0 -m raid1 --csum xxhash /dev/a /dev/b":                                    {Spec{Filesystem: "btrfs", RAID: "raid0", Mkfs: "--csum xxhash"}, []string{"a", "b"}},
	} {
		program, args := mkfs(x.spec, "u", x.devices)
		if got := program + " " + strings.Join(args, " "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	said := "agsize (1024 blocks) too small, need at least 4096 blocks\nUsage: mkfs.xfs\n/* blocksize */\n"
	if got := oneLine(said); got != "agsize (1024 blocks) too small, need at least 4096 blocks" {
		t.Errorf("%q", got)
	}
}
