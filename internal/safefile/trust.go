package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Untrusted says why a path is not believed, and what to do about it.
type Untrusted struct {
	Path   string
	Seen   string // owner and mode
	Why    string
	Remedy string // a command
}

func (u *Untrusted) Error() string { return fmt.Sprintf("%s %s (%s)", u.Path, u.Why, u.Seen) }

// Trust remembers which paths it has looked at.
type Trust struct{ seen map[string]bool }

// Trusted is Trust.Path for one path.
func Trusted(path string) error { return new(Trust).Path(path) }

// Path is nil when nobody but root and the caller can change what path names:
// neither the file, nor a link on the way, nor a directory above it. A sticky
// directory above it, such as /tmp, may be writable by others, because they
// cannot rename what is not theirs. A path that is not there can be trusted
// when the directory is that it would be in. Otherwise the error is an *Untrusted.
func (t *Trust) Path(path string) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	done, todo := "/", strings.Split(whole[1:], "/")
	if err := t.one(done, len(todo) == 0 || todo[0] == ""); err != nil {
		return err
	}
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return t.one(done, true) // whoever may write there may make it
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			// What went between the two looks, as SQLite's log does, is not there.
			if err := t.one(next, len(todo) == 0); errors.Is(err, fs.ErrNotExist) {
				return t.one(done, true)
			} else if err != nil {
				return err
			}
			done = next
			continue
		}
		if links++; links > maxLinks {
			return &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
		}
		if u := owned(next, info); u != nil {
			return u
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return nil
}

const maxLinks = 40

// one looks at one file or directory; last is the one that is meant.
func (t *Trust) one(path string, last bool) error {
	if t.seen[path] && !last {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if u := owned(path, info); u != nil {
		return u
	}
	mode := info.Mode()
	above := mode.IsDir() && !last && mode&fs.ModeSticky != 0
	if mode.Perm()&0o022 != 0 && !above && !(mode.Perm()&0o002 == 0 && isPrivateGroup(path, info)) {
		who := "everybody"
		if mode.Perm()&0o002 == 0 {
			who = "group " + groupName(info.Sys().(*syscall.Stat_t).Gid)
		}
		remedy := "chmod go-w " + quoted(path)
		if mode&fs.ModeSticky != 0 { // it is shared on purpose
			remedy = "use a directory below " + quoted(path) + " that only you can write to"
		}
		return &Untrusted{Path: path, Seen: seenAs(info), Why: "can be written by " + who, Remedy: remedy}
	}
	t.seen[path] = true
	return nil
}

// owned is nil when path is root's or the caller's.
func owned(path string, info fs.FileInfo) error {
	st := info.Sys().(*syscall.Stat_t)
	if st.Uid == 0 || int(st.Uid) == os.Geteuid() {
		return nil
	}
	me := UserName(uint32(os.Geteuid()))
	why := "belongs to " + UserName(st.Uid) + ", who could make " + me + " run anything"
	return &Untrusted{Path: path, Seen: seenAs(info), Why: why, Remedy: "chown " + dashH(info) + me + " " + quoted(path) + ", or run the command as " + UserName(st.Uid)}
}

func dashH(info fs.FileInfo) string {
	if info.Mode()&fs.ModeSymlink != 0 {
		return "-h "
	}
	return ""
}

func seenAs(info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("owner %s, group %s, mode %04o", UserName(st.Uid), groupName(st.Gid), st.Mode&0o7777)
}

// UserName is what an account is called, or its number.
func UserName(uid uint32) string {
	if u, err := user.LookupId(strconv.Itoa(int(uid))); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(int(uid))
}

func groupName(gid uint32) string {
	if g, err := user.LookupGroupId(strconv.Itoa(int(gid))); err == nil {
		return g.Name
	}
	return strconv.Itoa(int(gid))
}

func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%,=", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// Where accounts are known; tests have others.
var passwdFile, groupFile = "/etc/passwd", "/etc/group"

// isPrivateGroup reports whether the group of a file is its owner's alone: the
// owner's primary group, nobody else's, without other members, and without an
// access list that lets others in. Systems with a umask of 002 make files so.
func isPrivateGroup(path string, info fs.FileInfo) bool {
	st := info.Sys().(*syscall.Stat_t)
	if n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil); n > 0 || err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP) {
		return false
	}
	uid, gid := strconv.Itoa(int(st.Uid)), strconv.Itoa(int(st.Gid))
	owner := ""
	for _, f := range lines(passwdFile) {
		switch {
		case len(f) < 4:
		case f[2] == uid && f[3] == gid:
			owner = f[0]
		case f[3] == gid:
			return false
		}
	}
	if owner == "" {
		return false
	}
	known := false
	for _, f := range lines(groupFile) {
		if len(f) >= 4 && f[2] == gid {
			known = true
			if f[3] != "" && f[3] != owner {
				return false
			}
		}
	}
	return known
}

// lines are the fields of a file such as /etc/passwd.
func lines(path string) (out [][]string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil // nobody is known: nobody is trusted
	}
	for l := range strings.Lines(string(raw)) {
		out = append(out, strings.Split(strings.TrimSpace(l), ":"))
	}
	return out
}
