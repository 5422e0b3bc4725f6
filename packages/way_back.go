package packages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dpkgStatus is what dpkg knows of every package.
const dpkgStatus = "/var/lib/dpkg/status"

// simulateBack lets apt say how it would go back from where the packages are to go: on a copy of dpkg's list in which they are there already. It tries
// what packages demand of each other. What their scripts do, and whether an older server starts on files of a newer one, only the way back itself tells.
func (l *look) simulateBack() error {
	if !l.wayBack || len(l.Faults) > 0 || l.IsDone() {
		return nil
	}
	dir, err := os.MkdirTemp("", "stowage-packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	after, err := l.statusAfter()
	if err != nil {
		return err
	}
	status := filepath.Join(dir, "status")
	if err := os.WriteFile(status, []byte(after), 0o600); err != nil {
		return err
	}
	// Without files of its own: apt keeps what it has read of the real list.
	args := []string{"-s", "-o", "Debug::NoLocking=true", "-o", "Dir::State::status=" + status, "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="}
	text, err := l.ask(l.ctx, "/usr/bin/apt-get", append(args, installArgs(l.Before())...)...)
	const remedy = "say way_back: none, and be ready to rebuild: stowage move instance"
	if err != nil {
		l.fault(remedy, "apt could not install the packages of before again: %v", err)
		return nil
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "Inst" && f[0] != "Remv" {
			continue
		}
		name, _, _ := strings.Cut(f[1], ":")
		if f[0] == "Remv" || !slices.ContainsFunc(l.Set, func(c Change) bool { return c.Name == name }) {
			l.fault(remedy, "the way back would change another package as well: %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// statusAfter is dpkg's list as it would be after the installation.
func (l *look) statusAfter() (string, error) {
	raw, err := os.ReadFile(dpkgStatus)
	if err != nil {
		return "", err
	}
	coming, err := l.coming()
	if err != nil {
		return "", err
	}
	var out []string
	for stanza := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
		name := entry(stanza, "Package")
		n := slices.IndexFunc(l.Set, func(c Change) bool { return c.Name == name && c.From != c.To && entry(stanza, "Version") == c.From })
		if is, goes := coming[name]; n >= 0 && goes {
			if entry(stanza, "Multi-Arch") == "same" && entry(is, "Architecture") != entry(stanza, "Architecture") { // apt-cache has shown that of the host's own
				is = strings.ReplaceAll(stanza, l.Set[n].From, l.Set[n].To)
			}
			stanza = is
		}
		out = append(out, stanza)
	}
	for _, name := range l.New {
		name, _, _ = strings.Cut(name, "=")
		out = append(out, coming[name])
	}
	return strings.Join(out, "\n\n") + "\n", nil
}

// coming are the packages that are to be installed, by name, as dpkg describes those that are.
func (l *look) coming() (map[string]string, error) {
	args := append([]string{"show", "--no-all-versions"}, l.New...)
	for _, c := range l.Set {
		if c.From != c.To {
			args = append(args, c.Name+"="+c.To)
		}
	}
	text, err := l.ask(l.ctx, "/usr/bin/apt-cache", args...)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for stanza := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		first, rest, _ := strings.Cut(stanza, "\n")
		if name := entry(first, "Package"); out[name] == "" { // the same may come from two sources
			out[name] = first + "\nStatus: install ok installed\n" + rest
		}
	}
	return out, nil
}

// entry is one line of a package's description; "": it has none.
func entry(stanza, name string) string {
	for line := range strings.Lines(stanza) {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
