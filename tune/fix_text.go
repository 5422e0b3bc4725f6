package tune

import "fmt"

// The words of fixes that several rules share.

// fixFile fills in a fix that is one write to a file of the kernel's. persist
// says how it lasts over a restart.
func fixFile(f *Finding, c *Change, persist string) {
	f.Change = c
	f.Fix = fmt.Sprintf("echo '%s' > %s", c.To, c.Path)
	f.Persist = persist
	f.Revert = fmt.Sprintf("echo '%s' > %s", c.From, c.Path)
}

// udev is a rule that sets a queue attribute whenever the disk appears.
func udev(d Disk, attribute, value string) string {
	return fmt.Sprintf(`/etc/udev/rules.d/60-stowage.rules: ACTION=="add|change", KERNEL=="%s", ATTR{queue/%s}="%s"`, d.Name, attribute, value)
}

// fixSysctl fills in a fix of a kernel parameter such as vm.swappiness.
func fixSysctl(f *Finding, facts *Facts, name, path, to string) {
	fixFile(f, &Change{Path: path, From: facts.Sys[name], To: to}, fmt.Sprintf("/etc/sysctl.d/60-stowage.conf: %s = %s", name, to))
}

// fixVariable fills in a fix of a dynamic variable.
func fixVariable(f *Finding, i Instance, name, to string) {
	now, _, _ := i.setting(name)
	f.Change = i.variable(name, to)
	f.Option = &Change{Instance: i.Name, Variable: name, From: now, To: to}
	f.Fix = fmt.Sprintf("SET GLOBAL %s = %s", name, to)
	f.Persist = fmt.Sprintf("%s = %s in the [mysqld] group of its option file", name, to)
	f.Revert = fmt.Sprintf("SET GLOBAL %s = %s", name, now)
}

// fixOption fills in a fix that is an option file and a restart.
func fixOption(f *Finding, i Instance, name, to, now string) {
	f.Option = &Change{Instance: i.Name, Variable: name, From: now, To: to}
	f.Fix = fmt.Sprintf("%s = %s in the [mysqld] group of its option file, then restart the instance", name, to)
	f.Persist = "the option file is what lasts"
	f.Revert = fmt.Sprintf("%s = %s there, then restart", name, now)
}

// fixMount fills in a fix of mount options.
func fixMount(f *Finding, dir, live, fstab, revert string) {
	f.Fix = fmt.Sprintf("mount -o remount,%s %s", live, dir)
	f.Persist = "/etc/fstab: " + fstab
	f.Revert = fmt.Sprintf("mount -o remount,%s %s", revert, dir)
}
