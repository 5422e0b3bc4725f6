package testbed

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"stowage/farm"
)

// packages are where programs come from, on Debian.
var packages = map[string]string{"mkfs.xfs": "xfsprogs", "mkfs.ext4": "e2fsprogs", "mkfs.btrfs": "btrfs-progs", "mdadm": "mdadm"}

// find looks for a program, also where an ordinary account does not look.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin/", "/sbin/", "/usr/local/sbin/"} {
		if info, err := os.Stat(dir + name); err == nil && info.Mode()&0o111 != 0 {
			return dir + name, nil
		}
	}
	return "", refused(strings.SplitN(name, ".", 2)[0], "there is no %s on this machine (apt-get install %s)", name, packages[name])
}

// run runs a tool to its end; said is what it said, in one line. The kernel ends it when we die.
func (s *Site) run(ctx context.Context, path string, args ...string) (said string, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = s.mount()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", farm.ErrInterrupted
	}
	return oneLine(out.String()), err
}

// oneLine is what a tool said, without its usage.
func oneLine(text string) string {
	text, _, _ = strings.Cut(text, "\nUsage:")
	text, _, _ = strings.Cut(text, "/* ")
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && len(out) < 3 {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// mkfs is the command that makes a file system. Nothing is discarded and nothing is put off: a device that was just told to forget everything is as
// fast as a new one, and what is initialised later would be measured.
func mkfs(spec Spec, uuid string, devices []string) (program string, args []string) {
	user := strings.Fields(spec.Mkfs)
	switch program = "mkfs." + spec.Filesystem; spec.Filesystem {
	case "ext4":
		var extended string
		user, extended = takeExtended(user)
		args = append([]string{"-q", "-F", "-U", uuid, "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0" + extended}, user...)
	case "xfs":
		args = append([]string{"-q", "-f", "-K", "-m", "uuid=" + uuid}, user...)
	case "btrfs":
		args = []string{"-q", "-f", "-K", "-U", uuid}
		if spec.RAID != "single" {
			metadata := spec.RAID
			if metadata == "raid0" {
				metadata = "raid1" // as mkfs.btrfs does by itself
			}
			args = append(args, "-d", spec.RAID, "-m", metadata)
		}
		args = append(args, user...)
	}
	for _, d := range devices {
		args = append(args, "/dev/"+d)
	}
	return program, args
}

// takeExtended takes the -E options out: mkfs.ext4 listens to the last -E only.
func takeExtended(words []string) (rest []string, extended string) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-E" && i+1 < len(words):
			i++
			extended += "," + words[i]
		case strings.HasPrefix(w, "-E"):
			extended += "," + w[2:]
		default:
			rest = append(rest, w)
		}
	}
	return rest, extended
}

// format makes the file system, by a UUID that tells it from others.
func (s *Site) format(ctx context.Context, spec Spec, devices []string) error {
	uuid, err := newUUID()
	if err != nil {
		return err
	}
	program, args := mkfs(spec, uuid, devices)
	path, err := find(program)
	if err != nil {
		return err
	}
	return s.do(act{Act: "format", Path: spec.Filesystem, UUID: uuid, Members: s.members(devices)}, func() error {
		said, err := s.run(ctx, path, args...)
		if err != nil && !errors.Is(err, farm.ErrInterrupted) {
			return refused("mkfs", "%s", said)
		}
		return err
	})
}
