package packages

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// installed is one package as dpkg knows it.
type installed struct {
	name, status, version, source string
}

// isWhole reports whether it is installed and configured, and wanted so.
func (i installed) isWhole() bool { return i.status == "ii" || i.status == "hi" }

// have are the packages of this machine's architecture that are installed, in whatever state. Those that were removed are not.
func (a *Apt) have(ctx context.Context) (map[string]installed, error) {
	native, err := a.ask(ctx, "/usr/bin/dpkg", "--print-architecture")
	if err != nil {
		return nil, err
	}
	text, err := a.ask(ctx, "/usr/bin/dpkg-query", "-W", "-f", `${Package}\t${Architecture}\t${db:Status-Abbrev}\t${Version}\t${source:Package}\n`)
	if err != nil {
		return nil, err
	}
	out := map[string]installed{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 5 || f[1] != "all" && f[1] != strings.TrimSpace(native) || f[3] == "" {
			continue
		}
		if i := (installed{f[0], strings.TrimSpace(f[2]), f[3], f[4]}); len(i.status) >= 2 && i.status[1] != 'n' && i.status[1] != 'c' {
			out[i.name] = i
		}
	}
	return out, nil
}

// Process is a server that runs.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program"`
}

// servers are those that run with the files of this machine. One in a container has files of its own.
func servers() []Process {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil
	}
	var out []Process
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range all {
		program, err := os.Readlink(link)
		if err != nil { // a thread of the kernel, or it has ended
			continue
		}
		if base := filepath.Base(strings.TrimSuffix(program, " (deleted)")); base != "mariadbd" && base != "mysqld" {
			continue
		}
		dir := filepath.Dir(link)
		if its, err := os.Readlink(filepath.Join(dir, "ns/mnt")); err != nil || its != ours {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			out = append(out, Process{pid, program})
		}
	}
	return out
}
