package tune

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Claim notes that somebody asks about the disks below a directory, to measure there.
// Loop devices count as storage then: data is kept on them.
func (f *Facts) Claim(dir string) {
	m, ok := f.mountOf(dir)
	if !ok {
		return
	}
	for _, d := range f.below(m.Device) {
		i := slices.IndexFunc(f.Disks, func(x Disk) bool { return x.Name == d.Name })
		f.Disks[i].Asked = true
		if f.Disks[i].Kind == Loop {
			f.Disks[i].Kind = Real
		}
	}
}

// Below are the names of the disks that a directory is on; none where nobody
// knows.
func (f *Facts) Below(dir string) []string {
	var out []string
	for _, d := range f.under(dir) {
		out = append(out, d.Name)
	}
	return out
}

// Homes are directories on a disk, one for each filesystem: where instances keep
// their data if they do so there, else where anything is mounted.
func (f *Facts) Homes(disk string) []string {
	var data, all []string
	for _, m := range f.kept() {
		if !slices.ContainsFunc(f.below(m.Device), func(d Disk) bool { return d.Name == disk }) {
			continue
		}
		all = append(all, m.Dir)
		if slices.ContainsFunc(f.Instances, func(i Instance) bool {
			at, ok := f.mountOf(i.Datadir)
			return ok && at.Dir == m.Dir
		}) {
			data = append(data, m.Dir)
		}
	}
	if len(data) > 0 {
		return data
	}
	return all
}

// DataHomes are the directories where instances keep their data, one for each
// filesystem.
func (f *Facts) DataHomes() []string {
	var out []string
	for _, i := range f.Instances {
		if m, ok := f.mountOf(i.Datadir); ok && !slices.Contains(out, m.Dir) {
			out = append(out, m.Dir)
		}
	}
	return out
}

// Narrow leaves what concerns these instances: themselves, and the filesystems on which they have a file. Servers and mounts of others
// may change meanwhile. Where nobody knows their files, all filesystems stay.
func (f *Facts) Narrow(names []string) {
	f.Instances = slices.DeleteFunc(f.Instances, func(i Instance) bool { return !slices.Contains(names, i.Name) })
	var theirs []string
	for _, i := range f.Instances {
		for _, file := range append(slices.Collect(maps.Values(i.Variables)), i.Datadir) {
			if m, ok := f.mountOf(file); ok {
				theirs = append(theirs, m.Dir)
			}
		}
	}
	if len(theirs) == 0 {
		return
	}
	f.Mounts = slices.DeleteFunc(f.Mounts, func(m Mount) bool { return !slices.Contains(theirs, m.Dir) })
	f.Fstab = slices.DeleteFunc(f.Fstab, func(l FstabLine) bool { return !slices.Contains(theirs, l.Dir) })
}

// Disk is the disk whose setting a path is: sda of "/sys/block/sda/queue/scheduler".
func (c Change) Disk() string {
	rest, ok := strings.CutPrefix(path.Clean(c.Path), "/sys/block/")
	if !ok {
		return ""
	}
	disk, _, _ := strings.Cut(rest, "/")
	return disk
}

// MountDir is the directory where the filesystem is mounted that holds a path; "" when
// it is not known.
func (f *Facts) MountDir(path string) string {
	m, _ := f.mountOf(path)
	return m.Dir
}

// KeepsIn reports whether an instance keeps its data on one of the disks below a directory.
func (f *Facts) KeepsIn(instance, dir string) bool {
	for _, i := range f.Instances {
		if i.Name == instance && slices.ContainsFunc(f.Below(i.Datadir), func(d string) bool { return slices.Contains(f.Below(dir), d) }) {
			return true
		}
	}
	return false
}
