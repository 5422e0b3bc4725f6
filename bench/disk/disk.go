package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
)

// Disk is a block device that a person named.
type Disk struct {
	Given string // what was typed: /dev/disk/by-id/..., or /dev/loop3
	Name  string // of this boot: sda
	// ID is what stays the same as long as the data are the same: the by-id name, or a loop's backing file.
	ID     string
	Number string // 8:0
	Size   int64
	Model  string
}

// Machine is where facts are read: "/", or a tree that tests made.
type Machine struct{ Root string }

const byID = "/dev/disk/by-id/"

func (m Machine) read(path string) string {
	raw, err := os.ReadFile(filepath.Join(m.Root, path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func (m Machine) exists(path string) bool {
	_, err := os.Stat(filepath.Join(m.Root, path))
	return err == nil
}

func refuse(subject, hint, format string, args ...any) error {
	return &farm.Error{Op: "use device", Subject: subject, Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...), Hint: hint}
}

// Look finds the device that is meant. It refuses names that may mean another device after a reboot, and says which name does not.
func (m Machine) Look(given string) (Disk, error) {
	d := Disk{Given: filepath.Clean(given)}
	name, isByID := strings.CutPrefix(d.Given, byID)
	switch {
	case isByID:
		to, err := os.Readlink(filepath.Join(m.Root, d.Given))
		if err != nil || strings.Contains(name, "/") {
			return d, &farm.Error{Op: "use device", Subject: given, Err: fmt.Errorf("%w: there is no such device", farm.ErrInput), Hint: "ls -l /dev/disk/by-id shows the names there are"}
		}
		d.Name, d.ID = filepath.Base(to), d.Given
	case strings.HasPrefix(d.Given, "/dev/loop"):
		d.Name = filepath.Base(d.Given)
		if d.ID = m.read("/sys/block/" + d.Name + "/loop/backing_file"); d.ID == "" {
			return d, &farm.Error{Op: "use device", Subject: given, Err: fmt.Errorf("%w: no file is attached to this loop device", farm.ErrInput), Hint: "losetup -a shows the loop devices that are in use"}
		}
	case strings.HasPrefix(d.Given, "/dev/"):
		return d, m.refuseName(d.Given)
	default:
		return d, &farm.Error{Op: "use device", Subject: given, Err: fmt.Errorf("%w: it is not the name of a device", farm.ErrInput), Hint: "name it as /dev/disk/by-id/..."}
	}
	if !m.exists("/sys/block/" + d.Name) {
		if parent := m.parent(d.Name); parent != "" {
			return d, refuse(given, "name the whole disk, if all that is on it may go", "it is a partition of %s", parent)
		}
		return d, &farm.Error{Op: "use device", Subject: given, Err: fmt.Errorf("%w: /sys does not know the block device %s", farm.ErrInput, d.Name), Hint: "ls -l /dev/disk/by-id shows the names there are"}
	}
	sys := "/sys/block/" + d.Name
	sectors, _ := strconv.ParseInt(m.read(sys+"/size"), 10, 64) // a device that does not say has none, and is refused
	d.Size, d.Number, d.Model = sectors*512, m.read(sys+"/dev"), m.read(sys+"/device/model")
	return d, nil
}

// refuseName says which name to use instead of one that the next boot may give to another disk.
func (m Machine) refuseName(given string) error {
	name := filepath.Base(given)
	if to, err := filepath.EvalSymlinks(filepath.Join(m.Root, given)); err == nil {
		name = filepath.Base(to)
	}
	names := m.names(name)
	if len(names) == 0 {
		return refuse(given, "give the disk a serial number (virtual machines: serial= of the drive), or measure a directory on it, or a loop device over a file",
			"names as this may mean another disk after the next boot, and this disk has no name below %s", byID)
	}
	return refuse(given, "it is "+byID+names[0]+", if "+m.describe(name)+" is what you mean", "names as this may mean another disk after the next boot")
}

// describe is a disk in a few words.
func (m Machine) describe(name string) string {
	sectors, _ := strconv.ParseInt(m.read("/sys/block/"+name+"/size"), 10, 64) // unknown is 0
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s of %d GB", name, m.read("/sys/block/"+name+"/device/model"), sectors*512/1e9)), " ")
}

// names are those below by-id that lead to a device, shortest first: wwn and model names, before those of its paths.
func (m Machine) names(name string) []string {
	entries, err := os.ReadDir(filepath.Join(m.Root, byID))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(m.Root, byID, e.Name())); err == nil && filepath.Base(to) == name {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

// parent is the disk that a partition belongs to, or "".
func (m Machine) parent(name string) string {
	found, err := filepath.Glob(filepath.Join(m.Root, "/sys/block/*", name, "partition"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return filepath.Base(filepath.Dir(filepath.Dir(found[0])))
}

// Confirm holds what was typed the second time against the device.
func (d Disk) Confirm(again string) error {
	if again == d.ID {
		return nil
	}
	if d.ID != d.Given {
		return refuse(d.Given, "type --destroy-data "+d.ID+" if all that is in this file may go", "this loop device stands for %s, and %q was typed to confirm it", d.ID, again)
	}
	return refuse(d.Given, "type the same name once more behind --destroy-data if all that is on it may go", "%q was typed to confirm it", again)
}

// Check says why a device must not be used; nil when nothing speaks against it. Claim looks at it once more.
func (m Machine) Check(d Disk) error {
	sys := "/sys/block/" + d.Name
	parts := m.parts(d.Name)
	for _, x := range []struct {
		is   bool
		hint string
		why  string
	}{
		{d.Size == 0, "virtual media of a remote console, and card readers, look like this", "it has no size: there is no medium in it"},
		{m.read(sys+"/removable") == "1", "", "it is a removable medium"},
		{m.read(sys+"/ro") == "1", "", "it is read-only"},
		{isVirtualMedia(m.read(sys+"/device/vendor") + " " + d.Model), "", "it is a virtual medium of a remote console"},
		{isNoStorage(d.Name), "", "it is not a storage of this machine"},
	} {
		if x.is {
			return refuse(d.Given, x.hint, "%s", x.why)
		}
	}
	for _, name := range append([]string{d.Name}, parts...) {
		at := sys
		if name != d.Name {
			at += "/" + name
		}
		if h := m.list(at + "/holders"); len(h) > 0 {
			return refuse(d.Given, "it is part of an array, a volume group or an encrypted device: lsblk shows it", "%s is held by %s", name, strings.Join(h, ", "))
		}
		if swap := m.swap(name); swap {
			return refuse(d.Given, "swapoff /dev/"+name+", if it may go", "%s is swapped on", name)
		}
		if point := m.mounted(name, m.read(at+"/dev")); point != "" {
			return refuse(d.Given, "umount "+point+", if all that is on it may go", "%s is mounted on %s", name, point)
		}
	}
	return nil
}

func isVirtualMedia(vendorAndModel string) bool {
	text := strings.ToLower(vendorAndModel)
	return strings.Contains(text, "virtual") && (strings.Contains(text, "floppy") || strings.Contains(text, "cd") || strings.Contains(text, "media") || strings.Contains(text, "idrac")) ||
		strings.Contains(text, "virtual disk file")
}

// isNoStorage: memory and network block devices have no disk of this machine below them; loops, arrays and volumes have.
func isNoStorage(name string) bool {
	kind := strings.TrimRight(name, "0123456789")
	return slices.Contains([]string{"zram", "ram", "nbd", "sr", "fd"}, kind)
}

// parts are the partitions of a disk.
func (m Machine) parts(name string) []string {
	var out []string
	for _, e := range m.list("/sys/block/" + name) {
		if m.exists("/sys/block/" + name + "/" + e + "/partition") {
			out = append(out, e)
		}
	}
	return out
}

func (m Machine) list(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(m.Root, dir))
	if err != nil {
		return nil // what is not there holds nothing
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func (m Machine) swap(name string) bool {
	for line := range strings.Lines(m.read("/proc/swaps")) {
		f := strings.Fields(line)
		if len(f) == 0 || !strings.HasPrefix(f[0], "/dev/") {
			continue
		}
		at := f[0]
		if to, err := filepath.EvalSymlinks(filepath.Join(m.Root, at)); err == nil {
			at = to
		}
		if filepath.Base(at) == name {
			return true
		}
	}
	return false
}

// mounted is where a device is mounted, or "". File systems with numbers of their own (btrfs) are found by their source, and by /sys/fs/btrfs
// where they have several devices.
func (m Machine) mounted(name, number string) string {
	for line := range strings.Lines(m.read("/proc/self/mountinfo")) {
		head, tail, ok := strings.Cut(line, " - ")
		h, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(h) < 5 || len(t) < 2 {
			continue
		}
		source := t[1]
		if to, err := filepath.EvalSymlinks(filepath.Join(m.Root, source)); err == nil {
			source = to
		}
		if h[2] == number && number != "" || strings.HasPrefix(t[1], "/dev/") && filepath.Base(source) == name {
			return h[4]
		}
	}
	if found, err := filepath.Glob(filepath.Join(m.Root, "/sys/fs/btrfs/*/devices", name)); err == nil && len(found) > 0 {
		return "a btrfs of several devices"
	}
	return ""
}
