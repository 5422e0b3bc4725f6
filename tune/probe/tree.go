package probe

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"stowage/internal/safefile"
)

// Tree is a machine's root, or a directory that holds a recording of one. All
// paths are absolute, as on the machine: "/sys/block/sda/size".
type Tree struct {
	dir   string
	saved map[string]string // nil: not recording
	seen  string            // of Watch
}

// Machine is this machine.
func Machine() *Tree { return &Tree{dir: "/"} }

// Recorded is a tree in a directory.
func Recorded(dir string) *Tree { return &Tree{dir: dir} }

// Record makes the tree keep what is read from now on; Save writes it.
func (t *Tree) Record() { t.saved = map[string]string{} }

// largest is more than any file here has that is read as a whole.
const largest = 4 << 20

// read is a file's text, and false when there is none, or no leave to read it.
func (t *Tree) read(name string) (string, bool) {
	real, err := t.resolve(name)
	if err != nil {
		return "", false
	}
	f, err := safefile.OpenInput(real) // a recording may hold a FIFO, which is not waited for
	if err != nil {
		return "", false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, largest))
	if err != nil {
		return "", false
	}
	t.keep(name, string(raw))
	return string(raw), true
}

// value is the text of a file of one value, without its line end, or "".
func (t *Tree) value(name string) string {
	text, _ := t.read(name)
	return strings.TrimSpace(text)
}

// tail is the end of a file that may be large.
func (t *Tree) tail(name string, n int64) (string, bool) {
	real, err := t.resolve(name)
	if err != nil {
		return "", false
	}
	f, err := safefile.OpenInput(real)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false
	}
	if _, err := f.Seek(max(0, info.Size()-n), io.SeekStart); err != nil {
		return "", false
	}
	raw, err := io.ReadAll(io.LimitReader(f, n))
	return string(raw), err == nil
}

// list are the names in a directory, sorted; none when there is none.
func (t *Tree) list(name string) []string {
	real, err := t.resolve(name)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func (t *Tree) exists(name string) bool {
	real, err := t.resolve(name)
	if err != nil {
		return false
	}
	_, err = os.Lstat(real)
	return err == nil
}

// link is where a symbolic link leads. A recorded one may be a file that holds
// its target.
func (t *Tree) link(name string) string {
	dir, err := t.resolve(path.Dir(name))
	if err != nil {
		return ""
	}
	if target, err := os.Readlink(filepath.Join(dir, path.Base(name))); err == nil {
		t.keep(name, target+"\n")
		return target
	}
	text := t.value(name)
	if strings.ContainsAny(text, "\n\x00") {
		return ""
	}
	return text
}

var errLinks = errors.New("too many links")

// resolve is the real path of a path of the machine. Links lead inside the
// tree, those to absolute paths too: a recording must not be completed by
// what happens to be on the machine that reads it.
func (t *Tree) resolve(name string) (string, error) {
	done, todo := "/", strings.Split(path.Clean("/"+name), "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		info, err := os.Lstat(filepath.Join(t.dir, next))
		if err != nil {
			if len(todo) == 0 && errors.Is(err, fs.ErrNotExist) {
				return filepath.Join(t.dir, next), nil
			}
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > 40 {
			return "", errLinks
		}
		target, err := os.Readlink(filepath.Join(t.dir, next))
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			done = "/"
		}
		todo = slices.Concat(strings.Split(target, "/"), todo)
	}
	return filepath.Join(t.dir, done), nil
}

func (t *Tree) keep(name, text string) {
	if t.saved != nil {
		t.saved[path.Clean("/"+name)] = text
	}
}

// Save writes what was read into a directory, in the layout that Recorded
// reads. Lines with passwords are left out.
func (t *Tree) Save(dir string) (files int, err error) {
	for name, text := range t.saved {
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return files, err
		}
		if err := os.WriteFile(target, []byte(withoutPasswords(text)), 0o644); err != nil {
			return files, err
		}
		files++
	}
	return files, nil
}

// Kept is what was read, by path, without lines that hold passwords.
func (t *Tree) Kept() map[string]string {
	out := make(map[string]string, len(t.saved))
	for name, text := range t.saved {
		out[name] = withoutPasswords(text)
	}
	return out
}

// Write writes what another machine has kept into a directory, in the layout that Recorded reads. A name that leads out of
// it is refused.
func Write(dir string, kept map[string]string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, text := range kept {
		inside := strings.TrimPrefix(path.Clean("/"+name), "/")
		if err := root.MkdirAll(path.Dir(inside), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(inside, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func withoutPasswords(text string) string {
	if !strings.Contains(strings.ToLower(text), "passw") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.Contains(strings.ToLower(l), "passw") {
			lines[i] = "# a line with a password was left out" // and the numbers of the others stay
		}
	}
	return strings.Join(lines, "\n")
}

// Value reads the setting that a change is about, in the words that the change
// uses: the one in brackets where a file lists several.
func (t *Tree) Value(name string) (string, error) {
	real, err := t.resolve(name)
	if err != nil {
		return "", err
	}
	raw, err := safefile.ReadInput(real, largest)
	if err != nil {
		return "", err
	}
	return chosen(string(raw)), nil
}

// SetValue writes a setting. The kernel's answer to a value it does not take
// is an error of the write.
func (t *Tree) SetValue(name, value string) error {
	real, err := t.resolve(name)
	if err != nil {
		return err
	}
	f, err := safefile.OpenFile(real, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Parts are the directories of a recorded tree. Any of them may be missing.
var Parts = []string{"sys", "proc", "etc", "dev", "commands", "instances", "measured"}

// Along are the settings that the kernel sets anew together with this one, by
// path: a scheduler comes with a queue depth and a write-back limit of its own,
// and with tunables that go when it goes; a governor with its own idea of how much
// speed is worth. Nil for other settings.
func (t *Tree) Along(name string) map[string]string {
	var names []string
	switch path.Base(name) {
	case "scheduler":
		names = []string{"nr_requests", "wbt_lat_usec"}
		for _, tunable := range t.list(path.Dir(name) + "/iosched") {
			names = append(names, "iosched/"+tunable)
		}
	case "max_sectors_kb", "rotational", "iostats", "add_random", "write_cache":
		// Kernels set the limits of a queue as a whole, and take read-ahead from them each time. Seen on 6.18 with the first three.
		names = []string{"read_ahead_kb"}
	case "scaling_governor":
		names = []string{"energy_performance_preference"}
	}
	var out map[string]string
	for _, n := range names {
		n = path.Join(path.Dir(name), n)
		if value, err := t.Value(n); err == nil {
			if out == nil {
				out = map[string]string{}
			}
			out[n] = value
		}
	}
	return out
}
